"""Queries over the rows of one collection. A thread reads on a connection of its own for as long as a call takes, or on
that of its snapshot or transaction."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from operator import itemgetter
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError, EncryptionError
from scrubjay.store.keys.digest import ScopeDigest, mismatch, row_blocks
from scrubjay.store.keys.encryption import Box, KeyRing
from scrubjay.store.keys.opening import DataKey
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.batch import Batch, Parameters, Statement
from scrubjay.store.postgres.cold import OF_SCOPE, Cold, ColdRows, expired_sql
from scrubjay.store.postgres.digests import BLOCKS, blocks_of, recent_of
from scrubjay.store.postgres.errors import is_away, translated
from scrubjay.store.postgres.images import image_chunks
from scrubjay.store.postgres.keys import Homes, Key, Unreadable, can_hold, id_of, stored_id
from scrubjay.store.postgres.loading import Loaded
from scrubjay.store.postgres.sealing import KEY, Keys, Sealer, data_key_of, table_of
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.staging import OF_DOCUMENT, end_in_place, vector_of
from scrubjay.store.postgres.used import today
from scrubjay.store.postgres.user_keys import DatabaseUserKeys
from scrubjay.store.postgres.walls import EVERY_HOME, NO_HOME, Home
from scrubjay.store.rows.decoding import Undecodable, row_reader, scope_of, unmarked
from scrubjay.store.rows.listing import share_of
from scrubjay.store.rows.scopes import Sight, names_of
from scrubjay.store.rows.sealed import is_sealed
from scrubjay.store.rows.stored import Changes, Entry, Event, Identity, Look, RowId, ScopeState, StoredRow

__all__ = ["PostgresReader"]

_PAGE, _FIRST_PAGE = 5_000, 200  # rows in one answer
_LIVE = "(expires_at IS NULL OR expires_at > %s)"
_STATE = "key, version, horizon, documents, vectors, digest"


class PostgresReader:
    """The half of a store that reads; see :mod:`scrubjay.store.seam` for what the questions mean."""

    def __init__(
        self,
        server: Server,
        collection: int,
        identity: Identity,
        ring: KeyRing | None = None,
        *,
        homes: Homes,
    ) -> None:
        self.server = server
        self.number = collection
        self.homes = homes
        self.cipher = Keys(ring, self._data_key, self._sealer, DatabaseUserKeys(self.ask, homes))
        self._id_kind = identity.id_kind
        self._local = threading.local()  # .batch: of this thread's snapshot or transaction

        self.cold = ColdRows(self.ask, collection, lambda: self.objects, self.cipher, server.place)

    path = None
    objects: ObjectStore | None = None
    """Where large images are kept; None: in their rows."""

    @property
    def place(self) -> str:
        """The address without user and password."""
        return self.server.place

    def _sealer(self) -> Sealer | None:
        """What this thread's transaction seals with."""
        return None

    def _data_key(self, tenant: str) -> DataKey | None:
        if "\0" in tenant:
            return None
        home = self.homes.own(tenant)  # its buckets have copies
        found = self.ask(f"SELECT {KEY} FROM sj_home WHERE home = %s", (home,), home=home)
        return data_key_of(tenant, found[0]) if found else None

    # ------------------------------------------------------------------ asking

    def ask(
        self,
        query: str,
        parameters: Parameters = (),
        *,
        home: Home = NO_HOME,
        doing: str = "reading",
    ) -> list[tuple[Any, ...]]:
        """Return the rows of one statement about a home, on this thread's connection if it has one."""
        return self._answered([(home, (query, parameters))], doing)[0]

    def ask_each(
        self, homes: Sequence[str], question: Callable[[str], Statement], *, doing: str = "reading"
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement about each of several homes, home by home; asked in one round trip."""
        if len(homes) == 1:
            return self.ask(*question(homes[0]), home=homes[0], doing=doing)
        answers = self._answered([(home, question(home)) for home in homes], doing)
        return [row for rows in answers for row in rows]

    def _answered(
        self, statements: Sequence[tuple[Home, Statement]], doing: str
    ) -> list[list[tuple[Any, ...]]]:
        batch: Batch | None = getattr(self._local, "batch", None)
        with translated(self.place, doing):
            if batch is None:
                return self._ask_once(statements)
            if not self._local.is_begun:
                return self._begin_and_ask(statements)
            return batch.ask_each(statements)

    def _ask_once(self, statements: Sequence[tuple[Home, Statement]]) -> list[list[tuple[Any, ...]]]:
        connection = self.server.take()
        try:
            return Batch(connection, begun=False).ask_each(statements)
        except Exception as error:
            if not is_away(error):
                raise
            self.server.forget_resting()
        finally:
            self.server.give(connection)
        connection = self.server.take(fresh=True)  # the other one may have rested since before a restart
        try:
            return Batch(connection, begun=False).ask_each(statements)
        finally:
            self.server.give(connection)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let every read of this thread inside see one state; inside of a transaction, what that sees."""
        if getattr(self._local, "batch", None) is not None:
            yield
            return
        with translated(self.place, "reading"):
            self._local.batch, self._local.is_begun = Batch(self.server.take()), False
            try:
                yield
            finally:
                connection = self._local.batch.connection  # begun on another one, if the first was dead
                self._local.batch = self._local.seen = None
                if self._local.is_begun:
                    with suppress(Exception):
                        connection.execute("ROLLBACK")
                self.server.give(connection)

    def _begin_and_ask(self, statements: Sequence[tuple[Home, Statement]]) -> list[list[tuple[Any, ...]]]:
        """Begin the snapshot along with its first question, in one round trip."""
        for is_last in (False, True):
            batch = self._local.batch
            try:
                batch.add("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                found: list[list[tuple[Any, ...]]] = batch.ask_each(statements)
                self._local.is_begun = True
                return found
            except Exception as error:
                if is_last or not is_away(error):
                    self._local.is_begun = True  # whatever there is to roll back
                    raise
                self.server.give(batch.connection)
                self.server.forget_resting()
                self._local.batch = Batch(self.server.take(fresh=True))
        raise AssertionError("unreachable")

    # ------------------------------------------------------------------ what it is, scopes

    def identity(self) -> Identity:
        """Return what the collection is made of, as of now."""
        found = schema.identity_of(self.ask(schema.IDENTITY, (self.number,)))
        self._id_kind = found.id_kind
        return found

    def _kind(self) -> str | None:
        if self._id_kind is None:
            self.identity()
        return self._id_kind

    def scope_state(self, scope: Scope) -> ScopeState | None:
        """Return the state of exactly this scope; None if nothing was ever written to it."""
        if not can_hold(scope):
            return None
        key = self.homes.key(scope)
        found = self.ask(
            f"SELECT {_STATE} FROM sj_scope WHERE home = %s AND collection = %s AND key = %s "
            "AND tenant = %s AND usr = %s AND agent = %s",
            (key.home, self.number, key.number, *names_of(scope)),
            home=key.home,
        )
        return ScopeState(key, *found[0][1:]) if found else None

    def scope_states(self, scopes: Sequence[Scope]) -> list[ScopeState | None]:
        """Return the states of exact scopes of one tenant."""
        keys = dict(self.homes.by_home(scopes))
        if not keys:
            return [None] * len(scopes)
        found = self.ask_each(
            list(keys),
            lambda home: (
                f"SELECT tenant, usr, agent, {_STATE} FROM sj_scope WHERE home = %s AND collection = %s "
                "AND key = ANY(%s)",
                (home, self.number, [key.number for key in keys[home]]),
            ),
        )
        by_names = {row[:3]: row[4:] for row in found}
        states = ((scope, by_names.get(names_of(scope))) for scope in scopes)
        return [
            None if state is None else ScopeState(self.homes.key(scope), *state) for scope, state in states
        ]

    def look(self, scope: Scope, *, now: int) -> Look:
        """Return the state of a scope, and what of it has expired or will."""
        if not can_hold(scope):
            return Look(None, [], None)
        key = self.homes.key(scope)
        place = (key.home, self.number, key.number)
        own = "d.home = s.home AND d.collection = s.collection AND d.scope = s.key AND d.expires_at"
        found = self.ask(
            f"SELECT {_STATE}, ARRAY(SELECT d.id FROM sj_document d WHERE {own} <= %s), "
            f"(SELECT min(d.expires_at) FROM sj_document d WHERE {own} > %s), "
            "(SELECT generation FROM sj_collection c WHERE c.collection = s.collection), s.cold, s.used "
            "FROM sj_scope s WHERE home = %s AND collection = %s AND key = %s "
            "AND tenant = %s AND usr = %s AND agent = %s",
            (now, now, *place, *names_of(scope)),
            home=key.home,
        )
        self._saw(key, bool(found) and found[0][-2] is not None)
        if not found:
            return Look(None, [], None)
        *state, expired, next_expiry, generation, cold, used = found[0]
        self._saw_generation(generation)
        if cold is not None:
            expiries = self.cold.expiries(key)
            next_expiry = next((at for at in expiries if at > now), None)
            if expiries and expiries[0] <= now:
                expired = [row.id for row in self.frozen(scope, now=None) if not _is_live(row, now)]
        elif used < today():
            self._used(scope)
        ids = (id_of(data, self._kind()) for data in expired)
        gone = [id for id in ids if not isinstance(id, Unreadable)]
        return Look(ScopeState(key, *state[1:]), gone, next_expiry)

    def _saw(self, key: Key, is_cold: bool) -> None:
        """Remember for the rest of this thread's snapshot whether a scope is frozen."""
        batch = getattr(self._local, "batch", None)
        self._local.seen = None if batch is None else (batch, key, is_cold)

    def _cold_of(self, key: Key) -> Cold | None:
        """Return where the rows of a scope are if it is frozen; in a snapshot."""
        seen = getattr(self._local, "seen", None)
        if seen is not None and seen == (self._local.batch, key, False):
            return None
        return self.cold.of(key.home, [key.number]).get(key.number)

    def frozen(self, scope: Scope, *, now: int | None) -> list[Loaded]:
        """Return the rows of a scope that is frozen, unexpired ones (`now` None: all); none if it is not."""
        cold = self._cold_of(self.homes.key(scope))
        rows = [] if cold is None else self.cold.rows(scope, cold)
        return [row for row in rows if now is None or _is_live(row, now)]

    def _used(self, scope: Scope) -> None:
        """A scope was read, by whatever question."""

    def _wanted(self, scope: Scope) -> None:
        """Rows of a frozen scope were asked for, by id or in a list."""

    def _saw_generation(self, generation: int | None) -> None:
        """The collection has this generation, or had it not long ago."""

    def scopes(self) -> list[tuple[Scope, ScopeState]]:
        """Return every scope that has documents."""
        found = self.ask(
            f"SELECT tenant, usr, agent, home, {_STATE} FROM sj_scope WHERE collection = %s AND documents > 0",
            (self.number,),
            home=EVERY_HOME,
        )
        scopes = [scope_of(*row[:3]) for row in found]
        return [
            (scope, ScopeState(self.homes.key(scope), *row[5:]))
            for scope, row in zip(scopes, found, strict=True)
        ]

    def living_scopes(
        self,
        within: Scope | None,
        *,
        now: int,
        users: tuple[str, str] | None = None,
        after: Scope | None = None,
        limit: int | None = None,
    ) -> list[Scope]:
        """Return every scope that has unexpired documents and agrees with `within`; with `users` only those whose user
        is at or after the first text and before the second, by code point; with a `limit` the first ones behind the
        scope `after`."""
        if within is not None and not can_hold(within):
            return []
        more = ""
        more_names: tuple[str, ...] = ()
        if users is not None:  # NUL is in no name here
            more = ' AND s.usr COLLATE "C" >= %s AND s.usr COLLATE "C" < %s'
            more_names += tuple(end.replace("\0", "\x01") for end in users)
        page = ""
        last: tuple[int, ...] = ()
        in_order = ", ".join(f's.{column} COLLATE "C"' for column in ("tenant", "usr", "agent"))
        if after is not None:
            more = f"{more} AND ({in_order}) > (%s, %s, %s)"
            more_names += tuple(name.replace("\0", "\x01") for name in names_of(after))
        if limit is not None:
            page, last = f" ORDER BY {in_order} LIMIT %s", (limit,)

        def question(home: str | None) -> Statement:
            condition, names = agreeing(within, home, table="s")
            return (
                "SELECT tenant, usr, agent FROM sj_scope s WHERE collection = %s AND documents > 0 "
                f"AND {condition}{more} AND (s.cold IS NOT NULL AND s.documents > {expired_sql(OF_SCOPE)} "
                "OR EXISTS(SELECT 1 FROM sj_document d WHERE d.home = s.home AND d.collection = s.collection "
                f"AND d.scope = s.key AND {_LIVE})){page}",
                (self.number, *names, *more_names, now, now, *last),
            )

        if within is None:
            found = self.ask(*question(None), home=EVERY_HOME)
        else:
            found = self.ask_each(self.homes.within(within), question)
        if limit is not None:  # the first ones of each home
            found = sorted(found)[:limit]
        return [scope_of(*row) for row in found]

    def stale_scopes(self) -> list[Scope]:
        """Return scopes with documents whose images are missing or older than the last write."""
        found = self.ask(
            "SELECT tenant, usr, agent FROM sj_scope s WHERE collection = %s AND documents > 0 AND s.cold IS NULL "
            "AND NOT EXISTS(SELECT 1 FROM sj_image i WHERE i.home = s.home AND i.collection = s.collection "
            "AND i.scope = s.key AND i.version = s.version)",
            (self.number,),
            home=EVERY_HOME,
        )
        return [scope_of(*row) for row in found]

    def count(self, scopes: Sequence[Scope] | None, *, now: int) -> int:
        """Return how many unexpired documents the exact scopes have together; None: all scopes."""
        if scopes is None:
            condition, parameters = "collection = %s", [self.number]
            (total,) = self.ask(
                f"SELECT (SELECT coalesce(sum(documents), 0)::bigint FROM sj_scope WHERE {condition}) - "
                f"(SELECT count(*) FROM sj_document WHERE {condition} AND expires_at <= %s) - "
                f"{expired_sql('k.collection = %s')}",
                (*parameters, *parameters, now, *parameters, now),
                home=EVERY_HOME,
            )[0]
            return int(total)
        n = 0
        for home, group in self.homes.by_home(scopes):
            keys = [key.number for key in group]
            (part,) = self.ask(
                "SELECT (SELECT coalesce(sum(documents), 0)::bigint FROM sj_scope WHERE home = %s AND collection = %s "
                "AND key = ANY(%s)) - (SELECT count(*) FROM sj_document WHERE home = %s AND collection = %s "
                "AND scope = ANY(%s) AND expires_at <= %s) - "
                + expired_sql("k.home = %s AND k.collection = %s AND k.scope = ANY(%s)"),
                (home, self.number, keys, *(home, self.number, keys, now) * 2),
                home=home,
            )[0]
            n += int(part)
        return n

    def vector_count(self, *, now: int) -> int:
        """Return how many unexpired documents have a vector, or vectors of their passages."""
        (total,) = self.ask(
            "SELECT (SELECT coalesce(sum(vectors), 0)::bigint FROM sj_scope WHERE collection = %s) - "
            "(SELECT count(vector) FROM sj_document WHERE collection = %s AND expires_at <= %s) - "
            + expired_sql("k.collection = %s", expiries="vector_expiries"),
            (self.number, *(self.number, now) * 2),
            home=EVERY_HOME,
        )[0]
        return int(total)

    # ------------------------------------------------------------------ documents

    def _row(self, scope: Scope) -> Any:
        """Return what makes rows of this scope of (seq, id, text, payload, vector, hash) as they are stored."""
        kind = self._kind()
        opened = None if self.cipher.ring is None else self.cipher.row_opener(table_of(self.number), scope)
        read = row_reader(scope, opened, lambda: self._data_key(scope.tenant), self.place)

        def row(stored: Sequence[Any]) -> StoredRow:
            seq, data, text, payload, vector, checksum = stored
            id = id_of(data, kind)
            if isinstance(id, Unreadable):
                if is_sealed(text):  # authenticated with its id: something else changed that
                    raise CorruptIndexError("its id is not what was written", path=self.place, scope=scope)
                return StoredRow(
                    seq, repr(bytes(data)), "", None, None, "its id is not what was written", False
                )
            return read((seq, id, text if is_sealed(text) else _text(text), payload, vector, checksum))

        return row

    def rows(self, scope: Scope, *, now: int) -> Iterator[StoredRow]:
        """Yield the unexpired documents of exactly this scope in order of writing; in a snapshot.

        Raises:
            CorruptIndexError: a sealed row was changed, or (after the last one) rows were put back or taken out.
        """
        if not can_hold(scope):
            return
        key, opened, after = self.homes.key(scope), self._row(scope), -1
        digest = None
        if self.cipher.ring is not None and (state := self.scope_state(scope)) is not None:
            digest = self.digest(scope, state)
        vector, asked = vector_of(key, self.number)
        more, asked_more = ("", ()) if digest is None else end_in_place(key, self.number)
        blocks = bytearray()
        while True:
            page = self.ask(
                f"SELECT seq, id, text, payload, {vector}, hash {more and f', expires_at, {more}'} "
                "FROM sj_document d WHERE home = %s AND collection = %s "
                f"AND scope = %s AND seq > %s AND {_LIVE} ORDER BY seq LIMIT {_PAGE}",
                (*asked, *asked_more, key.home, self.number, key.number, after, now),
                home=key.home,
            )
            if not page and after == -1 and (cold := self._cold_of(key)) is not None:
                yield from self._frozen_rows(scope, cold, digest, now)
                return
            for row in page:
                yield opened(row[:6])
                if digest is not None:  # what was opened ends with its tag
                    blocks += _blocks_of(digest[0], row)
            if len(page) < _PAGE:
                break
            after = page[-1][0]
        if digest is not None:
            gone = self.ask(
                f"SELECT seq, expires_at, {BLOCKS} FROM sj_document d WHERE home = %s AND collection = %s "
                "AND scope = %s AND expires_at <= %s",
                (key.home, self.number, key.number, now),
                home=key.home,
            )
            blocks += b"".join(blocks_of(digest[0], *row) for row in gone)
            if digest[0].total(blocks) != digest[1].total:
                raise mismatch(names_of(scope), "its rows are not those of its digest")

    def _frozen_rows(
        self, scope: Scope, cold: Cold, digest: tuple[Box, ScopeDigest] | None, now: int
    ) -> Iterator[StoredRow]:
        """Yield the unexpired documents of a frozen scope; see :meth:`rows`."""
        opened, blocks = self._row(scope), bytearray()
        for row in self.cold.rows(scope, cold):
            if _is_live(row, now):
                yield opened(_raw(row))
            if digest is not None:
                blocks += _blocks_of(digest[0], (*_raw(row), row.expires_at, None))
        if digest is not None and digest[0].total(blocks) != digest[1].total:
            raise mismatch(names_of(scope), "its rows are not those of its digest")

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
        """Yield the unexpired documents of the exact scopes, without vectors, in order of writing or the reverse."""
        wanted = None if ids is None else [stored_id(id) for id in ids]
        held = [
            scope for scope in scopes if can_hold(scope) and self.cipher.readable(scope.tenant, scope.user)
        ]
        size = _FIRST_PAGE if first is None else min(_FIRST_PAGE, share_of(first, len(held)))
        one_by_one = [self._rows_of(scope, now, newest, wanted, after, size) for scope in held]
        return heapq.merge(*one_by_one, key=lambda pair: pair[0].seq, reverse=newest)

    def numbers_in(self, scopes: Sequence[Scope], *, now: int, newest: bool, first: int) -> list[int]:
        """Return the numbers of the first unexpired rows of exact scopes, in order of writing or the reverse."""
        by_home: dict[str, list[int]] = {}
        for scope in scopes:
            if can_hold(scope) and self.cipher.readable(scope.tenant, scope.user):
                key = self.homes.key(scope)
                by_home.setdefault(key.home, []).append(key.number)
        found: list[int] = []
        frozen = {
            (home, number) for home, numbers in by_home.items() for number in self.cold.of(home, numbers)
        }
        for home, numbers in by_home.items():
            rows = self.ask(
                "SELECT seq FROM sj_document WHERE home = %s AND collection = %s AND scope = ANY(%s) "
                f"AND {_LIVE} ORDER BY seq {'DESC' if newest else 'ASC'} LIMIT %s",
                (home, self.number, numbers, now, first),
                home=home,
            )
            found += [number for (number,) in rows]
        for scope in scopes:
            if self.homes.key(scope)[:2] in frozen:
                self._wanted(scope)
                found += [row.seq for row in self.frozen(scope, now=now)]
        return sorted(found, reverse=newest)[:first]

    def _rows_of(
        self, scope: Scope, now: int, newest: bool, ids: list[bytes] | None, after: int, size: int
    ) -> Iterator[tuple[StoredRow, Scope]]:
        key, opened = self.homes.key(scope), self._row(scope)
        position = after or (None if newest else -1)
        self._used(scope)
        while True:
            conditions, parameters = ["home = %s", "collection = %s", "scope = %s", _LIVE], []
            parameters += [key.home, self.number, key.number, now]
            if position is not None:
                conditions.append(f"seq {'<' if newest else '>'} %s")
                parameters.append(position)
            if ids is not None:
                conditions.append("id = ANY(%s)")
                parameters.append(ids)
            page = self.ask(
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
        """Return the rows of a scope that is frozen, as :meth:`_rows_of` asks for them; none if it is not."""
        rows = self.frozen(scope, now=now)
        if rows:
            self._wanted(scope)
        wanted = None if ids is None else set(ids)
        found = [
            (*_raw(row)[:4], None, row.hash)
            for row in rows
            if (wanted is None or row.id in wanted)
            and (position is None or (row.seq < position if newest else row.seq > position))
        ]
        return found[::-1] if newest else found

    def changes(
        self, key: Any, after: int, *, now: int, digest: tuple[Box, ScopeDigest] | None = None
    ) -> Changes:
        """Return what happened to the scope with this key after version `after`; in a snapshot.

        Raises:
            CorruptIndexError: `digest` has another sum of what came after its image.
        """
        if not key:
            return Changes([], [])
        scope, kind = key.scope, self._kind()
        place = (key.home, self.number, key.number)
        gone = self.ask(
            "SELECT id FROM sj_tombstone WHERE home = %s AND collection = %s AND scope = %s AND seq > %s UNION ALL "
            "SELECT id FROM sj_document WHERE home = %s AND collection = %s AND scope = %s AND seq > %s "
            "AND expires_at <= %s",
            (*place, after, *place, after, now),
            home=key.home,
        )
        vector, asked = vector_of(key, self.number)
        rows = self.ask(
            f"SELECT seq, id, text, payload, {vector}, hash FROM sj_document d WHERE home = %s AND collection = %s "
            f"AND scope = %s AND seq > %s AND {_LIVE} ORDER BY seq",
            (*asked, *place, after, now),
            home=key.home,
        )
        cold = None if gone or rows else self._cold_of(key)
        if cold is not None and cold.version > after:
            frozen = [row for row in self.cold.rows(scope, cold) if row.seq > after]
            gone = [(row.id,) for row in frozen if not _is_live(row, now)]
            rows = [_raw(row) for row in frozen if _is_live(row, now)]
        ids = (id_of(data, kind) for (data,) in gone)
        opened = self._row(scope)
        if digest is not None:
            recent = recent_of(self.ask, digest[0], key, self.number, after)
            if recent != digest[1].recent:
                raise CorruptIndexError("what came after the image was put back or taken out")
        return Changes([id for id in ids if not isinstance(id, Unreadable)], [opened(row) for row in rows])

    def get(self, id: RowId, sight: Sight, *, now: int) -> tuple[StoredRow, Scope] | None:
        """Return the unexpired document with this id of the first scope that has one, all of the same tenant."""
        scopes = self.cipher.readable_of([scope for scope in sight.scopes if can_hold(scope)])
        if not scopes:
            return None
        keys = dict(self.homes.by_home(scopes))

        def question(home: str) -> Statement:
            place = (home, self.number)
            numbers = [key.number for key in keys[home]]
            return (
                f"SELECT scope, seq, id, text, payload, {OF_DOCUMENT}, hash, NULL::bigint, NULL::bigint "
                "FROM sj_document d WHERE home = %s "
                f"AND collection = %s AND id = %s AND scope = ANY(%s) AND {_LIVE} UNION ALL "
                # Of one state with the rows: what is frozen, and where.
                "SELECT scope, n_bytes, object, NULL, NULL, NULL, NULL, version, documents FROM sj_cold "
                "WHERE home = %s AND collection = %s AND scope = ANY(%s) AND thawed_at IS NULL",
                (*place, stored_id(id), numbers, now, *place, numbers),
            )

        found = self.ask_each(list(keys), question)
        by_key = {row[0]: row[1:] for row in found}
        for scope in scopes:
            row = by_key.get(self.homes.key(scope).number)
            if row is not None and row[6] is not None:
                self._wanted(scope)
                row = self._frozen_row(scope, Cold(row[1], row[0], *row[6:]), stored_id(id), now)
            if row is not None:
                self._used(scope)
                return self.sound(row[:6], scope)
        return None

    def _frozen_row(self, scope: Scope, cold: Cold, id: bytes, now: int) -> tuple[Any, ...] | None:
        """Return the unexpired row of a frozen scope with this id, as it is stored; None: there is none."""
        rows = self.cold.rows(scope, cold)
        return next((_raw(row) for row in rows if row.id == id and _is_live(row, now)), None)

    def find(self, id: RowId, within: Scope, *, now: int) -> list[tuple[StoredRow, Scope]]:
        """Return the documents with this id in scopes that agree with `within`, in order of scope, without vectors."""
        if not can_hold(within) or not self.cipher.readable(within.tenant):
            return []

        def question(home: str) -> Statement:
            condition, names = agreeing(within, home, table="s")
            place = (home, self.number)
            return (
                "SELECT d.seq, d.id, d.text, d.payload, NULL::bytea, d.hash, s.tenant, s.usr, s.agent, NULL::bigint, "
                "NULL::bigint FROM sj_document d "
                "JOIN sj_scope s ON s.home = d.home AND s.collection = d.collection AND s.key = d.scope "
                f"WHERE d.home = %s AND d.collection = %s AND d.id = %s AND {condition} AND {_LIVE} UNION ALL "
                "SELECT k.n_bytes, k.object, NULL, NULL, NULL, NULL, s.tenant, s.usr, s.agent, k.version, k.documents "
                f"FROM sj_cold k JOIN sj_scope s ON {OF_SCOPE} WHERE k.home = %s AND k.collection = %s "
                f"AND k.thawed_at IS NULL AND {condition}",
                (*place, stored_id(id), *names, now, *place, *names),
            )

        found = self.ask_each(self.homes.within(within), question)
        rows = []
        for row in found:
            scope = scope_of(*row[6:9])
            if row[9] is not None and self.cipher.readable(scope.tenant, scope.user):
                own = self._frozen_row(scope, Cold(row[1], row[0], *row[9:]), stored_id(id), now)
                if own is not None:
                    rows.append(((*own[:4], None, own[5]), scope))
            elif row[9] is None:
                rows.append((row[:6], scope))
        return [
            self.sound(row, scope)
            for row, scope in sorted(rows, key=itemgetter(1))
            if self.cipher.readable(scope.tenant, scope.user)
        ]

    def sound(self, row: Sequence[Any], scope: Scope) -> tuple[StoredRow, Scope]:
        """Return a document as it is stored (seq, id, text, payload, vector, hash); raise CorruptIndexError unless it
        is what was written."""
        opened = self._row(scope)(row)
        if not opened.usable:
            raise CorruptIndexError(str(opened.damage), id=opened.id, scope=scope)
        return opened, scope

    def walk(self, *, now: int) -> Iterator[list[Entry]]:
        """Yield the unexpired documents of all tenants in order of writing, some at a time; in a snapshot."""
        openers: dict[Scope, Any] = {}
        kind = self._kind()
        for page in self._pages_with_frozen(now):
            yield [self._entry(row, kind, openers) for row in page]

    def _pages_with_frozen(self, now: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of the table and those of frozen scopes in one order; an object is read when its first row is
        due, and left with its last one. In the place of rows that cannot be had stands the error."""
        waiting = deque(sorted(self.cold.everything(), key=itemgetter(0)))
        heads: list[tuple[tuple[int, str, int], tuple[Any, ...], Iterator[tuple[Any, ...]]]] = []

        def before(place: tuple[int, str, int] | None) -> Iterator[tuple[Any, ...]]:
            """Yield what of frozen scopes comes before a place (None: all that is left)."""
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
        """Yield the unexpired rows of a frozen scope as those of the table come in a walk."""
        names = names_of(scope)
        if not self.cipher.readable(scope.tenant, scope.user):
            return
        try:
            rows = self.cold.rows(scope, cold)
        except CorruptIndexError as error:
            yield (*first, error)
            return
        for row in rows:
            if _is_live(row, now):
                yield (row.seq, *first[1:], *_raw(row)[1:], *names)

    def _pages(self, now: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of the table in order of writing, some at a time."""
        after: tuple[int, str, int] = (-1, "", 0)
        while True:
            page = self.ask(
                f"SELECT d.seq, d.home, d.scope, d.id, d.text, d.payload, {OF_DOCUMENT}, d.hash, s.tenant, s.usr, "
                "s.agent FROM sj_document d LEFT JOIN sj_scope s ON s.home = d.home AND s.collection = d.collection "
                "AND s.key = d.scope WHERE d.collection = %s AND (d.seq, d.home, d.scope) > (%s, %s, %s) "
                f"AND {_LIVE.replace('expires_at', 'd.expires_at')} ORDER BY d.seq, d.home, d.scope LIMIT {_PAGE}",
                (self.number, *after, now),
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
            if not self.cipher.readable(scope.tenant, scope.user):
                return None
            opened = openers.get(scope)
            if opened is None:
                opened = openers[scope] = self._row(scope)
            found = opened((row[0], *row[3:8]))
            if not found.usable:
                raise CorruptIndexError(str(found.damage), id=id, scope=scope)
            return found, scope

        return Entry(id, load)

    def encrypted_tenants(self) -> list[str]:
        """Return the tenants that have a data key, in alphabetical order."""
        found = self.ask("SELECT home FROM sj_home WHERE key_id IS NOT NULL", home=EVERY_HOME)
        return sorted({self.homes.tenant(home) for (home,) in found})

    def tenants_without_key(self) -> set[str]:
        """Return the encrypted tenants whose keys are not available now; not those whose keys were destroyed."""
        away: set[str] = set()
        for tenant in self.encrypted_tenants():
            try:
                self.cipher.readable(tenant) if self.cipher.ring is not None else away.add(tenant)
            except (EncryptionError, CorruptIndexError):
                away.add(tenant)
        return away

    def digest(self, scope: Scope, state: ScopeState) -> tuple[Box, ScopeDigest] | None:
        """Return the digest of a scope in a state that was read; None: it has none.

        Raises:
            CorruptIndexError: the state, or the digest, was put back or changed.
        """
        return self.cipher.scope_digest(table_of(self.number), scope, state)

    # ------------------------------------------------------------------ beside the documents

    def events(self) -> list[Event]:
        """Return the deletion events, oldest first."""
        found = self.ask(
            "SELECT e.at, e.reason, s.tenant, s.usr, s.agent, e.documents FROM sj_event e JOIN sj_scope s ON "
            "s.home = e.home AND s.collection = e.collection AND s.key = e.scope WHERE e.collection = %s "
            "ORDER BY e.version, e.home, e.scope",
            (self.number,),
            home=EVERY_HOME,
        )
        return [Event(row[0], row[1].decode(), scope_of(*row[2:5]), row[5]) for row in found]

    def image(self, key: Any) -> tuple[int, list[bytes]] | None:
        """Return (version, chunks) of a scope's image; None if there is none, or a part is missing.

        Of objects not the copies of this machine are read.
        """
        found = self._image(key, past_cache=True)
        return None if found is None else (found[0], [bytes(chunk) for chunk in found[1]])

    @contextmanager
    def image_views(
        self, scope: Scope, key: Any
    ) -> Iterator[tuple[int, Sequence[bytes | memoryview]] | None]:
        """Give what :meth:`image` returns, without a copy."""
        yield self._image(key)

    def _image(
        self, key: Any, *, past_cache: bool = False
    ) -> tuple[int, Sequence[bytes | memoryview]] | None:
        if not key:
            return None
        found = self.ask(
            "SELECT ordinal, n_chunks, version, data, object, n_bytes FROM sj_image "
            "WHERE home = %s AND collection = %s AND scope = %s AND (SELECT s.embedding = c.embedding FROM sj_scope s "
            "JOIN sj_collection c ON c.collection = s.collection "
            "WHERE s.home = %s AND s.collection = %s AND s.key = %s) ORDER BY ordinal",
            (key.home, self.number, key.number) * 2,
            home=key.home,
        )
        if not found or any(row[:3] != (i, len(found), found[0][2]) for i, row in enumerate(found)):
            return None
        version: int = found[0][2]
        chunks: Sequence[bytes | memoryview] | None
        chunks = image_chunks([row[3:] for row in found], self.objects, past_cache=past_cache)
        if chunks is None:
            return None
        if self.cipher.ring is not None:
            chunks = self.cipher.open_image(table_of(self.number, "sj_image"), key.scope, version, chunks)
        return version, unmarked(key.scope, version, chunks)

    def pending_count(self, *, now: int, scopes: Sequence[Scope] | None = None) -> int:
        """Return how many unexpired documents wait for their vectors, of these exact scopes or of all."""
        if scopes is None:
            (n,) = self.ask(
                f"SELECT count(*) FROM sj_document WHERE collection = %s AND pending AND {_LIVE}",
                (self.number, now),
                home=EVERY_HOME,
            )[0]
            return int(n)
        total = 0
        for home, group in self.homes.by_home(scopes):
            (n,) = self.ask(
                "SELECT count(*) FROM sj_document WHERE home = %s AND collection = %s AND scope = ANY(%s) AND pending "
                f"AND {_LIVE}",
                (home, self.number, [key.number for key in group], now),
                home=home,
            )[0]
            total += int(n)
        return total

    def pending_pages(self, size: int, *, now: int) -> Iterator[list[tuple[StoredRow, Scope]]]:
        """Yield documents that wait for their vectors in order of writing, `size` at a time; damaged ones are passed
        over."""
        after: tuple[int, str, int] = (-1, "", 0)
        while True:
            found = self.ask(
                f"SELECT d.seq, d.home, d.scope, d.id, d.text, d.payload, {OF_DOCUMENT}, d.hash, s.tenant, s.usr, "
                "s.agent FROM sj_document d JOIN sj_scope s ON s.home = d.home AND s.collection = d.collection "
                "AND s.key = d.scope WHERE d.collection = %s AND d.pending AND (d.seq, d.home, d.scope) > (%s, %s, %s) "
                "AND (d.expires_at IS NULL OR d.expires_at > %s) ORDER BY d.seq, d.home, d.scope LIMIT %s",
                (self.number, *after, now, size),
                home=EVERY_HOME,
            )
            if not found:
                return
            after = found[-1][:3]
            page = []
            for row in found:
                with suppress(CorruptIndexError, EncryptionError):
                    page.append(self.sound((row[0], *row[3:8]), scope_of(*row[8:])))
            yield page


def agreeing(
    scope: Scope | None, home: str | None, *, exact: bool = False, table: str = ""
) -> tuple[str, tuple[str, ...]]:
    """Return the condition that a row is in a home and that its names agree with each component that `scope` names
    (None: any), and its parameters; with `exact` that they are precisely the scope's.

    >>> agreeing(Scope("acme", agent="coder"), "acme", table="s")
    ('s.home = %s AND s.tenant = %s AND s.agent = %s', ('acme', 'acme', 'coder'))
    """
    if scope is None or home is None:
        return "true", ()
    given = {"tenant": scope.tenant, "usr": scope.user, "agent": scope.agent}
    named = {"home": home} | {
        column: name or "" for column, name in given.items() if exact or name is not None
    }
    prefix = f"{table}." if table else ""
    return " AND ".join(f"{prefix}{column} = %s" for column in named), tuple(named.values())


def _blocks_of(box: Box, row: Sequence[Any]) -> bytes:
    """Return what a row (seq, id, text, payload, vector, hash, expiry, end of the vector in place) adds to a digest."""
    seq, _, text, payload, vector, _, expires_at, in_place = row
    if not is_sealed(text):
        return b""
    return row_blocks(box, seq, expires_at, (text, payload, vector if in_place is None else in_place or None))


def _is_live(row: Loaded, now: int) -> bool:
    return row.expires_at is None or row.expires_at > now


def _raw(row: Loaded) -> tuple[Any, ...]:
    """Return a row as it is stored, and as a reader asks for it."""
    return row.seq, row.id, row.text, row.payload, row.vector, row.hash


def _is_next(queue: Sequence[tuple[Any, ...]], place: tuple[int, str, int] | None) -> bool:
    """Whether the first of a queue comes before a place (None: behind everything)."""
    return bool(queue) and (place is None or queue[0][0] < place)


def _broken(error: CorruptIndexError) -> Entry:
    """Return an entry for all documents of a frozen scope whose object cannot be used."""

    def load() -> tuple[StoredRow, Scope] | None:
        raise error

    return Entry("all documents", load)


def _text(data: bytes) -> str | Undecodable:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Undecodable(data)
