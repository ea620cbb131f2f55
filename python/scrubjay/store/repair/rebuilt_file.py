"""The file that is built of what can be read in a damaged one, and the report of what became of each row.

A row that the new file does not take is *set aside*: written to a file of JSON lines with all its values.
"""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from scrubjay.store.repair.wreck import PAGE_BYTES, quoted
from scrubjay.store.rows.decoding import shown
from scrubjay.store.rows.sealed import is_sealed

UNFIT = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""What a row or a statement of the damaged file may raise that the new file does not take."""

_JSON_COLUMNS = ("metadata", "steps", "artifacts", "data", "outcomes", "counts")  # of tables of layers above
_FULL = ("is full", "disk i/o error", "readonly", "unable to open")  # of the new file, whatever is written


@dataclass
class Rebuilt:
    """The result of rebuilding a file.

    Attributes:
        rows: how many rows were taken over, by table.
        left_out: a sentence for each row, or range of rows, that could not be.
        mended: a sentence for each thing that was wrong and costs nothing.
    """

    rows: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)


class RebuiltFile:
    """A new file, filled row by row.

    Args:
        target: where it will be.
        report: gets what became of the rows.
        aside: gets a JSON line for each row that is set aside.
    """

    def __init__(self, target: Path, report: Rebuilt, aside: TextIO) -> None:
        self.report = report
        self.connection = sqlite3.connect(target, isolation_level=None)
        self.execute = self.connection.execute
        self.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        self.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self.execute("PRAGMA synchronous = OFF")  # no one uses it before it is complete
        self.execute("PRAGMA trusted_schema = OFF")
        self._aside = aside
        self._columns: dict[str, list[tuple[str, str]]] = {}

    def close(self) -> None:
        """Close it; what is not committed is lost."""
        self.connection.close()

    def names(self, kind: str | None = None) -> set[str]:
        """Return the names of its tables, indexes and triggers, or of those of one kind."""
        found = self.execute("SELECT type, name FROM sqlite_master").fetchall()
        return {name for own, name in found if kind in (None, own)}

    def set_aside(self, table: str, row: dict[str, Any], why: str) -> None:
        """Leave a row out, and keep its values."""
        key = next(iter(row.items()), ("row", "?"))
        named = f"{table} {key[0]} {shown(key[1])}" if "id" not in row else f"{table} id {shown(row['id'])}"
        self.report.left_out.append(f"{named}: {why}")
        write_aside(self._aside, table, why, row)

    def lost(self, table: str, what: str) -> None:
        """Note what of a table cannot be taken over."""
        self.report.left_out.append(f"{table}: {what}")
        write_aside(self._aside, table, what, None)

    def make_table(self, name: str, sql: str) -> None:
        """Make a table by a statement of the damaged file."""
        try:
            if not re.match(r"\s*CREATE\s+TABLE", sql):
                raise sqlite3.OperationalError("not what makes a table")
            self.execute(sql)
        except UNFIT as error:
            raise_if_full(error)
            self.lost(name, f"the table cannot be made again: {error}")

    def take(self, table: str, row: dict[str, Any]) -> None:
        """Take over a row whose values have the types of their columns and meet the table's constraints."""
        for name, declared in self._columns_of(table):
            if (why := _misfit(name, declared, row.get(name))) is not None:
                self.set_aside(table, row, why)
                return
        if not self.insert(table, row, quietly=True):
            self.set_aside(table, row, "it breaks a rule of its table")
            return
        self.report.rows[table] = self.report.rows.get(table, 0) + 1

    def insert(self, table: str, row: dict[str, Any], *, quietly: bool = False) -> bool:
        """Insert a row; False if the table does not take it, which is then set aside unless `quietly`."""
        names = [name for name, _ in self._columns_of(table) if name in row]
        marks, chosen = ", ".join("?" * len(names)), ", ".join(map(quoted, names))
        statement = f"INSERT INTO {quoted(table)}({chosen}) VALUES ({marks})"
        try:
            self.execute(statement, [row[name] for name in names])
        except UNFIT as error:
            raise_if_full(error)
            if not quietly:
                self.set_aside(table, row, "it breaks a rule of its table")
            return False
        return True

    def _columns_of(self, table: str) -> list[tuple[str, str]]:
        """Return (name, declared type) of the columns of a table of the new file."""
        if table not in self._columns:
            found = self.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
            self._columns[table] = [(row[1], row[2].upper()) for row in found]
        return self._columns[table]


def raise_if_full(error: Exception) -> None:
    """Raise if the new file cannot be written: on a full disk no row is damaged, and none is set aside."""
    if isinstance(error, sqlite3.Error) and any(sign in str(error).lower() for sign in _FULL):
        raise error


def _misfit(name: str, declared: str, value: Any) -> str | None:
    """Return why a value cannot be one of a column, or None if it can."""
    if value is None:
        return None
    fits = True
    if "INT" in declared:
        fits = value.__class__ is int and -(1 << 62) < value < 1 << 62
    elif "TEXT" in declared:
        fits = value.__class__ is str or (isinstance(value, bytes) and is_sealed(value))
    elif "REAL" in declared:
        fits = value.__class__ in (int, float)
    elif "BLOB" in declared:
        fits = value.__class__ is bytes
    if not fits:
        return f"{name} is {shown(value)}"
    is_text = isinstance(value, str) or (isinstance(value, bytes) and not is_sealed(value))
    if name in _JSON_COLUMNS and is_text:
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return f"{name} is no JSON"
    return None


def write_aside(aside: TextIO, table: str, why: str, row: dict[str, Any] | None) -> None:
    """Write a row that is left out, with all its values, as a JSON line."""
    kept = None if row is None else {name: _as_json(value) for name, value in row.items()}
    aside.write(json.dumps({"table": table, "why": why, "row": kept}) + "\n")


def _as_json(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
