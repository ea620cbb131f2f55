"""Legal holds: what is held is not forgotten, deleted, rewritten or swept until an administrator releases it.

A hold is on a scope and everything within it. Setting and releasing are calls of whoever runs the service
(:attr:`scrubjay.memory.Memory.admin`); no scope allows them, and both leave their event in the feed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from scrubjay._native import Scope
from scrubjay.errors import HeldError
from scrubjay.memory.model.decoding import as_moment
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of

__all__ = ["HELD", "TABLE", "Hold", "check_hold", "held_scopes", "is_held"]

TABLE = """CREATE TABLE memory_hold(
  tenant TEXT NOT NULL CHECK (tenant <> ''), user TEXT NOT NULL, agent TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (reason <> ''), by TEXT NOT NULL CHECK (by <> ''), at INTEGER NOT NULL,
  PRIMARY KEY (tenant, user, agent)) WITHOUT ROWID"""
"""What the file needs for holds. Reasons stay readable in it, as those of deletion events."""

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
    """

    scope: Scope
    reason: str
    by: str
    at: datetime


class _Owned(Protocol):
    @property
    def tenant(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def agent(self) -> str: ...


def held_scopes(connection: sqlite3.Connection, tenant: str | None = None) -> list[Hold]:
    """Return the holds on a tenant's scopes (None: on those of all), in the order of their scopes."""
    condition, values = ("WHERE tenant = ? ", (tenant,)) if tenant is not None else ("", ())
    found = connection.execute(
        f"SELECT tenant, user, agent, reason, by, at FROM memory_hold {condition}ORDER BY tenant, user, agent",
        values,
    ).fetchall()
    return [Hold(scope_of(*row[:3]), row[3], row[4], as_moment(row[5])) for row in found]


def is_held(connection: sqlite3.Connection) -> Callable[[_Owned], bool]:
    """Return what says whether a row is held; the holds are read once."""
    holds = [names_of(one.scope) for one in held_scopes(connection)]

    def held(row: _Owned) -> bool:
        return any(
            tenant == row.tenant and user in ("", row.user) and agent in ("", row.agent)
            for tenant, user, agent in holds
        )

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
    given = names_of(scope)
    for hold in held_scopes(connection, scope.tenant):
        pairs: list[tuple[Any, Any]] = list(zip(names_of(hold.scope), given, strict=True))
        if all(held in ("", name) or (within and name == "") for held, name in pairs):
            raise HeldError(hold.scope, hold.reason)
