"""Reads documents by id, all documents of a scope, and the changes of a scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.digest import ScopeDigest, mismatch, row_blocks
from scrubjay.store.keys.encryption import Box
from scrubjay.store.postgres.batch import Statement
from scrubjay.store.postgres.cold import OF_SCOPE, Cold
from scrubjay.store.postgres.cold_reading import ColdRows
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.conditions import LIVE, agreeing
from scrubjay.store.postgres.digests import BLOCKS, blocks_of, recent_of
from scrubjay.store.postgres.keys import Unreadable, can_hold, id_of, stored_id
from scrubjay.store.postgres.scope_reading import ScopeReader
from scrubjay.store.postgres.staging import OF_DOCUMENT, end_in_place, vector_of
from scrubjay.store.postgres.thawing import Thawing
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import Sight, names_of
from scrubjay.store.rows.sealed import is_sealed
from scrubjay.store.rows.values import Changes, RowId, StoredRow

_PAGE = 5_000  # rows per result


class DocumentReader:
    """Reads documents of one collection; the methods are specified in :class:`scrubjay.store.seam.Store`.
    Thread-safe.
    """

    def __init__(self, collection: Collection, scopes: ScopeReader, cold: ColdRows, care: Thawing) -> None:
        self._collection = collection
        self._scopes = scopes
        self._cold = cold
        self._care = care

    def get(self, id: RowId, sight: Sight, *, now: int) -> tuple[StoredRow, Scope] | None:
        scopes = self._collection.cipher.readable_of([scope for scope in sight.scopes if can_hold(scope)])
        if not scopes:
            return None
        keys = dict(self._collection.homes.by_home(scopes))

        def question(home: str) -> Statement:
            place = (home, self._collection.number)
            numbers = [key.number for key in keys[home]]
            return (
                f"SELECT scope, seq, id, text, payload, {OF_DOCUMENT}, hash, NULL::bigint, NULL::bigint "
                "FROM sj_document d WHERE home = %s "
                f"AND collection = %s AND id = %s AND scope = ANY(%s) AND {LIVE} UNION ALL "
                # Frozen scopes, and their locations, in the same snapshot as the rows.
                "SELECT scope, n_bytes, object, NULL, NULL, NULL, NULL, version, documents FROM sj_cold "
                "WHERE home = %s AND collection = %s AND scope = ANY(%s) AND thawed_at IS NULL",
                (*place, stored_id(id), numbers, now, *place, numbers),
            )

        found = self._collection.ask_each(list(keys), question)
        by_key = {row[0]: row[1:] for row in found}
        for scope in scopes:
            row = by_key.get(self._collection.homes.key(scope).number)
            if row is not None and row[6] is not None:
                self._care.wanted(scope)
                row = self._cold.row(scope, Cold(row[1], row[0], *row[6:]), stored_id(id), now)
            if row is not None:
                self._care.used(scope)
                return self._collection.sound(row[:6], scope)
        return None

    def find(self, id: RowId, within: Scope, *, now: int) -> list[tuple[StoredRow, Scope]]:
        if not can_hold(within) or not self._collection.cipher.readable(within.tenant):
            return []

        def question(home: str) -> Statement:
            condition, names = agreeing(within, home, table="s")
            place = (home, self._collection.number)
            return (
                "SELECT d.seq, d.id, d.text, d.payload, NULL::bytea, d.hash, s.tenant, s.usr, s.agent, NULL::bigint, "
                "NULL::bigint FROM sj_document d "
                "JOIN sj_scope s ON s.home = d.home AND s.collection = d.collection AND s.key = d.scope "
                f"WHERE d.home = %s AND d.collection = %s AND d.id = %s AND {condition} AND {LIVE} UNION ALL "
                "SELECT k.n_bytes, k.object, NULL, NULL, NULL, NULL, s.tenant, s.usr, s.agent, k.version, k.documents "
                f"FROM sj_cold k JOIN sj_scope s ON {OF_SCOPE} WHERE k.home = %s AND k.collection = %s "
                f"AND k.thawed_at IS NULL AND {condition}",
                (*place, stored_id(id), *names, now, *place, *names),
            )

        found = self._collection.ask_each(self._collection.homes.within(within), question)
        rows = []
        for row in found:
            scope = scope_of(*row[6:9])
            if row[9] is not None and self._collection.cipher.readable(scope.tenant, scope.user):
                own = self._cold.row(scope, Cold(row[1], row[0], *row[9:]), stored_id(id), now)
                if own is not None:
                    rows.append(((*own[:4], None, own[5]), scope))
            elif row[9] is None:
                rows.append((row[:6], scope))
        return [
            self._collection.sound(row, scope)
            for row, scope in sorted(rows, key=itemgetter(1))
            if self._collection.cipher.readable(scope.tenant, scope.user)
        ]

    def rows(self, scope: Scope, *, now: int) -> Iterator[StoredRow]:
        if not can_hold(scope):
            return
        key, opened, after = self._collection.homes.key(scope), self._collection.opener(scope), -1
        digest = None
        if (
            self._collection.cipher.ring is not None
            and (state := self._scopes.scope_state(scope)) is not None
        ):
            digest = self._collection.digest(scope, state)
        vector, asked = vector_of(key, self._collection.number)
        more, asked_more = ("", ()) if digest is None else end_in_place(key, self._collection.number)
        blocks = bytearray()
        while True:
            page = self._collection.ask(
                f"SELECT seq, id, text, payload, {vector}, hash {more and f', expires_at, {more}'} "
                "FROM sj_document d WHERE home = %s AND collection = %s "
                f"AND scope = %s AND seq > %s AND {LIVE} ORDER BY seq LIMIT {_PAGE}",
                (*asked, *asked_more, key.home, self._collection.number, key.number, after, now),
                home=key.home,
            )
            if not page and after == -1 and (cold := self._cold.of_key(key)) is not None:
                yield from self._frozen_rows(scope, cold, digest, now)
                return
            for row in page:
                yield opened(row[:6])
                if digest is not None:  # sealed values end with their tag
                    blocks += _blocks_of(digest[0], row)
            if len(page) < _PAGE:
                break
            after = page[-1][0]
        if digest is not None:
            gone = self._collection.ask(
                f"SELECT seq, expires_at, {BLOCKS} FROM sj_document d WHERE home = %s AND collection = %s "
                "AND scope = %s AND expires_at <= %s",
                (key.home, self._collection.number, key.number, now),
                home=key.home,
            )
            blocks += b"".join(blocks_of(digest[0], *row) for row in gone)
            if digest[0].total(blocks) != digest[1].total:
                raise mismatch(names_of(scope), "its rows do not match its digest")

    def _frozen_rows(
        self, scope: Scope, cold: Cold, digest: tuple[Box, ScopeDigest] | None, now: int
    ) -> Iterator[StoredRow]:
        """Yield the unexpired documents of a frozen scope; see :meth:`rows`."""
        opened, blocks = self._collection.opener(scope), bytearray()
        for row in self._cold.rows(scope, cold):
            if row.is_live(now):
                yield opened(row.stored)
            if digest is not None:
                blocks += _blocks_of(digest[0], (*row.stored, row.expires_at, None))
        if digest is not None and digest[0].total(blocks) != digest[1].total:
            raise mismatch(names_of(scope), "its rows do not match its digest")

    def changes(
        self, key: Any, after: int, *, now: int, digest: tuple[Box, ScopeDigest] | None = None
    ) -> Changes:
        if not key:
            return Changes([], [])
        scope, kind = key.scope, self._collection.kind()
        place = (key.home, self._collection.number, key.number)
        gone = self._collection.ask(
            "SELECT id FROM sj_tombstone WHERE home = %s AND collection = %s AND scope = %s AND seq > %s UNION ALL "
            "SELECT id FROM sj_document WHERE home = %s AND collection = %s AND scope = %s AND seq > %s "
            "AND expires_at <= %s",
            (*place, after, *place, after, now),
            home=key.home,
        )
        vector, asked = vector_of(key, self._collection.number)
        rows = self._collection.ask(
            f"SELECT seq, id, text, payload, {vector}, hash FROM sj_document d WHERE home = %s AND collection = %s "
            f"AND scope = %s AND seq > %s AND {LIVE} ORDER BY seq",
            (*asked, *place, after, now),
            home=key.home,
        )
        cold = None if gone or rows else self._cold.of_key(key)
        if cold is not None and cold.version > after:
            frozen = [row for row in self._cold.rows(scope, cold) if row.seq > after]
            gone = [(row.id,) for row in frozen if not row.is_live(now)]
            rows = [row.stored for row in frozen if row.is_live(now)]
        ids = (id_of(data, kind) for (data,) in gone)
        opened = self._collection.opener(scope)
        if digest is not None:
            recent = recent_of(self._collection.ask, digest[0], key, self._collection.number, after)
            if recent != digest[1].recent:
                raise CorruptIndexError("rows after the image were rolled back or removed")
        return Changes([id for id in ids if not isinstance(id, Unreadable)], [opened(row) for row in rows])


def _blocks_of(box: Box, row: Sequence[Any]) -> bytes:
    """Return what a row (seq, id, text, payload, vector, hash, expiry, end of the vector in place) contributes to
    a digest."""
    seq, _, text, payload, vector, _, expires_at, in_place = row
    if not is_sealed(text):
        return b""
    return row_blocks(box, seq, expires_at, (text, payload, vector if in_place is None else in_place or None))
