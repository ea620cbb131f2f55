"""The two rules of scopes in SQL: which rows agree with a scope, and which documents a scope sees.

Every statement that is limited to a tenant, a user or an agent takes its condition from here, so that each rule is
written once. Which scopes a scope sees is the core's to say (:meth:`Scope.visible`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scrubjay._native import Scope


def names_of(scope: Scope) -> tuple[str, str, str]:
    """Return a scope as the tables have it: '' is "none"."""
    return (scope.tenant, scope.user or "", scope.agent or "")


def agreeing(
    scope: Scope,
    *,
    exact: bool = False,
    table: str = "",
    columns: tuple[str, str, str] = ("tenant", "user", "agent"),
    mark: str = "?",
) -> tuple[str, tuple[str, ...]]:
    """Return the condition that a row's tenant, user and agent agree with each component that `scope` names, and its
    parameters, which stand where `mark` is; with `exact` that they are precisely the scope's.

    >>> agreeing(Scope("acme", agent="coder"), table="s")
    ('s.tenant = ? AND s.agent = ?', ('acme', 'coder'))
    >>> agreeing(Scope("acme"), exact=True)
    ('tenant = ? AND user = ? AND agent = ?', ('acme', '', ''))
    """
    given = zip(columns, (scope.tenant, scope.user, scope.agent), strict=True)
    named = {column: name or "" for column, name in given if exact or name is not None}
    prefix = f"{table}." if table else ""
    return " AND ".join(f"{prefix}{column} = {mark}" for column in named), tuple(named.values())


class Sight(NamedTuple):
    """Scopes in the order in which a document is looked for in them, and all their names, one after the other."""

    scopes: tuple[Scope, ...]
    names: tuple[str, ...]


def exactly(scopes: Sequence[Scope]) -> Sight:
    """Return the sight of these scopes and no others, in this order."""
    return Sight(tuple(scopes), tuple(name for scope in scopes for name in names_of(scope)))


def sight_of(scope: Scope) -> Sight:
    """Return what a scope sees, the most specific scope first, a user before an agent.

    >>> sight_of(Scope("acme", "jane", "coder")).names[:9]
    ('acme', 'jane', 'coder', 'acme', 'jane', '', 'acme', '', 'coder')
    """
    return exactly(sorted(scope.visible(), key=lambda one: (one.user is None, one.agent is None)))
