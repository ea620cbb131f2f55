"""What can be asked of the rows: every question on the asking thread's own connection, so that no reader ever waits.

See :mod:`scrubjay.store.protocol` for what the questions mean.
"""

from __future__ import annotations

import heapq
import mmap
import sqlite3
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import EncryptionError
from scrubjay.store import schema
from scrubjay.store.cipher import Cipher
from scrubjay.store.connections import Readers, translated
from scrubjay.store.protocol import Changes, Event, Identity, RowId, ScopeState, StoredRow
from scrubjay.store.schema import Tables

__all__ = ["ReadingStore", "names_of", "scope_of"]

_PIECE_BYTES = 1 << 16
_MAX_SCRATCH_BYTES = 16 << 20
_MANY_IDS = 500  # in one statement; SQLite takes at least 999 parameters


class ReadingStore:
    """The half of a store that reads."""

    path: Path
    tables: Tables
    cipher: Cipher
    _readers: Readers
    _wal_index: mmap.mmap | None = None

    def __init__(self) -> None:
        self._scratch = bytearray()  # for an image on its way to the engine
        self._scratch_lock = threading.Lock()

    @property
    def _reader(self) -> sqlite3.Connection:
        return self._readers.get().connection

    def identity(self) -> Identity:
        """Return what the index is made of, as of now."""
        with translated(self.path, "reading"):
            return schema.read_identity(self._reader, self.tables)

    def glance(self) -> object:
        """Return what differs whenever anything may have been committed by anybody. The cheap check before a search."""
        mapped = self._wal_index
        return mapped[:] if mapped is not None else self._version_seen()

    def _version_seen(self) -> object:
        reader = self._readers.get()
        try:
            (version,) = reader.poll("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            with translated(self.path, "looking for changes"):
                raise
        return (id(reader), version)  # versions of two connections do not compare

    def scopes_since(self, version: int) -> list[tuple[Scope, int]]:
        """Return scopes written to after `version`, with their versions."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT tenant, user, agent, version FROM {t.scope} WHERE version > ?", (version,)
            ).fetchall()
        return [(scope_of(tenant, user, agent), at) for tenant, user, agent, at in found]

    def generation(self) -> int:
        """Return how often the model was changed."""
        t = self.tables
        with translated(self.path, "reading"):
            return int(
                self._reader.execute(f"SELECT value FROM {t.meta} WHERE name = 'generation'").fetchone()[0]
            )

    def last_version(self) -> int:
        """Return the number of the last write."""
        t = self.tables
        with translated(self.path, "reading"):
            return int(self._reader.execute(f"SELECT ifnull(max(version), 0) FROM {t.scope}").fetchone()[0])

    def scope_state(self, scope: Scope) -> ScopeState | None:
        """Return the state of exactly this scope; None if nothing was ever written to it."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT key, version, horizon, documents FROM {t.scope} WHERE tenant = ? AND user = ? AND agent = ?",
                names_of(scope),
            ).fetchone()
        return None if found is None else ScopeState(*found)

    def scopes(self) -> list[tuple[Scope, ScopeState]]:
        """Return every scope that has documents."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT tenant, user, agent, key, version, horizon, documents FROM {t.scope} WHERE documents > 0"
            ).fetchall()
        return [(scope_of(*row[:3]), ScopeState(*row[3:])) for row in found]

    def living_scopes(self, within: Scope | None, *, now: int) -> list[Scope]:
        """Return every scope that has unexpired documents and agrees with each component that `within` names."""
        t = self.tables
        given = (
            {} if within is None else {"tenant": within.tenant, "user": within.user, "agent": within.agent}
        )
        names = [name for name in given.values() if name is not None]
        agrees = "".join(f" AND s.{column} = ?" for column, name in given.items() if name is not None)
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT tenant, user, agent FROM {t.scope} s WHERE documents > 0{agrees} AND EXISTS("
                f"SELECT 1 FROM {t.document} d WHERE d.scope = s.key AND (d.expires_at IS NULL OR d.expires_at > ?))",
                (*names, now),
            ).fetchall()
        return [scope_of(*row) for row in found]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let every read of this thread inside see one state of the file."""
        reader = self._reader
        with translated(self.path, "reading"):
            if reader.in_transaction:
                yield
                return
            reader.execute("BEGIN")
            try:
                yield
            finally:
                reader.rollback()  # nothing was written; harmless if the transaction is gone

    def rows(self, scope: Scope, *, now: int) -> Iterator[StoredRow]:
        """Yield the unexpired documents of exactly this scope in order of writing."""
        t = self.tables
        state = self.scope_state(scope)
        if state is None:
            return
        with translated(self.path, "reading"):
            found = self._reader.execute(
                _row(t) + "WHERE d.scope = ? AND (d.expires_at IS NULL OR d.expires_at > ?) ORDER BY d.seq",
                (state.key, now),
            )
            opened = None if self.cipher.ring is None else self.cipher.row_opener(t.document, scope)
            while batch := found.fetchmany(1000):
                for row in batch:
                    yield clear_row(row) if opened is None else opened(row)

    def rows_in(
        self, scopes: Sequence[Scope], *, now: int, newest: bool, ids: Collection[RowId] | None = None
    ) -> Iterator[tuple[StoredRow, Scope]]:
        """Yield the unexpired documents of the exact scopes, without vectors, in order of writing or the reverse.

        With `ids` only those of them. To be gone through inside :meth:`snapshot`.
        """
        states = [(scope, self.scope_state(scope)) for scope in scopes if self.cipher.readable(scope.tenant)]
        keys = [(state.key, scope) for scope, state in states if state is not None and state.documents]
        one_by_one = [self._rows_of(key, scope, now, newest, ids) for key, scope in keys]
        return heapq.merge(*one_by_one, key=lambda pair: pair[0].seq, reverse=newest)

    def _rows_of(
        self, key: int, scope: Scope, now: int, newest: bool, ids: Collection[RowId] | None
    ) -> Iterator[tuple[StoredRow, Scope]]:
        t = self.tables
        question = (
            f"SELECT seq, id, text, payload, NULL FROM {t.document} "
            "WHERE scope = ? AND (expires_at IS NULL OR expires_at > ?)"
        )
        order = f" ORDER BY seq {'DESC' if newest else 'ASC'}"
        opened = clear_row if self.cipher.ring is None else self.cipher.row_opener(t.document, scope)
        with translated(self.path, "reading"):
            if ids is None:
                found = self._reader.execute(question + order, (key, now))
                while batch := found.fetchmany(100):
                    for row in batch:
                        yield opened(row), scope
                return
            rows: list[tuple[Any, ...]] = []
            wanted = iter(ids)
            while some := list(islice(wanted, _MANY_IDS)):
                marks = ",".join("?" * len(some))
                # The unary plus: each id is looked up, whatever SQLite thinks of the index by scope.
                by_id = question.replace("scope = ?", "+scope = ?") + f" AND id IN ({marks})"
                rows += self._reader.execute(by_id, (key, now, *some)).fetchall()
            for row in sorted(rows, key=lambda row: int(row[0]), reverse=newest):
                yield opened(row), scope

    def changes(self, key: int, after: int, *, now: int) -> Changes:
        """Return what happened to the scope with this key after version `after`."""
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
            opened = clear_row if self.cipher.ring is None or not rows else self._opener(key)
        return Changes([id for (id,) in deleted + expired], [opened(row) for row in rows])

    def _scope(self, key: int) -> Scope:
        t = self.tables
        return scope_of(
            *self._reader.execute(
                f"SELECT tenant, user, agent FROM {t.scope} WHERE key = ?", (key,)
            ).fetchone()
        )

    def _opener(self, key: int) -> Callable[[Sequence[Any]], StoredRow]:
        return self.cipher.row_opener(self.tables.document, self._scope(key))

    def get(self, id: RowId, *, now: int) -> tuple[StoredRow, Scope] | None:
        """Return the unexpired document with this id; None as well if its tenant's key was destroyed."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT d.seq, d.id, d.text, d.payload, v.data, s.tenant, s.user, s.agent FROM {t.document} d "
                f"JOIN {t.scope} s ON s.key = d.scope LEFT JOIN {t.vector} v ON v.seq = d.seq "
                "WHERE d.id = ? AND (d.expires_at IS NULL OR d.expires_at > ?)",
                (id, now),
            ).fetchone()
            if found is None:
                return None
            scope = scope_of(*found[5:])
            if self.cipher.ring is None:
                return (clear_row(found[:5]), scope)
            if not self.cipher.readable(scope.tenant):
                return None
            return (self.cipher.row_opener(t.document, scope)(found[:5]), scope)

    def text(self, seq: int, id: RowId, text: str | bytes, scope: Scope) -> str | None:
        """Return the text of a row in the clear; None if its tenant's key was destroyed."""
        if self.cipher.ring is None:
            return clear_row((seq, id, text, None, None)).text
        if not self.cipher.readable(scope.tenant):
            return None
        return self.cipher.row_opener(self.tables.document, scope)((seq, id, text, None, None)).text

    def ids_after(self, seq: int, limit: int, *, now: int) -> list[tuple[int, RowId]]:
        """Return (seq, id) of the next unexpired documents in order of writing."""
        t = self.tables
        with translated(self.path, "reading"):
            return self._reader.execute(
                f"SELECT seq, id FROM {t.document} WHERE seq > ? AND (expires_at IS NULL OR expires_at > ?) "
                "ORDER BY seq LIMIT ?",
                (seq, now, limit),
            ).fetchall()

    def count(self, scopes: Sequence[Scope] | None, *, now: int) -> int:
        """Return how many unexpired documents the exact scopes have together; None: all."""
        t = self.tables
        with translated(self.path, "reading"):
            if scopes is None:
                (n,) = self._reader.execute(f"SELECT value FROM {t.meta} WHERE name = 'documents'").fetchone()
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

    def next_expiry(self, key: int, *, now: int) -> int | None:
        """Return when the next document of a scope expires."""
        t = self.tables
        with translated(self.path, "reading"):
            found: int | None = self._reader.execute(
                f"SELECT min(expires_at) FROM {t.document} WHERE scope = ? AND expires_at > ?", (key, now)
            ).fetchone()[0]
        return found

    def expired_ids(self, key: int, *, now: int) -> list[RowId]:
        """Return the ids of a scope's documents that have expired and were not swept yet."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT id FROM {t.document} WHERE scope = ? AND expires_at <= ?", (key, now)
            ).fetchall()
        return [id for (id,) in found]

    def events(self) -> list[Event]:
        """Return the deletion events, oldest first."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT e.at, e.reason, s.tenant, s.user, s.agent, e.documents FROM {t.event} e "
                f"JOIN {t.scope} s ON s.key = e.scope ORDER BY e.number"
            ).fetchall()
        return [
            Event(at, reason, scope_of(tenant, user, agent), n)
            for at, reason, tenant, user, agent, n in found
        ]

    def stale_scopes(self) -> list[Scope]:
        """Return scopes with documents whose images are missing or older than the last write."""
        t = self.tables
        with translated(self.path, "reading"):
            found = self._reader.execute(
                f"SELECT tenant, user, agent FROM {t.scope} s WHERE documents > 0 AND NOT EXISTS("
                f"SELECT 1 FROM {t.image} i WHERE i.scope = s.key AND i.version = s.version)"
            ).fetchall()
        return [scope_of(*names) for names in found]

    def image(self, key: int) -> tuple[int, list[bytes]] | None:
        """Return (version, chunks) of a scope's images; None if there are none, or not all of them.

        Raises:
            CorruptIndexError: they were sealed, and cannot be opened.
        """
        with translated(self.path, "reading"), self.snapshot():
            found = self._image_rows(key)
            if found is None:
                return None
            chunks = self._opened_image(key, found[0], [self._image_data(number) for number in found[1]])
            return (found[0], [bytes(chunk) for chunk in chunks])

    @contextmanager
    def image_views(self, key: int) -> Iterator[tuple[int, Sequence[bytes | memoryview]] | None]:
        """Give what :meth:`image` returns for the duration of the block, if possible in memory that is used again.

        Touching new memory takes longer than reading into it.
        """
        with translated(self.path, "reading"), self.snapshot():
            found = self._image_rows(key)
            if found is None or not self._scratch_lock.acquire(blocking=False):
                yield self.image(key)
                return
            try:
                yield (found[0], self._opened_image(key, found[0], self._into_scratch(found[1])))
            finally:
                if len(self._scratch) > _MAX_SCRATCH_BYTES:
                    self._scratch = bytearray()
                self._scratch_lock.release()

    def _opened_image(
        self, key: int, version: int, chunks: Sequence[bytes | memoryview]
    ) -> Sequence[bytes | memoryview]:
        if self.cipher.ring is None:  # a sealed one is none that the engine can read
            return chunks
        return self.cipher.open_image(self.tables.image, self._scope(key), version, chunks)

    def _image_rows(self, key: int) -> tuple[int, list[int]] | None:
        t = self.tables
        found = self._reader.execute(
            f"SELECT number, ordinal, n_chunks, version, typeof(data) FROM {t.image} WHERE scope = ? ORDER BY ordinal",
            (key,),
        ).fetchall()
        for i, (_, ordinal, n_chunks, version, kind) in enumerate(found):
            if (ordinal, n_chunks, version, kind) != (i, len(found), found[0][3], "blob"):
                return None
        return (found[0][3], [row[0] for row in found]) if found else None

    def _image_data(self, number: int) -> bytes:
        t = self.tables
        if sys.version_info >= (
            3,
            11,
        ):  # a fifth of the time: a value of a row passes through SQLite's own memory
            with self._reader.blobopen(t.image, "data", number, readonly=True) as blob:
                return blob.read()
        found: tuple[bytes] = self._reader.execute(
            f"SELECT data FROM {t.image} WHERE number = ?", (number,)
        ).fetchone()
        return found[0]

    def _into_scratch(self, numbers: Sequence[int]) -> Sequence[bytes | memoryview]:
        if sys.version_info >= (3, 11):
            with ExitStack() as stack:
                table = self.tables.image
                blobs = [
                    stack.enter_context(self._reader.blobopen(table, "data", number, readonly=True))
                    for number in numbers
                ]
                if len(self._scratch) < (n_bytes := sum(map(len, blobs))):
                    self._scratch = bytearray(n_bytes)
                scratch = memoryview(self._scratch)
                views: list[memoryview] = []
                at = 0
                for blob in blobs:
                    start = at
                    while piece := blob.read(_PIECE_BYTES):
                        scratch[at : at + len(piece)] = piece
                        at += len(piece)
                    views.append(scratch[start:at])
            return views
        return [self._image_data(number) for number in numbers]

    def reading_connection(self) -> sqlite3.Connection:
        """Return this thread's connection, for backups and checks."""
        return self._reader


def _row(t: Tables) -> str:
    return (
        "SELECT d.seq, d.id, d.text, d.payload, v.data "
        f"FROM {t.document} d LEFT JOIN {t.vector} v ON v.seq = d.seq "
    )


def clear_row(row: Sequence[Any]) -> StoredRow:
    """Return a row as it is in the file, if it is in the clear."""
    if row[2].__class__ is not str:
        raise EncryptionError(f"document {row[1]!r} is encrypted: open the file with keys=")
    return StoredRow(*row)


def names_of(scope: Scope) -> tuple[str, str, str]:
    """Return a scope as the table has it: '' is "none"."""
    return (scope.tenant, scope.user or "", scope.agent or "")


def scope_of(tenant: str, user: str, agent: str) -> Scope:
    """Return the scope of a row."""
    return Scope(tenant, user or None, agent or None)
