"""The legal holds of a database, as a transaction needs them.

They come with the states of the scopes that it touches, so no round trip is for them: the state's question has one more
column. A database without the layer's table cannot be asked for its rows, so until it is seen the column says whether
it is there now. The holds of a tenant stand in its own home: with the state of a scope in a bucket another question
goes to that, and who changes a hold has the turns of all homes of the tenant.
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
    """Whether a database has the table, which is never dropped. One for all transactions of a store."""

    def __init__(self) -> None:
        self.is_there = False


class Holds:
    """What is held, of the homes whose turns a transaction has. Not for several threads.

    Args:
        table: whether it is known that the database has it.
        homes: where rows are.
    """

    def __init__(self, table: HoldTable, homes: Homes) -> None:
        self._table = table
        self._homes = homes
        self._known: dict[str, list[Held]] = {}  # by the tenant's own home

    def column(self, home: str) -> tuple[str, bool]:
        """Return the expression to ask for with the state of a scope in a home, and whether it takes the home as its
        parameter: the holds of the tenant, or whether there is a table of them; NULL if :meth:`question` asks."""
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
        """Return the question that goes with those for states in a locked home, and the home that it is about; None:
        the column says it, or it is known."""
        own = self._own(home)
        if not self._table.is_there or own == home or own in self._known:
            return None
        return own, _question(own)

    def answer(self, home: str, rows: Sequence[Sequence[str]]) -> None:
        """Note what :meth:`question` was answered."""
        self._known[self._own(home)] = _held(rows)

    def _own(self, home: str) -> str:
        return self._homes.own(self._homes.tenant(home))

    def enter(self, batch: Batch, home: str, answer: Any) -> None:
        """Note what the column said of a locked home."""
        own = self._own(home)
        if isinstance(answer, bool):
            if answer:
                self._table.is_there = True
                self._known[own] = _held(batch.ask(*_question(own), home=own))
        elif own == home:
            self._known[own] = _held(answer or ())

    def of(self, batch: Batch, tenant: str) -> list[Held]:
        """Return the holds of a tenant of whom a home is locked, in the order in which they were set."""
        own = self._homes.own(tenant)
        found = self._known.get(own)
        if found is None and not self._table.is_there:
            ((self._table.is_there,),) = batch.ask(f"SELECT to_regclass('{_TABLE}') IS NOT NULL")
        if found is None and self._table.is_there:
            found = self._known[own] = _held(batch.ask(*_question(own), home=own))
        return found or []

    def check(self, scope: Scope) -> None:
        """Refuse to destroy what is in exactly a scope, whose state was read.

        Raises:
            HeldError: a hold is on it.
        """
        holds = self._known.get(self._homes.own(scope.tenant))
        if holds:
            check_held(holds, scope)

    def holds(self, tenant: str, user: str, agent: str) -> bool:
        """Whether what belongs to these names is held, if a state of the tenant was read."""
        return is_held(self._known.get(self._homes.own(tenant), ()), user, agent)


def _question(home: str) -> Statement:
    return f"SELECT usr, agent, reason FROM {_TABLE} WHERE home = %s ORDER BY at, usr, agent, reason", (home,)


def _held(rows: Sequence[Sequence[str]]) -> list[Held]:
    return [Held(*row) for row in rows]
