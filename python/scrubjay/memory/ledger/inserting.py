"""Batched insertion of rows into memory's tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from scrubjay.memory.ledger.sealing import is_file

_SIZES = (64, 16, 4, 1)  # rows per statement; few sizes, so that SQLite compiles few statements


def insert_values(connection: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Execute an ``INSERT ... VALUES (?, ...)`` for several rows, in order.

    As if it were executed for one row after another. If a trigger can abort a statement, SQLite first copies every page
    that the statement changes to a temporary file: a third of the time per row, unless a statement has many rows. Over
    PostgreSQL each row is a statement of the batch that is sent.
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
