"""Looking up the row of a scope, verified against its names."""

from __future__ import annotations

import sqlite3
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.sqlite.connections import first_row


def row_of(connection: sqlite3.Connection, table: str, scope: Scope, columns: str) -> tuple[Any, ...] | None:
    """Return columns of the row of exactly this scope in a collection's table of scopes; None if it does not
    exist.

    The index finds the row by its names, and the names in the row itself are compared: a damaged page of the
    index must not lead to the data of another scope.

    Raises:
        CorruptIndexError: the index leads to the row of another scope.
    """
    names = names_of(scope)
    row = first_row(
        connection,
        f"SELECT s.tenant, s.user, s.agent, {columns} FROM {table} AS named CROSS JOIN {table} AS s "
        "ON s.key = named.key WHERE named.tenant = ? AND named.user = ? AND named.agent = ?",
        names,
    )
    if row is None:
        return None
    if row[:3] != names:
        raise CorruptIndexError(f"the index of {table} leads to another scope", scope=scope)
    return tuple(row[3:])
