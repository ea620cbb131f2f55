"""The legal holds of a database, as a transaction needs them.

They come with the states of the scopes that it touches, so no round trip is for them: the state's question has one more
column. A database without the layer's table cannot be asked for its rows, so until it is seen the column says whether
it is there now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.store.postgres.batch import Batch, Statement
from scrubjay.store.rows.holds import TABLE, Held, check_held, is_held

__all__ = ["HoldTable", "Holds"]

_TABLE = f"sj_{TABLE}"


class HoldTable:
    """Whether a database has the table, which is never dropped. One for all transactions of a store."""

    def __init__(self) -> None:
        self.is_there = False


class Holds:
    """What is held, of the homes whose turns a transaction has. Not for several threads.

    Args:
        table: whether it is known that the database has it.
    """

    def __init__(self, table: HoldTable) -> None:
        self._table = table
        self._known: dict[str, list[Held]] = {}

    @property
    def column(self) -> tuple[str, bool]:
        """The expression to ask for with a scope's state, and whether it takes the home as its parameter: the holds of
        the home, or whether there is a table of them."""
        if self._table.is_there:
            return (
                f"(SELECT array_agg(ARRAY[h.usr, h.agent, h.reason] ORDER BY h.at, h.usr, h.agent, h.reason) "
                f"FROM {_TABLE} h WHERE h.home = %s)",
                True,
            )
        return f"to_regclass('{_TABLE}') IS NOT NULL", False

    def enter(self, batch: Batch, home: str, answer: Any) -> None:
        """Note what the column said of a locked home."""
        if isinstance(answer, bool):
            if answer:
                self._table.is_there = True
                self._known[home] = _held(batch.ask(*_question(home), home=home))
            return
        self._known[home] = _held(answer or ())

    def of(self, batch: Batch, home: str) -> list[Held]:
        """Return the holds of a locked home, in the order in which they were set."""
        found = self._known.get(home)
        if found is None and not self._table.is_there:
            ((self._table.is_there,),) = batch.ask(f"SELECT to_regclass('{_TABLE}') IS NOT NULL")
        if found is None and self._table.is_there:
            found = self._known[home] = _held(batch.ask(*_question(home), home=home))
        return found or []

    def check(self, scope: Scope) -> None:
        """Refuse to destroy what is in exactly a scope, whose state was read.

        Raises:
            HeldError: a hold is on it.
        """
        holds = self._known.get(scope.tenant)
        if holds:
            check_held(holds, scope)

    def holds(self, tenant: str, user: str, agent: str) -> bool:
        """Whether what belongs to these names is held, if a state of the tenant was read."""
        return is_held(self._known.get(tenant, ()), user, agent)


def _question(home: str) -> Statement:
    return f"SELECT usr, agent, reason FROM {_TABLE} WHERE home = %s ORDER BY at, usr, agent, reason", (home,)


def _held(rows: Sequence[Sequence[str]]) -> list[Held]:
    return [Held(*row) for row in rows]
