"""The two time axes of a query: when something was true, and when it was known.

`as_of` is about the world ("where did Jane live in May?"), by all that is known now. `known_at` is about the memory
("what did we believe in May?"): what was recorded later is left out, including corrections. `known_at` alone asks what
was believed at that time about that time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from scrubjay.documents.payload import CreatedAt
from scrubjay.memory.ledger.statements import Beliefs, facts_of_slot, projected
from scrubjay.memory.model.decoding import moment_of
from scrubjay.memory.model.rows import EpisodeRow, FactRow, PolicyRow, PreferenceRow, Row
from scrubjay.memory.model.statements import IsSingle, begin_of_episode, holds_at


class QueryTime(NamedTuple):
    """The times of a query, in microseconds since 1970."""

    now: int
    as_of: int
    known_at: int | None
    """None: by all that is known now."""


def moment_asked(
    clock: Callable[[], int], as_of: CreatedAt | None, known_at: CreatedAt | None
) -> QueryTime | None:
    """Return the time that a query asks for; None: now.

    Raises:
        TypeError, ValueError: one of the arguments is not a time.
    """
    known = moment_of(known_at, "known_at")
    valid = moment_of(as_of, "as_of")
    for name, given, moment in (("known_at", known_at, known), ("as_of", as_of, valid)):
        if given is not None and moment is None:
            raise ValueError(f"{name}: expected a time or None, got {given!r}")
    if known is None and valid is None:
        return None
    now = clock()
    if valid is None:
        valid = known
    assert valid is not None
    return QueryTime(now, valid, known if known is not None and known < now else None)


class PastRecords:
    """Records as they were at one time, as known at another.

    Preferences are in force from when they are written until they are superseded, revoked or expire; episodes from when
    the task was completed.

    Args:
        connection: a connection to one snapshot of the file.
        moment: the requested times.
        is_single: the cardinality for rows of facts that do not state it.
    """

    def __init__(self, connection: sqlite3.Connection, moment: QueryTime, is_single: IsSingle) -> None:
        self._connection = connection
        self._moment = moment
        self._beliefs = None if moment.known_at is None else Beliefs(connection, moment.known_at, is_single)

    @property
    def now(self) -> int:
        """The time of the observer, after which facts are planned, not over."""
        return self._moment.now if self._moment.known_at is None else self._moment.known_at

    def known(self, row: Row) -> Row:
        """Return a row as it was known; as it is now if it was unknown then."""
        if isinstance(row, FactRow) and self._beliefs is not None:
            return self._beliefs.row(row) or row
        return row

    def in_force(self, row: Row) -> Row | None:
        """Return a row as it was known if it was in force, or None."""
        moment = self._moment
        if row.expires_at is not None and row.expires_at <= moment.now and not isinstance(row, PolicyRow):
            return None  # counts as deleted
        if isinstance(row, FactRow):
            if row.status == "provisional":
                return None
            if self._beliefs is None:
                return row if row.status != "revoked" and holds_at(row, moment.as_of) else None
            believed = self._beliefs.row(row)
            return believed if believed is not None and holds_at(believed, moment.as_of) else None
        known_at = self.now
        if isinstance(row, PolicyRow):
            return _policy_was(self._connection, row, moment.as_of, known_at)
        if isinstance(row, EpisodeRow) and begin_of_episode(row) > moment.as_of:
            return None
        is_dated = isinstance(row, PreferenceRow) and moment.known_at is not None
        if is_dated and not _was_written(self._connection, row, known_at):
            return None
        at = known_at if isinstance(row, EpisodeRow) else min(moment.as_of, known_at)
        over = row.status in ("superseded", "revoked") and row.updated_at <= at
        if row.created_at > at or (row.expires_at is not None and row.expires_at <= at) or over:
            return None
        if row.status == "active" or moment.known_at is None or row.updated_at <= known_at:
            return row
        return _restored(row)


def _restored(row: PreferenceRow | EpisodeRow) -> PreferenceRow | EpisodeRow:
    """Return a row that was superseded or revoked later in its earlier state."""
    if isinstance(row, PreferenceRow):
        return row._replace(status="active", superseded_by=None)
    return row._replace(status="active")


def would_be_in_force(
    connection: sqlite3.Connection, row: FactRow, moment: QueryTime, is_single: IsSingle
) -> bool:
    """Whether a tenant's provisional fact would be in force at a time if it, and all of its slot, were confirmed."""
    if row.expires_at is not None and row.expires_at <= moment.now:
        return False
    names = (row.tenant, row.user, row.agent)
    slot = facts_of_slot(connection, names, (row.topic,), with_provisional=True) if row.topic else [row]
    held = projected(connection, slot, is_single, known_at=moment.known_at)
    return row.id in held and held[row.id].at(moment.as_of)


def _was_written(connection: sqlite3.Connection, row: Row, known_at: int) -> bool:
    """Whether a record had been written by then, whenever it was said."""
    (at,) = connection.execute(
        "SELECT min(at) FROM memory_log WHERE +tenant = ? AND user = ? AND record = ? AND what = 'written'",
        (row.tenant, row.user, row.id),
    ).fetchone()
    return isinstance(at, int) and at <= known_at


def _policy_was(
    connection: sqlite3.Connection, row: PolicyRow, as_of: int, known_at: int
) -> PolicyRow | None:
    """Return a policy version if it was in force: within its times, after its confirmation, before its revocation."""
    if row.begins_at > as_of or (row.expires_at is not None and row.expires_at <= as_of):
        return None
    when = dict(
        connection.execute(
            "SELECT what, max(at) FROM memory_log WHERE +tenant = ? AND user = '' AND record = ? "
            "AND what IN ('confirmed', 'revoked') GROUP BY what",
            (row.tenant, row.id),
        ).fetchall()
    )
    confirmed_at, revoked_at = when.get("confirmed"), when.get("revoked")
    if not isinstance(confirmed_at, int) or confirmed_at > known_at:
        return None
    if not isinstance(revoked_at, int):
        return row
    if revoked_at > known_at:
        return row._replace(status="active")
    return row if as_of < revoked_at else None
