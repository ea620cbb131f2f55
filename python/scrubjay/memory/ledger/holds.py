"""Legal holds: held data is not forgotten, deleted, rewritten or swept until an administrator releases it.

A hold covers a scope and everything within it, and a scope may have several. Holds are set and released by the operator
of the service (:attr:`scrubjay.memory.Memory.admin`); no scope permits it, and both leave an event in the feed. This
module protects records; every store protects documents outside of memory (notes) where it writes them, by the same
table (:mod:`scrubjay.store.rows.holds`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from scrubjay._native import Scope
from scrubjay.memory.model.decoding import as_moment
from scrubjay.store.rows import holds
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of

TABLE = """CREATE TABLE memory_hold(
  tenant TEXT NOT NULL CHECK (tenant <> ''), user TEXT NOT NULL, agent TEXT NOT NULL,
  name TEXT NOT NULL CHECK (name <> ''), reason TEXT NOT NULL CHECK (reason <> ''),
  by TEXT NOT NULL CHECK (by <> ''), at INTEGER NOT NULL, PRIMARY KEY (tenant, user, agent, name)) WITHOUT ROWID"""
"""The table of holds. Names and reasons stay readable in the file, like the reasons of deletion events."""

NAME_OF_OLD = "reason"
"""The column that serves as the name of a hold in formats before 3, where a scope had one hold."""

HELD = (
    "EXISTS (SELECT 1 FROM memory_hold h WHERE h.tenant = {row}.tenant AND h.user IN ('', {user}) "
    "AND h.agent IN ('', {agent}))"
)
"""SQL condition for rows of a table under a hold."""


@dataclass(frozen=True)
class Hold:
    """A legal hold on a scope and everything within it.

    Attributes:
        scope: the held scope.
        reason, by: the reason, and the name of the person who set it.
        at: when it was set.
        name: identifies the hold among those of the scope.
    """

    scope: Scope
    reason: str
    by: str
    at: datetime
    name: str


class _Scoped(Protocol):
    @property
    def tenant(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def agent(self) -> str: ...


def held_scopes(connection: sqlite3.Connection, tenant: str | None = None) -> list[Hold]:
    """Return the holds on a tenant's scopes (None: on those of all tenants), by scope, then by time."""
    condition, values = ("WHERE tenant = ? ", (tenant,)) if tenant is not None else ("", ())
    rows = connection.execute(
        f"SELECT tenant, user, agent, reason, by, at, name FROM memory_hold {condition}"
        "ORDER BY tenant, user, agent, at, name",
        values,
    ).fetchall()
    return [Hold(scope_of(*row[:3]), row[3], row[4], as_moment(row[5]), row[6]) for row in rows]


def is_held(connection: sqlite3.Connection) -> Callable[[_Scoped], bool]:
    """Return a predicate for rows under a hold; the holds are read once."""
    by_tenant: dict[str, list[holds.Held]] = {}
    for hold in held_scopes(connection):
        tenant, user, agent = names_of(hold.scope)
        by_tenant.setdefault(tenant, []).append(holds.Held(user, agent, hold.reason))

    def held(row: _Scoped) -> bool:
        return holds.is_held(by_tenant.get(row.tenant, ()), row.user, row.agent)

    return held


def check_hold(connection: sqlite3.Connection, scope: Scope, *, within: bool) -> None:
    """Raise if data to be destroyed is under a hold; called within the transaction that would destroy it.

    Args:
        connection: the connection of the transaction.
        scope: the scope to be destroyed.
        within: whether everything within it is destroyed as well; then a hold on a part of it counts.

    Raises:
        HeldError: it is under a hold.
    """
    found = held_scopes(connection, scope.tenant)
    if found:
        holds.check_held(
            (holds.Held(*names_of(hold.scope)[1:], hold.reason) for hold in found), scope, within=within
        )
