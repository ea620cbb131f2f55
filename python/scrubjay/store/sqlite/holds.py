"""The legal holds of a file, cached for one transaction: read once per tenant, and only by destructive writes."""

from __future__ import annotations

import sqlite3

from scrubjay._native import Scope
from scrubjay.store.rows.holds import TABLE, Held, check_held, is_held
from scrubjay.store.sqlite.schema import has_table


class HoldTable:
    """Whether a file has the table of holds. Shared by all transactions of a store, under the write lock.

    A file without a memory has no such table; then a write reads only the version of SQLite's schema.
    """

    def __init__(self) -> None:
        self._is_there = False
        self._schema: int | None = None  # version of the schema at the last lookup

    def is_there(self, connection: sqlite3.Connection) -> bool:
        """Whether the table exists now. It is never dropped."""
        if not self._is_there:
            (schema,) = connection.execute("PRAGMA schema_version").fetchone()
            if schema != self._schema:
                self._is_there, self._schema = has_table(connection, TABLE), schema
        return self._is_there


class Holds:
    """The holds of a file, valid for one transaction, during which no other connection can change them.

    Args:
        connection: of the transaction.
        table: the store's cache of the table's existence; None: a new one.
    """

    def __init__(self, connection: sqlite3.Connection, table: HoldTable | None = None) -> None:
        self._connection = connection
        self._table = HoldTable() if table is None else table
        self._known: dict[str, list[Held]] = {}

    def of(self, tenant: str) -> list[Held]:
        """Return the holds of a tenant, in the order in which they were set."""
        holds = self._known.get(tenant)
        if holds is None:
            holds = self._known[tenant] = self._read(tenant)
        return holds

    def _read(self, tenant: str) -> list[Held]:
        if not self._table.is_there(self._connection):
            return []
        rows = self._connection.execute(
            f"SELECT user, agent, reason FROM {TABLE} WHERE tenant = ? ORDER BY at, user, agent, reason",
            (tenant,),
        )
        return [Held(*row) for row in rows.fetchall()]

    def check(self, scope: Scope, *, within: bool = False) -> None:
        """Raise an error if a hold forbids destroying the documents of exactly a scope, with `within` of
        everything inside it.

        Raises:
            HeldError: a hold covers it.
        """
        holds = self.of(scope.tenant)
        if holds:
            check_held(holds, scope, within=within)

    def holds(self, tenant: str, user: str, agent: str) -> bool:
        """Whether a hold covers these names."""
        return is_held(self.of(tenant), user, agent)
