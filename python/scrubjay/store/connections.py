"""How is the file opened, and what do SQLite's errors mean to a caller?"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.errors import ClosedError, CorruptIndexError, Error, StoreBusyError, StoreError

if TYPE_CHECKING:  # which is made with a store's connections
    from scrubjay.store.cipher import Cipher

__all__ = ["Readers", "StoreConnection", "connect", "translated"]


class StoreConnection(sqlite3.Connection):
    """A connection that knows what its store seals and opens with; None: it belongs to no store."""

    cipher: Cipher | None = None


def connect(path: Path, *, durability: str, busy_seconds: float, read_only: bool = False) -> StoreConnection:
    """Open a connection with the settings that every connection to an index has; transactions are begun explicitly."""
    mode = "ro" if read_only else "rwc"
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
    try:
        connection.execute("PRAGMA secure_delete = ON")  # freed pages are overwritten with zeros
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        connection.execute("PRAGMA cache_size = -4096")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def translated(path: Path, doing: str) -> Iterator[None]:
    """Turn what SQLite and the system raise into our types, saying what was being done."""
    try:
        yield
    except Error:
        raise
    except sqlite3.ProgrammingError as error:
        if "closed" in str(error):
            raise ClosedError(f"the index was closed while {doing}: {path}") from None
        raise
    except sqlite3.DatabaseError as error:
        raise _error_for(str(error), path, doing) from error
    except OSError as error:
        raise StoreError(f"{doing}: {error.strerror or error}: {path}") from error


def _error_for(said: str, path: Path, doing: str) -> Error:
    low = said.lower()
    if "locked" in low or "busy" in low:
        return StoreBusyError(f"{doing}: another writer held the index for longer than busy_timeout: {path}")
    if "not a database" in low or "malformed" in low or "encrypted" in low:
        return CorruptIndexError(f"{doing}: {said}: {path}")
    if "no such table" in low:
        return ClosedError(f"the collection was dropped, which was noticed while {doing}: {path}")
    return StoreError(f"{doing}: {said}: {path}")


class _Reader:
    """A connection of one thread, closed with the thread."""

    __slots__ = ("__weakref__", "connection", "poll")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.poll = connection.cursor().execute  # for one statement, before every search

    def __del__(self) -> None:
        self.connection.close()


class Readers:
    """A read connection for every thread that asks, so that no reader ever waits for another thread."""

    def __init__(self, path: Path, busy_seconds: float, cipher: Cipher | None = None) -> None:
        self._path = path
        self._cipher = cipher
        self._busy_seconds = busy_seconds
        self._local = threading.local()
        self._all: weakref.WeakSet[_Reader] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def get(self) -> _Reader:
        """Return this thread's reader."""
        reader: _Reader | None = getattr(self._local, "reader", None)
        return reader if reader is not None else self._open()

    def _open(self) -> _Reader:
        with self._lock:
            if self._closed:
                raise ClosedError(f"the index is closed: {self._path}")
            with translated(self._path, "opening for reading"):
                connection = connect(
                    self._path, durability="normal", busy_seconds=self._busy_seconds, read_only=True
                )
                connection.cipher = self._cipher
                reader = _Reader(connection)
            self._all.add(reader)
        self._local.reader = reader
        return reader

    def close(self) -> None:
        """Close every connection; a thread that is reading gets ClosedError."""
        with self._lock:
            self._closed = True
            for reader in list(self._all):
                reader.connection.close()
