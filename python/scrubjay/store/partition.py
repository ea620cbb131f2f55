"""What is known in this process of one exact scope, and which of them does a search see?"""

from __future__ import annotations

import threading

from scrubjay._native import Scope

__all__ = ["NEVER", "Partition", "visible_from"]

NEVER = 1 << 62


class Partition:
    """What is known of one exact scope. Fields change under `lock` or under the residency's own lock."""

    __slots__ = (
        "applied",
        "generation",
        "in_flight",
        "last_used",
        "lock",
        "memory_bytes",
        "n_changed",
        "next_expiry",
        "pinned",
        "ready",
        "resident",
        "retired",
        "scope",
        "version",
    )

    def __init__(self, scope: Scope, version: int, *, empty: bool) -> None:
        self.scope = scope
        self.lock = threading.RLock()
        self.version = version  # of the scope, as far as this process knows
        self.applied = version if empty else 0
        self.in_flight = 0  # the version that this process is just committing
        self.resident = empty  # without documents the engine holds all of them
        self.ready = empty  # resident and current: a search may run
        self.retired = False  # no longer the residency's object for this scope
        self.generation = 0
        self.next_expiry = NEVER
        self.last_used = 0
        self.memory_bytes = 0
        self.n_changed = 0  # documents that came or went since the image
        self.pinned = False


def visible_from(scope: Scope) -> list[Scope]:
    """Return the exact scopes that a search from `scope` sees, in the order in which equal scores rank.

    >>> visible_from(Scope("acme", user="jane"))
    [Scope('acme'), Scope('acme', user='jane')]
    """
    seen = [Scope(scope.tenant)]
    if scope.user is not None:
        seen.append(Scope(scope.tenant, user=scope.user))
    if scope.agent is not None:
        seen.append(Scope(scope.tenant, agent=scope.agent))
    if scope.user is not None and scope.agent is not None:
        seen.append(scope)
    return seen
