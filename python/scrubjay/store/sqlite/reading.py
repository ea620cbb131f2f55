"""Reading scopes, and the state of a whole collection.

Each query runs on the calling thread's own connection, so no reader waits for another thread. The methods are
specified in :class:`scrubjay.store.seam.Store`.
"""

from __future__ import annotations

import mmap
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import ClosedError, CorruptIndexError
from scrubjay.store.rows.decoding import integer, is_id, scope_of
from scrubjay.store.rows.scopes import agreeing, names_of
from scrubjay.store.rows.values import (
    ChangedScopes,
    Event,
    Identity,
    RowId,
    ScopeHead,
    ScopeState,
)
from scrubjay.store.sqlite import schema
from scrubjay.store.sqlite.cipher import Cipher
from scrubjay.store.sqlite.connections import Readers, StoreConnection, translated
from scrubjay.store.sqlite.schema import Tables
from scrubjay.store.sqlite.scope_rows import row_of
from scrubjay.store.sqlite.versions import last_version, scopes_since


class ScopeReader:
    """Reads the state of a file's collection and of its scopes. Thread-safe."""

    def __init__(self, path: Path, tables: Tables, cipher: Cipher, readers: Readers) -> None:
        self.path = path
        self.tables = tables
        self.cipher = cipher
        self._readers = readers
        self._wal_index: mmap.mmap | None = None

    def watch_wal(self, mapped: mmap.mmap | None) -> None:
        """Set the mapped header of the wal-index, which `glance` reads; None: `glance` asks SQLite."""
        self._wal_index = mapped

    @property
    def _reader(self) -> StoreConnection:
        return self._readers.get().connection

    def identity(self) -> Identity:
        with translated(self.path, "reading"):
            return schema.read_identity(self._reader, self.tables)

    def glance(self) -> object:
        """Return a token that changes whenever any process may have committed: the cheap check before a search."""
        mapped = self._wal_index
        if mapped is None:
            return self._version_seen()
        try:
            return mapped[:]
        except ValueError:  # another thread just closed the last index of this process on the file
            raise ClosedError(f"the index is closed: {self.path}") from None

    def head(self) -> bytes | None:
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
        return (id(reader), version)  # versions of different connections are not comparable

    def scopes_since(self, version: int) -> list[tuple[Scope, int]]:
        """Return scopes written to after `version`, with their versions."""
        t = self.tables
        with translated(self.path, "reading"):
            rows = scopes_since(self._reader, t, version)
        since = []
        for *names, at in rows:
            with suppress(CorruptIndexError):  # searches of that scope raise it; the others are not affected
                since.append((scope_of(*names), integer(at, "a scope's version")))
        return since

    def generation(self) -> int:
        t = self.tables
        with translated(self.path, "reading"):
            row = self._reader.execute(f"SELECT value FROM {t.meta} WHERE name = 'generation'").fetchone()
            return integer(None if row is None else row[0], "meta.generation")

    def last_version(self) -> int:
        """Return the number of the last write."""
        with translated(self.path, "reading"):
            return last_version(self._reader, self.tables)

    def watch(self, used: Callable[[], Iterable[Scope]]) -> None:
        """Do nothing: a file does not record the use of scopes."""

    def mark(self) -> int:
        """Return the number of the last write, as a mark of the current state."""
        return self.last_version()

    def noticed(self, mark: int) -> ChangedScopes:
        since = self.scopes_since(mark)
        return ChangedScopes(max([mark, *(version for _, version in since)]), since)

    def scope_state(self, scope: Scope) -> ScopeState | None:
        t = self.tables
        with translated(self.path, "reading"):
            row = row_of(self._reader, t.scope, scope, _STATE)
            return None if row is None else _state(row)

    def scope_states(self, scopes: Sequence[Scope]) -> list[ScopeState | None]:
        return [self.scope_state(scope) for scope in scopes]

    def look(self, scope: Scope, *, now: int) -> ScopeHead:
        t = self.tables
        with translated(self.path, "reading"):
            # A single query for most scopes, in which nothing has expired.
            first = f"(SELECT min(d.expires_at) FROM {t.document} d WHERE d.scope = s.key AND d.expires_at IS NOT NULL)"
            row = row_of(self._reader, t.scope, scope, f"{_STATE}, {first}")
            if row is None:
                return ScopeHead(None, [], None)
            state, expiry = _state(row[:-1]), row[-1]
        if expiry is None:
            return ScopeHead(state, [], None)
        if expiry.__class__ is int and expiry > now:
            return ScopeHead(state, [], expiry)
        return ScopeHead(state, self.expired_ids(state.key, now=now), self.next_expiry(state.key, now=now))

    def scopes(self) -> list[tuple[Scope, ScopeState]]:
        t = self.tables
        with translated(self.path, "reading"):
            rows = self._reader.execute(
                f"SELECT tenant, user, agent, key, version, horizon, documents, vectors, digest "
                f"FROM {t.scope} WHERE documents > 0"
            ).fetchall()
        scopes = []
        for row in rows:
            with suppress(CorruptIndexError):  # check() reports them
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

        With `users` only those whose user is >= the first text and < the second, by code point; with a tenant,
        the cost is proportional to the result. With a `limit` only so many, the first ones after the scope
        `after`.
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
            rows = self._reader.execute(
                f"SELECT tenant, user, agent FROM {t.scope} s WHERE documents > 0 AND {condition} AND EXISTS("
                f"SELECT 1 FROM {t.document} d WHERE d.scope = s.key AND (d.expires_at IS NULL OR d.expires_at > ?))"
                f"{page}",
                (*names, now, *ends),
            ).fetchall()
        return _scopes(rows)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        reader = self._reader
        with translated(self.path, "reading"):
            if reader.in_transaction:
                yield
                return
            reader.row("BEGIN")
            try:
                yield
            finally:
                reader.rollback()  # nothing was written; harmless if the transaction has ended

    def encrypted_tenants(self) -> list[str]:
        with translated(self.path, "reading"):
            reader = self._reader
            if not schema.has_data_keys(reader):
                return []
            rows = reader.execute("SELECT tenant FROM data_key ORDER BY tenant").fetchall()
            return [tenant for (tenant,) in rows]

    def tenants_without_key(self) -> set[str]:
        return self.cipher.unavailable_of(self.encrypted_tenants())

    def count(self, scopes: Sequence[Scope] | None, *, now: int) -> int:
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
        t = self.tables
        with translated(self.path, "reading"):
            (n,) = self._reader.execute(
                f"SELECT (SELECT coalesce(sum(vectors), 0) FROM {t.scope}) - "
                f"(SELECT count(*) FROM {t.document} d JOIN {t.vector} v ON v.seq = d.seq WHERE d.expires_at <= ?)",
                (now,),
            ).fetchone()
            return integer(n, "scopes' counts of vectors")

    def next_expiry(self, key: int, *, now: int) -> int | None:
        """Return the next time at which a document of a scope expires."""
        t = self.tables
        with translated(self.path, "reading"):
            expiry: Any = self._reader.execute(
                f"SELECT min(expires_at) FROM {t.document} WHERE scope = ? AND expires_at > ?", (key, now)
            ).fetchone()[0]
        return expiry if expiry.__class__ is int else None

    def expired_ids(self, key: int, *, now: int) -> list[RowId]:
        """Return the ids of a scope's documents that have expired and were not swept yet."""
        t = self.tables
        with translated(self.path, "reading"):
            rows = self._reader.execute(
                f"SELECT id FROM {t.document} WHERE scope = ? AND expires_at <= ?", (key, now)
            ).fetchall()
        return [id for (id,) in rows if is_id(id)]

    def events(self) -> list[Event]:
        t = self.tables
        with translated(self.path, "reading"):
            rows = self._reader.execute(
                f"SELECT e.at, e.reason, s.tenant, s.user, s.agent, e.documents, e.number FROM {t.event} e "
                f"JOIN {t.scope} s ON s.key = e.scope ORDER BY e.number"
            ).fetchall()
            return [_event(row) for row in rows]

    def stale_scopes(self) -> list[Scope]:
        t = self.tables
        with translated(self.path, "reading"):
            rows = self._reader.execute(
                f"SELECT tenant, user, agent FROM {t.scope} s WHERE documents > 0 AND NOT EXISTS("
                f"SELECT 1 FROM {t.image} i WHERE i.scope = s.key AND i.version = s.version)"
            ).fetchall()
        return _scopes(rows)

    def reading_connection(self) -> StoreConnection:
        """Return this thread's connection, for reads by other modules. Another thread may close it at any time;
        every call on it and its cursors then raises ClosedError."""
        return self._reader


_STATE = "s.key, s.version, s.horizon, s.documents, s.vectors, s.digest"


def _state(row: Sequence[Any]) -> ScopeState:
    key, version, horizon, documents, vectors, digest = row
    return ScopeState(
        integer(key, "a scope's key", -(1 << 62)),
        integer(version, "a scope's version"),
        integer(horizon, "a scope's horizon"),
        integer(documents, "a scope's count of documents"),
        integer(vectors, "a scope's count of vectors"),
        digest if digest is None or isinstance(digest, bytes) else b"",  # no key opens b""
    )


def _scopes(rows: Iterable[Sequence[Any]]) -> list[Scope]:
    """Return the scopes of rows of names, without invalid ones, which check() reports."""
    scopes = []
    for names in rows:
        with suppress(CorruptIndexError):
            scopes.append(scope_of(*names))
    return scopes


def _event(row: Sequence[Any]) -> Event:
    at, reason, tenant, user, agent, documents, number = row
    label = f"deletion event {number}"
    if reason.__class__ is not str:
        raise CorruptIndexError(f"{label}: its reason cannot be read")
    moment = integer(at, f"{label}: its time")
    return Event(moment, reason, scope_of(tenant, user, agent), integer(documents, f"{label}: its count"))
