"""Compaction of a file while others use it: sparse pages are filled, free ones given back, and what was deleted zeroed.

All of it in steps, each a transaction of its own that holds the writer's turn for about two milliseconds, and a rest
of twice as long follows. A step leaves a file that is whole and means the same, so a compaction that was interrupted or
killed is begun anew and finds less to do:

1. Rows of sparse leaves are written again in their order, which fills the pages anew: SQLite itself merges pages only
   when two thirds of one are free.
2. Pages from the end of the file move into free ones (`incremental_vacuum`).
3. Bytes of rows that are gone, which are left between the cells of pages (see :mod:`scrubjay.store.sqlite.pages`), are
   zeroed in the file itself. SQLite has no statement for that but VACUUM. It is safe while no page of the file can
   change and none is read from the log: we hold the writer's turn, and the log was brought into the file as a whole.
   Those bytes mean nothing to a reader. Every connection has to forget the pages that it keeps, or it would write the
   old bytes again: it does when it sees a commit, so each step is one.
4. The log is emptied.

A file that was made before files had pointer maps is rewritten as a whole, once, while writers wait; then it has them.
Images are written and dropped by :mod:`scrubjay.store.residency.compacting`, each partition's in one transaction.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

from scrubjay.errors import StoreBusyError
from scrubjay.store.sqlite import schema
from scrubjay.store.sqlite.connections import StoreConnection, connect, translated
from scrubjay.store.sqlite.descriptors import Looking, looking_at
from scrubjay.store.sqlite.pages import Leaf, Pages
from scrubjay.store.sqlite.schema import Tables
from scrubjay.whole_files import log_of

_DOING = "compacting"
_STEP_SECONDS = 0.002
_LOG_SECONDS = 0.1  # between two checkpoints
_FIRST_ROWS, _MAX_ROWS = 16, 1000
_MAX_BYTES = 1 << 20  # of the rows of a step, but for the last one
_MAX_PASSES = 8  # over pages to be zeroed, while others write
_WINDOW_LEAVES = 4  # that are looked at together: filled anew if their rows fit into fewer
_COUNTER = "compacted"  # in meta: what a step that zeroes bytes commits
_INCREMENTAL = 2
_HAS_PLACES = hasattr(os, "pread") and hasattr(
    os, "pwrite"
)  # not on Windows: there files are rewritten as a whole


class Shrinkable(Protocol):
    """The store of a file."""

    path: Path
    tables: Tables
    looking: Looking

    def reading_connection(self) -> StoreConnection:
        """Return this thread's connection."""
        ...

    def stepping(self, doing: str) -> AbstractContextManager[StoreConnection]:
        """Take the writer's turn and a transaction for a step of upkeep."""
        ...

    def exclusively(
        self, doing: str, *, in_background: bool = False
    ) -> AbstractContextManager[StoreConnection]:
        """Take the writer's turn without a transaction."""
        ...


