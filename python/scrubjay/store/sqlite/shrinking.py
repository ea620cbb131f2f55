"""Compaction of a file in use: fills sparse pages, returns free ones, and zeroes what was deleted.

It works in steps, each a transaction that holds the write lock for about two milliseconds, followed by a pause of
twice that time. A step leaves the file valid and its contents unchanged, so a compaction that was interrupted or
killed is restarted and finds less to do:

1. Rows of sparse leaves are rewritten in their order, which fills the pages: SQLite itself merges pages only when
   two thirds of one are free.
2. Pages from the end of the file move into free ones (`incremental_vacuum`).
3. Bytes of deleted rows between the cells of pages (see :mod:`scrubjay.store.sqlite.pages`) are zeroed in the
   file itself. SQLite has no statement for that but VACUUM. It is safe while no page of the file can change and
   none is read from the log: we hold the write lock, and the whole log was checkpointed. Readers never interpret
   those bytes. Every connection has to drop its cached pages, or it would write the old bytes again: it does so
   when it sees a commit, so each step commits.
4. The log is truncated.

A file created by a version without pointer maps is rewritten as a whole once, while writers wait, which adds
them. :mod:`scrubjay.store.residency.compacting` writes and drops images, large ones piece by piece
(:mod:`scrubjay.store.sqlite.image_writing`).
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

from scrubjay.base.errors import StoreBusyError
from scrubjay.base.whole_files import log_of
from scrubjay.store.sqlite import schema
from scrubjay.store.sqlite.connections import StoreConnection
from scrubjay.store.sqlite.descriptors import OpenDescriptors
from scrubjay.store.sqlite.pages import Leaf, Pages
from scrubjay.store.sqlite.schema import Tables
from scrubjay.store.sqlite.steps import beside, checkpoint, rest

_DOING = "compacting"
_STEP_SECONDS = 0.002
_LOG_SECONDS = 0.1  # between two checkpoints
_FIRST_ROWS, _MAX_ROWS = 16, 1000
_MAX_BYTES = 1 << 20  # bytes of rows per step; the last row may exceed it
_MAX_PASSES = 8  # over pages to be zeroed, while other processes write
_WINDOW_LEAVES = 4  # leaves examined together: rewritten if their rows fit into fewer
_COUNTER = "compacted"  # key in meta that a zeroing step increments, so that it commits
_INCREMENTAL = 2
_HAS_PLACES = hasattr(os, "pread") and hasattr(
    os, "pwrite"
)  # not on Windows, where files are rewritten as a whole


class Shrinkable(Protocol):
    """What compaction needs of the store of a file."""

    path: Path
    tables: Tables
    looking: OpenDescriptors

    def reading_connection(self) -> StoreConnection:
        """Return this thread's connection."""
        ...

    def stepping(self, doing: str) -> AbstractContextManager[StoreConnection]:
        """Acquire the write lock and begin a transaction for a maintenance step."""
        ...

    def exclusively(
        self, doing: str, *, in_background: bool = False
    ) -> AbstractContextManager[StoreConnection]:
        """Acquire the write lock without a transaction."""
        ...


