"""Reading documents in their order: of some scopes, or of all."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.store.rows.listing import share_of
from scrubjay.store.rows.stored import Entry, RowId, StoredRow
from scrubjay.store.sqlite.connections import StoreConnection, translated
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.reading import ScopeReader

_MANY_IDS = 500  # in one statement; SQLite takes at least 999 parameters
_PAGE = 100  # rows that a listing reads at a time


class ListReader:
    """Lists the documents of a collection. Thread-safe.

    Args:
        scopes, documents: read its scopes and its documents.
    """

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
        """Yield the unexpired documents of the exact scopes, without vectors, in order of writing or the reverse.

        With `ids` only those of them; without, with `after`, only what comes behind the row with this number. Read
        it inside :meth:`snapshot`. `first` is how many the caller will read at least: each scope's share is fetched.
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
        """Return the numbers of the first unexpired rows of exact scopes, in order of writing or the reverse; read it
        inside :meth:`snapshot`. The index of scopes alone is read, unless rows have expired."""
        t = self.tables
        states = [
            self._scopes.scope_state(scope)
            for scope in scopes
            if self.cipher.readable(scope.tenant, scope.user)
        ]
        # What has expired is looked up by its own index, which names few rows or none.
        question = (
            f"SELECT seq FROM {t.document} WHERE scope = ? AND seq NOT IN (SELECT seq FROM {t.document} "
            "WHERE scope = ? AND expires_at IS NOT NULL AND expires_at <= ?) "
            f"ORDER BY seq {'DESC' if newest else 'ASC'} LIMIT ?"
        )
        found: list[int] = []
        with translated(self.path, "reading"):
            for state in states:
                if state is not None and state.documents:
                    rows = self._reader.execute(question, (state.key, state.key, now, first)).fetchall()
                    found += [number for (number,) in rows]
        return sorted(found, reverse=newest)[:first]

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
                # Page by page, none half read: until Python 3.10 the cursor of a listing that was left before its end
                # shares the cached statement with the next one after a rollback, and starts it again when it is freed.
                edge = after or None
                while True:
                    behind = "" if edge is None else f" AND seq {'<' if newest else '>'} ?"
                    asked = (key, now) if edge is None else (key, now, edge)
                    batch = self._reader.execute(f"{question}{behind}{order} LIMIT {size}", asked).fetchall()
                    for row in batch:
                        yield opened(row), scope
                    if len(batch) < size:
                        return
                    edge, size = batch[-1][0], min(_PAGE, 4 * size)
            rows: list[tuple[Any, ...]] = []
            wanted = iter(ids)
            while some := list(islice(wanted, _MANY_IDS)):
                # CROSS JOIN: each id is looked up by the key, even if SQLite would prefer the index by scope.
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
            found: list[tuple[int, RowId]] = self._reader.execute(
                f"SELECT seq, id FROM {t.document} WHERE seq > ? AND (expires_at IS NULL OR expires_at > ?) "
                "ORDER BY seq LIMIT ?",
                (seq, now, limit),
            ).fetchall()
            return found

    def walk(self, *, now: int) -> Iterator[list[Entry]]:
        """Yield the unexpired documents in order of writing, some at a time, each with what reads it; in a snapshot."""
        after = -(1 << 63)
        while batch := self.ids_after(after, 1000, now=now):
            if batch[-1][0] <= after:
                raise CorruptIndexError("its documents are not in order", path=self.path)
            after = batch[-1][0]
            yield [Entry(id, partial(self._documents.at, seq)) for seq, id in batch]
