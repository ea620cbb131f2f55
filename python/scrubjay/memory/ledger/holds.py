"""Legal holds: what is held is not forgotten, deleted, rewritten or swept until an administrator releases it.

A hold is on a scope and everything within it, and a scope may have several. Setting and releasing are calls of whoever
runs the service (:attr:`scrubjay.memory.Memory.admin`); no scope allows them, and both leave their event in the feed.
Records are held here; documents that are none of memory's (notes) where every store writes them, by the same table
(:mod:`scrubjay.store.rows.holds`).
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
"""What the file needs for holds. Names and reasons stay readable in it, as the reasons of deletion events."""

NAME_OF_OLD = "reason"
"""The column that names a hold of a format before 3, when a scope had one."""

HELD = (
    "EXISTS (SELECT 1 FROM memory_hold h WHERE h.tenant = {row}.tenant AND h.user IN ('', {user}) "
    "AND h.agent IN ('', {agent}))"
)
"""The condition that a row of a table is held."""


@dataclass(frozen=True)
class Hold:
    """A legal hold on a scope and everything within it.

    Attributes:
        scope: what is held, with everything within it.
        reason, by: why, and who ordered it.
        at: since when.
        name: which of the holds on the scope it is.
    """

    scope: Scope
    reason: str
    by: str
    at: datetime
    name: str


class _Owned(Protocol):
    @property
    def tenant(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def agent(self) -> str: ...


def held_scopes(connection: sqlite3.Connection, tenant: str | None = None) -> list[Hold]:
    """Return the holds on a tenant's scopes (None: on those of all), by scope, of one scope in the order of time."""
    condition, values = ("WHERE tenant = ? ", (tenant,)) if tenant is not None else ("", ())
    found = connection.execute(
        f"SELECT tenant, user, agent, reason, by, at, name FROM memory_hold {condition}"
        "ORDER BY tenant, user, agent, at, name",
        values,
    ).fetchall()
    return [Hold(scope_of(*row[:3]), row[3], row[4], as_moment(row[5]), row[6]) for row in found]


def is_held(connection: sqlite3.Connection) -> Callable[[_Owned], bool]:
    """Return what says whether a row is held; the holds are read once."""
    by_tenant: dict[str, list[holds.Held]] = {}
    for one in held_scopes(connection):
        tenant, user, agent = names_of(one.scope)
        by_tenant.setdefault(tenant, []).append(holds.Held(user, agent, one.reason))

    def held(row: _Owned) -> bool:
        return holds.is_held(by_tenant.get(row.tenant, ()), row.user, row.agent)

    return held


def check_hold(connection: sqlite3.Connection, scope: Scope, *, within: bool) -> None:
    """Refuse to destroy what is held, within the transaction that would.

    Args:
        connection: of the transaction.
        scope: what would go.
        within: with everything inside of it: then a hold on a part of it counts as well.

    Raises:
        HeldError: a hold is on it.
    """
    found = held_scopes(connection, scope.tenant)
    if found:
        holds.check_held(
            (holds.Held(*names_of(one.scope)[1:], one.reason) for one in found), scope, within=within
        )
