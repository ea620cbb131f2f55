"""Walks all documents of a collection in order of writing, including those of frozen scopes."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.postgres.cold import Cold
from scrubjay.store.postgres.cold_reading import ColdRows
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.conditions import LIVE
from scrubjay.store.postgres.keys import id_of
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.staging import OF_DOCUMENT
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.values import Entry, StoredRow

_PAGE = 5_000  # rows per result


class DocumentWalk:
    """Walks the documents of all tenants. Thread-safe."""

    def __init__(self, collection: Collection, cold: ColdRows) -> None:
        self._collection = collection
        self._cold = cold

    def walk(self, *, now: int) -> Iterator[list[Entry]]:
        openers: dict[Scope, Any] = {}
        kind = self._collection.kind()
        for page in self._pages_with_frozen(now):
            yield [self._entry(row, kind, openers) for row in page]

    def _pages_with_frozen(self, now: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of the table and those of frozen scopes in one order. An object is read when its first
        row is due, and released after its last one. An error takes the place of unavailable rows."""
        waiting = deque(sorted(self._cold.everything(), key=itemgetter(0)))
        heads: list[tuple[tuple[int, str, int], tuple[Any, ...], Iterator[tuple[Any, ...]]]] = []

        def before(place: tuple[int, str, int] | None) -> Iterator[tuple[Any, ...]]:
            """Yield the rows of frozen scopes before a place (None: all remaining rows)."""
            while True:
                if _is_next(waiting, place) and not _is_next(heads, waiting[0][0]):
                    rows = self._walked(*waiting.popleft(), now)
                elif _is_next(heads, place):
                    _, head, rows = heapq.heappop(heads)
                    yield head
                else:
                    return
                for row in islice(rows, 1):
                    heapq.heappush(heads, (row[:3], row, rows))

        for page in self._pages(now):
            if waiting or heads:
                page = [one for row in page for one in (*before(row[:3]), row)]
            yield page
        rest = before(None)
        while page := list(islice(rest, _PAGE)):
            yield page

    def _walked(
        self, first: tuple[int, str, int], scope: Scope, cold: Cold, now: int
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the unexpired rows of a frozen scope in the form of a walk's rows."""
        names = names_of(scope)
        if not self._collection.cipher.readable(scope.tenant, scope.user):
            return
        try:
            rows = self._cold.rows(scope, cold)
        except CorruptIndexError as error:
            yield (*first, error)
            return
        for row in rows:
            if row.is_live(now):
                yield (row.seq, *first[1:], *row.stored[1:], *names)

    def _pages(self, now: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of the table in order of writing, page by page."""
        after: tuple[int, str, int] = (-1, "", 0)
        while True:
            page = self._collection.ask(
                f"SELECT d.seq, d.home, d.scope, d.id, d.text, d.payload, {OF_DOCUMENT}, d.hash, s.tenant, s.usr, "
                "s.agent FROM sj_document d LEFT JOIN sj_scope s ON s.home = d.home AND s.collection = d.collection "
                "AND s.key = d.scope WHERE d.collection = %s AND (d.seq, d.home, d.scope) > (%s, %s, %s) "
                f"AND {LIVE.replace('expires_at', 'd.expires_at')} ORDER BY d.seq, d.home, d.scope LIMIT {_PAGE}",
                (self._collection.number, *after, now),
                home=EVERY_HOME,
            )
            if page:
                yield page
            if len(page) < _PAGE:
                return
            after = page[-1][:3]

    def _entry(self, row: Sequence[Any], kind: str | None, openers: dict[Scope, Any]) -> Entry:
        if isinstance(row[3], CorruptIndexError):
            return _broken(row[3])
        id = id_of(row[3], kind)

        def load() -> tuple[StoredRow, Scope] | None:
            if row[8] is None:
                raise CorruptIndexError(f"its scope {row[2]} is not in the database", id=id)
            scope = scope_of(*row[8:])
            if not self._collection.cipher.readable(scope.tenant, scope.user):
                return None
            opened = openers.get(scope)
            if opened is None:
                opened = openers[scope] = self._collection.opener(scope)
            found = opened((row[0], *row[3:8]))
            if not found.usable:
                raise CorruptIndexError(str(found.damage), id=id, scope=scope)
            return found, scope

        return Entry(id, load)


def _is_next(queue: Sequence[tuple[Any, ...]], place: tuple[int, str, int] | None) -> bool:
    """Whether the first element of a queue comes before a place (None: the end)."""
    return bool(queue) and (place is None or queue[0][0] < place)


def _broken(error: CorruptIndexError) -> Entry:
    """Return an entry that stands for all documents of a frozen scope whose object is unusable."""

    def load() -> tuple[StoredRow, Scope] | None:
        raise error

    return Entry("all documents", load)
