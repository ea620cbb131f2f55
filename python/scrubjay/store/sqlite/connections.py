"""Connections to the file, and the translation of SQLite's errors."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.base.errors import ClosedError, CorruptIndexError, Error, StoreBusyError, StoreError
from scrubjay.base.locks import is_mine, renew_in_children
from scrubjay.base.whole_files import log_of, make_private
from scrubjay.store.rows.decoding import text_of

if TYPE_CHECKING:  # which imports this module
    from scrubjay.store.sqlite.cipher import Cipher


# A commit that makes the log this long (32 MB) checkpoints it, which takes two fsyncs and copies each page once.
# At SQLite's default of 1,000 pages that is once in 190 single-document writes, 50 us per write on average; at
# 4,000 pages 20 us.
_LOG_PAGES = 4_000


_CACHE_KIB = 4096  # of a connection's page cache
_PASSING_KIB = 256


class _Opening:
    """Serialises opening connections, and makes a fork wait for an open call in progress: SQLite's own locks must
    not be copied while they are held."""

    def __init__(self) -> None:
        self.turn = threading.RLock()
        renew_in_children(self, "turn")


_opening = _Opening()


class StoreConnection(sqlite3.Connection):
    """A connection that any thread may close at any time, and that carries its store's keys.

    Python's sqlite3 frees the handle while another thread is still inside a call on it. Therefore every call that
    enters SQLite (of the connection, its cursors and its BLOBs) holds the lock `turn`: :meth:`shut` interrupts
    the call in progress, waits until it has returned, and closes. Later calls raise ClosedError. Between two
    calls of an iterator the lock is not held, so an abandoned iterator delays no other call.

    If the thread that shuts the connection is itself inside a call (a finalizer that Python runs there), the
    connection is closed when that call returns. Taking the lock costs about half a microsecond.
    """

    cipher: Cipher | None = None
    """The keys of the store; None: the connection belongs to no store."""

    def __init__(self, path: str, **options: Any) -> None:
        self.turn = threading.RLock()
        self.is_shut: Any = False  # a bool; Any, because another thread may change it at any time
        self._is_freed = False
        self.half_read: list[Any] = []  # cursors that the next call closes
        self._when_closed: list[Callable[[], None]] = []
        with _opening.turn:
            super().__init__(path, **options)
            renew_in_children(self, "turn")

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that enters SQLite.

        Raises:
            ClosedError: the connection was shut before or during the call.
        """
        with self.turn:
            if self.is_shut:
                raise _closed()
            if self.half_read:
                self._close_half_read()
            try:
                return function(*arguments)
            except sqlite3.Error:
                if self.is_shut:  # the call was interrupted
                    raise _closed() from None
                raise
            finally:
                if self.is_shut:
                    self._leave()

    def shut(self, when_closed: Callable[[], None] | None = None) -> None:
        """Close the connection as soon as no call is in progress: before this returns, unless this thread itself
        is inside one.

        Args:
            when_closed: called once after the connection is closed; immediately, if it already is.
        """
        if when_closed is not None:
            self._when_closed.append(when_closed)  # a thread that ends also shuts its own connection
        self.is_shut = True
        if not self.turn.acquire(blocking=False):
            if sys.is_finalizing():
                return  # the thread inside was stopped and never returns
            with suppress(sqlite3.ProgrammingError):  # closed meanwhile
                self.interrupt()
            self.turn.acquire()
        self._leave()
        self.turn.release()

    def _leave(self) -> None:
        """Close the shut connection, unless an outer call of this thread is still inside it. Holds the lock."""
        self.turn.release()
        outer = is_mine(self.turn)
        self.turn.acquire()
        if outer:
            return
        if not self._is_freed:
            self._is_freed = True
            self.half_read.clear()
            super().close()
        while self._when_closed:
            self._when_closed.pop()()

    def abandon(self) -> None:
        """In the child after a fork: the connection belongs to the parent. Every call raises ClosedError."""
        self.is_shut = self._is_freed = True

    def _close_half_read(self) -> None:
        """Close cursors that were freed while another thread held the lock. Holds the lock."""
        while self.half_read:
            with suppress(sqlite3.Error):  # resetting a statement repeats its error
                _CLOSE(self.half_read.pop())

    # ------------------------------------------------------------------ the interface of sqlite3

    def cursor(self, factory: Any = None) -> Any:
        """Return a cursor whose calls hold the connection's lock."""
        try:
            return _CURSOR(self, _Cursor)
        except sqlite3.ProgrammingError:
            raise _closed() from None

    def execute(self, *arguments: Any) -> Any:
        """Execute a statement on a new cursor."""
        return self.call(_EXECUTE, self.cursor(), *arguments)

    def executemany(self, *arguments: Any) -> Any:
        """Execute a statement for each of many rows on a new cursor."""
        return self.call(_EXECUTE_MANY, self.cursor(), *arguments)

    def row_now(self, *arguments: Any) -> Any:
        """Return :meth:`row`, or None without waiting if another thread is inside a call."""
        if not self.turn.acquire(blocking=False):
            return None
        try:
            return self.row(*arguments)
        finally:
            self.turn.release()

    def row(self, *arguments: Any) -> Any:
        """Return the first row of a statement, or None: `execute` and `fetchone` under one acquisition of the
        lock."""
        return self.call(_first_row, self, *arguments)

    def rows(self, *arguments: Any) -> list[Any]:
        """Execute a statement and return all its rows, under one acquisition of the lock, leaving no cursor open."""
        fetched_rows: list[Any] = self.call(_all_rows, self, *arguments)
        return fetched_rows

    def blob(self, table: str, column: str, row: int) -> bytes:
        """Return a BLOB, read without a copy in SQLite's memory (Python 3.11 and later)."""

        def read(connection: Any) -> bytes:
            with connection.blobopen(table, column, row, readonly=True) as blob:
                return bytes(blob.read())

        return bytes(self.call(read, self))

    @contextmanager
    def passing_through(self) -> Iterator[None]:
        """Make the page cache so small that pages which are read once reuse memory that is in the processor's cache:
        within the block, reading many megabytes takes a fifth less time. Not for a connection that writes.
        """
        self.row(f"PRAGMA cache_size = -{_PASSING_KIB}")
        try:
            yield
        finally:
            with suppress(ClosedError):
                self.row(f"PRAGMA cache_size = -{_CACHE_KIB}")

    def backup(self, *arguments: Any, **options: Any) -> None:
        """Copy the database; a concurrent close waits."""
        self.call(partial(super().backup, *arguments, **options))

    def rollback(self) -> None:
        """Roll back if a transaction is open; a closed connection has none."""
        if not self.is_shut:
            with suppress(ClosedError):
                self.call(super().rollback)

    def commit(self) -> None:
        """Commit."""
        self.call(super().commit)

    def close(self) -> None:
        """Equivalent to :meth:`shut`."""
        if not self.is_shut:
            self.shut()


