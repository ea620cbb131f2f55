"""An overview of a memory in figures, counted by the database, so that only the figures themselves are read.

No encrypted column is read. The intervals of a fact are JSON in its row (:func:`encoded_intervals`): SQL extracts the
first and the last edge from the text; only the texts of rows with gaps between intervals, which are few, are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.memory.ledger.changes import EventScope
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.schema import KINDS
from scrubjay.memory.model.records import Known
from scrubjay.memory.model.statements import intervals_in
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.scopes import names_of

_IN_SCOPE = "tenant = ? AND user = ? AND agent = ?"
_NEVER = "holds IS NULL OR holds = '[]'"
_FIRST = f"CASE WHEN {_NEVER} THEN NULL ELSE CAST(substr(holds, 3, instr(holds, ',') - 3) AS BIGINT) END"
_BEFORE_LAST = "length(rtrim(holds, '0123456789-]'))"
_LAST = (
    f"CASE WHEN {_NEVER} OR substr(holds, length(holds) - 5, 6) = 'null]]' THEN NULL ELSE "
    f"CAST(substr(holds, {_BEFORE_LAST} + 1, length(holds) - {_BEFORE_LAST} - 2) AS BIGINT) END"
)
"""SQL for the times at which a fact begins and ceases to hold; NULL: never."""
_HAS_GAPS = "instr(ifnull(holds, ''), '],[') > 0"
# Rows of format 1 have no intervals (:func:`scrubjay.memory.model.statements.holds_of`).
_WAS_SUPERSEDED = "holds IS NULL AND status = 'superseded' AND created_at < updated_at"
_STATUS = (
    f"CASE WHEN status <> 'active' THEN status WHEN {_LAST} <= ? THEN "
    "CASE WHEN superseded_by IS NULL THEN 'ended' ELSE 'superseded' END "
    f"WHEN {_FIRST} > ? THEN 'planned' "
    "ELSE 'active' END"
)
_IN_FORCE = "status = 'active' AND (expires_at IS NULL OR expires_at > ?)"
_HOLDS = f"(holds IS NULL OR ({_FIRST} <= ? AND ifnull({_LAST}, ?) > ?))"
_EDGES: dict[str, tuple[tuple[str, str], ...]] = {
    "policy": (("effective_from", ""), ("effective_until", "")),
    "preference": (("created_at", ""),),
    "episode": (("ifnull(completed_at, created_at)", ""),),
    "fact": (
        (_FIRST, ""),
        (_LAST, ""),
        ("created_at", f" AND ((holds IS NULL AND status = 'active') OR ({_WAS_SUPERSEDED}))"),
        ("updated_at", f" AND {_WAS_SUPERSEDED}"),
    ),
}
"""Kind -> columns with the times at which a record begins or ends, each with the condition for rows where it
applies."""


class Summary(NamedTuple):
    """Counts and times of changes of a memory; times in microseconds since 1970, ascending."""

    counts: dict[str, dict[str, int]]
    """Kind -> status -> number of records, for all statuses."""
    in_force: dict[str, int]
    """Kind -> number of records in force."""
    runs: int
    changed: list[int]
    """Times at which a record began or ceased to be in force."""
    learned: list[int]
    """Times at which the memory learned something."""


class Overview:
    """Counts the records visible to scopes.

    Args:
        context: the context of the memory.
        known: returns the policies and preferences in force of a scope.
    """

    def __init__(self, context: MemoryContext, known: Callable[[Scope], Known]) -> None:
        self._context = context
        self._known = known

    @classmethod
    def of(cls, memory: Any) -> Overview:
        """Return the overview of a :class:`scrubjay.memory.Memory`."""
        return cls(memory._parts.context, memory.known)

    def summary(self, scope: Scope, limit: int) -> Summary:
        """Return the number of records visible to a scope by kind and status, and when they changed.

        Args:
            scope: the scope of the caller; runs are those of exactly this scope.
            limit: the maximum length of each list of times; the newest are kept.

        Raises:
            EncryptionError: the tenant's key is unavailable. Rows whose key was destroyed count as erased.
        """
        checked_scope(scope)
        limit = checked_count(limit, "limit", at_least=1)
        is_readable = self._context.is_readable(scope)
        known = self._known(scope)
        now = self._context.clock()
        owners = [*_owners(scope)] if is_readable else [("policy", "tenant = ''", ())]
        counts: dict[str, dict[str, int]] = {}
        changed: set[int] = set()
        in_force = {
            "policy": len(known.policies),
            "preference": len(known.preferences),
            "fact": 0,
            "episode": 0,
        }
        with self._context.snapshot() as connection:
            for kind, owner, names in owners:
                for status, n in _counted(connection, kind, owner, names, now):
                    of_kind = counts.setdefault(kind, {})
                    of_kind[status] = of_kind.get(status, 0) + n
                if kind in ("fact", "episode"):
                    in_force[kind] += _n_in_force(connection, kind, owner, names, now)
                changed.update(_edges(connection, kind, owner, names, limit))
            n_runs = 0
            if is_readable:
                asked = f"SELECT count(*) FROM memory_run WHERE {_IN_SCOPE}"
                (n_runs,) = connection.execute(asked, names_of(scope)).fetchone()
        learned = self._context.changes.times(EventScope(scope), limit)
        return Summary(counts, in_force, n_runs, sorted(changed)[-limit:], learned)


def _owners(scope: Scope) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield (kind, condition, values) for disjoint sets of rows that together are visible to a scope, ordered by
    kind."""
    visible = [names_of(owner) for owner in scope.visible()]
    for kind in KINDS:
        for tenant, user, agent in visible:
            if kind == "policy" and not user and not agent:
                yield kind, "tenant IN ('', ?)", (tenant,)
            elif kind == "preference" and not agent:
                yield kind, "tenant = ? AND user = ?", (tenant, user)
            elif kind not in ("policy", "preference"):
                yield kind, _IN_SCOPE, (tenant, user, agent)


