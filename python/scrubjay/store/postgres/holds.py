"""The legal holds of a database, as one transaction needs them.

They are read along with the states of the scopes that the transaction touches, as an additional column, so they
cost no round trip. A query for rows of a missing table would fail, so until the layer's table is known to exist
the column returns whether it does. The holds of a tenant are in its own home: reading the state of a scope in a
bucket therefore includes a second query to the own home, and a transaction that changes a hold locks all homes of
the tenant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.store.postgres.batch import Batch, Statement
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.rows.holds import TABLE, Held, check_held, is_held

_TABLE = f"sj_{TABLE}"


class HoldTable:
    """Whether a database has the table, which is never dropped. Shared by all transactions of a store."""

    def __init__(self) -> None:
        self.is_there = False


class Holds:
    """The legal holds of the homes that a transaction has locked. Not thread-safe."""

    def __init__(self, table: HoldTable, homes: Homes) -> None:
        self._table = table
        self._homes = homes
        self._known: dict[str, list[Held]] = {}  # by the tenant's own home

    def column(self, home: str) -> tuple[str, bool]:
        """Return the SQL expression to select along with the state of a scope in a home, and whether it takes the
        home as its parameter. It yields the holds of the tenant, or whether the table exists; NULL if
        :meth:`question` reads them."""
        if self._table.is_there and not self._homes.is_own(home):
            return "NULL", False
        if self._table.is_there:
            return (
                f"(SELECT array_agg(ARRAY[h.usr, h.agent, h.reason] ORDER BY h.at, h.usr, h.agent, h.reason) "
                f"FROM {_TABLE} h WHERE h.home = %s)",
                True,
            )
        return f"to_regclass('{_TABLE}') IS NOT NULL", False

    def question(self, home: str) -> tuple[str, Statement] | None:
        """Return the query to send along with those for states in a locked home, and the home that it is about;
        None: the column has the holds, or they are known."""
        own = self._own(home)
        if not self._table.is_there or own == home or own in self._known:
            return None
        return own, _question(own)

    def answer(self, home: str, rows: Sequence[Sequence[str]]) -> None:
        """Record the result of :meth:`question`."""
        self._known[self._own(home)] = _held(rows)

    def _own(self, home: str) -> str:
        return self._homes.own(self._homes.tenant(home))

    def enter(self, batch: Batch, home: str, answer: Any) -> None:
        """Record the value of the column for a locked home."""
        own = self._own(home)
        if isinstance(answer, bool):
            if answer:
                self._table.is_there = True
                self._known[own] = _held(batch.ask(*_question(own), home=own))
        elif own == home:
            self._known[own] = _held(answer or ())

    def of(self, batch: Batch, tenant: str) -> list[Held]:
        """Return the holds of a tenant with a locked home, in the order in which they were set."""
        own = self._homes.own(tenant)
        found = self._known.get(own)
        if found is None and not self._table.is_there:
            ((self._table.is_there,),) = batch.ask(f"SELECT to_regclass('{_TABLE}') IS NOT NULL")
        if found is None and self._table.is_there:
            found = self._known[own] = _held(batch.ask(*_question(own), home=own))
        return found or []

    def check(self, scope: Scope) -> None:
        """Raise an error if a hold forbids destroying the documents of exactly a scope, whose state was read.

        Raises:
            HeldError: a hold covers it.
        """
        holds = self._known.get(self._homes.own(scope.tenant))
        if holds:
            check_held(holds, scope)

    def holds(self, tenant: str, user: str, agent: str) -> bool:
        """Whether a hold covers these names, if a state of the tenant was read."""
        return is_held(self._known.get(self._homes.own(tenant), ()), user, agent)


def _question(home: str) -> Statement:
    return f"SELECT usr, agent, reason FROM {_TABLE} WHERE home = %s ORDER BY at, usr, agent, reason", (home,)


def _held(rows: Sequence[Sequence[str]]) -> list[Held]:
    return [Held(*row) for row in rows]
