"""The legal holds of a file, as one transaction needs them: asked for once a tenant, and only by what destroys."""

from __future__ import annotations

import sqlite3

from scrubjay._native import Scope
from scrubjay.store.rows.holds import TABLE, Held, check_held, is_held

__all__ = ["Holds"]


class Holds:
    """What is held. For one transaction, which nobody else's hold can come into."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[str, list[Held]] = {}
        self._has_table: bool | None = None

    def of(self, tenant: str) -> list[Held]:
        """Return the holds of a tenant, in the order in which they were set."""
        found = self._known.get(tenant)
        if found is None:
            found = self._known[tenant] = self._read(tenant)
        return found

    def _read(self, tenant: str) -> list[Held]:
        if self._has_table is None:
            table = self._connection.execute(
                "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (TABLE,)
            ).fetchone()
            self._has_table = table is not None
        if not self._has_table:
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