class _Pace:
    """Steps of a compaction, each followed by a rest, so that others have their turns."""

    def __init__(self, store: Shrinkable) -> None:
        self._store = store
        self.n_rows = _FIRST_ROWS
        """How many rows the next step should take."""

    @contextmanager
    def step(self) -> Iterator[StoreConnection]:
        """Take the writer's turn and a transaction."""
        with self._store.stepping(_DOING) as connection:
            begun = time.monotonic()
            yield connection
        spent = time.monotonic() - begun
        if spent > _STEP_SECONDS:
            self.n_rows = max(self.n_rows // 2, 1)
        elif spent < _STEP_SECONDS / 3:
            self.n_rows = min(self.n_rows * 2, _MAX_ROWS)
        rest(spent)


def rest(seconds: float) -> None:
    """Rest after a step that took so long, twice as long: writers of other processes look from time to time only."""
    time.sleep(min(max(2 * seconds, 0.0005), 0.02))


def forget_deleted(store: Shrinkable) -> None:
    """Drop the ids of deleted documents of every collection, and every image that needs them, in steps.

    Images of the store's own collection are then written anew. One of another collection that a write is missing in is
    dropped, since it may have texts that were replaced.
    """
    connection = store.reading_connection()
    for t in schema.all_tables(connection):
        needed = "horizon" if t.suffix == store.tables.suffix else "version"
        keys = connection.execute(
            f"SELECT key FROM {t.scope} s WHERE EXISTS (SELECT 1 FROM {t.tombstone} WHERE scope = key) "
            f"OR EXISTS (SELECT 1 FROM {t.image} i WHERE i.scope = s.key AND i.version < s.{needed})"
        ).fetchall()
        for (key,) in keys:
            _forget_deleted_of(_Pace(store), t, key, needed)


def _forget_deleted_of(pace: _Pace, t: Tables, key: object, needed: str) -> None:
    with pace.step() as connection:
        if schema.missing_tables(connection, t):  # the collection was dropped meanwhile
            return
        query = f"SELECT max(seq) FROM {t.tombstone} WHERE scope = ?"
        (last,) = connection.execute(query, (key,)).fetchone()
        if last is not None:  # what is older than the last one cannot be caught up once it is gone
            connection.execute(f"UPDATE {t.scope} SET horizon = max(horizon, ?) WHERE key = ?", (last, key))
        connection.execute(
            f"DELETE FROM {t.image} WHERE scope = ? AND version < "
            f"(SELECT {needed} FROM {t.scope} WHERE key = ?)",
            (key, key),
        )
    n_gone = pace.n_rows
    while last is not None and n_gone > 0:
        with pace.step() as connection:
            if schema.missing_tables(connection, t):
                return
            chosen = f"SELECT seq FROM {t.tombstone} WHERE scope = ? AND seq <= ? ORDER BY seq LIMIT ?"
            n_gone = connection.execute(
                f"DELETE FROM {t.tombstone} WHERE seq IN ({chosen})", (key, last, pace.n_rows)
            ).rowcount


def shrink(store: Shrinkable, *, busy_seconds: float) -> None:
    """Give back the space of what was deleted, and let nothing of it be left in the file or its log.

    Raises:
        StoreBusyError: another process is reading, or keeps writing, so that the log cannot be emptied. What was done
            is done.
    """
    with store.exclusively(_DOING) as connection:
        if not _HAS_PLACES or connection.execute("PRAGMA auto_vacuum").fetchone() != (_INCREMENTAL,):
            _rewrite_whole(connection, store.path)
            _sync_log(store)
            return
    with _beside(store.path) as beside:
        shrinking = _Shrinking(store, beside, busy_seconds)
        shrinking.fill_leaves()
        shrinking.give_back()
        shrinking.zero()
        shrinking.empty_log()


@contextmanager
def _beside(path: Path) -> Iterator[StoreConnection]:
    """A connection beside the store's: it brings the log into the file without the writer's turn."""
    looking = looking_at(path)  # the files' descriptors stay open until this connection is closed as well
    try:
        with translated(path, _DOING):
            connection = connect(path, durability="normal", busy_seconds=0)
            try:
                connection.execute("PRAGMA wal_autocheckpoint = 0")
                yield connection
            finally:
                connection.close()
    finally:
        looking.close()


class _Shrinking:
    """One compaction of one file."""

    def __init__(self, store: Shrinkable, beside: StoreConnection, busy_seconds: float) -> None:
        self._store = store
        self._beside = beside
        self._busy_seconds = busy_seconds
        self._checkpointed = 0.0
        self._bring_log(now=True)

    # ------------------------------------------------------------------ sparse leaves

    def fill_leaves(self) -> None:
        """Write rows of sparse leaves again, so that they take fewer."""
        pace = _Pace(self._store)
        for table, first, last in self._sparse():
            begin: int | None = first
            while begin is not None:
                with pace.step() as connection:
                    begin = _write_again(connection, table, begin, last, pace.n_rows)
                self._bring_log()

    def _sparse(self) -> list[tuple[str, int, int]]:
        """Return (table, first, last): row numbers between which leaves are sparse."""
        with self._store.stepping(_DOING) as connection:
            names = [name for t in schema.all_tables(connection) for name in (t.document, t.vector)]
            found = connection.execute(
                "SELECT rootpage, name FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
            fired = {
                row[0]
                for row in connection.execute("SELECT tbl_name FROM sqlite_master WHERE type = 'trigger'")
            }
        tables = {root: name for root, name in found if name in names and name not in fired}
        pages = self._pages()
        leaves = sorted(pages.leaves(frozenset(tables)))
        return [
            (tables[root], first, last)
            for root, own in groupby(leaves, key=attrgetter("root"))
            for first, last in _ranges(list(own), pages.usable_bytes)
        ]

    def _pages(self) -> Pages:
        return Pages(self._store.looking.descriptor(self._store.path, for_writing=True))

    # ------------------------------------------------------------------ free pages

    def give_back(self) -> None:
        """Move pages from the end of the file into free ones, and cut the file."""
        (n_free,) = self._beside.execute("PRAGMA freelist_count").fetchone()
        pace = _Pace(self._store)
        while n_free > 0:
            with pace.step() as connection:
                end = time.monotonic() + _STEP_SECONDS
                while time.monotonic() < end and connection.execute("PRAGMA freelist_count").fetchone() > (
                    0,
                ):
                    connection.execute("PRAGMA incremental_vacuum(1)").fetchall()
                    n_free -= 1  # no further than what was free: writers free pages as well
                if connection.execute("PRAGMA freelist_count").fetchone() == (0,):
                    n_free = 0
            self._bring_log()

    # ------------------------------------------------------------------ what is left in pages

    def zero(self) -> None:
        """Zero the bytes between the cells of pages, in the file itself.

        Raises:
            StoreBusyError: a reader keeps the log from being brought into the file.
        """
        patience = _Patience(self._store.path, self._busy_seconds)
        for _ in range(_MAX_PASSES):
            (version,) = self._beside.execute("PRAGMA data_version").fetchone()
            while not self._bring_log(now=True):
                patience.wait()
            pages = self._pages()
            self._zero_all(pages, list(pages.unclean()), patience)
            if self._beside.execute("PRAGMA data_version").fetchone() == (version,):
                return  # what others commit may move a page as it is, past us: SQLite does so when it balances a tree

    def _zero_all(self, pages: Pages, left: list[int], patience: _Patience) -> None:
        if not left:
            return
        while left:
            begun = time.monotonic()
            n_left, left = len(left), self._zero_some(pages, left)
            if len(left) < n_left:
                patience.renew()
                rest(time.monotonic() - begun)
            else:
                patience.wait()
            self._bring_log(now=True)
        pages.sync()

    def _zero_some(self, pages: Pages, left: Sequence[int]) -> list[int]:
        """Zero what is left in some pages; return the others."""
        beside = self._beside
        done = 0
        with self._store.exclusively(_DOING, in_background=True) as writer:
            beside.execute("PRAGMA shrink_memory")  # what this one keeps may be what is zeroed
            try:
                beside.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                return list(left)  # another process writes
            try:
                if not _checkpoint(writer):
                    return list(left)
                end = time.monotonic() + _STEP_SECONDS
                while done < len(left) and time.monotonic() < end:
                    pages.zero(left[done])
                    done += 1
                meta = Tables().meta
                beside.execute(f"INSERT OR IGNORE INTO {meta}(name, value) VALUES (?, 0)", (_COUNTER,))
                beside.execute(f"UPDATE {meta} SET value = value + 1 WHERE name = ?", (_COUNTER,))
                beside.execute("COMMIT")
            finally:
                beside.rollback()
        return list(left[done:])

    # ------------------------------------------------------------------ the log

    def _bring_log(self, *, now: bool = False) -> bool:
        """Bring the log into the file as far as readers let it, from time to time, without the writer's turn; whether
        all of it was brought."""
        if not now and time.monotonic() - self._checkpointed < _LOG_SECONDS:
            return False
        found = _checkpoint(self._beside)
        self._checkpointed = time.monotonic()
        return found

    def empty_log(self) -> None:
        """Cut the log to nothing.

        Raises:
            StoreBusyError: it is in use.
        """
        patience = _Patience(self._store.path, self._busy_seconds)
        while True:
            self._bring_log(now=True)  # most of it, without the writer's turn
            with self._store.exclusively(_DOING, in_background=True):
                (busy, _, _) = self._beside.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                _sync_log(self._store)
                return
            patience.wait()


class _Patience:
    """For how long what another process does is waited for."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        """Wait as long again: there was progress."""
        self._last = time.monotonic() + self._seconds

    def wait(self) -> None:
        """Wait a little.

        Raises:
            StoreBusyError: it took too long.
        """
        if time.monotonic() >= self._last:
            raise _in_use(self._path)
        time.sleep(0.005)


def _checkpoint(connection: StoreConnection) -> bool:
    """Bring the log into the file as far as readers let it; whether all of it was brought."""
    busy, n_log, n_brought = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return not busy and n_log == n_brought


def _write_again(connection: StoreConnection, table: str, first: int, last: int, n: int) -> int | None:
    """Write up to `n` rows anew, in their order; return the number at which the next begin, None after the last."""
    chosen = "WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?"
    try:
        rows = _rows(connection, f"SELECT * FROM {table} {chosen}", (first, last, n))
    except sqlite3.OperationalError:  # a text that is not UTF-8: they stay where they are
        numbers = connection.execute(f"SELECT seq FROM {table} {chosen}", (first, last, n)).fetchall()
        return int(numbers[-1][0]) + 1 if len(numbers) == n else None
    if not rows:
        return None
    # What fails from here on ends the step, which is taken back.
    values = ", ".join("?" * len(rows[0]))
    connection.execute(f"DELETE FROM {table} WHERE seq BETWEEN ? AND ?", (rows[0][0], rows[-1][0]))
    connection.executemany(f"INSERT INTO {table} VALUES ({values})", rows)
    return int(rows[-1][0]) + 1


def _rows(connection: StoreConnection, statement: str, values: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """Return rows up to the one with which they have so many bytes that a step would take long."""
    cautious = connection.text_factory
    connection.text_factory = str  # what is not UTF-8 is refused
    rows, n_bytes = [], 0
    try:
        cursor = connection.execute(statement, values)
        for row in cursor:
            rows.append(row)
            n_bytes += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if n_bytes >= _MAX_BYTES:
                break
        cursor.close()  # before the rows are deleted
    finally:
        connection.text_factory = cautious
    return rows


def _ranges(leaves: Sequence[Leaf], usable_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the row numbers of runs of leaves whose rows would take fewer."""
    first: int | None = None
    last = 0
    for start in range(0, len(leaves), _WINDOW_LEAVES):
        window = leaves[start : start + _WINDOW_LEAVES]
        n_rows = sum(leaf.n_rows for leaf in window)
        n_bytes = sum(usable_bytes - leaf.n_free_bytes for leaf in window)
        n_fitting = max(usable_bytes * n_rows // n_bytes, 1)
        if len(window) > 1 and -(-n_rows // n_fitting) < len(window):
            first = window[0].first if first is None else first
            last = window[-1].last
        elif first is not None:
            yield first, last
            first = None
    if first is not None:
        yield first, last


def _rewrite_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Rewrite a file without pointer maps as a whole, so that it has them, while writers wait."""
    _empty_log(connection, path)
    connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
    connection.execute("VACUUM")
    _empty_log(connection, path)


def _sync_log(store: Shrinkable) -> None:
    """Wait until the log is cut on the disk: after a loss of power SQLite would write again what was in it."""
    os.fsync(store.looking.descriptor(log_of(store.path), for_writing=True))


def _empty_log(connection: sqlite3.Connection, path: Path) -> None:
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise _in_use(path)


def _in_use(path: Path) -> StoreBusyError:
    return StoreBusyError(
        f"compacting: another process is using the index, its log cannot be emptied: {path}"
    )
