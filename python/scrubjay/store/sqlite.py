"""The store in one SQLite file: rows, deletion events and chunk images in one transaction domain.

Write-ahead log; with durability "full" (the default) an acknowledged write survives loss of power, with "normal" it
survives the death of the process, and a loss of power may take the last writes but never the file's integrity.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import ClosedError, ConflictError, StoreBusyError, StoreError, StoreFormatError
from scrubjay.store import schema
from scrubjay.store.connections import Readers, connect, translated
from scrubjay.store.protocol import Changes, Event, Identity, NewRow, RowId, ScopeState, StoredRow, Written
from scrubjay.store.vectors import content_hash

__all__ = ["SqliteStore", "Transaction", "check_identity"]

_ROW = "SELECT d.seq, d.id, d.text, d.payload, v.data FROM document d LEFT JOIN vector v ON v.seq = d.seq "


class SqliteStore:
    """One index file. Any thread may use it; see :mod:`scrubjay.store.protocol` for what the questions mean."""

    def __init__(self, path: Path, identity: Identity, *, durability: str, busy_seconds: float) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._write_lock = threading.RLock()
        self._closed = False
        with translated(path, "opening"):
            self._writer = connect(path, durability=durability, busy_seconds=busy_seconds)
            try:
                self._prepare(identity)
            except BaseException:
                self._writer.close()
                raise
        self._readers = Readers(path, busy_seconds)

    def _prepare(self, identity: Identity) -> None:
        if not schema.recognise(self._writer, str(self.path)):
            self._writer.execute("PRAGMA page_size = 8192")  # images are read in half the time of 4096
            if self._writer.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
                raise StoreError(f"the file system does not allow a write-ahead log: {self.path}")
            self._writer.execute("BEGIN IMMEDIATE")
            if not schema.recognise(self._writer, str(self.path)):  # another process may have been first
                schema.create(self._writer, identity)
            self._writer.execute("COMMIT")
        if self._writer.execute("PRAGMA user_version").fetchone() != (schema.FORMAT,):
            self._writer.execute("BEGIN IMMEDIATE")
            schema.migrate(self._writer)
            self._writer.execute("COMMIT")

    # ------------------------------------------------------------------ reading, on the thread's own connection

    @property
    def _reader(self) -> sqlite3.Connection:
        return self._readers.get().connection

    def identity(self) -> Identity:
        """Return what the index is made of, as of now."""
        with translated(self.path, "reading"):
            return schema.read_identity(self._reader)

    def changed(self) -> bool:
        """Whether anything may have been committed since this thread last asked."""
        reader = self._readers.get()
        try:
            (version,) = reader.poll("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            with translated(self.path, "looking for changes"):
                raise
        if version == reader.data_version:
            return False
        reader.data_version = version
        return True

    def scopes_since(self, version: int) -> list[tuple[Scope, int]]:
        """Return scopes written to after `version`, with their versions."""
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT tenant, user, agent, version FROM scope WHERE version > ?", (version,)
            ).fetchall()
        return [(_scope(tenant, user, agent), at) for tenant, user, agent, at in found]

    def generation(self) -> int:
        """Return how often the model was changed."""
        with translated(self.path, "reading"):
            return int(self._reader.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()[0])

    def last_version(self) -> int:
        """Return the number of the last write."""
        with translated(self.path, "reading"):
            return int(self._reader.execute("SELECT ifnull(max(version), 0) FROM scope").fetchone()[0])

    def scope_state(self, scope: Scope) -> ScopeState | None:
        """Return the state of exactly this scope; None if nothing was ever written to it."""
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT key, version, horizon, documents FROM scope WHERE tenant = ? AND user = ? AND agent = ?",
                _names(scope),
            ).fetchone()
        return None if found is None else ScopeState(*found)

    def scopes(self) -> list[tuple[Scope, ScopeState]]:
        """Return every scope that has documents."""
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT tenant, user, agent, key, version, horizon, documents FROM scope WHERE documents > 0"
            ).fetchall()
        return [(_scope(*row[:3]), ScopeState(*row[3:])) for row in found]

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
        state = self.scope_state(scope)
        if state is None:
            return
        with translated(self.path, "reading"):
            found = self._reader.execute(
                _ROW + "WHERE d.scope = ? AND (d.expires_at IS NULL OR d.expires_at > ?) ORDER BY d.seq",
                (state.key, now),
            )
            while batch := found.fetchmany(1000):
                for row in batch:
                    yield StoredRow(*row)

    def changes(self, key: int, after: int, *, now: int) -> Changes:
        """Return what happened to the scope with this key after version `after`."""
        with translated(self.path, "reading"):
            deleted = self._reader.execute(
                "SELECT id FROM tombstone WHERE scope = ? AND seq > ?", (key, after)
            ).fetchall()
            # An update to a document that has expired since takes it out, too.
            expired = self._reader.execute(
                "SELECT id FROM document WHERE scope = ? AND seq > ? AND expires_at <= ?", (key, after, now)
            ).fetchall()
            rows = self._reader.execute(
                _ROW
                + "WHERE d.scope = ? AND d.seq > ? AND (d.expires_at IS NULL OR d.expires_at > ?) ORDER BY d.seq",
                (key, after, now),
            ).fetchall()
        return Changes([id for (id,) in deleted + expired], [StoredRow(*row) for row in rows])

    def get(self, id: RowId, *, now: int) -> tuple[StoredRow, Scope] | None:
        """Return the unexpired document with this id."""
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT d.seq, d.id, d.text, d.payload, v.data, s.tenant, s.user, s.agent FROM document d "
                "JOIN scope s ON s.key = d.scope LEFT JOIN vector v ON v.seq = d.seq "
                "WHERE d.id = ? AND (d.expires_at IS NULL OR d.expires_at > ?)",
                (id, now),
            ).fetchone()
        return None if found is None else (StoredRow(*found[:5]), _scope(*found[5:]))

    def ids_after(self, seq: int, limit: int, *, now: int) -> list[tuple[int, RowId]]:
        """Return (seq, id) of the next unexpired documents in order of writing."""
        with translated(self.path, "reading"):
            return self._reader.execute(
                "SELECT seq, id FROM document WHERE seq > ? AND (expires_at IS NULL OR expires_at > ?) "
                "ORDER BY seq LIMIT ?",
                (seq, now, limit),
            ).fetchall()

    def count(self, scopes: Sequence[Scope] | None, *, now: int) -> int:
        """Return how many unexpired documents the exact scopes have together; None: all."""
        with translated(self.path, "reading"):
            if scopes is None:
                (n,) = self._reader.execute("SELECT value FROM meta WHERE name = 'documents'").fetchone()
                (n_expired,) = self._reader.execute(
                    "SELECT count(*) FROM document WHERE expires_at <= ?", (now,)
                ).fetchone()
                return int(n - n_expired)
            n = 0
            for scope in scopes:
                state = self.scope_state(scope)
                if state is None or state.documents == 0:
                    continue
                (n_expired,) = self._reader.execute(
                    "SELECT count(*) FROM document WHERE scope = ? AND expires_at <= ?", (state.key, now)
                ).fetchone()
                n += state.documents - int(n_expired)
            return n

    def next_expiry(self, key: int, *, now: int) -> int | None:
        """Return when the next document of a scope expires."""
        with translated(self.path, "reading"):
            found: int | None = self._reader.execute(
                "SELECT min(expires_at) FROM document WHERE scope = ? AND expires_at > ?", (key, now)
            ).fetchone()[0]
        return found

    def expired_ids(self, key: int, *, now: int) -> list[RowId]:
        """Return the ids of a scope's documents that have expired and were not swept yet."""
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT id FROM document WHERE scope = ? AND expires_at <= ?", (key, now)
            ).fetchall()
        return [id for (id,) in found]

    def events(self) -> list[Event]:
        """Return the deletion events, oldest first."""
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT e.at, e.reason, s.tenant, s.user, s.agent, e.documents FROM event e "
                "JOIN scope s ON s.key = e.scope ORDER BY e.number"
            ).fetchall()
        return [
            Event(at, reason, _scope(tenant, user, agent), n) for at, reason, tenant, user, agent, n in found
        ]

    def stale_scopes(self) -> list[Scope]:
        """Return scopes with documents whose images are missing or older than the last write."""
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT tenant, user, agent FROM scope s WHERE documents > 0 AND NOT EXISTS("
                "SELECT 1 FROM image i WHERE i.scope = s.key AND i.version = s.version)"
            ).fetchall()
        return [_scope(*names) for names in found]

    def image(self, key: int) -> tuple[int, list[bytes]] | None:
        """Return (version, chunks) of a scope's images; None if there are none, or not all of them."""
        with translated(self.path, "reading"):
            found = self._reader.execute(
                "SELECT ordinal, n_chunks, version, data FROM image WHERE scope = ? ORDER BY ordinal", (key,)
            ).fetchall()
        whole = [
            isinstance(data, bytes) and (ordinal, n_chunks, version) == (i, len(found), found[0][2])
            for i, (ordinal, n_chunks, version, data) in enumerate(found)
        ]
        return (found[0][2], [row[3] for row in found]) if found and all(whole) else None

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self, doing: str, *, wait: bool = True) -> Iterator[Transaction]:
        """Take the writer's turn and a transaction: committed at the end, rolled back if anything is raised.

        Raises:
            StoreBusyError: another thread or process wrote for longer than the index waits.
            StoreError: the transaction could not be written; nothing of it was.
        """
        if not self._write_lock.acquire(timeout=self._busy_seconds if wait else 0):
            raise StoreBusyError(
                f"{doing}: another thread was writing for longer than busy_timeout: {self.path}"
            )
        try:
            if self._closed:
                raise ClosedError(f"the index is closed: {self.path}")
            with translated(self.path, doing):
                if not wait:
                    self._writer.execute("PRAGMA busy_timeout = 0")
                try:
                    self._writer.execute("BEGIN IMMEDIATE")
                finally:
                    if not wait:
                        self._writer.execute(f"PRAGMA busy_timeout = {int(self._busy_seconds * 1000)}")
            transaction = Transaction(self._writer)
            try:
                with translated(self.path, doing):
                    yield transaction
                    if not transaction.committed:
                        transaction.commit()
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
        finally:
            self._write_lock.release()

    @contextmanager
    def exclusively(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Take the writer's turn without a transaction, for VACUUM and the like."""
        if not self._write_lock.acquire(timeout=self._busy_seconds):
            raise StoreBusyError(
                f"{doing}: another thread was writing for longer than busy_timeout: {self.path}"
            )
        try:
            if self._closed:
                raise ClosedError(f"the index is closed: {self.path}")
            with translated(self.path, doing):
                yield self._writer
        finally:
            self._write_lock.release()

    def reading_connection(self) -> sqlite3.Connection:
        """Return this thread's connection, for backups and checks."""
        return self._reader

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        with self._write_lock:
            if self._closed:
                return
            self._closed = True
            self._readers.close()
            self._writer.close()


class Transaction:
    """What can be written inside one transaction, on the writer's connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.committed = False
        (last,) = connection.execute("SELECT ifnull(max(version), 0) FROM scope").fetchone()
        self._version = int(last)

    def commit(self) -> None:
        """Commit now; what follows in the block runs with the writer's turn but outside of the transaction."""
        self.connection.execute("COMMIT")
        self.committed = True

    def identity(self) -> Identity:
        """Return what the index is made of."""
        return schema.read_identity(self.connection)

    def meta(self, name: str) -> Any:
        """Return one value of the identity or of what is going on; None if it is not set."""
        found = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def settle(self, **values: object) -> None:
        """Write values of the identity."""
        schema.set_meta(self.connection, **values)

    def has_vectors(self) -> bool:
        """Whether any vector is stored."""
        return self.connection.execute("SELECT 1 FROM vector LIMIT 1").fetchone() is not None

    def upsert(self, rows: Sequence[NewRow], *, now: int) -> list[Written]:
        """Write rows with distinct ids; a row replaces the one with its id.

        Raises:
            ConflictError: an id exists in another scope.
        """
        execute = self.connection.execute
        touched: dict[Scope, list[int]] = {}
        documents: list[tuple[object, ...]] = []
        vectors: list[tuple[int, bytes]] = []
        replaced: list[tuple[int]] = []
        for row in rows:
            state = touched.get(row.scope)
            if state is None:
                state = touched[row.scope] = [*self._state(row.scope), 0]
            old = execute("SELECT seq, scope FROM document WHERE id = ?", (row.id,)).fetchone()
            if old is None:
                state[3] += 1
            elif old[1] != state[0]:
                raise ConflictError(
                    f"id: {row.id!r} exists in another scope; expected a new id, or the scope that holds it (delete it "
                    "there first)"
                )
            else:
                replaced.append((old[0],))
            self._version += 1
            seq = self._version
            documents.append(
                (
                    seq,
                    row.id,
                    state[0],
                    row.text,
                    row.payload,
                    row.created_at,
                    now,
                    row.expires_at,
                    content_hash(row.text, row.payload),
                )
            )
            if row.vector is not None:
                vectors.append((seq, row.vector))
            state.append(seq)
        self._remove(replaced)
        self.connection.executemany("INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", documents)
        self.connection.executemany("INSERT INTO vector VALUES (?, ?)", vectors)
        written = []
        for scope, (key, before, n_before, n_new, *seqs) in touched.items():
            execute(
                "UPDATE scope SET version = ?, documents = documents + ? WHERE key = ?",
                (seqs[-1], n_new, key),
            )
            written.append(Written(scope, before, seqs[-1], n_before))
        self._count(sum(state[3] for state in touched.values()))
        return written

    def delete(self, ids: Iterable[RowId], reason: str, *, now: int) -> list[Written]:
        """Delete documents; ids that do not exist are passed over."""
        by_scope: dict[int, list[tuple[int, RowId]]] = {}
        for id in dict.fromkeys(ids):
            found = self.connection.execute(
                "SELECT seq, scope, id FROM document WHERE id = ?", (id,)
            ).fetchone()
            if found is not None:
                by_scope.setdefault(found[1], []).append((found[0], found[2]))
        written = []
        for key, gone in by_scope.items():
            (tenant, user, agent, before, n_before) = self.connection.execute(
                "SELECT tenant, user, agent, version, documents FROM scope WHERE key = ?", (key,)
            ).fetchone()
            self._remove([(seq,) for seq, _ in gone])
            tombstones = []
            for _, id in gone:
                self._version += 1
                tombstones.append((self._version, key, id))
            self.connection.executemany("INSERT INTO tombstone VALUES (?, ?, ?)", tombstones)
            self.connection.execute(
                "UPDATE scope SET version = ?, documents = documents - ? WHERE key = ?",
                (self._version, len(gone), key),
            )
            self._event(now, reason, key, len(gone))
            deleted = [id for _, id in gone]
            written.append(Written(_scope(tenant, user, agent), before, self._version, n_before, deleted))
        self._count(-sum(map(len, by_scope.values())))
        return written

    def erase(self, scope: Scope, *, exact: bool, now: int) -> list[Written]:
        """Delete every document whose scope agrees with `scope`, and the images and tombstones of those scopes."""
        names = _names(scope)
        condition = "tenant = ?"
        for column, name in (("user", names[1]), ("agent", names[2])):
            condition += f" AND {column} = ?" if exact or name else f" AND ({column} = ? OR 1)"
        found = self.connection.execute(
            f"SELECT key, tenant, user, agent, version, documents FROM scope WHERE {condition} AND (documents > 0 OR "
            "EXISTS(SELECT 1 FROM image WHERE image.scope = key) OR "
            "EXISTS(SELECT 1 FROM tombstone WHERE tombstone.scope = key))",
            names,
        ).fetchall()
        written = []
        for key, tenant, user, agent, before, n_documents in found:
            seqs = self.connection.execute("SELECT seq FROM document WHERE scope = ?", (key,)).fetchall()
            self._remove(seqs)
            self._drop_traces(key)
            if n_documents:
                self._event(now, "erase", key, n_documents)
            after = self.renew(key, documents=0)
            written.append(Written(_scope(tenant, user, agent), before, after, n_documents, erased=True))
        self._count(-sum(row[5] for row in found))
        return written

    def renew(self, key: int, *, documents: int | None = None) -> int:
        """Let everybody who holds the scope in memory read it anew; return its version."""
        self._version += 1
        self.connection.execute(
            "UPDATE scope SET version = ?, horizon = ?, documents = ifnull(?, documents) WHERE key = ?",
            (self._version, self._version, documents, key),
        )
        return self._version

    def write_image(self, scope: Scope, version: int, chunks: Sequence[bytes]) -> None:
        """Replace a scope's images by those of `version`, unless it has newer ones."""
        key, _, _ = self._state(scope)
        newest = self.connection.execute("SELECT max(version) FROM image WHERE scope = ?", (key,)).fetchone()[
            0
        ]
        if newest is not None and newest > version:
            return
        self.connection.execute("DELETE FROM image WHERE scope = ?", (key,))
        self.connection.executemany(
            "INSERT INTO image(scope, ordinal, n_chunks, version, data) VALUES (?, ?, ?, ?, ?)",
            [(key, i, len(chunks), version, data) for i, data in enumerate(chunks)],
        )

    def forget_tombstones(self) -> int:
        """Drop the ids of deleted documents and every image that needs them; return how many ids."""
        scopes = self.connection.execute("SELECT DISTINCT scope FROM tombstone").fetchall()
        for (key,) in scopes:
            # What is older than the last tombstone cannot be caught up once it is gone.
            self.connection.execute(
                "UPDATE scope SET horizon = max(horizon, (SELECT max(seq) FROM tombstone WHERE scope = ?)) "
                "WHERE key = ?",
                (key, key),
            )
        n = self.connection.execute("DELETE FROM tombstone").rowcount
        self.connection.execute(
            "DELETE FROM image WHERE version < (SELECT horizon FROM scope WHERE scope.key = image.scope)"
        )
        return int(n)

    def drop_image(self, key: int) -> None:
        """Delete a scope's images."""
        self.connection.execute("DELETE FROM image WHERE scope = ?", (key,))

    def _drop_traces(self, key: int) -> None:
        self.drop_image(key)
        self.connection.execute("DELETE FROM tombstone WHERE scope = ?", (key,))

    def _remove(self, seqs: Sequence[tuple[int]]) -> None:
        for table in ("document", "vector", "staged_vector"):
            self.connection.executemany(f"DELETE FROM {table} WHERE seq = ?", seqs)

    def _state(self, scope: Scope) -> tuple[int, int, int]:
        """Return (key, version, documents) of a scope, which is made if it is new."""
        names = _names(scope)
        found = self.connection.execute(
            "SELECT key, version, documents FROM scope WHERE tenant = ? AND user = ? AND agent = ?", names
        ).fetchone()
        if found is not None:
            return (found[0], found[1], found[2])
        cursor = self.connection.execute(
            "INSERT INTO scope(tenant, user, agent, version) VALUES (?, ?, ?, 0)", names
        )
        return (int(cursor.lastrowid or 0), 0, 0)

    def _event(self, now: int, reason: str, key: int, n_documents: int) -> None:
        self.connection.execute(
            "INSERT INTO event(at, reason, scope, documents) VALUES (?, ?, ?, ?)",
            (now, reason, key, n_documents),
        )

    def _count(self, n_more: int) -> None:
        if n_more:
            self.connection.execute("UPDATE meta SET value = value + ? WHERE name = 'documents'", (n_more,))


def check_identity(stored: Identity, wanted: Identity, path: Path) -> None:
    """Hold an index to what its opener asked for; None and "" ask for nothing.

    Raises:
        StoreFormatError: the index has another dimension, metric, dtype or analyzer.
    """
    for name in ("dim", "metric", "dtype", "analyzer"):
        has, asked = getattr(stored, name), getattr(wanted, name)
        if has is not None and asked and has != asked:
            raise StoreFormatError(f"{name}: the index was made with {has!r}, got {asked!r}: {path}")


def _names(scope: Scope) -> tuple[str, str, str]:
    return (scope.tenant, scope.user or "", scope.agent or "")


def _scope(tenant: str, user: str, agent: str) -> Scope:
    return Scope(tenant, user or None, agent or None)
