"""Connections to the file, and the meaning of SQLite's errors."""

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

from scrubjay.errors import ClosedError, CorruptIndexError, Error, StoreBusyError, StoreError
from scrubjay.locks import is_mine, renew_in_children
from scrubjay.store.rows.decoding import text_of
from scrubjay.whole_files import log_of, make_private

if TYPE_CHECKING:  # which is made with a store's connections
    from scrubjay.store.sqlite.cipher import Cipher


# Pages of the log (32 MB) at which a commit brings it into the file: that waits for the disk twice and copies each page
# once. SQLite's own 1,000 are 190 writes of one document, which wait 50 us each for it on average; with 4,000 pages it
# is 20.
_LOG_PAGES = 4_000


class _Opening:
    """Connections are opened one after the other, and a fork waits for the open call: SQLite's own locks must not be
    copied while they are held."""

    def __init__(self) -> None:
        self.turn = threading.RLock()
        renew_in_children(self, "turn")


_opening = _Opening()


class StoreConnection(sqlite3.Connection):
    """A connection that may be closed by any thread at any time, and knows what its store seals and opens with.

    Python's sqlite3 frees the handle while another thread is still inside of a call on it. So every call that enters
    SQLite (of the connection, its cursors and its BLOBs) holds `turn`: :meth:`shut` interrupts the call under way,
    waits until it has returned, and closes. A later call raises ClosedError. Between two calls of an
    iterator no lock is held, so an iterator that was left half-way delays no other call.

    If the thread that shuts is itself inside of a call (a finalizer that Python runs there), the connection is closed
    when that call returns. A turn costs about half a microsecond.
    """

    cipher: Cipher | None = None
    """None: it belongs to no store."""

    def __init__(self, path: str, **options: Any) -> None:
        self.turn = threading.RLock()
        self.is_shut: Any = False  # a bool that another thread may change at any time
        self._is_freed = False
        self.half_read: list[Any] = []  # cursors that are to be closed by the next call
        self._when_closed: list[Callable[[], None]] = []
        with _opening.turn:
            super().__init__(path, **options)
            renew_in_children(self, "turn")

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call what enters SQLite.

        Raises:
            ClosedError: the connection was shut before or meanwhile.
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
        """Close as soon as no call is under way: before this returns, unless this thread itself is inside of one.

        Args:
            when_closed: called once, after that; at once, if the connection was closed before.
        """
        if when_closed is not None:
            self._when_closed.append(when_closed)  # a thread that ends shuts its own, too
        self.is_shut = True
        if not self.turn.acquire(blocking=False):
            if sys.is_finalizing():
                return  # the thread inside was stopped where it stood, and never returns
            with suppress(sqlite3.ProgrammingError):  # it was closed just now
                self.interrupt()
            self.turn.acquire()
        self._leave()
        self.turn.release()

    def _leave(self) -> None:
        """Close the connection that was shut, unless an outer call of this thread is still inside. Holds the turn."""
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
        """After a fork, in the child: the connection is the parent's. Every call raises ClosedError."""
        self.is_shut = self._is_freed = True

    def _close_half_read(self) -> None:
        """Close cursors that were freed while another thread had the turn. Holds the turn."""
        while self.half_read:
            with suppress(sqlite3.Error):  # resetting repeats the error of the statement
                _CLOSE(self.half_read.pop())

    # ------------------------------------------------------------------ sqlite3's own surface

    def cursor(self, factory: Any = None) -> Any:
        """Return a cursor whose calls take the connection's turn."""
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
        """The same as :meth:`row`, but None at once while another thread is inside of a call."""
        if not self.turn.acquire(blocking=False):
            return None
        try:
            return self.row(*arguments)
        finally:
            self.turn.release()

    def row(self, *arguments: Any) -> Any:
        """Return the first row of a statement, or None: `execute` and `fetchone` in one turn."""
        return self.call(_first_row, self, *arguments)

    def rows(self, *arguments: Any) -> list[Any]:
        """Execute a statement and return all of its rows, in one turn and without a cursor that outlives it."""
        found: list[Any] = self.call(_all_rows, self, *arguments)
        return found

    def blob(self, table: str, column: str, row: int) -> bytes:
        """Return a BLOB, read without a copy in SQLite's own memory (Python 3.11 and later)."""

        def read(connection: Any) -> bytes:
            with connection.blobopen(table, column, row, readonly=True) as blob:
                return bytes(blob.read())

        return bytes(self.call(read, self))

    def backup(self, *arguments: Any, **options: Any) -> None:
        """Copy the database; a close that comes meanwhile waits."""
        self.call(partial(super().backup, *arguments, **options))

    def rollback(self) -> None:
        """Roll back, if there is anything to roll back: a connection that is closed holds no transaction."""
        if not self.is_shut:
            with suppress(ClosedError):
                self.call(super().rollback)

    def commit(self) -> None:
        """Commit."""
        self.call(super().commit)

    def close(self) -> None:
        """The same as :meth:`shut`."""
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
    """A cursor each of whose calls takes its connection's turn."""

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
        """Return all the rows that are left."""
        return self.connection.call(_FETCH_ALL, self)

    def __next__(self) -> Any:
        return self.connection.call(_NEXT, self)

    def close(self) -> None:
        """Forget the rows that were not fetched."""
        if not self.connection.is_shut:
            with suppress(ClosedError):
                self.connection.call(_CLOSE, self)

    def __del__(self) -> None:
        # Freed half-way, a cursor resets its statement: that enters SQLite, too, and a fork must not come meanwhile.
        # It may be freed anywhere, so it does not wait: where another thread has the turn, the next call closes it.
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
            pass  # resetting repeats the error of the statement
        finally:
            connection.turn.release()


