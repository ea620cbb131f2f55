"""The moment at which a search asks for what is in force now.

What is in force changes with every write, and by time alone only when a fact begins or ends at a stated time. Between
two such times all searches can use the same moment, with the same answer, so that filters cached by it are reused.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from scrubjay._native import Scope
from scrubjay.memory.ledger.context import MemoryContext

_MAX_TENANTS = 10_000
_LASTS_US = 60_000_000  # bounds the effect of a clock that was set back
_EDGES = (
    "SELECT valid_from FROM memory_fact WHERE tenant = ? AND valid_from > ? "
    "UNION SELECT valid_until FROM memory_fact WHERE tenant = ? AND valid_until > ?"
)
_EDGES_OF_USER = (  # for a database, where the users of a tenant may be in many homes
    "SELECT valid_from FROM memory_fact WHERE tenant = ? AND user IN ('', ?) AND valid_from > ? "
    "UNION SELECT valid_until FROM memory_fact WHERE tenant = ? AND user IN ('', ?) AND valid_until > ?"
)


class _CachedTimes(NamedTuple):
    version: object  # of the rows; unchanged while none is written
    since: int
    edges: list[int]  # later times at which facts begin or end by themselves


class PresentTimes:
    """The present of each tenant in one file, or of each user in a database, in microseconds since 1970.
    Thread-safe."""

    def __init__(self, context: MemoryContext) -> None:
        self._context = context
        self._known: dict[tuple[str, str], _CachedTimes] = {}

    def moment(self, scope: Scope) -> int:
        """Return a time at which the same records visible to a scope are in force as now."""
        is_one = self._context.store.path is not None  # one file contains all users
        key = (scope.tenant, "" if is_one else scope.user or "")
        now, version = self._context.clock(), self._context.version()
        known = self._known.get(key)
        if (
            version is None
            or known is None
            or known.version != version
            or not known.since <= now < known.since + _LASTS_US
        ):
            with self._context.reading() as connection:
                asked = (_EDGES, (scope.tenant, now) * 2) if is_one else (_EDGES_OF_USER, (*key, now) * 2)
                rows = connection.execute(*asked).fetchall()
            known = _CachedTimes(version, now, sorted(edge for (edge,) in rows if type(edge) is int))
            if len(self._known) >= _MAX_TENANTS:
                self._known = {}
            self._known[key] = known
        passed = bisect_right(known.edges, now)
        return known.edges[passed - 1] if passed else known.since