class _Pace:
    """Steps of a compaction, each followed by a pause for other writers."""

    def __init__(self, store: Shrinkable) -> None:
        self._store = store
        self.n_rows = _FIRST_ROWS
        """The number of rows for the next step."""

    @contextmanager
    def step(self) -> Iterator[StoreConnection]:
        """Acquire the write lock and begin a transaction."""
        with self._store.stepping(_DOING) as connection:
            begun = time.monotonic()
            yield connection
        spent = time.monotonic() - begun
        if spent > _STEP_SECONDS:
            self.n_rows = max(self.n_rows // 2, 1)
        elif spent < _STEP_SECONDS / 3:
            self.n_rows = min(self.n_rows * 2, _MAX_ROWS)
        rest(spent)


def forget_deleted(store: Shrinkable) -> None:
    """Delete the ids of deleted documents of every collection, and every image that needs them, in steps.

    Images of the store's own collection are then written again. An outdated image of another collection is
    dropped, since it may contain texts that were replaced.
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
        if last is not None:  # without the tombstones older versions cannot be caught up
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
    """Return the space of deleted rows, and leave none of their bytes in the file or its log.

    Raises:
        StoreBusyError: another process is reading, or keeps writing, so the log cannot be truncated. Completed
            steps are kept.
    """
    with store.exclusively(_DOING) as connection:
        if not _HAS_PLACES or connection.execute("PRAGMA auto_vacuum").fetchone() != (_INCREMENTAL,):
            _rewrite_whole(connection, store.path)
            _sync_log(store)
            return
    with beside(store.path, _DOING) as connection:
        shrinking = _Shrinking(store, connection, busy_seconds)
        shrinking.fill_leaves()
        shrinking.give_back()
        shrinking.zero()
        shrinking.empty_log()


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
        """Rewrite the rows of sparse leaves, so that they occupy fewer pages."""
        pace = _Pace(self._store)
        for table, first, last in self._sparse():
            begin: int | None = first
            while begin is not None:
                with pace.step() as connection:
                    begin = _write_again(connection, table, begin, last, pace.n_rows)
                self._bring_log()

    def _sparse(self) -> list[tuple[str, int, int]]:
        """Return (table, first, last): ranges of row numbers whose leaves are sparse."""
        with self._store.stepping(_DOING) as connection:
            names = [name for t in schema.all_tables(connection) for name in (t.document, t.vector)]
            roots = connection.execute(
                "SELECT rootpage, name FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
            fired = {
                row[0]
                for row in connection.execute("SELECT tbl_name FROM sqlite_master WHERE type = 'trigger'")
            }
        tables = {root: name for root, name in roots if name in names and name not in fired}
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
        """Move pages from the end of the file into free ones, and truncate the file."""
        (n_free,) = self._beside.execute("PRAGMA freelist_count").fetchone()
        pace = _Pace(self._store)
        while n_free > 0:
            with pace.step() as connection:
                end = time.monotonic() + _STEP_SECONDS
                while time.monotonic() < end and connection.execute("PRAGMA freelist_count").fetchone() > (
                    0,
                ):
                    connection.execute("PRAGMA incremental_vacuum(1)").fetchall()
                    n_free -= 1  # stop at the initial count: writers free pages as well
                if connection.execute("PRAGMA freelist_count").fetchone() == (0,):
                    n_free = 0
            self._bring_log()

    # ------------------------------------------------------------------ bytes of deleted rows

    def zero(self) -> None:
        """Zero the bytes between the cells of pages, in the file itself.

        Raises:
            StoreBusyError: a reader prevents a full checkpoint.
        """
        patience = _Patience(self._store.path, self._busy_seconds)
        for _ in range(_MAX_PASSES):
            (version,) = self._beside.execute("PRAGMA data_version").fetchone()
            while not self._bring_log(now=True):
                patience.wait()
            pages = self._pages()
            self._zero_all(pages, list(pages.unclean()), patience)
            if self._beside.execute("PRAGMA data_version").fetchone() == (version,):
                # otherwise another commit may have moved an unclean page past us: SQLite does so when it balances
                # a tree
                return

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
        """Zero the unallocated space of some pages; return the remaining pages."""
        beside = self._beside
        done = 0
        with self._store.exclusively(_DOING, in_background=True) as writer:
            beside.execute("PRAGMA shrink_memory")  # its cached pages may be those that are zeroed
            try:
                beside.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                return list(left)  # another process is writing
            try:
                if not checkpoint(writer):
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
        """Checkpoint the log as far as readers permit, at intervals, without the write lock; return whether it
        was complete."""
        if not now and time.monotonic() - self._checkpointed < _LOG_SECONDS:
            return False
        is_complete = checkpoint(self._beside)
        self._checkpointed = time.monotonic()
        return is_complete

    def empty_log(self) -> None:
        """Truncate the log.

        Raises:
            StoreBusyError: it is in use.
        """
        patience = _Patience(self._store.path, self._busy_seconds)
        while True:
            self._bring_log(now=True)  # checkpoint most of it without the write lock
            with self._store.exclusively(_DOING, in_background=True):
                (busy, _, _) = self._beside.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                _sync_log(self._store)
                return
            patience.wait()


class _Patience:
    """The timeout for waiting for other processes."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        """Restart the timeout after progress."""
        self._last = time.monotonic() + self._seconds

    def wait(self) -> None:
        """Wait briefly.

        Raises:
            StoreBusyError: the timeout has passed.
        """
        if time.monotonic() >= self._last:
            raise _in_use(self._path)
        time.sleep(0.005)


def _write_again(connection: StoreConnection, table: str, first: int, last: int, n: int) -> int | None:
    """Rewrite up to `n` rows in order; return the number at which the next ones begin, None after the last."""
    chosen = "WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?"
    try:
        rows = _rows(connection, f"SELECT * FROM {table} {chosen}", (first, last, n))
    except sqlite3.OperationalError:  # a text is not UTF-8: leave the rows where they are
        numbers = connection.execute(f"SELECT seq FROM {table} {chosen}", (first, last, n)).fetchall()
        return int(numbers[-1][0]) + 1 if len(numbers) == n else None
    if not rows:
        return None
    # A failure from here on rolls the step back.
    values = ", ".join("?" * len(rows[0]))
    connection.execute(f"DELETE FROM {table} WHERE seq BETWEEN ? AND ?", (rows[0][0], rows[-1][0]))
    connection.executemany(f"INSERT INTO {table} VALUES ({values})", rows)
    return int(rows[-1][0]) + 1


def _rows(connection: StoreConnection, statement: str, values: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """Return rows, at least one, until they reach the bytes of a step."""
    cautious = connection.text_factory
    connection.text_factory = str  # raises for text that is not UTF-8
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
    """Yield the ranges of row numbers of consecutive leaves whose rows would fit into fewer pages."""
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
    """Rewrite a file without pointer maps as a whole, which adds them, while writers wait."""
    _empty_log(connection, path)
    connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
    connection.execute("VACUUM")
    _empty_log(connection, path)


def _sync_log(store: Shrinkable) -> None:
    """Sync the truncation of the log to disk: after a loss of power SQLite would replay its old contents."""
    os.fsync(store.looking.descriptor(log_of(store.path), for_writing=True))


def _empty_log(connection: sqlite3.Connection, path: Path) -> None:
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise _in_use(path)


def _in_use(path: Path) -> StoreBusyError:
    return StoreBusyError(
        f"compacting: another process is using the index, its log cannot be emptied: {path}"
    )
