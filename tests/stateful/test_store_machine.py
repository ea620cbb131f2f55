"""An index in a file and a plain dict stay equal over any sequence of writes, reopenings, evictions and erasures."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scrubjay import Index, Scope
from scrubjay.backend import Backend
from tests.data.keys import provider

SCOPES = [
    Scope("a"),
    Scope("a", user="u"),
    Scope("a", agent="g"),
    Scope("a", user="u", agent="g"),
    Scope("b"),
]
WORDS = ["oak", "jay", "acorn", "sk-stg-0041", "winter"]
ids = st.integers(0, 9)  # few, so that the same id is in several scopes
scopes = st.sampled_from(SCOPES)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
vectors = st.one_of(st.none(), st.lists(st.integers(1, 9), min_size=3, max_size=3))

Key = tuple[Scope, int]


class StoreMachine(RuleBasedStateMachine):
    """`model` maps scopes and ids to (text, vector, expiry), in order of writing."""

    path: Path

    @initialize(
        budget=st.sampled_from([None, 0, 4000, 20_000]),
        dtype=st.sampled_from(["f16", "f32"]),
        keys=st.sampled_from([None, provider]),
    )
    def start(self, budget: int | None, dtype: str, keys: Any) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "memories.scrubjay"
        self.budget = budget
        self.keys = keys
        self.now = 1_000_000
        self.model: dict[Key, tuple[str, Any, int | None]] = {}
        self.notes: list[tuple[Key, Scope]] = []  # of feedback: the memory, and the scope that searched
        self.others: list[Index] = []
        self.dtype = dtype
        self.index = self._open()

    def _open(self) -> Index:
        index = Index.open(
            self.path,
            dtype=self.dtype,
            durability="normal",
            memory_budget=self.budget,
            keys=self.keys,
            encryption="mixed",  # keys may be added when there are unencrypted rows
        )
        engine = Backend.of(index).engine
        engine.clock = engine.residency._clock = lambda: self.now  # type: ignore[union-attr]
        return index

    @rule(
        rows=st.lists(st.tuples(ids, scopes, texts, vectors), min_size=1, max_size=8),
        ttl=st.sampled_from([None, 1, 3]),
    )
    def upsert_many(self, rows: list[tuple[int, Scope, str, Any]], ttl: int | None) -> None:
        expiry = None if ttl is None else (self.now + ttl) / 1e6
        records = [{"id": i, "scope": s, "text": t, "vector": v, "expires_at": expiry} for i, s, t, v in rows]
        last = {(scope, id): i for i, (id, scope, _, _) in enumerate(rows)}
        assert self.index.upsert_many(records) == len(last)
        for i, (id, scope, text, vector) in enumerate(rows):
            if last[scope, id] != i:
                continue
            self.model.pop((scope, id), None)
            self.model[scope, id] = (text, vector, None if ttl is None else self.now + ttl)

    @rule(id=ids, scope=scopes)
    def delete(self, id: int, scope: Scope) -> None:
        assert self.index.delete(id, scope=scope) == (self.model.pop((scope, id), None) is not None)
        self.notes = [note for note in self.notes if note[0] != (scope, id)]

    @rule(keys=st.lists(st.tuples(scopes, ids), max_size=6))
    def delete_in_several_scopes(self, keys: list[tuple[Scope, int]]) -> None:
        engine = Backend.of(self.index).engine
        n = engine.delete_many([id for _, id in keys], scope=[scope for scope, _ in keys])
        assert n == len({key for key in keys if key in self.model})
        for key in keys:
            self.model.pop(key, None)
        self.notes = [note for note in self.notes if note[0] not in keys]

    def seen(self, id: int, scope: Scope) -> Key | None:
        """Return the key of the document that a reader of an id gets."""
        t, u, a = scope.tenant, scope.user, scope.agent
        for names in ((t, u, a), (t, u, None), (t, None, a), (t, None, None)):
            if (Scope(*names), id) in self.live():
                return Scope(*names), id
        return None

    def live(self) -> set[Key]:
        return {key for key, row in self.model.items() if row[2] is None or row[2] > self.now}

    @rule(id=ids, scope=scopes)
    def feedback(self, id: int, scope: Scope) -> None:
        key = self.seen(id, scope)
        assert self.index.feedback(id, query="which?", scope=scope) == (key is not None)
        if key is not None:
            self.notes.append((key, scope))

    @rule(scope=scopes, exact=st.booleans())
    def erase(self, scope: Scope, exact: bool) -> None:
        gone = [key for key in self.model if (key[0] == scope if exact else scope.contains(key[0]))]
        assert self.index.erase(scope, exact=exact) == len(gone)
        for key in gone:
            del self.model[key]
        self.notes = [
            (key, asker)
            for key, asker in self.notes
            if key not in gone and not (asker == scope if exact else scope.contains(asker))
        ]

    @rule(by=st.integers(1, 3))
    def time_passes(self, by: int) -> None:
        self.now += by

    @rule()
    def sweep(self) -> None:
        gone = [key for key, row in self.model.items() if row[2] is not None and row[2] <= self.now]
        assert self.index.admin.sweep() == len(gone)
        for key in gone:
            del self.model[key]
        self.notes = [note for note in self.notes if note[0] not in gone]

    @rule()
    def close_and_open(self) -> None:
        self.index.close()
        self.index = self._open()

    @rule()
    def keys_are_given(self) -> None:
        """Encrypt tenant a from now on; b never is."""
        for index in [self.index, *self.others]:
            index.close()
        self.others = []
        self.keys = provider
        self.index = self._open()

    @rule()
    def encrypt(self) -> None:
        if self.keys is not None:
            self.index.admin.encrypt("a")
            assert self.index.admin.encrypt("a") == 0

    @rule()
    def another_writer_takes_over(self) -> None:
        """Two indexes over one file: later operations use the other one, until the next switch."""
        self.others.append(self.index)
        self.index = self._open() if len(self.others) < 3 else self.others.pop(0)

    @rule()
    def killed(self) -> None:
        """The state after a killed process: a copy of the files, without closing."""
        copy = Path(tempfile.mkdtemp(dir=self.folder)) / "memories.scrubjay"
        for end in ("", "-wal"):
            source = self.path.with_name(self.path.name + end)
            if source.exists():
                shutil.copy(source, copy.with_name(copy.name + end))
        for index in [self.index, *self.others]:
            index.close()
        self.others = []
        self.path = copy
        self.index = self._open()

    @rule()
    def compact(self) -> None:
        self.index.admin.compact()

    @rule()
    def save_and_evict(self) -> None:
        residency = Backend.of(self.index).engine.residency  # type: ignore[union-attr]
        for partition in residency.resident():
            residency.save(partition, wait=True)
        for partition in residency.resident():
            with partition.lock:
                residency.drop(partition)

    @rule(
        scope=scopes,
        query=texts,
        vector=st.one_of(st.none(), st.lists(st.integers(1, 9), min_size=3, max_size=3)),
    )
    def search(self, scope: Scope, query: str, vector: Any) -> None:
        expected = Index(dtype=self.dtype)
        live = self.live()
        for (own, id), (text, own_vector, _) in self.model.items():
            if (own, id) in live:
                expected.upsert(id, text, scope=own, vector=own_vector)
        options: dict[str, Any] = {"scope": scope, "k": 30, "explain": True}
        given = self.index.search(query, vector=vector, **options)
        wanted = expected.search(query, vector=vector, **options)
        assert [(h.id, h.scope, h.score, h.bm25, h.text) for h in given] == [
            (h.id, h.scope, h.score, h.bm25, h.text) for h in wanted
        ]
        if expected.admin.stats()["dim"] is not None:
            np.testing.assert_array_equal(given._result.similarities, wanted._result.similarities)
        assert self.index.count(scope) == expected.count(scope)

    @invariant()
    def notes_are_those_of_the_model(self) -> None:
        if hasattr(self, "path"):
            live = self.live()
            notes = [((note.document_scope, note.id), note.scope) for note in self.index.admin.feedbacks()]
            assert notes == [note for note in self.notes if note[0] in live]

    @invariant()
    def documents_are_those_of_the_model(self) -> None:
        if not hasattr(self, "path"):
            return
        live = self.live()
        assert len(self.index) == len(live)
        for id in (0, 7):
            for scope in SCOPES:
                key, record = self.seen(id, scope), self.index.get(id, scope=scope)
                assert (None if record is None else (record.scope, record.id)) == key
                assert record is None or record.text == self.model[record.scope, id][0]
            found = [(record.scope, record.id) for record in self.index.find(id, within=Scope("a"))]
            assert found == sorted(key for key in live if key[1] == id and key[0].tenant == "a")

    def teardown(self) -> None:
        if not hasattr(self, "path"):
            return
        report = self.index.admin.check()
        assert report.clean, report.problems
        for index in [self.index, *self.others]:
            index.close()
        shutil.rmtree(self.folder)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=max(10, settings().max_examples // 3), stateful_step_count=25)
