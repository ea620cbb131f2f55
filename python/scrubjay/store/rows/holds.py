"""Legal holds, as the rows of a store know them: what is held is neither replaced nor deleted.

A layer above (memory) sets and releases them, in a table beside the documents. Every store asks that table in the
transaction that would destroy a document, so no way of writing passes it by. The documents of the layer's own
collection mirror its records, which the layer holds itself: there documents follow the records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scrubjay._native import Scope
from scrubjay.errors import HeldError
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of

TABLE = "memory_hold"
"""The table of holds, as the layer calls it; where there is none nothing is held."""

OWNED = "memory"
"""The collection whose documents mirror the layer's records."""


class Held(NamedTuple):
    """A hold of a tenant: on which user and agent ("": on all), and why."""

    user: str
    agent: str
    reason: str


def is_held(holds: Iterable[Held], user: str, agent: str) -> bool:
    """Whether any of a tenant's holds is on what belongs to this user and agent."""
    return any(one.user in ("", user) and one.agent in ("", agent) for one in holds)


def check_held(holds: Iterable[Held], scope: Scope, *, within: bool = False) -> None:
    """Refuse to destroy what is held.

    Args:
        holds: of the scope's tenant.
        scope: what would go.
        within: with everything inside of it: then a hold on a part of it counts as well.

    Raises:
        HeldError: a hold is on it.
    """
    _, user, agent = names_of(scope)
    for one in holds:
        if all(
            held in ("", name) or (within and name == "")
            for held, name in ((one.user, user), (one.agent, agent))
        ):
            raise HeldError(scope_of(scope.tenant, one.user, one.agent), one.reason)
