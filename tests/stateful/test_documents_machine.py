"""An index in memory, in a file, in an encrypted file and in PostgreSQL, also encrypted and with users in their own
homes, answers as the oracle, whatever is written."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scrubjay import Index, Scope, VersionConflictError
from tests.data.keys import provider
from tests.data.postgres import cluster, new_url
from tests.reference.documents import ConflictError, DocumentsModel, Row
from tests.reference.scopes import DocumentKey, key

SCOPES = [Scope("a"), Scope("a", user="u"), Scope("a", agent="g"), Scope("a", "u", "g"), Scope("b")]
TEXTS = ["oak", "jay", "acorn winter", "sk-stg-0041"]
FIELDS = ["n", "kind", "tags", "mixed"]

scopes = st.sampled_from(SCOPES)
ids = st.integers(0, 5)
keys = st.tuples(scopes, ids)
values = st.one_of(
    st.integers(-2, 2),
    st.sampled_from([0.5, 1.5, "a", "b", "é"]),
    st.lists(st.sampled_from(["a", "b", 7]), max_size=3),
)
metadata = st.dictionaries(st.sampled_from(FIELDS), values, max_size=3)
changes = st.dictionaries(st.sampled_from(FIELDS), st.one_of(st.none(), values), max_size=3)
vectors = st.one_of(st.none(), st.lists(st.integers(1, 9), min_size=3, max_size=3).map(tuple))
times = st.one_of(st.none(), st.integers(0, 3))
contexts = st.sampled_from([None, None, "acorn title", 'jay "quoted\\"'])
conditions = st.sampled_from([None, None, "absent", "current", "stale"])
wishes = st.one_of(
    st.none(),
    st.builds(lambda n: {"n": {"$gte": n}}, st.integers(-2, 2)),
    st.builds(lambda some: {"tags": {"$in": some}}, st.lists(st.sampled_from(["a", "b"]), max_size=2)),
    st.sampled_from([{"kind": {"$exists": True}}, {"$not": {"mixed": "a"}}]),
)
orders = st.sampled_from([None, "created_at", *FIELDS])


class DocumentsMachine(RuleBasedStateMachine):
    """Applies each operation to the model and to every index."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.model = DocumentsModel()
        self.indexes = [Index(dtype="f32"), self._open("plain"), self._open("sealed")]
        if not isinstance(cluster(), str):
            self.url = new_url()
            self.indexes.append(Index.open(self.url, dtype="f32", durability="normal"))
            self.sealed_url = new_url()
            self.indexes.append(
                Index.open(self.sealed_url, dtype="f32", durability="normal", keys=provider, user_homes=2)
            )

    def _open(self, name: str) -> Index:
        own = provider if name == "sealed" else None
        return Index.open(self.folder / name, dtype="f32", durability="normal", keys=own)

    # -- writes: versions of an index are mapped to those of the model

    def _expected(self, index: Index | None, place: DocumentKey, condition: str | None) -> int | None:
        """Return the version of a conditional write; the model's if there is no index."""
        if condition is None:
            return None
        if condition == "absent":
            return 0
        current = self._version(index, place)
        return current if condition == "current" and current else current + 1

    def _version(self, index: Index | None, place: DocumentKey) -> int:
        if index is None:
            return self.model.rows[place].version if place in self.model.rows else 0
        found = index.scroll(scope=Scope(*place[0]), exact=True, limit=100)
        return next((record.version or 0 for record in found if record.id == place[1]), 0)

    @rule(
        rows=st.lists(
            st.tuples(keys, st.sampled_from(TEXTS), metadata, vectors, times, conditions, contexts),
            min_size=1,
            max_size=6,
        )
    )
    def upsert_many(self, rows: list[Any]) -> None:
        drawn = [
            (
                Row(
                    (key(scope), id),
                    text,
                    dict(extra),
                    vector,
                    None if time is None else time * 10**6,
                    0,
                    context,
                ),
                condition,
            )
            for (scope, id), text, extra, vector, time, condition, context in rows
        ]
        try:
            wanted: Any = self.model.upsert_many(
                [(row, self._expected(None, row.key, condition)) for row, condition in drawn]
            )
        except ConflictError as conflict:
            wanted = conflict
        refused = {
            (row.key[1], found == 0)
            for row, condition in drawn
            if condition is not None
            and (found := self._version(None, row.key)) != self._expected(None, row.key, condition)
        }
        for index in self.indexes:
            records = [
                {
                    "id": row.key[1],
                    "text": row.text,
                    "scope": Scope(*row.key[0]),
                    "metadata": row.metadata,
                    "vector": row.vector,
                    "context": row.context,
                    "created_at": None if row.created_at is None else row.created_at / 10**6,
                    "version": self._expected(index, row.key, condition),
                }
                for row, condition in drawn
            ]
            self._same(index, wanted, records, refused)

    def _same(
        self, index: Index, wanted: Any, records: list[dict[str, Any]], refused: set[tuple[Any, bool]]
    ) -> None:
        try:
            written = index.upsert_many(records)
        except VersionConflictError as conflict:
            assert isinstance(wanted, ConflictError), conflict
            assert (conflict.id, conflict.found == 0) in refused  # any of several
        else:
            assert written == wanted

    @rule(place=keys, extra=changes, vector=st.one_of(st.just("keep"), vectors), time=st.one_of(st.just("keep"), times),
          condition=st.sampled_from([None, None, "current", "stale"]),
          context=st.one_of(st.just("keep"), contexts))  # fmt: skip
    def patch(
        self, place: Any, extra: dict[str, Any], vector: Any, time: Any, condition: str | None, context: Any
    ) -> None:
        scope, id = place
        own = (key(scope), id)
        fields: dict[str, Any] = {} if vector == "keep" else {"vector": vector}
        if context != "keep":
            fields["context"] = context
        options: dict[str, Any] = dict(fields)
        if time != "keep":
            fields["created_at"] = None if time is None else time * 10**6
            options["created_at"] = time
        before = [self._version(index, own) for index in self.indexes]
        try:
            wanted: Any = self.model.patch(own, extra, self._expected(None, own, condition), **fields)
        except ConflictError as conflict:
            wanted = conflict
        for index, old in zip(self.indexes, before, strict=True):
            expected = self._expected(index, own, condition)
            try:
                written = index.patch(id, scope=scope, metadata=extra, version=expected, **options)
            except VersionConflictError as conflict:
                assert isinstance(wanted, ConflictError)
                assert (conflict.id, conflict.found) == (id, old)
            else:
                assert (written is None) == (wanted is None)
                assert written is None or written == self._version(index, own) > old

    @rule(scope=scopes, filter=wishes.filter(bool))
    def delete_matching(self, scope: Scope, filter: Any) -> None:
        n_gone = self.model.delete_matching(key(scope), filter)
        for index in self.indexes:
            assert index.delete_many(filter=filter, scope=scope) == n_gone

    @rule(scope=scopes)
    def erase(self, scope: Scope) -> None:
        self.model.erase(key(scope))
        for index in self.indexes:
            index.erase(scope, exact=True)

    @rule()
    def compact_and_reopen(self) -> None:
        for index in self.indexes:
            index.admin.compact()
        for place, name in ((1, "plain"), (2, "sealed")):
            self.indexes[place].close()
            self.indexes[place] = self._open(name)
        if len(self.indexes) > 3:
            for place, url, keys in ((3, self.url, None), (4, self.sealed_url, provider)):
                self.indexes[place].close()
                self.indexes[place] = Index.open(url, dtype="f32", durability="normal", keys=keys)

    # -- reads

    @rule(scope=scopes, order_by=orders, descending=st.booleans(), exact=st.booleans(), filter=wishes,
          limit=st.integers(1, 4))  # fmt: skip
    def scroll(
        self, scope: Scope, order_by: str | None, descending: bool, exact: bool, filter: Any, limit: int
    ) -> None:
        wanted = self.model.ordered(scope, order_by, descending, exact=exact, filter=filter)
        options: dict[str, Any] = {
            "order_by": order_by, "descending": descending, "exact": exact, "filter": filter, "limit": limit,
        }  # fmt: skip
        for index in self.indexes:
            found, cursor = [], None
            while True:
                page = index.scroll(scope=scope, cursor=cursor, vectors=True, **options)
                found += page.records
                cursor = page.cursor
                if cursor is None:
                    break
            assert [self._row(record) for record in found] == [replace(row, version=0) for row in wanted]

    @staticmethod
    def _row(record: Any) -> Row:
        vector = None if record.vector is None else tuple(np.asarray(record.vector).tolist())
        time = None if record.created_at is None else int(record.created_at.timestamp() * 10**6)
        return Row(
            (key(record.scope), record.id),
            record.text,
            dict(record.metadata),
            vector,
            time,
            0,
            record.context,
        )

    @rule(scope=scopes, field=st.sampled_from(FIELDS), filter=wishes)
    def values(self, scope: Scope, field: str, filter: Any) -> None:
        wanted = self.model.values(scope, field, filter=filter)
        for index in self.indexes:
            assert list(index.values(field, scope=scope, filter=filter).items()) == wanted

    @rule(scope=scopes, text=st.sampled_from(TEXTS))
    def search(self, scope: Scope, text: str) -> None:
        """A search finds what is listed: both rankings follow every write."""
        words = {(key(hit.scope), hit.id) for hit in self.indexes[0].search(text, scope=scope, k=100)}
        assert words == {
            row.key
            for row in self.model.seen(scope)
            if {*row.text.split(), *(row.context or "").split()} & set(text.split())
        }
        for index in self.indexes[1:]:
            assert {(key(hit.scope), hit.id) for hit in index.search(text, scope=scope, k=100)} == words

    @invariant()
    def as_many_as_in_the_model(self) -> None:
        for index in getattr(self, "indexes", []):
            assert len(index) == len(self.model.rows)

    def teardown(self) -> None:
        if not hasattr(self, "indexes"):
            return
        for index in self.indexes:
            if index is not self.indexes[0]:
                report = index.admin.check()
                assert report.clean, report.problems
            index.close()
        shutil.rmtree(self.folder)


TestDocuments = DocumentsMachine.TestCase
TestDocuments.settings = settings(max_examples=max(10, settings().max_examples // 3), stateful_step_count=20)
