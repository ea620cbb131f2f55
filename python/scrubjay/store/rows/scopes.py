"""The two rules of scopes in SQL: which rows agree with a scope, and which documents are visible to a scope.

Every statement restricted to a tenant, user or agent takes its condition from here, so that each rule is written
once. The core decides which scopes are visible to a scope (:meth:`Scope.visible`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scrubjay._native import Scope


def names_of(scope: Scope) -> tuple[str, str, str]:
    """Return the names of a scope as stored: '' stands for None."""
    return (scope.tenant, scope.user or "", scope.agent or "")


def agreeing(
    scope: Scope,
    *,
    exact: bool = False,
    table: str = "",
    columns: tuple[str, str, str] = ("tenant", "user", "agent"),
    mark: str = "?",
) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition that a row agrees with every component that `scope` names (with `exact`: that the
    row's scope equals it), and its parameters; `mark` is the placeholder.

    >>> agreeing(Scope("acme", agent="coder"), table="s")
    ('s.tenant = ? AND s.agent = ?', ('acme', 'coder'))
    >>> agreeing(Scope("acme"), exact=True)
    ('tenant = ? AND user = ? AND agent = ?', ('acme', '', ''))
    """
    components = zip(columns, (scope.tenant, scope.user, scope.agent), strict=True)
    named = {column: name or "" for column, name in components if exact or name is not None}
    prefix = f"{table}." if table else ""
    return " AND ".join(f"{prefix}{column} = {mark}" for column in named), tuple(named.values())


class Sight(NamedTuple):
    """Scopes in the order in which they are searched for an id, and the concatenation of their names."""

    scopes: tuple[Scope, ...]
    names: tuple[str, ...]


def exactly(scopes: Sequence[Scope]) -> Sight:
    """Return the sight of exactly these scopes, in this order."""
    return Sight(tuple(scopes), tuple(name for scope in scopes for name in names_of(scope)))


def sight_of(scope: Scope) -> Sight:
    """Return the scopes visible to a scope, the most specific one first, a user before an agent.

    >>> sight_of(Scope("acme", "jane", "coder")).names[:9]
    ('acme', 'jane', 'coder', 'acme', 'jane', '', 'acme', '', 'coder')
    """
    return exactly(sorted(scope.visible(), key=lambda one: (one.user is None, one.agent is None)))
