"""The sound file rebuilt from a damaged one, and the report on its rows.

A row that the new file rejects is *set aside*: written to a file of JSON lines with all its values.
"""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from scrubjay.store.repair.damaged_file import PAGE_BYTES, quoted
from scrubjay.store.rows.decoding import shown
from scrubjay.store.rows.sealed import is_sealed

UNFIT = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""Errors that a row or statement of the damaged file may raise when the new file rejects it."""

# columns with JSON, of tables of layers above
_JSON_COLUMNS = ("metadata", "steps", "artifacts", "data", "outcomes", "counts")
# errors of the new file itself, whatever is written
_FULL = ("is full", "disk i/o error", "readonly", "unable to open")


@dataclass
class Rebuilt:
    """The result of rebuilding a file.

    Attributes:
        rows: how many rows were recovered, by table.
        left_out: a message for each row, or range of rows, that could not be recovered.
        mended: a message for each problem that was repaired without loss.
    """

    rows: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)


class RebuiltFile:
    """A new file, filled row by row.

    Args:
        target: the path of the new file.
        report: receives the results for the rows.
        aside: receives a JSON line for each row that is set aside.
    """

    def __init__(self, target: Path, report: Rebuilt, aside: TextIO) -> None:
        self.report = report
        self.connection = sqlite3.connect(target, isolation_level=None)
        self.execute = self.connection.execute
        self.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        self.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self.execute("PRAGMA synchronous = OFF")  # the file is not used before it is complete
        self.execute("PRAGMA trusted_schema = OFF")
        self._aside = aside
        self._columns: dict[str, list[tuple[str, str]]] = {}

    def close(self) -> None:
        """Close the file; uncommitted rows are lost."""
        self.connection.close()

    def names(self, kind: str | None = None) -> set[str]:
        """Return the names of its tables, indexes and triggers, or of one kind of them."""
        rows = self.execute("SELECT type, name FROM sqlite_master").fetchall()
        return {name for own, name in rows if kind in (None, own)}

    def set_aside(self, table: str, row: dict[str, Any], why: str) -> None:
        """Omit a row, and write its values to the file of rows set aside."""
        key = next(iter(row.items()), ("row", "?"))
        named = f"{table} {key[0]} {shown(key[1])}" if "id" not in row else f"{table} id {shown(row['id'])}"
        self.report.left_out.append(f"{named}: {why}")
        write_aside(self._aside, table, why, row)

    def lost(self, table: str, what: str) -> None:
        """Record what of a table cannot be recovered."""
        self.report.left_out.append(f"{table}: {what}")
        write_aside(self._aside, table, what, None)

    def make_table(self, name: str, sql: str) -> None:
        """Create a table with a statement of the damaged file."""
        try:
            if not re.match(r"\s*CREATE\s+TABLE", sql):
                raise sqlite3.OperationalError("not a CREATE TABLE statement")
            self.execute(sql)
        except UNFIT as error:
            raise_if_full(error)
            self.lost(name, f"the table cannot be recreated: {error}")

    def take(self, table: str, row: dict[str, Any]) -> None:
        """Copy a row whose values have the types of their columns and satisfy the table's constraints."""
        for name, declared in self._columns_of(table):
            if (why := _misfit(name, declared, row.get(name))) is not None:
                self.set_aside(table, row, why)
                return
        if not self.insert(table, row, quietly=True):
            self.set_aside(table, row, "it violates a constraint of its table")
            return
        self.report.rows[table] = self.report.rows.get(table, 0) + 1

    def insert(self, table: str, row: dict[str, Any], *, quietly: bool = False) -> bool:
        """Insert a row; False if the table rejects it, which is then set aside unless `quietly`."""
        names = [name for name, _ in self._columns_of(table) if name in row]
        marks, chosen = ", ".join("?" * len(names)), ", ".join(map(quoted, names))
        statement = f"INSERT INTO {quoted(table)}({chosen}) VALUES ({marks})"
        try:
            self.execute(statement, [row[name] for name in names])
        except UNFIT as error:
            raise_if_full(error)
            if not quietly:
                self.set_aside(table, row, "it violates a constraint of its table")
            return False
        return True

    def _columns_of(self, table: str) -> list[tuple[str, str]]:
        """Return (name, declared type) of the columns of a table of the new file."""
        if table not in self._columns:
            columns = self.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
            self._columns[table] = [(row[1], row[2].upper()) for row in columns]
        return self._columns[table]


def raise_if_full(error: Exception) -> None:
    """Raise if the new file cannot be written: on a full disk no row is damaged, so none must be set aside."""
    if isinstance(error, sqlite3.Error) and any(sign in str(error).lower() for sign in _FULL):
        raise error


def _misfit(name: str, declared: str, value: Any) -> str | None:
    """Return why a value is invalid for a column, or None if it is valid."""
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
            return f"{name} is not JSON"
    return None


def write_aside(aside: TextIO, table: str, why: str, row: dict[str, Any] | None) -> None:
    """Write an omitted row, with all its values, as a JSON line."""
    values = None if row is None else {name: _as_json(value) for name, value in row.items()}
    aside.write(json.dumps({"table": table, "why": why, "row": values}) + "\n")


def _as_json(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
