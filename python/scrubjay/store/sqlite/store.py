"""The store in one SQLite file: rows, deletion events and chunk images in one transaction domain.

The file is in WAL mode. With durability "full" (the default) an acknowledged write survives a loss of power; with
"normal" it survives the death of the process, and a loss of power may lose the last writes but never corrupts the
file. Writers of several threads share one fsync (:mod:`scrubjay.store.sqlite.syncing`); other threads may see a
write before it is synced.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from scrubjay._native import Scope
from scrubjay.base.errors import (
    ClosedError,
    CorruptIndexError,
    EncryptionError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
)
from scrubjay.base.locks import is_mine, renew_in_children
from scrubjay.base.whole_files import beside
from scrubjay.store.keys.encryption import KeyRing
from scrubjay.store.rows.decoding import integer, scope_of
from scrubjay.store.rows.erasure_search import ErasureReport, search_files
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.holds import OWNED
from scrubjay.store.rows.report import CheckReport
from scrubjay.store.rows.values import Identity, RowId, StoredRow
from scrubjay.store.sqlite import embedding_queue, image_writing, schema, shrinking, user_keys
from scrubjay.store.sqlite.cipher import Cipher
from scrubjay.store.sqlite.connections import (
    Readers,
    StoreConnection,
    connect,
    hold_to_size,
    size_of,
    translated,
)
from scrubjay.store.sqlite.descriptors import looking_at
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.feedback import read_notes, write_note
from scrubjay.store.sqlite.file_detection import check_place, recognised
from scrubjay.store.sqlite.file_identity import name_of, place_of
from scrubjay.store.sqlite.group import GroupCommit
from scrubjay.store.sqlite.holds import Holds, HoldTable
from scrubjay.store.sqlite.image_pieces import CutImage
from scrubjay.store.sqlite.images import ImageReader
from scrubjay.store.sqlite.inspection import inspect_file
from scrubjay.store.sqlite.list_reading import ListReader
from scrubjay.store.sqlite.migration import migrate
from scrubjay.store.sqlite.reading import ScopeReader
from scrubjay.store.sqlite.schema import Tables
from scrubjay.store.sqlite.syncing import SharedSync
from scrubjay.store.sqlite.transaction import Transaction

_STEP_SETTINGS = {"synchronous": 1, "wal_autocheckpoint": 0}  # 1: NORMAL
_STEP_BUSY_SECONDS = 0.005  # for which a step holds the write lock while another process writes


class SqliteStore:
    """One collection of an index file. Thread-safe. The methods are those of :class:`scrubjay.store.seam.Store`.

    Args:
        path: the file; created if it does not exist.
        identity: of a collection that is created.
        durability: "full" or "normal".
        busy_seconds: how long to wait for another writer.
        collection: its name; "" for the unnamed collection of every file.
        ring: the keys of encrypted tenants; None: no keys.
        read_only: nothing is created or written, not even by housekeeping; writes raise StoreError.
    """

    def __init__(
        self,
        path: Path,
        identity: Identity,
        *,
        durability: str,
        busy_seconds: float,
        collection: str = "",
        ring: KeyRing | None = None,
        read_only: bool = False,
    ) -> None:
        self._read_only = read_only
        if read_only and not path.is_file():
            raise StoreFormatError(f"path: expected an index, there is no such file: {path}")
        self.cipher = Cipher(ring, self.reading_connection)
        self.path = path
        self.collection = collection
        self._holds = HoldTable()
        self._busy_seconds = busy_seconds
        self.write_lock = threading.RLock()
        """The write lock (the writer's turn)."""
        self._in_background = False  # the lock holder is background work, which ends soon
        self._n_changes = 0  # transactions begun plus transactions ended by this store; odd during a write
        self._closed = False
        check_place(path)
        with recognised(path), translated(path, "opening"):
            hold_to_size(path)
            if not read_only:
                self._make_whole(identity)
            # The last connection to close removes the log if it may write, so the read-only store's connection
            # gets that right where the file permits it.
            self._writer = connect(
                path,
                durability=durability,
                busy_seconds=busy_seconds,
                read_only=read_only and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)),
            )
            self._writer.cipher = self.cipher
            try:
                if read_only:
                    self._writer.execute("PRAGMA query_only = ON")
                self._prepare(identity)
                self.tables = self._prepare_collection(identity)
            except BaseException:
                self._writer.close()
                raise
        self._readers = Readers(path, busy_seconds, self.cipher)
        self._scopes = scopes = ScopeReader(path, self.tables, self.cipher, self._readers)
        self._documents = documents = DocumentReader(scopes)
        self.looking = looking_at(path)
        lists = ListReader(scopes, documents)
        images = ImageReader(scopes, documents, partial(self.looking.descriptor, path))
        self.snapshot, self.identity = scopes.snapshot, scopes.identity
        self.glance, self.head, self.generation = scopes.glance, scopes.head, scopes.generation
        self.scopes_since, self.last_version = scopes.scopes_since, scopes.last_version
        self.mark, self.noticed, self.watch = scopes.mark, scopes.noticed, scopes.watch
        self.look, self.scope_state, self.scope_states = scopes.look, scopes.scope_state, scopes.scope_states
        self.scopes, self.living_scopes = scopes.scopes, scopes.living_scopes
        self.stale_scopes, self.events = scopes.stale_scopes, scopes.events
        self.count, self.vector_count = scopes.count, scopes.vector_count
        self.next_expiry, self.expired_ids = scopes.next_expiry, scopes.expired_ids
        self.encrypted_tenants, self.tenants_without_key = (
            scopes.encrypted_tenants,
            scopes.tenants_without_key,
        )
        self.digest, self.row_opener = documents.digest, documents.row_opener
        self.rows, self.changes = documents.rows, documents.changes
        self.get, self.find, self.at = documents.get, documents.find, documents.at
        self.to_embed = documents.to_embed
        self.rows_in, self.numbers_in = lists.rows_in, lists.numbers_in
        self.ids_after, self.walk = lists.ids_after, lists.walk
        self.image, self.image_views = images.image, images.image_views
        renew_in_children(self, "write_lock")
        real = path.resolve()  # SQLite follows links
        self._files = tuple(real.with_name(real.name + end) for end in ("", "-wal", "-shm", "-journal"))
        self.sync: SharedSync | None = None
        """Batches the fsyncs of commits; None: commits are not synced."""
        if durability == "full" and not read_only:
            # the committing threads call fsync, not SQLite
            self._writer.execute("PRAGMA synchronous = NORMAL")
            self.sync = SharedSync(lambda: self.looking.descriptor(self._files[1], for_writing=True))
        holds = None if collection == OWNED else self._holds
        self.group = GroupCommit(self, self._writer, self.tables, holds)
        """Commits single-document writes of several threads together."""
        scopes.watch_wal(self.looking.wal_index(self.files()[2]))
        if not read_only:
            # Finish erasures that a crash interrupted; what fails now is retried at the next opening.
            with suppress(CorruptIndexError, EncryptionError, StoreError):
                self._destroy_user_keys()

    def _prepare(self, identity: Identity) -> None:
        known = schema.recognise(self._writer, str(self.path))
        if self._read_only:
            if not known or not schema.is_current(self._writer):
                description = (
                    "an older format, which opening it once for writing changes" if known else "an empty file"
                )
                raise StoreFormatError(
                    f"path: expected an index of this format, got {description}: {self.path}"
                )
            return
        if known:
            self._write_ahead()  # a backup is not in WAL mode yet
        else:
            _settle_pages(self._writer)
            self._write_ahead()
            self._create(self._writer, identity)
        if not schema.is_current(self._writer):
            self._writer.execute("BEGIN IMMEDIATE")
            migrate(self._writer)
            self._writer.execute("COMMIT")

    def _make_whole(self, identity: Identity) -> None:
        """Create the file of a new index with all its tables, or nothing if that fails (a full disk)."""
        target = Path(os.path.realpath(self.path))
        if os.name != "posix" or target.exists():
            return
        with suppress(FileExistsError), beside(target) as fresh:
            connection = connect(fresh, durability="full", busy_seconds=self._busy_seconds)
            try:
                connection.execute("PRAGMA journal_mode = MEMORY")  # a file that fails is removed
                _settle_pages(connection)
                self._create(connection, identity)
            finally:
                connection.close()

    def _create(self, connection: StoreConnection, identity: Identity) -> None:
        connection.execute("BEGIN IMMEDIATE")
        if not schema.recognise(connection, str(self.path)):  # another process may have created the tables
            schema.create(connection, identity if self.collection == "" else unsettled(identity))
            if self.collection:
                schema.create_collection(connection, self.collection, identity)
        connection.execute("COMMIT")

    def _write_ahead(self) -> None:
        """Switch the file to WAL mode, retrying while another process does the same: SQLite's busy timeout does
        not apply here."""
        last = time.monotonic() + self._busy_seconds
        while True:
            try:
                mode = self._writer.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= last:
                    raise
                time.sleep(0.002)
        if mode != ("wal",):
            raise StoreError(f"the file system does not allow a write-ahead log: {self.path}")

    def _prepare_collection(self, identity: Identity) -> Tables:
        while True:
            tables = self._find_or_create(identity)
            self._writer.execute("BEGIN")  # one snapshot of the file: other processes may write meanwhile
            try:
                if self.collection:
                    collection_tables = schema.find_collection(self._writer, self.collection)
                    if collection_tables is None:
                        continue  # another process dropped it
                    tables = collection_tables
                if missing := schema.missing_tables(self._writer, tables):
                    raise CorruptIndexError(
                        f"tables that are missing or not as they were made: {', '.join(missing)}"
                    )
                schema.hold_to_rows(self._writer, tables)
            finally:
                self._writer.rollback()
            return tables

    def _find_or_create(self, identity: Identity) -> Tables:
        if self.collection == "":
            return Tables()
        tables = schema.find_collection(self._writer, self.collection)
        if tables is None and self._read_only:
            raise StoreFormatError(f"collection: there is no {self.collection!r}: {self.path}")
        if tables is None:
            self._writer.execute("BEGIN IMMEDIATE")
            tables = schema.find_collection(self._writer, self.collection)
            if tables is None:
                tables = schema.create_collection(self._writer, self.collection, identity)
            self._writer.execute("COMMIT")
        return tables

    def reading_connection(self) -> StoreConnection:
        """Return this thread's connection, for reads by other modules. Another thread may close it at any time;
        every call on it and its cursors then raises ClosedError."""
        return self._readers.get().connection

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(
        self,
        doing: str,
        *,
        scopes: Iterable[Scope] | None = None,
        wait: bool = True,
        in_background: bool = False,
        is_log: bool = False,
        ids: Sequence[RowId] = (),
    ) -> Iterator[Transaction]:
        """Acquire the write lock and begin a transaction: committed at the end of the block, rolled back on an
        exception.

        Args:
            doing: what is being done, for error messages.
            scopes, ids: ignored: a file has one writer, whatever it writes, and there is no server to ask.
            wait: wait for another writer up to the busy timeout.
            in_background: not a write of the caller; foreground writers wait for its end even past their busy
                timeout.
            is_log: only rows are written that :meth:`rows_version` does not cover.

        Raises:
            StoreBusyError: another thread or process held the write lock for longer than the busy timeout.
            StoreError: the transaction could not be written; nothing of it was. Or the fsync failed afterwards:
                then it is written, and may not survive a loss of power.
        """
        sync = None if in_background else self.sync  # lost maintenance is repeated, so it is not synced
        try:
            with self._turn(doing, wait=wait, in_background=in_background), translated(self.path, doing):
                if sync is not None:
                    sync.enter()
                if self._is_writing():  # the lock is reentrant: this thread itself holds it
                    raise StoreError(f"{doing}: this thread is in the middle of another write: {self.path}")
                self.group.forget()
                try:
                    self._n_changes += not is_log
                    if not wait:
                        self._writer.execute("PRAGMA busy_timeout = 0")
                    try:
                        self._writer.rows("BEGIN IMMEDIATE")
                    finally:
                        if not wait:
                            self._writer.execute(f"PRAGMA busy_timeout = {int(self._busy_seconds * 1000)}")
                    self.cipher.begin(self._writer)
                    holds = None if self.collection == OWNED else Holds(self._writer, self._holds)
                    transaction = Transaction(self._writer, self.tables, self.cipher, holds=holds)
                    yield transaction
                    if not transaction.committed:
                        transaction.commit()
                finally:
                    # Count begin and end: a read in between may have seen either state.
                    self._n_changes += not is_log
                    self.cipher.end(committed=not self._is_writing())
                    if self._is_writing():
                        self._writer.execute("ROLLBACK")
            if sync is not None:
                self.await_disk(doing)
        finally:
            if sync is not None:
                sync.leave()
        # after the lock is released: this may take long
        if transaction.released and self.cipher.ring is not None:
            self.cipher.ring.destroy(transaction.released)
        if transaction.dying:
            self._destroy_user_keys()

    def await_disk(self, doing: str) -> None:
        """Wait until everything that this thread has committed is synced to disk, if the store promises that.

        Raises:
            StoreError: the sync failed, so it is unknown whether it is.
        """
        if self.sync is not None:
            with translated(self.path, doing):
                self.sync.wait()

    def count_change(self) -> None:
        """Count the begin or end of a write, for :meth:`rows_version`."""
        self._n_changes += 1

    def _destroy_user_keys(self) -> None:
        """Destroy the halves of dead keys in the key store, and record that they were destroyed.

        Raises:
            EncryptionError: the key store is not available; the next erasure or opening retries.
        """
        ring = self.cipher.ring
        if ring is None or ring.users is None:
            return
        with translated(self.path, "reading keys of users"):
            ids = user_keys.dying(self.reading_connection())
        if not ids:
            return
        ring.destroy_users(ids)
        with self.writing("noting destroyed keys") as transaction:
            user_keys.settle(transaction.connection, ids)

    def _is_writing(self) -> bool:
        return self._writer.in_transaction

    @contextmanager
    def stepping(self, doing: str) -> Iterator[StoreConnection]:
        """Acquire the write lock and begin a transaction for a maintenance step, which does not change what the
        file means.

        The commit is not synced to disk and does not checkpoint the log.

        Raises:
            StoreBusyError: another thread or process held the write lock for longer than the busy timeout.
        """
        last = time.monotonic() + self._busy_seconds
        while True:
            with self._turn(doing, in_background=True), translated(self.path, doing):
                if self._is_writing():  # the lock is reentrant: this thread itself holds it
                    raise StoreError(f"{doing}: this thread is in the middle of another write: {self.path}")
                self.group.forget()
                settings = {
                    name: self._writer.row(f"PRAGMA {name}")[0] for name in (*_STEP_SETTINGS, "busy_timeout")
                }
                try:
                    busy = min(self._busy_seconds, _STEP_BUSY_SECONDS)
                    self._writer.execute(f"PRAGMA busy_timeout = {int(busy * 1000)}")
                    for name, value in _STEP_SETTINGS.items():
                        self._writer.execute(f"PRAGMA {name} = {value}")
                    if self._begun():
                        yield self._writer
                        self._writer.execute("COMMIT")
                        return
                finally:
                    if self._is_writing():
                        self._writer.execute("ROLLBACK")
                    for name, value in settings.items():
                        self._writer.execute(f"PRAGMA {name} = {value}")
            if time.monotonic() >= last:
                raise StoreBusyError(
                    f"{doing}: another writer held the index for longer than busy_timeout: {self.path}"
                )
            time.sleep(0.002)  # unlocked: writers of this process need not wait for other processes

    def _begun(self) -> bool:
        """Begin a transaction; False if another process has one."""
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            return False
        return True

    @contextmanager
    def exclusively(self, doing: str, *, in_background: bool = False) -> Iterator[StoreConnection]:
        """Acquire the write lock without a transaction, for checkpoints and the like."""
        with self._turn(doing, in_background=in_background), translated(self.path, doing):
            yield self._writer

    @contextmanager
    def _turn(self, doing: str, *, wait: bool = True, in_background: bool = False) -> Iterator[None]:
        self.take_turn(doing, wait=wait)
        try:
            self._in_background = in_background
            yield
        finally:
            self.end_turn()

    def take_turn(self, doing: str, *, wait: bool = True) -> None:
        """Acquire the write lock; :meth:`end_turn` releases it.

        Raises:
            StoreBusyError: another thread held the lock for longer than the busy timeout.
            ClosedError, StoreError: the store is closed or read-only.
        """
        if self._closed:  # checked first: after a fork a thread of the parent may hold the lock
            self.check_open()
        taken = self.write_lock.acquire(blocking=False)  # usually free; an acquire with a timeout is slower
        if not taken and wait:
            taken = self.write_lock.acquire(timeout=self._busy_seconds)
        while not taken and wait and self._in_background:
            taken = self.write_lock.acquire(timeout=1)
        if not taken:
            raise StoreBusyError(
                f"{doing}: another thread was writing for longer than busy_timeout: {self.path}"
            )
        if self._closed or self._read_only:
            self.end_turn()
            self.check_open()
            raise StoreError(f"{doing}: the index was opened for reading only: {self.path}")

    def end_turn(self) -> None:
        self._in_background = False
        self.write_lock.release()

    def is_writing_here(self) -> bool:
        return is_mine(self.write_lock)

    def inspect(self, report: CheckReport) -> None:
        """Check the rows of the collection; see :func:`scrubjay.store.sqlite.inspection.inspect_file`."""
        inspect_file(self._scopes, report)

    def search(self, needles: Sequence[bytes], names: Sequence[str]) -> ErasureReport:
        """Search the bytes of the files; see :func:`scrubjay.store.rows.erasure_search.search_files`."""
        return search_files(self.files(), self.looking, needles, names)

    def forget_deleted(self) -> None:
        with translated(self.path, "compacting"):
            shrinking.forget_deleted(self)

    def rewrite(self) -> None:
        """Return the space of deleted rows, and leave none of their bytes in the file or its log, in short steps
        between which other writers proceed; see :mod:`scrubjay.store.sqlite.shrinking`.

        Raises:
            StoreBusyError: another process read or wrote for longer than the busy timeout; deleted data is zeroed
                in the file, but the log may hold copies.
        """
        with translated(self.path, "compacting"):
            image_writing.forget_all_unlisted(self)
            shrinking.shrink(self, busy_seconds=self._busy_seconds)

    def image_in_pieces(
        self, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool = False
    ) -> AbstractContextManager[Sequence[bytes] | CutImage]:
        """Write a large image piece by piece; see :func:`scrubjay.store.sqlite.image_writing.in_pieces`."""
        return image_writing.in_pieces(self, scope, version, chunks, replace=replace)

    # ------------------------------------------------------------------ beside the documents

    @property
    def place(self) -> str:
        """The file, for messages."""
        return str(self.path)

    @property
    def asks_each_time(self) -> bool:
        """False: a glance reads shared memory."""
        return False

    def freshness(self) -> tuple[float, bool]:
        """Never stale: a glance shows every commit."""
        return 0.0, False

    def lineage(self) -> str | None:
        """Return the name of this collection of this file; see :func:`scrubjay.store.sqlite.file_identity.name_of`."""
        return name_of(self)

    def shared_name(self) -> str | None:
        """Return a name that is equal in all processes that have this file open; see
        :func:`scrubjay.store.sqlite.file_identity.place_of`."""
        return place_of(self)

    def pending_count(self, *, now: int, scopes: Sequence[Scope] | None = None) -> int:
        return embedding_queue.count(self._scopes, now=now, scopes=scopes)

    def pending_pages(self, size: int, *, now: int) -> Iterator[list[tuple[StoredRow, Scope]]]:
        return embedding_queue.pages(self._scopes, self._documents, size, now=now)

    def write_note(self, note: Feedback, *, now: int) -> bool:
        """Write a feedback note on a document; see :mod:`scrubjay.store.sqlite.feedback`."""
        return write_note(self, note, now=now)

    def read_notes(self, scope: Scope | None, *, now: int) -> list[Feedback]:
        return read_notes(self._scopes, scope, now=now)

    def rows_version(self) -> object | None:
        """Return a value that changes whenever anything but logs (`is_log` of :meth:`writing`) may have been
        committed; None while this process is writing.

        SQLite's `data_version` of the writer's connection covers commits of all other connections only, so
        commits of this store are counted separately.
        """
        n_changes = self._n_changes
        version = None if n_changes % 2 else self._writer.row_now("PRAGMA data_version")
        return None if version is None else (n_changes, *version)

    def has_layer(self, table: str) -> bool:
        with translated(self.path, "looking for the owner of a collection"):
            return schema.has_table(self.reading_connection(), table)

    def stats(self) -> dict[str, int | str]:
        """Return no counts: a file has none beyond those of every store."""
        return {}

    def size_bytes(self) -> int:
        """Return the total size of the files, in bytes."""
        return sum(size_of(path) for path in self.files())

    # ------------------------------------------------------------------ collections

    def collection_names(self) -> list[str]:
        with translated(self.path, "reading"):
            return schema.collection_names(self.reading_connection())

    def all_tables(self) -> list[Tables]:
        """Return the tables of every collection of the file; call within a transaction."""
        return schema.all_tables(self._writer)

    def drop_collection(self, name: str, *, now: int) -> int:
        with self.writing("dropping a collection") as transaction:
            connection = transaction.connection
            tables = schema.find_collection(connection, name)
            if tables is None:
                return 0
            rows = connection.execute(
                f"SELECT tenant, user, agent, documents FROM {tables.scope} WHERE documents > 0"
            ).fetchall()
            events, holds = Transaction(connection, Tables()), Holds(connection)
            n_dropped = 0
            for *names, documents in rows:
                scope, n_documents = scope_of(*names), integer(documents, "a scope's count of documents")
                holds.check(scope)
                events.add_event(scope, f"drop_collection {name}", n_documents, now=now)
                n_dropped += n_documents
            schema.drop_collection(connection, name)
        return n_dropped

    def files(self) -> list[Path]:
        """Return the files of the index (not all of them need exist)."""
        return list(self._files)

    def check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the index is closed, or was opened before this process forked: {self.path}")

    def close(self) -> None:
        """Interrupt and close every connection. Idempotent, and safe from any thread.

        A write in progress is waited for. If this thread itself is inside SQLite (in a finalizer that Python runs
        there), the files are released when that call returns.
        """
        if not self.write_lock.acquire(timeout=0 if sys.is_finalizing() else -1):
            return  # a thread stopped at exit holds it forever
        try:
            if self._closed:
                return
            self._closed = True
            self._scopes.watch_wal(None)
            if self.sync is not None and not sys.is_finalizing():
                self.sync.settle()
            connections = [*self._readers.end(), self._writer]
            left = list(range(len(connections)))

            def one_less() -> (
                None
            ):  # called by several threads and in finalizers: takes no lock, since pop() is atomic
                if left.pop() == 0:
                    # last, because closing a descriptor drops SQLite's POSIX locks on the file
                    self.looking.close()

            for connection in connections:
                connection.shut(one_less)
        finally:
            self.write_lock.release()

    def abandon(self) -> None:
        self._closed = True
        self._scopes.watch_wal(None)
        self._readers.abandon()
        self._writer.abandon()


def _settle_pages(connection: StoreConnection) -> None:
    """Set what is fixed once a file has tables."""
    connection.execute("PRAGMA page_size = 8192")  # reading images takes half the time of 4096
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # compaction releases pages in steps


def check_identity(stored: Identity, wanted: Identity, place: object) -> None:
    """Compare the identity of an index with what its opener requires; None and "" require nothing.

    Raises:
        StoreFormatError: the index has another dimension, metric, dtype or analyzer.
    """
    for name in ("dim", "metric", "dtype", "analyzer"):
        has, required = getattr(stored, name), getattr(wanted, name)
        if has is not None and required and has != required:
            raise StoreFormatError(f"{name}: the index was made with {has!r}, got {required!r}: {place}")


def unsettled(identity: Identity) -> Identity:
    """Return the identity of the unnamed collection that is created along with a named one: its dimension and
    model are open."""
    return replace(identity, dim=None, model=None)