_CURSOR = sqlite3.Connection.cursor
_EXECUTE, _EXECUTE_MANY = sqlite3.Cursor.execute, sqlite3.Cursor.executemany
_FETCH_ONE, _FETCH_MANY, _FETCH_ALL = (
    sqlite3.Cursor.fetchone,
    sqlite3.Cursor.fetchmany,
    sqlite3.Cursor.fetchall,
)
_NEXT, _CLOSE = sqlite3.Cursor.__next__, sqlite3.Cursor.close


def _first_row(connection: StoreConnection, *arguments: Any) -> Any:
    return _CURSOR(connection).execute(*arguments).fetchone()


def _all_rows(connection: StoreConnection, *arguments: Any) -> Any:
    return _CURSOR(connection).execute(*arguments).fetchall()


class _Cursor(sqlite3.Cursor):
    """A cursor whose calls hold its connection's lock."""

    __slots__ = ()
    connection: StoreConnection

    def execute(self, *arguments: Any) -> Any:
        """Execute a statement."""
        return self.connection.call(_EXECUTE, self, *arguments)

    def executemany(self, *arguments: Any) -> Any:
        """Execute a statement for each of many rows."""
        return self.connection.call(_EXECUTE_MANY, self, *arguments)

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        return self.connection.call(_FETCH_ONE, self)

    def fetchmany(self, size: int | None = 1) -> Any:
        """Return the next `size` rows, or what is left."""
        return self.connection.call(_FETCH_MANY, self, size)

    def fetchall(self) -> Any:
        """Return the remaining rows."""
        return self.connection.call(_FETCH_ALL, self)

    def __next__(self) -> Any:
        return self.connection.call(_NEXT, self)

    def close(self) -> None:
        """Discard the rows that were not fetched."""
        if not self.connection.is_shut:
            with suppress(ClosedError):
                self.connection.call(_CLOSE, self)

    def __del__(self) -> None:
        # Freeing a half-read cursor resets its statement, which enters SQLite and must not coincide with a fork.
        # It may be freed anywhere, so this does not wait: if another thread holds the lock, its next call closes
        # the cursor.
        connection = getattr(self, "connection", None)
        if connection is None:
            return
        if not connection.turn.acquire(blocking=False):
            if not connection.is_shut:
                connection.half_read.append(self)
            return
        try:
            if not connection.is_shut:
                _CLOSE(self)
        except sqlite3.Error:
            pass  # resetting a statement repeats its error
        finally:
            connection.turn.release()


