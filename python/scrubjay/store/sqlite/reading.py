"""Queries over the rows. Each runs on the calling thread's own connection, so no reader ever waits.

See :mod:`scrubjay.store.rows.stored` for what the questions mean.
"""

from __future__ import annotations

import heapq
import mmap
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import ClosedError, CorruptIndexError, EncryptionError
from scrubjay.store.keys.digest import ScopeDigest, mismatch
from scrubjay.store.keys.encryption import BLOCK_BYTES, Box
from scrubjay.store.rows.decoding import integer, is_id, row_reader, scope_of, shown
from scrubjay.store.rows.listing import share_of
from scrubjay.store.rows.scopes import Sight, agreeing, exactly, names_of
from scrubjay.store.rows.stored import (
    Changes,
    Entry,
    Event,
    Identity,
    Look,
    Noticed,
    RowId,
    ScopeState,
    StoredRow,
)
from scrubjay.store.sqlite import schema
from scrubjay.store.sqlite.cipher import Cipher, data_key
from scrubjay.store.sqlite.connections import Readers, StoreConnection, translated
from scrubjay.store.sqlite.digests import blocks_of, tombstone_blocks
from scrubjay.store.sqlite.images import Images
from scrubjay.store.sqlite.schema import Tables
from scrubjay.store.sqlite.scope_rows import row_of
from scrubjay.store.sqlite.versions import last_version, scopes_since

__all__ = ["ReadingStore", "names_of", "scope_of"]

_TAG = itemgetter(slice(-BLOCK_BYTES, None))
_SEALED_COLUMNS = [itemgetter(i) for i in (2, 3, 4)]  # of a row as it is read: text, payload, vector
_MANY_IDS = 500  # in one statement; SQLite takes at least 999 parameters
_PAGE = 100  # rows that a listing reads at a time


