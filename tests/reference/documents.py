"""The verbs for single documents: a dict in order of writing, and the definitions without optimisation.

`DocumentsModel` is the reference for `Index.scroll`, `patch`, conditional writes, deletion by filter and `values`, in
memory and in a file. Versions are counted from 1 here; tests compare which documents have equal versions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import Any

from tests.reference import filters, scopes
from tests.reference.scopes import AnyScope, DocumentKey


class ConflictError(Exception):
    """A condition does not hold: id, and the version found (0: absent)."""

    def __init__(self, id: str | int, found: int) -> None:
        super().__init__(id, found)
        self.id, self.found = id, found


@dataclass(frozen=True)
class Row:
    """A document; times are in microseconds."""

    key: DocumentKey
    text: str
    metadata: dict[str, Any]
    vector: tuple[float, ...] | None
    created_at: int | None
    version: int
    context: str | None = None

    def attributes(self) -> filters.Attributes:
        attributes = {name: value for name, value in self.metadata.items() if value is not None}
        if self.created_at is not None:
            attributes["created_at"] = filters.Time(self.created_at)
        return attributes


class DocumentsModel:
    """Documents by key (exact scope, id), in the order of their last writes."""

    def __init__(self) -> None:
        self.rows: dict[DocumentKey, Row] = {}
        self._version = 0

    def upsert_many(self, rows: Sequence[tuple[Row, int | None]]) -> int:
        """Write rows, each with its expected version (None: any). All or nothing; of equal keys the last row counts."""
        last = {row.key: (row, expected) for row, expected in rows}
        for row, expected in rows:
            if last[row.key][0] is row and expected is not None:
                self._check(row.key, expected)
        for row, _ in rows:
            if last[row.key][0] is row:
                self._put(row)
        return len(last)

    def patch(
        self, key: DocumentKey, metadata: Mapping[str, Any], expected: int | None = None, **fields: Any
    ) -> int | None:
        """Change a document; None as a metadata value removes its key; `fields` are those of a row."""
        if expected is not None:
            self._check(key, expected)
        old = self.rows.get(key)
        if old is None:
            return None
        merged = {**old.metadata, **metadata}
        kept = {name: value for name, value in merged.items() if name not in metadata or value is not None}
        return self._put(replace(old, metadata=kept, **fields))

    def delete_matching(self, home: scopes.Key, filter: Any) -> int:
        gone = [
            row.key
            for row in self.rows.values()
            if row.key[0] == home and filters.admits(filter, row.attributes())
        ]
        for key in gone:
            del self.rows[key]
        return len(gone)

    def erase(self, home: scopes.Key) -> None:
        self.rows = {key: row for key, row in self.rows.items() if key[0] != home}

    def seen(self, scope: AnyScope, *, exact: bool = False, filter: Any = None) -> list[Row]:
        """Return the documents visible to a scope, in the order of writing."""
        homes = [scopes.key(scope)] if exact else scopes.visible_partitions(scope)
        return [
            row
            for row in self.rows.values()
            if row.key[0] in homes and (filter is None or filters.admits(filter, row.attributes()))
        ]

    def ordered(
        self,
        scope: AnyScope,
        order_by: str | None,
        descending: bool,
        *,
        exact: bool = False,
        filter: Any = None,
    ) -> list[Row]:
        """Order by numbers, texts, booleans, or the reverse; then rows without such a value; ties in the order of
        writing."""
        rows = self.seen(scope, exact=exact, filter=filter)
        if order_by is None:
            return rows[::-1] if descending else rows

        def compare(a: Row, b: Row) -> int:
            x, y = _rank(a, order_by), _rank(b, order_by)
            if x is None or y is None:
                return (x is None) - (y is None)
            order = (x > y) - (x < y)
            return -order if descending else order

        return sorted(rows, key=cmp_to_key(compare))  # stable

    def values(self, scope: AnyScope, field: str, *, filter: Any = None) -> list[tuple[Any, int]]:
        """Count values, the most frequent first, ties by type and value. Tests draw no values that a dict cannot tell
        apart."""
        counts: Counter[Any] = Counter()
        for row in self.seen(scope, filter=filter):
            value = row.metadata.get(field)
            values = value if isinstance(value, list) else [value]
            counts.update({one for one in values if isinstance(one, (str, int, float))})
        return sorted(counts.items(), key=lambda entry: (-entry[1], _type(entry[0]), entry[0]))

    def _check(self, key: DocumentKey, expected: int) -> None:
        row = self.rows.get(key)
        found = 0 if row is None else row.version
        if found != expected:
            raise ConflictError(key[1], found)

    def _put(self, row: Row) -> int:
        self._version += 1
        self.rows.pop(row.key, None)
        self.rows[row.key] = replace(row, version=self._version)
        return self._version


def _type(value: Any) -> int:
    return 2 if isinstance(value, bool) else 1 if isinstance(value, str) else 0


def _rank(row: Row, field: str) -> tuple[int, Any] | None:
    value = row.created_at if field == "created_at" else row.metadata.get(field)
    return (_type(value), value) if isinstance(value, (str, int, float)) else None
