"""Group commit: writes and deletions of single documents, by several threads, in one transaction.

Writes of one document are what agents do most, and most of their time is spent on the transaction: beginning it,
reading the state of the file, and copying every changed page into the log. Therefore a thread enqueues its write
before it waits for the write lock, and the thread that gets the lock writes the whole queue in order and commits
it. Each write has its own version and its own error; a rejection (a version, a legal hold, an id of the other
kind) happens before any of that write is in the tables. If the transaction fails, nothing of the group is
written, and each thread retries on its own.

The state that a transaction would read first (the identity of the collection, its last version, the rows of
scopes) is cached from one group to the next, as long as the header of the wal-index, or SQLite's `data_version`,
shows no commit of another connection and this store made no other write.

Only the common case is handled here: unencrypted, in a settled index, with at most one vector, without pending
vector or context; deletions where the collection has no notes of feedback. Any other write takes a transaction of
its own (:mod:`scrubjay.store.sqlite.transaction`). That is the reference: a group leaves the file as if each write
had been made that way.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, Protocol

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, Error, StoreBusyError, StoreError, VersionConflictError
from scrubjay.documents.payload import has_context, is_pending
from scrubjay.store.rows.decoding import integer
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.single_write import Glances, OwnCommit, ScopeChange, SingleDelete, SingleWrite
from scrubjay.store.rows.values import Identity, NewRow, RowId, Written
from scrubjay.store.rows.vectors import dim_of, n_bytes
from scrubjay.store.sqlite import schema
from scrubjay.store.sqlite.cipher import Cipher
from scrubjay.store.sqlite.connections import StoreConnection, plain_cursor, translated
from scrubjay.store.sqlite.descriptors import follows, n_log_pages
from scrubjay.store.sqlite.feedback import has_notes
from scrubjay.store.sqlite.holds import Holds, HoldTable
from scrubjay.store.sqlite.schema import Tables
from scrubjay.store.sqlite.scope_rows import row_of
from scrubjay.store.sqlite.syncing import SharedSync
from scrubjay.store.sqlite.versions import last_version

_DOING = "writing"
_MOST = 64  # writes per group: bounds how long a thread works for others
_MOST_SCOPES = 10_000  # cached
# Pages of the log from which on a group checkpoints it, after its writes are visible. SQLite would do so at 4,000 pages
# (connections.py), but within COMMIT: for some ten milliseconds searches would see a commit whose outcome is unknown,
# and each would read the file. The difference is more than a group writes.
_CHECKPOINT_PAGES = 3_000

Commit = Callable[[Callable[[], Glances | None], Sequence[ScopeChange], OwnCommit | None], None]
"""Calls the function that commits a group, and applies the group to the native engine."""


class Turns(Protocol):
    """What a group needs of its store."""

    path: Path
    cipher: Cipher
    sync: SharedSync | None
    write_lock: RLock

    def take_turn(self, doing: str, *, wait: bool = True) -> None:
        """Acquire the write lock."""
        ...

    def end_turn(self) -> None:
        """Release the write lock."""
        ...

    def await_disk(self, doing: str) -> None:
        """Wait until everything that this thread has committed is synced to disk, if the store promises that."""
        ...

    def count_change(self) -> None:
        """Count the begin or end of a write."""
        ...

    def head(self) -> bytes | None:
        """Return the header of the wal-index, as :meth:`ScopeReader.glance` does; None: it cannot be read."""
        ...


class _ScopeRow:
    """The row of a scope after the last commit, or as changed by the current transaction."""

    __slots__ = (
        "after",
        "before",
        "deleted",
        "documents",
        "key",
        "n_new",
        "n_vectors",
        "prepared",
        "rows",
        "scope",
    )

    def __init__(self, scope: Scope, key: int, version: int, documents: int) -> None:
        self.scope = scope
        self.key = key
        self.before = self.after = version
        self.documents = documents
        self.n_new = self.n_vectors = 0
        self.rows: list[NewRow] = []  # written by the current transaction
        self.prepared: list[Any] = []
        self.deleted: list[RowId] = []  # by the current transaction, before or after it wrote rows

    def change(self) -> ScopeChange:
        """Return the change that the transaction makes to the scope."""
        # Named tuples by tuple.__new__: their constructors are functions in Python.
        written = tuple.__new__(
            Written, (self.scope, self.before, self.after, self.documents, self.deleted, False)
        )
        return tuple.__new__(ScopeChange, (written, self.rows, self.prepared))

    def delete(self, id: RowId) -> None:
        """Note that the transaction deleted a document, which it may have written itself, several times."""
        self.deleted.append(id)
        for i in range(len(self.rows) - 1, -1, -1):
            if self.rows[i].id == id:
                del self.rows[i], self.prepared[i]


class _Known:
    """Cached state of a collection; the module's docstring says how long it is valid."""

    __slots__ = (
        "data_version",
        "has_notes",
        "head",
        "identity",
        "is_sealing",
        "last",
        "scopes",
        "vector_bytes",
    )

    def __init__(self, data_version: int, is_sealing: bool, last: int, identity: Identity) -> None:
        self.data_version = data_version
        self.head: bytes | None = (
            None  # of the wal-index, right after the group that this state is known from
        )
        self.is_sealing = is_sealing
        self.last = last
        self.identity = identity
        self.vector_bytes = None if identity.dim is None else n_bytes(identity.dim, identity.dtype)
        self.scopes: dict[Scope, _ScopeRow] = {}
        self.has_notes: bool | None = None  # of feedback; None: not looked up yet


