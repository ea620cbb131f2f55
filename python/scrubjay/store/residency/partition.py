"""The in-memory state of one exact scope."""

from __future__ import annotations

import threading
from typing import Protocol

from scrubjay._native import Scope

NEVER = 1 << 62


class Home(Protocol):
    """The owner of partitions, which can evict them."""

    def let_go(self, partition: Partition, *, briefly: bool = False) -> bool:
        """Evict a partition; False if that is impossible right now, or with `briefly` if its image would have to
        be written."""
        ...


class Partition:
    """The state of one exact scope. Fields change under `lock`, or the lock of the residency or the budget."""

    __slots__ = (
        "__weakref__",
        "applied",
        "changed_at",
        "erased",
        "graph_saved",
        "home",
        "in_flight",
        "in_flight_from",
        "last_used",
        "left_at",
        "lock",
        "memory_bytes",
        "n_changed",
        "n_damaged",
        "n_lost",
        "n_without_vector",
        "next_expiry",
        "pinned",
        "queued",
        "ready",
        "resident",
        "retired",
        "scope",
        "unreadable",
        "version",
    )

    def __init__(self, home: Home, scope: Scope, version: int, *, empty: bool) -> None:
        self.home = home
        self.scope = scope
        self.lock = threading.RLock()
        self.version = version  # of the scope, as far as this process knows
        self.applied = version if empty else 0
        self.in_flight = 0  # the version that this process has committed but not applied yet
        # the version before that commit, perhaps by another process and not yet known here
        self.in_flight_from = 0
        self.resident = empty  # an empty scope is trivially resident
        self.ready = empty  # resident and current: a search may run
        self.erased = False  # resident but empty, because its user's key was destroyed
        self.retired = False  # no longer the residency's object for this scope
        self.left_at = 0  # number of its last departure from the engine
        self.next_expiry = NEVER
        self.last_used = 0
        self.memory_bytes = 0
        self.queued = False  # in the budget's queue
        self.n_changed = 0  # documents written or deleted since the image
        self.n_damaged = 0  # damaged rows of the file
        self.n_lost = 0  # damaged rows that are missing from the engine
        self.n_without_vector = 0  # damaged rows that are in the engine without their vector
        self.changed_at = 0.0
        self.graph_saved = False  # its image has the graph, if graphs can be saved
        self.unreadable = False  # its image is damaged, and must be replaced even by one of the same version
        self.pinned = False

    def is_current(self) -> bool:
        """Whether the engine has every known write, except one that this process has committed and will apply
        itself."""
        return self.version <= self.applied or (
            self.version <= self.in_flight and self.applied >= self.in_flight_from
        )