def plain_cursor(connection: StoreConnection) -> sqlite3.Cursor:
    """Return a cursor whose calls do not lock, for functions run by :meth:`StoreConnection.call`."""
    cursor: sqlite3.Cursor = _CURSOR(connection)
    return cursor


def rows_of(
    connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return all rows of a statement (empty if it only writes); one lock acquisition on a store's connection."""
    if isinstance(connection, StoreConnection):
        return connection.rows(statement, values)
    return connection.execute(statement, values).fetchall()


def first_row(
    connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()
) -> tuple[Any, ...] | None:
    """Return the first row of a statement, or None; one lock acquisition on a store's connection."""
    if isinstance(connection, StoreConnection):
        found: tuple[Any, ...] | None = connection.row(statement, values)
        return found
    row: tuple[Any, ...] | None = connection.execute(statement, values).fetchone()
    return row


def fetched(connection: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return all rows of a statement, decoding texts natively: calling the connection's text factory for each
    text costs as much as the query. If a text is not UTF-8, all are decoded by the text factory."""
    cautious = connection.text_factory
    connection.text_factory = str
    try:
        return rows_of(connection, statement, values)
    except sqlite3.OperationalError:  # a text that is not UTF-8, or an error that the retry raises again
        connection.text_factory = cautious
        return rows_of(connection, statement, values)
    finally:
        connection.text_factory = cautious


def _closed() -> ClosedError:
    return ClosedError("the index is closed, or was opened before this process forked")


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist, such as a log that another process just closed."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def hold_to_size(path: Path) -> None:
    """Reject a file truncated to less than SQLite's header: SQLite would delete its log and reinitialise it.

    Raises:
        CorruptIndexError: the file is truncated.
    """
    n_log_bytes = size_of(log_of(path))  # first: a new file has a size before it has a log
    size = size_of(path)
    if 0 < size < 512 or (size == 0 and n_log_bytes > 0):
        raise CorruptIndexError(f"it was cut to {size} bytes", path=path)


def connect(path: Path, *, durability: str, busy_seconds: float, read_only: bool = False) -> StoreConnection:
    """Open a connection with the settings of every connection to an index; transactions are begun explicitly."""
    mode = "rwc"
    if read_only:
        mode = "ro" if _is_shared(path) else "ro&immutable=1"
    else:
        make_private(path)  # -wal and -shm are created with the mode of the file
    uri = path.absolute().as_uri() + f"?mode={mode}"
    connection = sqlite3.connect(
        uri,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=busy_seconds,
        cached_statements=64,
        factory=StoreConnection,
    )
    connection.text_factory = text_of
    try:
        connection.execute("PRAGMA secure_delete = ON")  # freed pages are overwritten with zeros
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_shared(path: Path) -> bool:
    """Whether another process may write to the file: not on a read-only medium, unless a log exists there."""
    return os.access(path.parent, os.W_OK) or log_of(path).exists()


@contextmanager
def translated(path: Path | None, doing: str) -> Iterator[None]:
    """Translate exceptions of SQLite and the operating system into ours, naming what was being done."""
    try:
        yield
    except CorruptIndexError as error:
        if error.path is None:
            raise error.located(path=path) from None
        raise
    except Error:
        raise
    except sqlite3.ProgrammingError as error:
        if "closed" in str(error):
            raise ClosedError(f"the index was closed while {doing}: {path}") from None
        raise
    except sqlite3.Error as error:
        raise _error_for(error, path, doing) from error
    except UnicodeDecodeError as error:  # SQLite quotes the file's contents in its message
        raise CorruptIndexError(f"{doing}: the schema cannot be read: {error}", path=path) from None
    except MemoryError:
        if not doing.startswith(_LOOKING):
            raise
        raise StoreError(
            f"{doing}: not enough memory, or the size of a row is damaged (`scrubjay check` tells): {path}"
        ) from None
    except OverflowError as error:  # a damaged number of the file overflowed in arithmetic
        raise CorruptIndexError(f"{doing}: {error}", path=path) from None
    except OSError as error:
        raise StoreError(f"{doing}: {error.strerror or error}: {path}") from error


_LOOKING = ("reading", "opening", "checking", "looking", "backing up", "repairing", "salvaging")

# SQLite's messages about a damaged file; our constraints are checked before rows are written.
_DAMAGED = (
    "not a database",
    "malformed",
    "encrypted",
    "no such table",
    "no such index",
    "has no column",
    "already exists",
    "columns but",  # 9 columns but 8 values were supplied
    "datatype mismatch",
    "unsupported file format",
    "unknown error",
)
_OUR_CONSTRAINT = re.compile(
    r"constraint failed: (meta|scope|document|vector|staged_vector|tombstone|event|image)(_\d+)?\."
)


def _error_for(error: sqlite3.Error, path: Path | None, doing: str) -> Error:
    message = str(error)
    low = message.lower()
    if "locked" in low or "busy" in low:
        return StoreBusyError(f"{doing}: another writer held the index for longer than busy_timeout: {path}")
    if "no such table" in low and low.rpartition("_")[2].isdigit():
        return ClosedError(f"the collection was dropped, which was noticed while {doing}: {path}")
    if any(sign in low for sign in _DAMAGED) or _OUR_CONSTRAINT.search(low):
        return CorruptIndexError(f"{doing}: {message}", path=path)
    return StoreError(f"{doing}: {message}: {path}")


class _Reader:
    """The connection of one thread, closed when the thread ends."""

    __slots__ = ("__weakref__", "_pid", "connection")

    def __init__(self, connection: StoreConnection) -> None:
        self.connection = connection
        self._pid = os.getpid()

    def __del__(self) -> None:
        if self._pid == os.getpid():
            self.connection.close()
        else:  # a child must not close connections of the parent's threads
            self.connection.abandon()
            _inherited.append(self.connection)


_inherited: list[StoreConnection] = []


class Readers:
    """One read connection per thread, so that no reader waits for another thread."""

    def __init__(self, path: Path, busy_seconds: float, cipher: Cipher | None = None) -> None:
        self._path = path
        self._cipher = cipher
        self._busy_seconds = busy_seconds
        self._local = threading.local()
        self._all: weakref.WeakSet[_Reader] = weakref.WeakSet()
        self._lock = threading.RLock()
        self._closed = False
        renew_in_children(self, "_lock")

    def get(self) -> _Reader:
        """Return this thread's reader."""
        reader: _Reader | None = getattr(self._local, "reader", None)
        return reader if reader is not None else self._open()

    def _open(self) -> _Reader:
        with self._lock:
            self._check_open()
            with translated(self._path, "opening for reading"):
                connection = connect(
                    self._path, durability="normal", busy_seconds=self._busy_seconds, read_only=True
                )
                connection.cipher = self._cipher
                reader = _Reader(connection)
            self._check_open()  # a finalizer may have closed the index on this thread
            self._all.add(reader)
        self._local.reader = reader
        return reader

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the index is closed, or was opened before this process forked: {self._path}")

    def end(self) -> list[StoreConnection]:
        """Refuse new connections; return the open ones, for the store to shut them."""
        with self._lock:
            self._closed = True
            return [reader.connection for reader in list(self._all)]

    def abandon(self) -> None:
        """In the child after a fork: the connections must not be used or closed."""
        self._closed = True
        for reader in list(self._all):
            reader.connection.abandon()
            _inherited.append(reader.connection)
