"""Do an index in a file and a plain dict stay equal over any sequence of writes, reopenings, evictions and erasures?"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import scrubjay
from scrubjay import Index, Scope
from scrubjay.store.partition import visible_from
from tests.data.keys import provider

SCOPES = [
    Scope("a"),
    Scope("a", user="u"),
    Scope("a", agent="g"),
    Scope("a", user="u", agent="g"),
    Scope("b"),
]
WORDS = ["oak", "jay", "acorn", "sk-stg-0041", "winter"]
ids = st.integers(0, 25)
scopes = st.sampled_from(SCOPES)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
vectors = st.one_of(st.none(), st.lists(st.integers(1, 9), min_size=3, max_size=3))


class StoreMachine(RuleBasedStateMachine):
    """`model` maps ids to (scope, text, vector), in order of writing; `memory` is an index that never saw a file."""

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
        self.model: dict[int, tuple[Scope, str, Any, int | None]] = {}
        self.notes: list[tuple[int, Scope]] = []  # of feedback: the memory, and who asked
        self.memory = Index(dtype=dtype)
        self.others: list[Index] = []
        self.dtype = dtype
        self.index = self._open()

    def _open(self) -> Index:
        index = Index.open(
            self.path, dtype=self.dtype, durability="normal", memory_budget=self.budget, keys=self.keys
        )
        engine = index.engine
        engine.clock = engine.residency._clock = lambda: self.now  # type: ignore[union-attr]
        return index

    @rule(
        rows=st.lists(st.tuples(ids, scopes, texts, vectors), min_size=1, max_size=8),
        ttl=st.sampled_from([None, 1, 3]),
    )
    def upsert_many(self, rows: list[tuple[int, Scope, str, Any]], ttl: int | None) -> None:
        expiry = None if ttl is None else (self.now + ttl) / 1e6
        records = [{"id": i, "scope": s, "text": t, "vector": v, "expires_at": expiry} for i, s, t, v in rows]
        seen: dict[int, Scope] = {id: row[0] for id, row in self.model.items()}
        conflict = any(seen.setdefault(id, scope) != scope for id, scope, _, _ in rows)
        if conflict:
            try:
                self.index.upsert_many(records)
            except scrubjay.ConflictError:
                return
            raise AssertionError("an id moved to another scope")
        self.index.upsert_many(records)
        last = {row[0]: i for i, row in enumerate(rows)}
        for i, (id, scope, text, vector) in enumerate(rows):
            if last[id] != i:
                continue
            self.model.pop(id, None)
            self.model[id] = (scope, text, vector, None if ttl is None else self.now + ttl)

    @rule(id=ids)
    def delete(self, id: int) -> None:
        assert self.index.delete(id) == (self.model.pop(id, None) is not None)
        self.notes = [note for note in self.notes if note[0] != id]

    @rule(id=ids, scope=scopes)
    def feedback(self, id: int, scope: Scope) -> None:
        row = self.model.get(id)
        seen = row is not None and (row[3] is None or row[3] > self.now) and row[0] in visible_from(scope)
        assert self.index.feedback(id, query="which?", scope=scope) == seen
        if seen:
            self.notes.append((id, scope))

    @rule(scope=scopes, exact=st.booleans())
    def erase(self, scope: Scope, exact: bool) -> None:
        gone = [
            id for id, row in self.model.items() if (row[0] == scope if exact else scope.contains(row[0]))
        ]
        assert self.index.erase(scope, exact=exact) == len(gone)
        for id in gone:
            del self.model[id]
        self.notes = [
            (id, asker)
            for id, asker in self.notes
            if id not in gone and not (asker == scope if exact else scope.contains(asker))
        ]

    @rule(by=st.integers(1, 3))
    def time_passes(self, by: int) -> None:
        self.now += by

    @rule()
    def sweep(self) -> None:
        gone = [id for id, row in self.model.items() if row[3] is not None and row[3] <= self.now]
        assert self.index.sweep() == len(gone)
        for id in gone:
            del self.model[id]
        self.notes = [note for note in self.notes if note[0] not in gone]

    @rule()
    def close_and_open(self) -> None:
        self.index.close()
        self.index = self._open()

    @rule()
    def keys_are_given(self) -> None:
        """From now on tenant a is encrypted; b never is."""
        for index in [self.index, *self.others]:
            index.close()
        self.others = []
        self.keys = provider
        self.index = self._open()

    @rule()
    def encrypt(self) -> None:
        if self.keys is not None:
            self.index.encrypt("a")
            assert self.index.encrypt("a") == 0

    @rule()
    def another_writer_takes_over(self) -> None:
        """Two indexes over one file: the next operations go to the other, later perhaps back."""
        self.others.append(self.index)
        self.index = self._open() if len(self.others) < 3 else self.others.pop(0)

    @rule()
    def killed(self) -> None:
        """What a killed process leaves: the files as they are (a copy of them, without closing)."""
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
        self.index.compact()

    @rule()
    def save_and_evict(self) -> None:
        residency = self.index.engine.residency  # type: ignore[union-attr]
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
        live = {id: row for id, row in self.model.items() if row[3] is None or row[3] > self.now}
        expected = Index(dtype=self.dtype)
        for id, (own, text, own_vector, _) in live.items():
            expected.upsert(id, text, scope=own, vector=own_vector)
        options: dict[str, Any] = {"scope": scope, "k": 30, "explain": True}
        given = self.index.search(query, vector=vector, **options)
        wanted = expected.search(query, vector=vector, **options)
        assert [(h.id, h.score, h.bm25, h.text) for h in given] == [
            (h.id, h.score, h.bm25, h.text) for h in wanted
        ]
        if expected.stats()["dim"] is not None:
            np.testing.assert_array_equal(given._result.similarities, wanted._result.similarities)
        assert self.index.count(scope) == expected.count(scope)

    @invariant()
    def notes_are_those_of_the_model(self) -> None:
        if hasattr(self, "path"):
            live = {id for id, row in self.model.items() if row[3] is None or row[3] > self.now}
            notes = [(note.id, note.scope) for note in self.index.feedbacks()]
            assert notes == [note for note in self.notes if note[0] in live]

    @invariant()
    def ids_are_those_of_the_model(self) -> None:
        if not hasattr(self, "path"):
            return
        live = {id for id, row in self.model.items() if row[3] is None or row[3] > self.now}
        assert len(self.index) == len(live)
        for id in (0, 7, 25):
            assert (id in self.index) == (id in live)

    def teardown(self) -> None:
        if not hasattr(self, "path"):
            return
        report = self.index.check()
        assert report.clean, report.problems
        for index in [self.index, *self.others]:
            index.close()
        shutil.rmtree(self.folder)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=max(10, settings().max_examples // 3), stateful_step_count=25)
