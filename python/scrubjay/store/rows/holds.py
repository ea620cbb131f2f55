"""Legal holds: held rows are neither replaced nor deleted.

A layer above (memory) sets and releases holds in a table beside the documents. Every store reads that table in
the transaction that would destroy a document, so no write path bypasses it. The documents of the layer's own
collection mirror its records, which the layer itself protects; they are not checked here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import HeldError
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of

TABLE = "memory_hold"
"""The layer's table of holds; if it does not exist nothing is held."""

OWNED = "memory"
"""The collection whose documents mirror the layer's records."""


class Held(NamedTuple):
    """A hold of a tenant: the user and agent that it covers ("": all), and the reason."""

    user: str
    agent: str
    reason: str


def is_held(holds: Iterable[Held], user: str, agent: str) -> bool:
    """Whether any of a tenant's holds covers this user and agent."""
    return any(hold.user in ("", user) and hold.agent in ("", agent) for hold in holds)


def check_held(holds: Iterable[Held], scope: Scope, *, within: bool = False) -> None:
    """Raise an error if a hold forbids destroying the documents of a scope.

    Args:
        holds: of the scope's tenant.
        scope: whose documents would be destroyed.
        within: including all scopes inside it: then a hold on a part of it counts as well.

    Raises:
        HeldError: a hold covers it.
    """
    _, user, agent = names_of(scope)
    for hold in holds:
        if all(
            held in ("", name) or (within and name == "")
            for held, name in ((hold.user, user), (hold.agent, agent))
        ):
            raise HeldError(scope_of(scope.tenant, hold.user, hold.agent), hold.reason)
