"""SQL conditions shared by statements about rows."""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.store.rows import scopes

LIVE = "(expires_at IS NULL OR expires_at > %s)"
"""The condition that a document has not expired at a time."""


def agreeing(
    scope: Scope | None, home: str | None, *, exact: bool = False, table: str = ""
) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition that a row is in a home and agrees with every component that `scope` names (None:
    any; with `exact`: that the row's scope equals it), and its parameters.

    >>> agreeing(Scope("acme", agent="coder"), "acme", table="s")
    ('s.home = %s AND s.tenant = %s AND s.agent = %s', ('acme', 'acme', 'coder'))
    """
    if scope is None or home is None:
        return "true", ()
    condition, names = scopes.agreeing(
        scope, exact=exact, table=table, columns=("tenant", "usr", "agent"), mark="%s"
    )
    prefix = f"{table}." if table else ""
    return f"{prefix}home = %s AND {condition}", (home, *names)