def _counted(
    connection: sqlite3.Connection, kind: str, owner: str, names: tuple[str, ...], now: int
) -> Iterable[tuple[str, int]]:
    if kind != "fact":
        asked = f"SELECT status, count(*) FROM {KINDS[kind]} WHERE {owner} GROUP BY status"
        return connection.execute(asked, names).fetchall()
    return connection.execute(
        f"SELECT said, count(*) FROM (SELECT {_STATUS} AS said FROM memory_fact WHERE {owner}) AS f GROUP BY said",
        (now, now, *names),
    ).fetchall()


def _n_in_force(
    connection: sqlite3.Connection, kind: str, owner: str, names: tuple[str, ...], now: int
) -> int:
    condition = f"{owner} AND {_IN_FORCE}"
    if kind == "episode":
        (n,) = connection.execute(
            f"SELECT count(*) FROM memory_episode WHERE {condition}", (*names, now)
        ).fetchone()
        return int(n)
    condition, values = f"{condition} AND {_HOLDS}", (*names, now, now, now + 1, now)
    (n,) = connection.execute(f"SELECT count(*) FROM memory_fact WHERE {condition}", values).fetchone()
    gaps = connection.execute(f"SELECT holds FROM memory_fact WHERE {condition} AND {_HAS_GAPS}", values)
    for (holds,) in gaps.fetchall():
        n -= not any(begin <= now and (end is None or now < end) for begin, end in intervals_in(holds))
    return int(n)


def _edges(
    connection: sqlite3.Connection, kind: str, owner: str, names: tuple[str, ...], limit: int
) -> Iterator[int]:
    """Yield the newest times at which records of an owner began or ceased to be in force, and possibly older ones."""
    for edge, of_rows in _EDGES[kind]:
        rows = connection.execute(
            f"SELECT DISTINCT edge FROM (SELECT {edge} AS edge FROM {KINDS[kind]} WHERE {owner}{of_rows}) AS e "
            "WHERE edge IS NOT NULL ORDER BY edge DESC LIMIT ?",
            (*names, limit),
        )
        for (at,) in rows.fetchall():
            yield int(at)
    if kind == "fact":
        gaps = connection.execute(f"SELECT holds FROM memory_fact WHERE {owner} AND {_HAS_GAPS}", names)
        for (holds,) in gaps.fetchall():
            for interval in intervals_in(holds):
                yield from (at for at in interval if at is not None)
