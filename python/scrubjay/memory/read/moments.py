"""The two axes of time in which memory is asked: when something was so, and what was known of it when.

`as_of` is about the world ("where did Jane live in May?"), by all that is known now. `known_at` is about the memory
("what did we believe in May?"): what was recorded later is left out, corrections included. With `known_at` alone the
question is what was believed then of that time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from scrubjay.memory.ledger.rows import EpisodeRow, FactRow, PolicyRow, PreferenceRow, Row
from scrubjay.memory.ledger.statements import IsSingle, begin_of_episode, facts_of_slot, holds_at, projected
from scrubjay.memory.model.decoding import moment_of
from scrubjay.payload import CreatedAt

__all__ = ["Moment", "moment_asked", "was_in_force", "would_be_in_force"]


class Moment(NamedTuple):
    """What is asked for, in microseconds since 1970."""

    now: int
    as_of: int
    known_at: int | None
    """None: by all that is known now."""


def moment_asked(
    clock: Callable[[], int], as_of: CreatedAt | None, known_at: CreatedAt | None
) -> Moment | None:
    """Return the time that is asked for; None: now.

    Raises:
        TypeError, ValueError: one of them is not a time.
    """
    known = moment_of(known_at, "known_at")
    valid = moment_of(as_of, "as_of")
    if known is None and valid is None:
        return None
    now = clock()
    if valid is None:
        valid = known
    assert valid is not None
    return Moment(now, valid, known if known is not None and known < now else None)


def was_in_force(connection: sqlite3.Connection, row: Row, moment: Moment, is_single: IsSingle) -> bool:
    """Whether a record was in force at a time, by what was known at another.

    Preferences are in force from when they are written until they are superseded, revoked or expire; episodes from when
    the task was completed on.
    """
    if row.expires_at is not None and row.expires_at <= moment.now and not isinstance(row, PolicyRow):
        return False  # as if deleted
    if isinstance(row, FactRow):
        return _fact_was(connection, row, moment, is_single)
    known_at = moment.now if moment.known_at is None else moment.known_at
    if isinstance(row, PolicyRow):
        return _policy_was(connection, row, moment.as_of, known_at)
    if isinstance(row, EpisodeRow) and begin_of_episode(row) > moment.as_of:
        return False
    is_dated = isinstance(row, PreferenceRow) and moment.known_at is not None
    if is_dated and not _was_written(connection, row.id, known_at):
        return False
    at = known_at if isinstance(row, EpisodeRow) else min(moment.as_of, known_at)
    over = row.status in ("superseded", "revoked") and row.updated_at <= at
    return row.created_at <= at and (row.expires_at is None or at < row.expires_at) and not over


def _fact_was(connection: sqlite3.Connection, row: FactRow, moment: Moment, is_single: IsSingle) -> bool:
    if row.status == "provisional":
        return False
    if moment.known_at is None:
        return row.status != "revoked" and holds_at(row, moment.as_of)
    names = (row.tenant, row.user, row.agent)
    slot = facts_of_slot(connection, names, (row.topic,)) if row.topic else [row]
    held = projected(connection, slot, is_single, known_at=moment.known_at)
    return row.id in held and held[row.id].at(moment.as_of)


def would_be_in_force(
    connection: sqlite3.Connection, row: FactRow, moment: Moment, is_single: IsSingle
) -> bool:
    """Whether a tenant's provisional fact would be in force at a time if it, and all of its slot, were confirmed."""
    if row.expires_at is not None and row.expires_at <= moment.now:
        return False
    names = (row.tenant, row.user, row.agent)
    slot = facts_of_slot(connection, names, (row.topic,), with_provisional=True) if row.topic else [row]
    held = projected(connection, slot, is_single, known_at=moment.known_at)
    return row.id in held and held[row.id].at(moment.as_of)


def _was_written(connection: sqlite3.Connection, id: str, known_at: int) -> bool:
    """Whether a record had been written by then, whenever it was said."""
    (at,) = connection.execute(
        "SELECT min(at) FROM memory_log WHERE record = ? AND what = 'written'", (id,)
    ).fetchone()
    return isinstance(at, int) and at <= known_at


def _policy_was(connection: sqlite3.Connection, row: PolicyRow, as_of: int, known_at: int) -> bool:
    """A version is in force within its times, once it is confirmed, until it is revoked."""
    if row.begins_at > as_of or (row.expires_at is not None and row.expires_at <= as_of):
        return False
    when = dict(
        connection.execute(
            "SELECT what, max(at) FROM memory_log WHERE record = ? AND what IN ('confirmed', 'revoked') GROUP BY what",
            (row.id,),
        ).fetchall()
    )
    confirmed_at, revoked_at = when.get("confirmed"), when.get("revoked")
    if not isinstance(confirmed_at, int) or confirmed_at > known_at:
        return False
    return not isinstance(revoked_at, int) or revoked_at > known_at or as_of < revoked_at
