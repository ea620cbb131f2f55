"""The null object in place of the residency of an engine in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.store.residency.residency import View


class NullResidency:
    """The answers of a :class:`Residency` where every document is in memory and no other process writes.

    Args:
        expiring: the documents that will expire, a list that changes.
    """

    generation = 0
    n_damaged = 0
    may_be_stale = False
    left_behind = frozenset[Any]()

    def __init__(self, expiring: Collection[object]) -> None:
        self._expiring = expiring

    def view_now(self, scope: Scope) -> View | None:
        """Return an empty view, or None if expired documents may have to be deleted first."""
        return None if self._expiring else ((), 0)

    def freshness(self) -> tuple[float, bool]:
        """Return (0.0, False): no other process writes to it."""
        return 0.0, False

    def is_behind(self, scopes: Sequence[Scope]) -> bool:
        """Return False: there are no scopes to fall behind."""
        return False

    def damage(self, scopes: Sequence[Scope]) -> tuple[int, int]:
        """Return (0, 0): without a file there is no damage."""
        return 0, 0

    def stamp(self, scope: Scope) -> int:
        """Return 0: every search sees every write."""
        return 0

    def reach(self, scope: Scope, version: int) -> None:
        """Do nothing: every search sees every write."""
