"""Reading the rows of a damaged file as far as SQLite can.

Every table is read by ranges of row numbers, from copies of the file and its log, so that an unreadable page
costs only the rows on it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.rows.decoding import text_of

PAGE_BYTES = 8192
# SQLite quotes invalid texts in messages, and trusts invalid sizes
REFUSED = (sqlite3.Error, UnicodeDecodeError, MemoryError)
_BATCH = 1_000
_MAX_IN_VAIN = 500  # consecutive failures before the rest of a table is given up


def open_damaged(source: Path, mended: list[str]) -> sqlite3.Connection:
    """Open a damaged file, which may be changed for that; the problems are added to `mended`.

    Raises:
        CorruptIndexError: SQLite finds no table of an index in it.
    """
    for attempt in ("as it is", "header", "without its log"):
        if attempt == "header":
            _mend_header(source)
        elif attempt == "without its log":
            source.with_name(source.name + "-wal").unlink(missing_ok=True)
        connection = sqlite3.connect(source, isolation_level=None)
        connection.text_factory = text_of
        try:
            # The index of the log stays in memory: on a full disk SQLite could not create its file, and the log
            # would be mistaken for a damaged one.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA writable_schema = ON")  # tolerates a schema that cannot be parsed
            connection.execute("PRAGMA trusted_schema = OFF")
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        except REFUSED:
            connection.close()
            continue
        if any(name in ("document", "scope") for (name,) in tables):
            if attempt != "as it is":
                mended.append(f"the file could only be opened after a change: {attempt}")
            return connection
        connection.close()
    raise CorruptIndexError("no table of an index can be found in it")


def _mend_header(path: Path) -> None:
    """Restore the fields of the file's header that are the same in every index."""
    with path.open("r+b") as file:
        head = bytearray(file.read(100))
        if len(head) < 100:
            return
        head[:24] = b"SQLite format 3\0" + PAGE_BYTES.to_bytes(2, "big") + b"\2\2\0\x40\x20\x20"
        head[44:48], head[56:60] = (4).to_bytes(4, "big"), (1).to_bytes(4, "big")
        file.seek(0)
        file.write(head)


class DamagedFile:
    """A damaged file.

    Args:
        connection: to the file.
        lost: called with a table, and a description of what cannot be read of it.
    """

    def __init__(self, connection: sqlite3.Connection, lost: Callable[[str, str], None]) -> None:
        self._connection = connection
        self._lost = lost
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        self.schema = [row for row in rows if all(isinstance(value, str) for value in row)]
        self.tables = {name for kind, name, _ in self.schema if kind == "table"}

    def columns(self, table: str) -> list[str]:
        """Return the columns of a table whose names can be read; empty if the table is missing."""
        with suppress(*REFUSED):
            columns = self._connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
            return [row[1] for row in columns if isinstance(row[1], str)]
        return []

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield the readable rows of a table, in order; unreadable ones are reported to `lost`."""
        names = self.columns(table)
        if not names:
            return
        chosen = ", ".join(map(quoted, names))
        try:
            self._connection.execute(f"SELECT rowid FROM {quoted(table)} LIMIT 0")
        except REFUSED:
            yield from self._rows_without_number(table, names, chosen)
            return
        begin = f"SELECT rowid, {chosen} FROM {quoted(table)} NOT INDEXED WHERE rowid "
        last = -(1 << 63)
        try:
            while last < (1 << 63) - 1:
                batch = self._connection.execute(
                    f"{begin} > ? ORDER BY rowid LIMIT {_BATCH}", (last,)
                ).fetchall()
                for row in batch:
                    yield dict(zip(names, row[1:], strict=True))
                if len(batch) < _BATCH:
                    return
                if batch[-1][0] <= last:
                    raise sqlite3.DatabaseError("rows are not in order")
                last = batch[-1][0]
            return
        except REFUSED:
            pass
        low, high = self._bounds(table)
        for row in self._readable(table, f"{begin} BETWEEN ? AND ? ORDER BY rowid", max(low, last + 1), high):
            yield dict(zip(names, row[1:], strict=True))

    def _readable(self, table: str, query: str, low: int, high: int) -> Iterator[tuple[Any, ...]]:
        """Yield the readable rows of a range of numbers, which is bisected until the unreadable ones are
        isolated."""
        ranges, n_in_vain, reason = [(low, high)], 0, ""
        lost: list[tuple[int, int]] = []
        while ranges:
            first, last = ranges.pop()
            try:
                rows = self._connection.execute(query, (first, last)).fetchall()
            except REFUSED as error:
                n_in_vain, reason = n_in_vain + 1, str(error)
                if first >= last or n_in_vain > _MAX_IN_VAIN:
                    lost.append((first, last))
                else:
                    middle = (first + last) // 2
                    ranges += [(middle + 1, last), (first, middle)]
                continue
            n_in_vain = 0
            yield from rows
        while lost:
            first, last = lost.pop(0)
            while lost and lost[0][0] == last + 1:
                last = lost.pop(0)[1]
            self._lost(
                table, f"rows with numbers {first} to {last}, if there were any, cannot be read: {reason}"
            )

    def _bounds(self, table: str) -> tuple[int, int]:
        """Return the range of row numbers that a table may have."""
        bounds = []
        for order, otherwise in (("ASC", 0), ("DESC", 1 << 24)):
            try:
                row = self._connection.execute(
                    f"SELECT rowid FROM {quoted(table)} NOT INDEXED ORDER BY rowid {order} LIMIT 1"
                ).fetchone()
                bounds.append(otherwise if row is None else int(row[0]))
            except REFUSED:
                bounds.append(otherwise)
        return bounds[0], max(bounds)

    def _rows_without_number(self, table: str, names: list[str], chosen: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table WITHOUT ROWID: from the beginning as far as possible, then from the end."""
        seen: set[Any] = set()
        for order in ("ASC", "DESC"):
            try:
                cursor = self._connection.execute(f"SELECT {chosen} FROM {quoted(table)} ORDER BY 1 {order}")
                while (row := cursor.fetchone()) is not None:
                    if row not in seen:
                        seen.add(row)
                        yield dict(zip(names, row, strict=True))
                return
            except REFUSED as error:
                if order == "DESC":
                    self._lost(table, f"some rows cannot be read: {error}")


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
