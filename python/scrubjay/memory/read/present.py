"""The moment for which a search asks what is in force now.

What is in force changes with every write, and by time alone only at the times that facts state for their beginning or
end. Between two of these a search need not ask for a new moment each time: the same one gives the same answer, and what
is cached by its filter stays of use.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from scrubjay.store.connections import translated
from scrubjay.store.sqlite import SqliteStore

__all__ = ["Present"]

_MAX_TENANTS = 10_000
_LASTS_US = 60_000_000  # what a clock that was set back has hidden is seen by then
_EDGES = (
    "SELECT valid_from FROM memory_fact WHERE tenant = ?1 AND valid_from > ?2 "
    "UNION SELECT valid_until FROM memory_fact WHERE tenant = ?1 AND valid_until > ?2"
)


class _Known(NamedTuple):
    glance: object  # of the file: while it is the same nothing was written
    since: int
    edges: list[int]  # times after `since` at which facts begin or end by themselves


class Present:
    """The present of each tenant in one file, in microseconds since 1970. Thread-safe.

    Args:
        store: of the file.
        clock: microseconds since 1970.
    """

    def __init__(self, store: SqliteStore, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, _Known] = {}

    def moment(self, tenant: str) -> int:
        """Return a time at which the same is in force as now."""
        now, glance = (
            self._clock(),
            self._store.glance(),
        )  # before looking: what is written meanwhile is noticed later
        known = self._known.get(tenant)
        if known is None or known.glance != glance or not known.since <= now < known.since + _LASTS_US:
            with translated(self._store.path, "reading memory"):
                found = self._store.reading_connection().execute(_EDGES, (tenant, now)).fetchall()
            known = _Known(glance, now, sorted(edge for (edge,) in found if type(edge) is int))
            if len(self._known) >= _MAX_TENANTS:
                self._known = {}
            self._known[tenant] = known
        passed = bisect_right(known.edges, now)
        return known.edges[passed - 1] if passed else known.since