class GroupCommit:
    """Group commits of one store. Thread-safe.

    Args:
        store: the owner of the write lock.
        connection: the writer's.
        tables: of the collection.
        holds: the store's cache of legal holds; None: holds do not apply to this collection.
    """

    def __init__(
        self, store: Turns, connection: StoreConnection, tables: Tables, holds: HoldTable | None
    ) -> None:
        self._store = store
        self._connection = connection
        self._execute = plain_cursor(connection).execute
        self._tables = tables
        self._hold_table = holds
        self._queue: deque[SingleWrite | SingleDelete] = deque()
        self._known: _Known | None = None  # changed under the write lock
        t = tables
        # sqlite3 looks up a converter for each value that is not exactly an int, a float, a str or a bytearray: a
        # None or a bytes costs half as much as a statement. So columns that are usually NULL are omitted from the
        # statement, and other values are bytearrays.
        columns = "seq, id, scope, text, updated_at, hash"
        unless = "ON CONFLICT(id, scope) DO NOTHING"
        self._insert = f"INSERT INTO {t.document}({columns}) VALUES (?, ?, ?, ?, ?, ?) {unless}"
        columns += ", payload, created_at, expires_at"
        self._insert_whole = (
            f"INSERT INTO {t.document}({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) {unless}"
        )
        self._find = f"SELECT seq FROM {t.document} WHERE id = ? AND scope = ?"
        self._insert_vector = f"INSERT INTO {t.vector} VALUES (?, ?)"
        self._remove = f"DELETE FROM {t.document} WHERE seq = ?"
        self._remove_vector = f"DELETE FROM {t.vector} WHERE seq = ?"
        self._remove_staged = f"DELETE FROM {t.staged_vector} WHERE seq = ?"
        self._bury = f"INSERT INTO {t.tombstone} VALUES (?, ?, ?)"
        self._note_event = f"INSERT INTO {t.event}(at, reason, scope, documents) VALUES (?, ?, ?, 1)"
        changes = "version = ?, documents = documents + ?, vectors = vectors + ?"
        self._update_scope = f"UPDATE {t.scope} SET {changes} WHERE key = ?"

    def takes(self, payload: bytes | None) -> bool:
        if self._store.cipher.ring is not None:
            return False
        return payload is None or not (has_context(payload) or is_pending(payload))

    def forget(self) -> None:
        """Invalidate the cached state, because the file is changed outside of a group. Requires the write lock."""
        self._known = None

    def write(self, write: SingleWrite | SingleDelete, commit: Commit) -> bool:
        """Write or delete a document; False: nothing was written, and the write needs its own transaction.

        Raises:
            TypeError, ValueError, VersionConflictError, HeldError: the document was rejected.
            StoreBusyError: another thread or process held the write lock for longer than the busy timeout.
            StoreError: the transaction could not be written, as for :meth:`SqliteStore.writing`.
        """
        store, sync = self._store, self._store.sync
        has_turn = False
        try:
            self._queue.append(write)
            try:
                store.take_turn(_DOING)
                has_turn = True
                if sync is not None:
                    sync.enter()
                if not write.is_done:
                    self._lead(write, commit)
            except BaseException as error:
                if not has_turn:
                    self._withdraw(write)
                if not (write.is_done and isinstance(error, StoreBusyError)):
                    with translated(store.path, _DOING):
                        raise
                # otherwise the thread that held the lock has written it after all
            finally:
                if has_turn:
                    store.end_turn()
            if write.error is not None:
                with translated(store.path, _DOING):
                    raise write.error
            if write.is_unusual:
                return False
            if sync is not None:
                store.await_disk(_DOING)
        finally:
            if sync is not None:
                sync.leave()
        return True

    def _withdraw(self, write: SingleWrite | SingleDelete) -> None:
        """Remove a write from the queue; if another thread is writing it already, wait for that."""
        try:
            self._queue.remove(write)
        except ValueError:
            if not write.is_done:
                with self._store.write_lock:
                    pass

    # ------------------------------------------------------------------ under the write lock

    def _lead(self, own: SingleWrite | SingleDelete, commit: Commit) -> None:
        """Write the queue; `own` is in it, unless a group with it has failed."""
        if self._connection.in_transaction:  # the lock is reentrant: this thread itself holds it
            raise StoreError(f"{_DOING}: this thread is in the middle of another write: {self._store.path}")
        queue = self._queue
        writes: list[SingleWrite | SingleDelete] = []
        while queue and len(writes) < _MOST:
            try:
                writes.append(queue.popleft())
            except IndexError:  # another thread withdrew its write
                break
        if own not in writes:
            with suppress(ValueError):
                queue.remove(own)
            writes.append(own)
        group = _Group(writes)
        try:
            self._write(group, commit)
        except (sqlite3.Error, Error):
            if len(group.writes) == 1 or own.is_done or not group.is_begun:
                raise
            self._write(_Group([own]), commit)  # the threads of the other writes find their own errors

    def _write(self, group: _Group, commit: Commit) -> None:
        """Write a group, commit it, and apply it to the native engine."""
        store = self._store
        store.count_change()
        try:
            known = self._connection.call(self._fill, group)
            self._known = None  # until it is committed
            if group.scopes:
                own = None if group.head is None else OwnCommit(group.head, follows)
                changes = []
                for scope in group.scopes:  # not a comprehension, which is a function of its own
                    changes.append(scope.change())
                commit(partial(self._commit, group, known), changes, own)
                if group.n_log_pages >= _CHECKPOINT_PAGES:
                    self._checkpoint()
            else:
                group.end()  # every write was rejected or is unusual
        except BaseException:
            self._known = None
            raise
        finally:
            store.count_change()
            if self._connection.in_transaction:
                self._connection.rows("ROLLBACK")
            elif group.is_ending:
                group.end()

    def _fill(self, group: _Group) -> _Known:
        """Begin a transaction and write the documents that are not rejected."""
        execute = self._execute
        execute("BEGIN IMMEDIATE")
        group.is_begun = True
        group.head = head = self._store.head()  # no other connection can commit from here on
        known = self._known
        if known is None or head is None or known.head != head:
            known = self._learnt()
        for write in group.writes:
            write.error, write.is_unusual = None, False  # left over from a failed group
            try:
                if isinstance(write, SingleDelete):
                    self._delete(write, group, known)
                elif self._is_usual(write, known):
                    self._put(write, group, known)
                else:
                    write.is_unusual = True
            except (Error, TypeError, ValueError) as error:
                if group.is_changing:
                    raise
                write.error = error
        for state in group.scopes:
            execute(self._update_scope, (state.after, state.n_new, state.n_vectors, state.key))
        return known

    def _commit(self, group: _Group, known: _Known) -> Glances | None:
        """Commit, and update the cached state. Return the glances before and after, unless another process
        committed in between."""
        group.is_ending = True
        try:
            self._connection.call(self._execute, "COMMIT")
        except sqlite3.Error:
            group.is_ending = False
            raise
        for state in group.scopes:
            state.documents += state.n_new
            state.n_new = state.n_vectors = 0
            state.before = state.after
            state.rows, state.prepared, state.deleted = [], [], []
        if len(known.scopes) > _MOST_SCOPES:
            known.scopes.clear()
        self._known = known
        head = None if group.head is None else self._store.head()
        if head is not None:
            group.n_log_pages = n_log_pages(head)
        # If another process has committed since, the next glance finds both commits.
        known.head = None
        if group.head is None or head is None or not follows(group.head, head):
            return None
        known.head = head
        return group.head, head, known.last

    def _checkpoint(self) -> None:
        """Copy the log into the file, as far as no reader needs it. What fails is repeated after the next group."""
        with suppress(sqlite3.Error):
            self._connection.rows("PRAGMA wal_checkpoint(PASSIVE)")

    def _learnt(self) -> _Known:
        """Return the state of the collection, read in the transaction unless the cache is valid."""
        (data_version,) = self._execute("PRAGMA data_version").fetchone()
        known = self._known
        if known is None or known.data_version != data_version:
            known = _Known(
                data_version,
                schema.has_data_keys(self._connection),
                last_version(self._connection, self._tables),
                schema.read_identity(self._connection, self._tables),
            )
        return known

    def _is_usual(self, write: SingleWrite, known: _Known) -> bool:
        """Whether the write needs nothing to be settled, sealed or flagged first.

        Raises:
            TypeError, ValueError: id or vector do not match the identity of the index.
        """
        identity = known.identity
        # Named tuples are unpacked: a look-up by name takes as long as five assignments.
        id, _, _, _, vector, _, _, _ = write.row
        kind, dim = identity.id_kind, identity.dim
        if known.is_sealing or kind is None or identity.generation != write.generation:
            return False
        own = "str" if id.__class__ is str else "int"
        if own != kind:
            raise TypeError(f"id: expected {kind} like the ids of this index, got {own} {id!r}")
        if vector is None:
            return True
        if dim is None:
            return False
        if len(vector) != known.vector_bytes:
            raise ValueError(f"vector: expected {dim} dimensions, got {dim_of(vector, identity.dtype)}")
        return write.model is None or write.model == identity.model

    def _put(self, write: SingleWrite, group: _Group, known: _Known) -> None:
        """Write one document to the tables, except the update of its scope's row.

        Raises:
            VersionConflictError, HeldError: it is rejected; nothing was written.
        """
        execute, row = self._execute, write.row
        id, scope, text, payload, vector, created_at, expires_at, expected = row
        state = known.scopes.get(scope) or self._scope_row(scope, known)
        old = None
        if expected is not None:
            old = None if state is None else execute(self._find, (id, state.key)).fetchone()
            self._check_version(row, None if old is None else old[0], write.now)
            if old is not None:
                self._check_held(scope, group)
        if state is None:
            group.is_changing = True
            state = self._new_scope(scope, known)
        key, version = state.key, known.last + 1
        statement = self._insert
        values: tuple[Any, ...] = (version, id, key, text, write.now, write.checksum)
        if payload is not None:
            statement = self._insert_whole
            values = (*values, bytearray(payload), created_at, expires_at)
        if old is not None or execute(statement, values).rowcount == 0:
            if old is None:
                old = execute(self._find, (id, key)).fetchone()
                if old is None:
                    raise CorruptIndexError(f"document {id!r} is in an index and not in its table")
                self._check_held(scope, group)
            group.is_changing = True
            execute(self._remove, old)
            state.n_vectors -= execute(self._remove_vector, old).rowcount
            execute(self._remove_staged, old)
            execute(statement, values)
        else:
            group.is_changing = True
            state.n_new += 1
        if vector is not None:
            execute(self._insert_vector, (version, bytearray(vector)))
            state.n_vectors += 1
        if state.after == state.before:
            group.scopes.append(state)
        known.last = state.after = write.version = version
        state.rows.append(row)
        state.prepared.append(write.prepared)
        group.is_changing = False

    def _delete(self, write: SingleDelete, group: _Group, known: _Known) -> None:
        """Delete one document, if it exists, from the tables, except the update of its scope's row.

        Raises:
            HeldError: it is rejected; nothing was written.
        """
        if known.has_notes is None:
            known.has_notes = has_notes(self._connection, self._tables)
        if known.is_sealing or known.has_notes:
            write.is_unusual = True
            return
        execute, id, scope = self._execute, write.id, write.scope
        write.version = 0
        state = known.scopes.get(scope) or self._scope_row(scope, known)
        old = None if state is None else execute(self._find, (id, state.key)).fetchone()
        if state is None or old is None:
            return
        self._check_held(scope, group)
        group.is_changing = True
        version = known.last + 1
        execute(self._remove, old)
        state.n_vectors -= execute(self._remove_vector, old).rowcount
        execute(self._remove_staged, old)
        execute(self._bury, (version, state.key, id))
        execute(self._note_event, (write.now, write.reason, state.key))
        state.n_new -= 1
        if state.after == state.before:
            group.scopes.append(state)
        known.last = state.after = write.version = version
        state.delete(id)
        group.is_changing = False

    def _scope_row(self, scope: Scope, known: _Known) -> _ScopeRow | None:
        """Return the row of a scope; None: the scope is new."""
        row = row_of(self._connection, self._tables.scope, scope, "s.key, s.version, s.documents")
        if row is None:
            return None
        state = self._keep(
            known,
            scope,
            integer(row[0], "a scope's key", -(1 << 62)),
            integer(row[1], "a scope's version"),
            integer(row[2], "a scope's count of documents"),
        )
        # the version never decreases, even if rows were removed from the tables
        known.last = max(known.last, state.before)
        return state

    def _new_scope(self, scope: Scope, known: _Known) -> _ScopeRow:
        cursor = self._execute(
            f"INSERT INTO {self._tables.scope}(tenant, user, agent, version) VALUES (?, ?, ?, 0)",
            names_of(scope),
        )
        return self._keep(known, scope, int(cursor.lastrowid or 0), 0, 0)

    def _keep(self, known: _Known, scope: Scope, key: int, version: int, documents: int) -> _ScopeRow:
        state = known.scopes[scope] = _ScopeRow(scope, key, version, documents)
        return state

    def _check_version(self, row: NewRow, seq: int | None, now: int) -> None:
        """Check the expected version against the row with this number; None: no row."""
        current = 0
        if seq is not None:
            t = self._tables
            expired = self._execute(
                f"SELECT 1 FROM {t.document} WHERE seq = ? AND expires_at <= ?", (seq, now)
            ).fetchone()
            current = seq if expired is None else 0
        if row.expected is not None and current != row.expected:
            raise VersionConflictError(row.id, row.expected, current)

    def _check_held(self, scope: Scope, group: _Group) -> None:
        """Raise HeldError if the scope's documents are under a legal hold."""
        if self._hold_table is not None:
            if group.holds is None:
                group.holds = Holds(self._connection, self._hold_table)
            group.holds.check(scope)


class _Group:
    """Writes that are committed together, and the scopes that they change."""

    holds: Holds | None = None  # constant during the transaction
    head: bytes | None = None  # header of the wal-index before the commit
    n_log_pages = 0  # in the log after the commit; 0: unknown
    is_begun = False  # the transaction has begun
    is_changing = False  # a document is partly written
    is_ending = False  # the commit has begun and has not reported failure

    def __init__(self, writes: list[SingleWrite | SingleDelete]) -> None:
        self.writes = writes
        self.scopes: list[_ScopeRow] = []

    def end(self) -> None:
        """Mark all writes as done."""
        for write in self.writes:
            write.is_done = True
