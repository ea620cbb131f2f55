"""The store in one SQLite file: rows, deletion events and chunk images in one transaction domain.

Write-ahead log; with durability "full" (the default) an acknowledged write survives loss of power, with "normal" it
survives the death of the process, and a loss of power may take the last writes but never the file's integrity.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrubjay.errors import ClosedError, StoreBusyError, StoreError, StoreFormatError
from scrubjay.store import schema
from scrubjay.store.connections import Readers, connect, translated
from scrubjay.store.protocol import Identity
from scrubjay.store.reading import ReadingStore
from scrubjay.store.transaction import Transaction

__all__ = ["SqliteStore", "check_identity"]


class SqliteStore(ReadingStore):
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

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        with self._write_lock:
            if self._closed:
                return
            self._closed = True
            self._readers.close()
            self._writer.close()


def check_identity(stored: Identity, wanted: Identity, path: Path) -> None:
    """Hold an index to what its opener asked for; None and "" ask for nothing.

    Raises:
        StoreFormatError: the index has another dimension, metric, dtype or analyzer.
    """
    for name in ("dim", "metric", "dtype", "analyzer"):
        has, asked = getattr(stored, name), getattr(wanted, name)
        if has is not None and asked and has != asked:
            raise StoreFormatError(f"{name}: the index was made with {has!r}, got {asked!r}: {path}")
