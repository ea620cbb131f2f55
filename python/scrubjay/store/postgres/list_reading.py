"""Reads documents of scopes in order of writing or its reverse, page by page."""

from __future__ import annotations

import heapq
from collections.abc import Collection as Ids
from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.store.postgres.cold_reading import ColdRows
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.conditions import LIVE
from scrubjay.store.postgres.keys import can_hold, stored_id
from scrubjay.store.postgres.thawing import Thawing
from scrubjay.store.rows.listing import share_of
from scrubjay.store.rows.values import RowId, StoredRow

_PAGE, _FIRST_PAGE = 5_000, 200  # rows per result


class ListReader:
    """Lists documents of one collection; the methods are specified in :class:`scrubjay.store.seam.Store`.
    Thread-safe.

    Args:
        collection: of the documents.
        cold: reads the documents of frozen scopes.
        care: notified of used scopes, and of frozen scopes whose rows were read.
    """

    def __init__(self, collection: Collection, cold: ColdRows, care: Thawing) -> None:
        self._collection = collection
        self._cold = cold
        self._care = care

    def rows_in(
        self,
        scopes: Sequence[Scope],
        *,
        now: int,
        newest: bool,
        ids: Ids[RowId] | None = None,
        after: int = 0,
        first: int | None = None,
    ) -> Iterator[tuple[StoredRow, Scope]]:
        """Yield the unexpired documents of the exact scopes, without vectors, in order of writing or its reverse."""
        wanted = None if ids is None else [stored_id(id) for id in ids]
        held = [
            scope
            for scope in scopes
            if can_hold(scope) and self._collection.cipher.readable(scope.tenant, scope.user)
        ]
        size = _FIRST_PAGE if first is None else min(_FIRST_PAGE, share_of(first, len(held)))
        one_by_one = [self._rows_of(scope, now, newest, wanted, after, size) for scope in held]
        return heapq.merge(*one_by_one, key=lambda pair: pair[0].seq, reverse=newest)

    def numbers_in(self, scopes: Sequence[Scope], *, now: int, newest: bool, first: int) -> list[int]:
        by_home: dict[str, list[int]] = {}
        for scope in scopes:
            if can_hold(scope) and self._collection.cipher.readable(scope.tenant, scope.user):
                key = self._collection.homes.key(scope)
                by_home.setdefault(key.home, []).append(key.number)
        found: list[int] = []
        frozen = {
            (home, number) for home, numbers in by_home.items() for number in self._cold.of(home, numbers)
        }
        for home, numbers in by_home.items():
            rows = self._collection.ask(
                "SELECT seq FROM sj_document WHERE home = %s AND collection = %s AND scope = ANY(%s) "
                f"AND {LIVE} ORDER BY seq {'DESC' if newest else 'ASC'} LIMIT %s",
                (home, self._collection.number, numbers, now, first),
                home=home,
            )
            found += [number for (number,) in rows]
        for scope in scopes:
            if self._collection.homes.key(scope)[:2] in frozen:
                self._care.wanted(scope)
                found += [row.seq for row in self._cold.live(scope, now=now)]
        return sorted(found, reverse=newest)[:first]

    def _rows_of(
        self, scope: Scope, now: int, newest: bool, ids: list[bytes] | None, after: int, size: int
    ) -> Iterator[tuple[StoredRow, Scope]]:
        key, opened = self._collection.homes.key(scope), self._collection.opener(scope)
        position = after or (None if newest else -1)
        self._care.used(scope)
        while True:
            conditions, parameters = ["home = %s", "collection = %s", "scope = %s", LIVE], []
            parameters += [key.home, self._collection.number, key.number, now]
            if position is not None:
                conditions.append(f"seq {'<' if newest else '>'} %s")
                parameters.append(position)
            if ids is not None:
                conditions.append("id = ANY(%s)")
                parameters.append(ids)
            page = self._collection.ask(
                f"SELECT seq, id, text, payload, NULL::bytea, hash FROM sj_document WHERE {' AND '.join(conditions)} "
                f"ORDER BY seq {'DESC' if newest else 'ASC'} LIMIT {size}",
                parameters,
                home=key.home,
            )
            if not page and position == (after or (None if newest else -1)):
                for row in self._frozen_in(scope, now, newest, ids, position):
                    yield opened(row), scope
                return
            for row in page:
                yield opened(row), scope
            if len(page) < size:
                return
            position, size = page[-1][0], _PAGE if size >= _FIRST_PAGE else min(_FIRST_PAGE, 4 * size)

    def _frozen_in(
        self, scope: Scope, now: int, newest: bool, ids: list[bytes] | None, position: int | None
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a frozen scope as :meth:`_rows_of` selects them; empty if it is not frozen."""
        rows = self._cold.live(scope, now=now)
        if rows:
            self._care.wanted(scope)
        wanted = None if ids is None else set(ids)
        found = [
            (*row.stored[:4], None, row.hash)
            for row in rows
            if (wanted is None or row.id in wanted)
            and (position is None or (row.seq < position if newest else row.seq > position))
        ]
        return found[::-1] if newest else found
