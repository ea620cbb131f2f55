"""Rows of memory's tables that are inserted together."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from scrubjay.memory.ledger.sealing import is_file

_SIZES = (64, 16, 4, 1)  # rows of one statement; few sizes, so that SQLite compiles few statements


def insert_values(connection: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run an ``INSERT ... VALUES (?, ...)`` for each of several rows, in their order.

    As if it was executed for one after the other. Where a trigger can end a statement half-way, SQLite first copies
    every page that the statement changes, and writes the copies to a temporary file: a third of the time of a row,
    unless many rows are one statement. Over PostgreSQL each row is a statement of the batch that is sent.
    """
    at = 0
    for size in _SIZES if is_file(connection) else (1,):
        several = _repeated(statement, size)
        while len(rows) - at >= size:
            connection.execute(several, [value for row in rows[at : at + size] for value in row])
            at += size


@lru_cache(maxsize=16)
def _repeated(statement: str, n: int) -> str:
    """Return the statement for n rows."""
    head, marks = statement.rsplit("VALUES ", 1)
    return f"{head}VALUES {', '.join([marks] * n)}"