def plain_cursor(connection: StoreConnection) -> sqlite3.Cursor:
    """Return a cursor whose calls take no turn: for functions that :meth:`StoreConnection.call` calls."""
    cursor: sqlite3.Cursor = _CURSOR(connection)
    return cursor


def rows_of(
    connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return all rows of a statement, which may write and return none; of a store's connection in one turn."""
    if isinstance(connection, StoreConnection):
        return connection.rows(statement, values)
    return connection.execute(statement, values).fetchall()


def first_row(
    connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()
) -> tuple[Any, ...] | None:
    """Return the first row of a statement, or None; of a store's connection in one turn."""
    if isinstance(connection, StoreConnection):
        found: tuple[Any, ...] | None = connection.row(statement, values)
        return found
    row: tuple[Any, ...] | None = connection.execute(statement, values).fetchone()
    return row


def fetched(connection: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return all rows of a statement. Texts are made natively: a call of the connection's text factory for each costs
    as much as the query. If one is not UTF-8, all are what the factory makes of them."""
    cautious = connection.text_factory
    connection.text_factory = str
    try:
        return rows_of(connection, statement, values)
    except sqlite3.OperationalError:  # a text that is not UTF-8, or what will be raised again
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
    """Refuse a file that was cut to less than SQLite's header: SQLite would delete its log, and make it a new one.

    Raises:
        CorruptIndexError: it was.
    """
    n_log_bytes = size_of(log_of(path))  # first: a new file has a size before it has a log
    size = size_of(path)
    if 0 < size < 512 or (size == 0 and n_log_bytes > 0):
        raise CorruptIndexError(f"it was cut to {size} bytes", path=path)


def connect(path: Path, *, durability: str, busy_seconds: float, read_only: bool = False) -> StoreConnection:
    """Open a connection with the settings that every connection to an index has; transactions are begun explicitly."""
    mode = "rwc"
    if read_only:
        mode = "ro" if _is_shared(path) else "ro&immutable=1"
    else:
        make_private(path)  # -wal and -shm are made with the mode of the file
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
        connection.execute("PRAGMA cache_size = -4096")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_shared(path: Path) -> bool:
    """Whether another process may write to the file: not on a medium that is read-only, unless a log lies there."""
    return os.access(path.parent, os.W_OK) or log_of(path).exists()


@contextmanager
def translated(path: Path | None, doing: str) -> Iterator[None]:
    """Turn what SQLite and the system raise into our types, saying what was being done."""
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
    except UnicodeDecodeError as error:  # SQLite quotes what it finds in the file
        raise CorruptIndexError(f"{doing}: the schema cannot be read: {error}", path=path) from None
    except MemoryError:
        if not doing.startswith(_LOOKING):
            raise
        raise StoreError(
            f"{doing}: not enough memory, or the size of a row is damaged (`scrubjay check` tells): {path}"
        ) from None
    except OverflowError as error:  # a number of the file that was damaged, with something added
        raise CorruptIndexError(f"{doing}: {error}", path=path) from None
    except OSError as error:
        raise StoreError(f"{doing}: {error.strerror or error}: {path}") from error


_LOOKING = ("reading", "opening", "checking", "looking", "backing up", "repairing", "salvaging")

# What SQLite says of a file that is not as it was written; constraints are checked before rows are written.
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
    said = str(error)
    low = said.lower()
    if "locked" in low or "busy" in low:
        return StoreBusyError(f"{doing}: another writer held the index for longer than busy_timeout: {path}")
    if "no such table" in low and low.rpartition("_")[2].isdigit():
        return ClosedError(f"the collection was dropped, which was noticed while {doing}: {path}")
    if any(sign in low for sign in _DAMAGED) or _OUR_CONSTRAINT.search(low):
        return CorruptIndexError(f"{doing}: {said}", path=path)
    return StoreError(f"{doing}: {said}: {path}")


class _Reader:
    """A connection of one thread, closed with the thread."""

    __slots__ = ("__weakref__", "_pid", "connection")

    def __init__(self, connection: StoreConnection) -> None:
        self.connection = connection
        self._pid = os.getpid()

    def __del__(self) -> None:
        if self._pid == os.getpid():
            self.connection.close()
        else:  # a child forgets the parent's threads, and must not close what they use
            self.connection.abandon()
            _inherited.append(self.connection)


_inherited: list[StoreConnection] = []


class Readers:
    """A read connection for every thread that asks, so that no reader ever waits for another thread."""

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
        """Open no more connections; return those that are open, for the store to shut them."""
        with self._lock:
            self._closed = True
            return [reader.connection for reader in list(self._all)]

    def abandon(self) -> None:
        """After a fork, in the child: none of the connections is to be used or closed."""
        self._closed = True
        for reader in list(self._all):
            reader.connection.abandon()
            _inherited.append(reader.connection)
