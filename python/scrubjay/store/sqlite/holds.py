"""The legal holds of a file, as one transaction needs them: asked for once a tenant, and only by what destroys."""

from __future__ import annotations

import sqlite3

from scrubjay._native import Scope
from scrubjay.store.rows.holds import TABLE, Held, check_held, is_held


class HoldTable:
    """Whether a file has the table of holds. One for all transactions of a store, in the writer's turn.

    A file without a memory has none: then the number that SQLite gives its schema is all that a write looks at.
    """

    def __init__(self) -> None:
        self._is_there = False
        self._schema: int | None = None  # when it was looked for last

    def is_there(self, connection: sqlite3.Connection) -> bool:
        """Whether it is there now. It is never dropped."""
        if not self._is_there:
            (schema,) = connection.execute("PRAGMA schema_version").fetchone()
            if schema != self._schema:
                found = connection.execute(
                    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (TABLE,)
                ).fetchone()
                self._is_there, self._schema = found is not None, schema
        return self._is_there


class Holds:
    """What is held. For one transaction, which nobody else's hold can come into.

    Args:
        connection: of the transaction.
        table: what the store knows of the table; None: nothing.
    """

    def __init__(self, connection: sqlite3.Connection, table: HoldTable | None = None) -> None:
        self._connection = connection
        self._table = HoldTable() if table is None else table
        self._known: dict[str, list[Held]] = {}

    def of(self, tenant: str) -> list[Held]:
        """Return the holds of a tenant, in the order in which they were set."""
        found = self._known.get(tenant)
        if found is None:
            found = self._known[tenant] = self._read(tenant)
        return found

    def _read(self, tenant: str) -> list[Held]:
        if not self._table.is_there(self._connection):
            return []
        rows = self._connection.execute(
            f"SELECT user, agent, reason FROM {TABLE} WHERE tenant = ? ORDER BY at, user, agent, reason",
            (tenant,),
        )
        return [Held(*row) for row in rows.fetchall()]

    def check(self, scope: Scope, *, within: bool = False) -> None:
        """Refuse to destroy what is in exactly a scope, with `within` everything inside of it.

        Raises:
            HeldError: a hold is on it.
        """
        holds = self.of(scope.tenant)
        if holds:
            check_held(holds, scope, within=within)

    def holds(self, tenant: str, user: str, agent: str) -> bool:
        """Whether what belongs to these names is held."""
        return is_held(self.of(tenant), user, agent)