class ReadingStore:
    """The half of a store that reads."""

    path: Path
    tables: Tables
    cipher: Cipher
    _readers: Readers
    _images: Images
    _wal_index: mmap.mmap | None = None

    @property
    def _reader(self) -> StoreConnection:
        return self._readers.get().connection

    def identity(self) -> Identity:
        """Return what the index is made of, as of now."""
        with translated(self.path, "reading"):
            return schema.read_identity(self._reader, self.tables)

    def glance(self) -> object:
        """Return what differs whenever anything may have been committed by anybody. The cheap check before a search."""
        mapped = self._wal_index
        if mapped is None:
            return self._version_seen()
        try:
            return mapped[:]
        except ValueError:  # the last index of this process that had the file open was closed just now
            raise ClosedError(f"the index is closed: {self.path}") from None

    def head(self) -> bytes | None:
        """Return what :meth:`glance` returns, if that is the head of the wal-index."""
        mapped = self._wal_index
        try:
            return None if mapped is None else mapped[:]
        except ValueError:
            return None

    def _version_seen(self) -> object:
        reader = self._readers.get()
        try:
            (version,) = reader.connection.row("PRAGMA data_version")
        except sqlite3.Error:
            with translated(self.path, "looking for changes"):
                raise
        return (id(reader), version)  # versions of two connections do not compare

    def scopes_since(self, version: int) -> list[tuple[Scope, int]]:
        """Return scopes written to after `version`, with their versions."""
        t = self.tables
        with translated(self.path, "reading"):
            found = scopes_since(self._reader, t, version)
        since = []
        for *names, at in found:
            with suppress(CorruptIndexError):  # that scope's own searches say so; the others go on
                since.append((scope_of(*names), integer(at, "a scope's version")))
        return since

    def generation(self) -> int:
        """Return how often the model was changed."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(f"SELECT value FROM {t.meta} WHERE name = 'generation'").fetchone()
            return integer(None if found is None else found[0], "meta.generation")

    def last_version(self) -> int:
        """Return the number of the last write."""
        with translated(self.path, "reading"):
            return last_version(self._reader, self.tables)

    def watch(self, used: Callable[[], Iterable[Scope]]) -> None:
        """A file does not keep when a scope was used."""

    def mark(self) -> int:
        """Return a mark of now: the number of the last write."""
        return self.last_version()

    def noticed(self, mark: int) -> Noticed:
        """Return the scopes that were written to since a mark, and the next mark."""
        since = self.scopes_since(mark)
        return Noticed(max([mark, *(version for _, version in since)]), since)

    def scope_state(self, scope: Scope) -> ScopeState | None:
        """Return the state of exactly this scope; None if nothing was ever written to it."""
        t = self.tables
        with translated(self.path, "reading"):
            found = row_of(self._reader, t.scope, scope, _STATE)
            return None if found is None else _state(found)

    def scope_states(self, scopes: Sequence[Scope]) -> list[ScopeState | None]:
        """Return the states of exact scopes."""
        return [self.scope_state(scope) for scope in scopes]

    def look(self, scope: Scope, *, now: int) -> Look:
        """Return the state of a scope, and what of it has expired or will; in a snapshot."""
        t = self.tables
        with translated(self.path, "reading"):
            # One question for most scopes, in which nothing has expired.
            first = f"(SELECT min(d.expires_at) FROM {t.document} d WHERE d.scope = s.key AND d.expires_at IS NOT NULL)"
            found = row_of(self._reader, t.scope, scope, f"{_STATE}, {first}")
            if found is None:
                return Look(None, [], None)
            state, expiry = _state(found[:-1]), found[-1]
        if expiry is None:
            return Look(state, [], None)
        if expiry.__class__ is int and expiry > now:
            return Look(state, [], expiry)
        return Look(state, self.expired_ids(state.key, now=now), self.next_expiry(state.key, now=now))

    def scopes(self) -> list[tuple[Scope, ScopeState]]:
        """Return every scope that has documents."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT tenant, user, agent, key, version, horizon, documents, vectors, digest "
                f"FROM {t.scope} WHERE documents > 0"
            ).fetchall()
        scopes = []
        for row in found:
            with suppress(CorruptIndexError):  # check() names them
                scopes.append((scope_of(*row[:3]), _state(row[3:])))
        return scopes

    def living_scopes(
        self,
        within: Scope | None,
        *,
        now: int,
        users: tuple[str, str] | None = None,
        after: Scope | None = None,
        limit: int | None = None,
    ) -> list[Scope]:
        """Return every scope that has unexpired documents and agrees with each component that `within` names.

        With `users` only those whose user is at or after the first text and before the second, by code point; together
        with a tenant that costs what is found. With a `limit` only so many, the first ones behind the scope `after`.
        """
        t = self.tables
        condition, names = ("1", ()) if within is None else agreeing(within, table="s")
        if users is not None:
            condition, names = f"{condition} AND s.user >= ? AND s.user < ?", (*names, *users)
        page = ""
        ends: tuple[int, ...] = ()
        if after is not None:
            condition, names = (
                f"{condition} AND (s.tenant, s.user, s.agent) > (?, ?, ?)",
                (*names, *names_of(after)),
            )
        if limit is not None:
            page, ends = " ORDER BY s.tenant, s.user, s.agent LIMIT ?", (limit,)
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT tenant, user, agent FROM {t.scope} s WHERE documents > 0 AND {condition} AND EXISTS("
                f"SELECT 1 FROM {t.document} d WHERE d.scope = s.key AND (d.expires_at IS NULL OR d.expires_at > ?))"
                f"{page}",
                (*names, now, *ends),
            ).fetchall()
        return _scopes(found)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let every read of this thread inside see one state of the file."""
        reader = self._reader
        with translated(self.path, "reading"):
            if reader.in_transaction:
                yield
                return
            reader.row("BEGIN")
            try:
                yield
            finally:
                reader.rollback()  # nothing was written; harmless if the transaction is gone

    def digest(self, scope: Scope, state: ScopeState) -> tuple[Box, ScopeDigest] | None:
        """Return the digest of a scope in a state that was read; None: it has none.

        Raises:
            CorruptIndexError: the state, or the digest, was put back or changed in the file.
        """
        return None if self.cipher.ring is None else self.cipher.scope_digest(self.tables, scope, state)

    def rows(self, scope: Scope, *, now: int) -> Iterator[StoredRow]:
        """Yield the unexpired documents of exactly this scope in order of writing; read it in a snapshot.

        Raises:
            CorruptIndexError: a row was changed, or (after the last one) rows were put back or taken out.
        """
        t = self.tables
        state = self.scope_state(scope)
        if state is None:
            return
        digest = self.digest(scope, state)
        with translated(self.path, "reading"):
            found = self._reader.execute(
                _row(t) + "WHERE d.scope = ? AND (d.expires_at IS NULL OR d.expires_at > ?) ORDER BY d.seq",
                (state.key, now),
            )
            opened = self.row_opener(scope)
            blocks = bytearray()
            while batch := found.fetchmany(1000):
                for row in batch:
                    yield opened(row)
                if digest is not None:  # what was opened ends with its tag
                    sealed = batch if digest[0].whole else [row for row in batch if isinstance(row[2], bytes)]
                    for column in _SEALED_COLUMNS:
                        blocks += b"".join(map(_TAG, filter(None, map(column, sealed))))
            if digest is not None:
                blocks += self._unread_blocks(digest[0], state.key, now)
                if digest[0].total(blocks) != digest[1].total:
                    raise mismatch(names_of(scope), "its rows are not those of its digest")

    def _unread_blocks(self, box: Box, key: int, now: int) -> bytes:
        """Return what is counted of a scope beside the values of its unexpired rows."""
        t = self.tables
        expiring = self._reader.execute(
            f"SELECT seq, expires_at FROM {t.document} WHERE scope = ? AND expires_at > ?"
            + ("" if box.whole else " AND typeof(text) = 'blob'"),
            (key, now),
        )
        blocks = [box.block(("expires", *row)) for row in expiring]
        gone = blocks_of(self._reader, t, box, "d.scope = ? AND d.expires_at <= ?", (key, now))
        return b"".join(blocks + [own for _, own in gone])

    def row_opener(self, scope: Scope) -> Callable[[Sequence[Any]], StoredRow]:
        """Return what makes rows of this scope of (seq, id, text, payload, vector, hash)."""

        def current() -> bytes | None:
            stored = data_key(self._reader, scope.tenant)
            return None if stored is None else stored.id

        opened = None if self.cipher.ring is None else self.cipher.row_opener(self.tables.document, scope)
        return row_reader(scope, opened, current, self.path)

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
            (scope, self.scope_state(scope))
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
            self.scope_state(scope) for scope in scopes if self.cipher.readable(scope.tenant, scope.user)
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
        opened = self.row_opener(scope)
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

    def changes(
        self, key: int, after: int, *, now: int, digest: tuple[Box, ScopeDigest] | None = None
    ) -> Changes:
        """Return what happened to the scope with this key after version `after`, in a snapshot.

        Raises:
            CorruptIndexError: `digest` has another sum of what came after its image.
        """
        t = self.tables
        with translated(self.path, "reading"):
            deleted = self._reader.execute(
                f"SELECT id FROM {t.tombstone} WHERE scope = ? AND seq > ?", (key, after)
            ).fetchall()
            # An update to a document that has expired since takes it out, too.
            expired = self._reader.execute(
                f"SELECT id FROM {t.document} WHERE scope = ? AND seq > ? AND expires_at <= ?",
                (key, after, now),
            ).fetchall()
            rows = self._reader.execute(
                _row(t)
                + "WHERE d.scope = ? AND d.seq > ? AND (d.expires_at IS NULL OR d.expires_at > ?) ORDER BY d.seq",
                (key, after, now),
            ).fetchall()
            opened = self.row_opener(self._scope(key)) if rows else None
            if digest is not None:
                found = blocks_of(self._reader, t, digest[0], "d.scope = ? AND d.seq > ?", (key, after))
                recent = digest[0].total(b"".join(own for _, own in found))
                recent += digest[0].total(tombstone_blocks(self._reader, t, digest[0], key, after))
                if recent % 2**128 != digest[1].recent:
                    raise CorruptIndexError("what came after the image was put back or taken out")
            gone = [id for (id,) in deleted + expired if is_id(id)]
            return Changes(gone, [opened(row) for row in rows] if opened is not None else [])

    def _scope(self, key: int) -> Scope:
        t = self.tables
        found = self._reader.execute(
            f"SELECT tenant, user, agent FROM {t.scope} WHERE key = ?", (key,)
        ).fetchone()
        if found is None:
            raise CorruptIndexError(f"scope {key} is not in the file")
        return scope_of(*found)

    def get(self, id: RowId, sight: Sight, *, now: int) -> tuple[StoredRow, Scope] | None:
        """Return the unexpired document with this id of the first scope that has one, all of the same tenant; None as
        well if the tenant's key was destroyed.

        Raises:
            CorruptIndexError: its text or id is not what was written. Damage to the metadata is the row's.
        """
        if self.cipher.ring is not None:
            readable = self.cipher.readable_of(sight.scopes)
            if readable is not sight.scopes:
                sight = exactly(readable)
            if not readable:
                return None
        with translated(self.path, "reading"):
            names, n_scopes = sight.names, len(sight.scopes)
            asked = (id, *names, now)
            if n_scopes > 1:
                asked = tuple(v for at in range(0, len(names), 3) for v in (id, *names[at : at + 3], now))
            found = self._reader.row(_looking(self.tables.suffix, n_scopes), asked)
            return None if found is None else self._sound(found[1:], sight.scopes[found[0]])

    def find(self, id: RowId, within: Scope, *, now: int) -> list[tuple[StoredRow, Scope]]:
        """Return the unexpired documents with this id in any scope that agrees with `within`, in order of scope; their
        vectors are left out. For an operator: it takes time for each scope that has the id, of any tenant's users.

        Raises:
            CorruptIndexError: as for :meth:`get`.
        """
        if self.cipher.ring is not None and not self.cipher.readable(within.tenant):
            return []
        t = self.tables
        condition, names = agreeing(within, table="s")
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT d.seq, d.id, d.text, d.payload, NULL, d.hash, s.tenant, s.user, s.agent "
                f"FROM {t.document} d CROSS JOIN {t.scope} s ON s.key = d.scope "
                f"WHERE d.id = ? AND {condition} AND (d.expires_at IS NULL OR d.expires_at > ?)",
                (id, *names, now),
            ).fetchall()
            rows = [(row[:6], scope_of(*row[6:])) for row in found]
            return [
                self._sound(row, scope)
                for row, scope in sorted(rows, key=itemgetter(1))
                if self.cipher.readable(scope.tenant, scope.user)
            ]

    def at(self, seq: int) -> tuple[StoredRow, Scope] | None:
        """Return the document with this number; None as well if its tenant's key was destroyed.

        Raises:
            CorruptIndexError: as for :meth:`get`, or its scope cannot be read.
        """
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.row(
                f"SELECT d.seq, d.id, d.text, d.payload, v.data, d.hash, d.scope, s.tenant, s.user, s.agent "
                f"FROM {t.document} d LEFT JOIN {t.scope} s ON s.key = d.scope "
                f"LEFT JOIN {t.vector} v ON v.seq = d.seq WHERE d.seq = ?",
                (seq,),
            )
            if found is None:
                return None
            if found[7] is None:
                raise CorruptIndexError(f"its scope {shown(found[6])} is not in the file", id=found[1])
            scope = scope_of(*found[7:])
            if self.cipher.ring is not None and not self.cipher.readable(scope.tenant, scope.user):
                return None
            return self._sound(found[:6], scope)

    def _sound(self, row: Sequence[Any], scope: Scope) -> tuple[StoredRow, Scope]:
        """Return a row (seq, id, text, payload, vector, hash) opened, or raise CorruptIndexError."""
        opened = self.row_opener(scope)(row)
        if not opened.usable:
            raise CorruptIndexError(str(opened.damage), id=row[1], scope=scope)
        return opened, scope

    def encrypted_tenants(self) -> list[str]:
        """Return the tenants that have a data key, in alphabetical order."""
        with translated(self.path, "reading"):
            reader = self._reader
            if not schema.has_data_keys(reader):
                return []
            found = reader.execute("SELECT tenant FROM data_key ORDER BY tenant").fetchall()
            return [tenant for (tenant,) in found]

    def tenants_without_key(self) -> set[str]:
        """Return the encrypted tenants whose keys are not available now; not those whose keys were destroyed."""
        away: set[str] = set()
        for tenant in self.encrypted_tenants():
            try:
                self.cipher.openable(tenant) if self.cipher.ring is not None else away.add(tenant)
            except (EncryptionError, CorruptIndexError):
                away.add(tenant)
        return away

    def to_embed(self, row: Sequence[Any], scope: Scope) -> tuple[str, bytes | None] | None:
        """Return text and payload of a row (seq, id, text, payload, vector, hash), of which what is embedded is made;
        None if its tenant's key was destroyed.

        Raises:
            CorruptIndexError: its text, id or scope is not what was written.
        """
        if self.cipher.ring is not None and not self.cipher.readable(scope.tenant, scope.user):
            return None
        opened = self.row_opener(scope)(row)
        if not opened.usable:
            raise CorruptIndexError(str(opened.damage), path=self.path, id=row[1], scope=scope)
        return opened.text, opened.payload

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
            yield [Entry(id, partial(self.at, seq)) for seq, id in batch]

    def count(self, scopes: Sequence[Scope] | None, *, now: int) -> int:
        """Return how many unexpired documents the exact scopes have together; None: all scopes."""
        t = self.tables
        with translated(self.path, "reading"):
            if scopes is None:
                n, are_counts = self._reader.execute(
                    f"SELECT ifnull(sum(documents), 0), ifnull(min(typeof(documents) = 'integer'), 1) FROM {t.scope}"
                ).fetchone()
                integer(n if are_counts else None, "scopes' counts of documents")
                (n_expired,) = self._reader.execute(
                    f"SELECT count(*) FROM {t.document} WHERE expires_at <= ?", (now,)
                ).fetchone()
                return int(n - n_expired)
            n = 0
            for scope in scopes:
                state = self.scope_state(scope)
                if state is None or state.documents == 0:
                    continue
                (n_expired,) = self._reader.execute(
                    f"SELECT count(*) FROM {t.document} WHERE scope = ? AND expires_at <= ?", (state.key, now)
                ).fetchone()
                n += state.documents - int(n_expired)
            return n

    def vector_count(self, *, now: int) -> int:
        """Return how many unexpired documents have a vector, or vectors of their passages."""
        t = self.tables
        with translated(self.path, "reading"):
            (n,) = self._reader.execute(
                f"SELECT (SELECT coalesce(sum(vectors), 0) FROM {t.scope}) - "
                f"(SELECT count(*) FROM {t.document} d JOIN {t.vector} v ON v.seq = d.seq WHERE d.expires_at <= ?)",
                (now,),
            ).fetchone()
            return integer(n, "scopes' counts of vectors")

    def next_expiry(self, key: int, *, now: int) -> int | None:
        """Return when the next document of a scope expires."""
        t = self.tables
        with translated(self.path, "reading"):
            found: Any = self._reader.execute(
                f"SELECT min(expires_at) FROM {t.document} WHERE scope = ? AND expires_at > ?", (key, now)
            ).fetchone()[0]
        return found if found.__class__ is int else None

    def expired_ids(self, key: int, *, now: int) -> list[RowId]:
        """Return the ids of a scope's documents that have expired and were not swept yet."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT id FROM {t.document} WHERE scope = ? AND expires_at <= ?", (key, now)
            ).fetchall()
        return [id for (id,) in found if is_id(id)]

    def events(self) -> list[Event]:
        """Return the deletion events, oldest first."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT e.at, e.reason, s.tenant, s.user, s.agent, e.documents, e.number FROM {t.event} e "
                f"JOIN {t.scope} s ON s.key = e.scope ORDER BY e.number"
            ).fetchall()
            return [_event(row) for row in found]

    def stale_scopes(self) -> list[Scope]:
        """Return scopes with documents whose images are missing or older than the last write."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT tenant, user, agent FROM {t.scope} s WHERE documents > 0 AND NOT EXISTS("
                f"SELECT 1 FROM {t.image} i WHERE i.scope = s.key AND i.version = s.version)"
            ).fetchall()
        return _scopes(found)

    def image(self, key: int) -> tuple[int, list[bytes]] | None:
        """Return (version, chunks) of a scope's images; None if any is missing.

        Raises:
            CorruptIndexError: they were sealed, and cannot be opened.
        """
        with translated(self.path, "reading"), self.snapshot():
            return self._images.copied(key, partial(self._scope, key))

    @contextmanager
    def image_views(
        self, scope: Scope, key: int
    ) -> Iterator[tuple[int, Sequence[bytes | memoryview]] | None]:
        """Give what :meth:`image` returns for the duration of the block, if possible in memory that is used again.

        `scope` is the one with this key.
        """
        with self.snapshot(), translated(self.path, "reading"), self._images.viewed(key, scope) as image:
            yield image

    def reading_connection(self) -> StoreConnection:
        """Return this thread's connection, for what is asked elsewhere. It may be closed by another thread at any time;
        every call on it and on its cursors then raises ClosedError."""
        return self._reader


