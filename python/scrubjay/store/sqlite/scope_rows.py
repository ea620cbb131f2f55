"""The row of a scope, and that it is that scope's."""

from __future__ import annotations

import sqlite3
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.sqlite.connections import first_row


def row_of(connection: sqlite3.Connection, table: str, scope: Scope, columns: str) -> tuple[Any, ...] | None:
    """Return columns of the row of exactly this scope in a collection's table of scopes; None: there is none.

    The index over the names finds the row, and the row itself says whose it is: a page of the index that is not what
    was written must not lead to what another scope has.

    Raises:
        CorruptIndexError: the index leads to the row of another scope.
    """
    names = names_of(scope)
    found = first_row(
        connection,
        f"SELECT s.tenant, s.user, s.agent, {columns} FROM {table} AS named CROSS JOIN {table} AS s "
        "ON s.key = named.key WHERE named.tenant = ? AND named.user = ? AND named.agent = ?",
        names,
    )
    if found is None:
        return None
    if found[:3] != names:
        raise CorruptIndexError(f"the index of {table} leads to another scope", scope=scope)
    return tuple(found[3:])
