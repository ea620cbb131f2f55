"""Reading documents in order: of several scopes, or of all."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.rows.listing import share_of
from scrubjay.store.rows.values import Entry, RowId, StoredRow
from scrubjay.store.sqlite.connections import StoreConnection, translated
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.reading import ScopeReader

_MANY_IDS = 500  # per statement; SQLite takes at least 999 parameters
_PAGE = 100  # rows that a listing reads at a time


class ListReader:
    """Lists the documents of a collection. Thread-safe."""

    def __init__(self, scopes: ScopeReader, documents: DocumentReader) -> None:
        self._scopes = scopes
        self._documents = documents
        self.path, self.tables, self.cipher = scopes.path, scopes.tables, scopes.cipher

    @property
    def _reader(self) -> StoreConnection:
        return self._scopes.reading_connection()

    def rows_in(
        self,
        scopes: Sequence[Scope],
        *,
        now: int,
        newest: bool,
        ids: Collection[RowId] | None = None,
        after: int = 0,
        first: int | None = None,
    ) -> Iterator[tuple[StoredRow, Scope]]:
        """Yield the unexpired documents of the exact scopes, without vectors, in order of writing or its reverse;
        call in a snapshot.

        With `ids` only these; otherwise, with `after`, only documents behind the row with this number. `first` is
        a lower bound of how many the caller will read: each scope's share is fetched.
        """
        states = [
            (scope, self._scopes.scope_state(scope))
            for scope in scopes
            if self.cipher.readable(scope.tenant, scope.user)
        ]
        keys = [(state.key, scope) for scope, state in states if state is not None and state.documents]
        size = _PAGE if first is None else min(_PAGE, share_of(first, len(keys)))
        one_by_one = [self._rows_of(key, scope, now, newest, ids, after, size) for key, scope in keys]
        return heapq.merge(*one_by_one, key=lambda pair: pair[0].seq, reverse=newest)

    def numbers_in(self, scopes: Sequence[Scope], *, now: int, newest: bool, first: int) -> list[int]:
        """Return the numbers of the first unexpired rows of exact scopes, in order of writing or its reverse;
        call in a snapshot. Only the index of scopes is read, unless rows have expired."""
        t = self.tables
        states = [
            self._scopes.scope_state(scope)
            for scope in scopes
            if self.cipher.readable(scope.tenant, scope.user)
        ]
        # Expired rows are found through their own index, and are few or none.
        question = (
            f"SELECT seq FROM {t.document} WHERE scope = ? AND seq NOT IN (SELECT seq FROM {t.document} "
            "WHERE scope = ? AND expires_at IS NOT NULL AND expires_at <= ?) "
            f"ORDER BY seq {'DESC' if newest else 'ASC'} LIMIT ?"
        )
        numbers: list[int] = []
        with translated(self.path, "reading"):
            for state in states:
                if state is not None and state.documents:
                    rows = self._reader.execute(question, (state.key, state.key, now, first)).fetchall()
                    numbers += [number for (number,) in rows]
        return sorted(numbers, reverse=newest)[:first]

    def _rows_of(
        self,
        key: int,
        scope: Scope,
        now: int,
        newest: bool,
        ids: Collection[RowId] | None,
        after: int,
        size: int,
    ) -> Iterator[tuple[StoredRow, Scope]]:
        t = self.tables
        question = (
            f"SELECT seq, id, text, payload, NULL, hash FROM {t.document} "
            "WHERE scope = ? AND (expires_at IS NULL OR expires_at > ?)"
        )
        order = f" ORDER BY seq {'DESC' if newest else 'ASC'}"
        opened = self._documents.row_opener(scope)
        with translated(self.path, "reading"):
            if ids is None:
                # Page by page, leaving no cursor half read: until Python 3.10 an unfinished cursor shares its
                # cached statement with the next execution after a rollback, and resets it when it is freed.
                edge = after or None
                while True:
                    behind = "" if edge is None else f" AND seq {'<' if newest else '>'} ?"
                    parameters = (key, now) if edge is None else (key, now, edge)
                    batch = self._reader.execute(
                        f"{question}{behind}{order} LIMIT {size}", parameters
                    ).fetchall()
                    for row in batch:
                        yield opened(row), scope
                    if len(batch) < size:
                        return
                    edge, size = batch[-1][0], min(_PAGE, 4 * size)
            rows: list[tuple[Any, ...]] = []
            wanted = iter(ids)
            while some := list(islice(wanted, _MANY_IDS)):
                # CROSS JOIN makes SQLite look up each id by the key, even where it would prefer the index of
                # scopes.
                by_key = (
                    f"WITH wanted(own) AS (VALUES {','.join(['(?)'] * len(some))}) "
                    "SELECT d.seq, d.id, d.text, d.payload, NULL, d.hash FROM wanted "
                    f"CROSS JOIN {t.document} d ON d.id = wanted.own AND d.scope = ? "
                    "WHERE d.expires_at IS NULL OR d.expires_at > ?"
                )
                rows += self._reader.execute(by_key, (*some, key, now)).fetchall()
            for row in sorted(rows, key=lambda row: int(row[0]), reverse=newest):
                yield opened(row), scope

    def ids_after(self, seq: int, limit: int, *, now: int) -> list[tuple[int, RowId]]:
        """Return (seq, id) of the next unexpired documents in order of writing."""
        t = self.tables
        with translated(self.path, "reading"):
            rows: list[tuple[int, RowId]] = self._reader.execute(
                f"SELECT seq, id FROM {t.document} WHERE seq > ? AND (expires_at IS NULL OR expires_at > ?) "
                "ORDER BY seq LIMIT ?",
                (seq, now, limit),
            ).fetchall()
            return rows

    def walk(self, *, now: int) -> Iterator[list[Entry]]:
        after = -(1 << 63)
        while batch := self.ids_after(after, 1000, now=now):
            if batch[-1][0] <= after:
                raise CorruptIndexError("its documents are not in order", path=self.path)
            after = batch[-1][0]
            yield [Entry(id, partial(self._documents.at, seq)) for seq, id in batch]