_STATE = "s.key, s.version, s.horizon, s.documents, s.vectors, s.digest"


@lru_cache(maxsize=256)
def _looking(suffix: str, n_scopes: int) -> str:
    """Return the question for one document in scopes, the first that has it. Each scope is asked of with the id, its
    names and the time. SQLite goes through the parts of UNION ALL in order, and LIMIT ends that; each part looks up
    two keys."""
    parts = (
        f"SELECT {i}, d.seq, d.id, d.text, d.payload, v.data, d.hash FROM scope{suffix} s "
        f"CROSS JOIN document{suffix} d ON d.id = ? AND d.scope = s.key "
        f"LEFT JOIN vector{suffix} v ON v.seq = d.seq "
        f"WHERE s.tenant = ? AND s.user = ? AND s.agent = ? "
        "AND (d.expires_at IS NULL OR d.expires_at > ?)"
        for i in range(n_scopes)
    )
    return " UNION ALL ".join(parts) + " LIMIT 1"


def _row(t: Tables) -> str:
    return (
        "SELECT d.seq, d.id, d.text, d.payload, v.data, d.hash "
        f"FROM {t.document} d LEFT JOIN {t.vector} v ON v.seq = d.seq "
    )


def _state(row: Sequence[Any]) -> ScopeState:
    key, version, horizon, documents, vectors, digest = row
    return ScopeState(
        integer(key, "a scope's key", -(1 << 62)),
        integer(version, "a scope's version"),
        integer(horizon, "a scope's horizon"),
        integer(documents, "a scope's count of documents"),
        integer(vectors, "a scope's count of vectors"),
        digest if digest is None or isinstance(digest, bytes) else b"",  # which no key opens
    )


def _scopes(rows: Iterable[Sequence[Any]]) -> list[Scope]:
    """The scopes of rows of names, without those that cannot be read; check() names them."""
    scopes = []
    for names in rows:
        with suppress(CorruptIndexError):
            scopes.append(scope_of(*names))
    return scopes


def _event(row: Sequence[Any]) -> Event:
    at, reason, tenant, user, agent, documents, number = row
    what = f"deletion event {number}"
    if reason.__class__ is not str:
        raise CorruptIndexError(f"{what}: its reason cannot be read")
    moment = integer(at, f"{what}: its time")
    return Event(moment, reason, scope_of(tenant, user, agent), integer(documents, f"{what}: its count"))
