"""The state of one exact scope in this process."""

from __future__ import annotations

import threading
from typing import Protocol

from scrubjay._native import Scope

NEVER = 1 << 62


class Home(Protocol):
    """What keeps a partition in memory, and can let it go."""

    def let_go(self, partition: Partition, *, briefly: bool = False) -> bool:
        """Take a partition out of memory; False if that is not possible right now, or `briefly` not without writing."""
        ...


class Partition:
    """What is known of one exact scope. Fields change under `lock`, or the lock of the residency or the budget."""

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
        self.in_flight = 0  # the version that this process has committed and not applied yet
        self.in_flight_from = 0  # the version that it found, perhaps of others and not known here yet
        self.resident = empty  # without documents the engine holds all of them
        self.ready = empty  # resident and current: a search may run
        self.erased = False  # resident without anything, because its user's key was destroyed
        self.retired = False  # no longer the residency's object for this scope
        self.left_at = 0  # the number of its last departure from the engine
        self.next_expiry = NEVER
        self.last_used = 0
        self.memory_bytes = 0
        self.queued = False  # the budget knows that it occupies memory
        self.n_changed = 0  # documents that came or went since the image
        self.n_damaged = 0  # rows of the file that are not what was written
        self.n_lost = 0  # of them those that are not here at all
        self.n_without_vector = 0  # of them those that are here without the vector that the file has for them
        self.changed_at = 0.0
        self.graph_saved = False  # its image has the graph, as far as it can be kept
        self.unreadable = False  # its image is, and must be replaced even by one of the same version
        self.pinned = False

    def is_current(self) -> bool:
        """Whether the engine has everything that is known to be written, but for what this process has committed and
        applies itself."""
        return self.version <= self.applied or (
            self.version <= self.in_flight and self.applied >= self.in_flight_from
        )
