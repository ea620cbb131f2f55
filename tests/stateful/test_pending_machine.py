"""An index whose embedder fails intermittently refuses no write, loses nothing and embeds everything in the end.

The oracle is a dict of the writes; a vector is the embedder's own, one that the caller gave, or deliberately missing.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scrubjay import Index, Query, Scope
from tests.data.flaky import POISON, Flaky
from tests.data.keys import provider

SCOPES = [Scope("a"), Scope("a", user="u"), Scope("b")]
ids = st.integers(0, 9)
scopes = st.sampled_from(SCOPES)
texts = st.lists(st.sampled_from(["oak", "jay", "acorn", "xyz", POISON]), min_size=1, max_size=4).map(
    " ".join
)
given_vectors = st.lists(st.integers(1, 9), min_size=3, max_size=3)

OWN = "the embedder's"
Key = tuple[Scope, int]


class PendingMachine(RuleBasedStateMachine):
    """`model` maps keys to (text, vector): OWN, a list, or None."""

    @initialize(where=st.sampled_from(["memory", "file", "sealed"]))
    def start(self, where: str) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.where = where
        self.embedder = Flaky()
        self.model: dict[Key, tuple[str, Any]] = {}
        self.index = self._open()

    def _open(self) -> Index:
        if self.where == "memory":
            return Index(self.embedder, dtype="f32")
        keys = provider if self.where == "sealed" else None
        return Index.open(
            self.folder / "memories.scrubjay", self.embedder, dtype="f32", durability="normal", keys=keys
        )

    @rule(n_good=st.one_of(st.none(), st.integers(0, 3)))
    def the_embedder_comes_or_goes(self, n_good: int | None) -> None:
        self.embedder.n_good = n_good

    @rule(id=ids, scope=scopes, text=texts)
    def upsert(self, id: int, scope: Scope, text: str) -> None:
        self.index.upsert(id, text, scope=scope)
        self.model[scope, id] = (text, OWN)

    @rule(id=ids, scope=scopes, text=texts, vector=given_vectors)
    def upsert_with_a_vector(self, id: int, scope: Scope, text: str, vector: list[int]) -> None:
        self.index.upsert(id, text, scope=scope, vector=vector)
        self.model[scope, id] = (text, vector)

    @rule(rows=st.lists(st.tuples(ids, scopes, texts), max_size=8), batch_size=st.integers(1, 4))
    def upsert_many(self, rows: list[tuple[int, Scope, str]], batch_size: int) -> None:
        records = [{"id": id, "scope": scope, "text": text} for id, scope, text in rows]
        self.index.upsert_many(records, batch_size=batch_size, progress=False)
        self.model.update({(scope, id): (text, OWN) for id, scope, text in rows})

    @rule(id=ids, scope=scopes)
    def patch_metadata(self, id: int, scope: Scope) -> None:
        assert (self.index.patch(id, scope=scope, metadata={"a": 1}) is not None) == (
            (scope, id) in self.model
        )

    @rule(id=ids, scope=scopes, vector=st.one_of(st.none(), given_vectors))
    def patch_vector(self, id: int, scope: Scope, vector: list[int] | None) -> None:
        if self.index.patch(id, scope=scope, vector=vector) is not None:
            self.model[scope, id] = (self.model[scope, id][0], vector)

    @rule(id=ids, scope=scopes)
    def delete(self, id: int, scope: Scope) -> None:
        assert self.index.delete(id, scope=scope) == (self.model.pop((scope, id), None) is not None)

    @rule(batch_size=st.integers(1, 5))
    def backfill(self, batch_size: int) -> None:
        report = self.index.admin.backfill(progress=False, batch_size=batch_size)
        if self.embedder.n_good is None:
            assert report.pending == report.refused

    @rule()
    def search(self) -> None:
        self.index.search("acorn", scope=Scope("a", user="u"))

    @rule()
    def reopen(self) -> None:
        if self.where != "memory":
            self.index.close()
            self.index = self._open()

    def _check(self, *, all_of_them: bool) -> None:
        for (scope, id), (text, vector) in self.model.items():
            record = self.index.get(id, scope=scope)
            assert record is not None and record.scope == scope and record.text == text
            own = self.embedder.vector(text)
            if vector is not OWN:
                assert not record.pending
            elif record.pending:
                assert record.vector is None and (POISON in text or not all_of_them)
            else:
                assert POISON not in text
                vector = own if own.any() else None
            if not record.pending:
                assert (record.vector is None) == (vector is None)
                if vector is not None:
                    np.testing.assert_array_equal(np.asarray(record.vector), np.asarray(vector, np.float32))

    @invariant()
    def everything_is_there(self) -> None:
        assert len(self.index) == len(self.model)
        self._check(all_of_them=False)

    @invariant()
    def words_find_everything(self) -> None:
        for scope in SCOPES:
            wanted = {(one, id) for (one, id), (text, _) in self.model.items() if "oak" in text.split()}
            found = self.index.search("oak", scope=scope, k=99, query=Query(mode="lexical"))
            assert set(found.keys) == {key for key in wanted if key[0] in scope.visible()}

    def teardown(self) -> None:
        if not hasattr(self, "index"):
            return
        self.embedder.n_good = None
        report = self.index.admin.backfill(progress=False)
        assert report.pending == report.refused == self.index.admin.stats()["pending"]
        self._check(all_of_them=True)
        if self.where != "memory":
            assert self.index.admin.check().problems == []
        self.index.close()
        shutil.rmtree(self.folder)


TestPending = PendingMachine.TestCase
TestPending.settings = settings(max_examples=max(10, settings().max_examples // 2), stateful_step_count=30)
