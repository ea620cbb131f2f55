"""What a reranker reads beside the text of a hit: the day, where the question names days, and what a turn answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from scrubjay._native import Scope, names_days
from scrubjay.backend import Backend
from scrubjay.filters import FilterLike
from scrubjay.fusion import Dates, Query
from scrubjay.index import Hit, Index
from scrubjay.index.residue import has_functions
from scrubjay.payload import microseconds, to_utc
from scrubjay.turns import FIELDS, as_turn

MOST_CHARACTERS = 200
"""The last ones of the turn before: rerankers cut the end of a long text, and the hit's own text is behind it."""


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


class _Turn(NamedTuple):
    scope: Scope
    run: str
    position: int
    speaker: str

    @classmethod
    def of(cls, scope: Scope, metadata: dict[str, Any]) -> _Turn | None:
        turn = as_turn(*(metadata.get(name) for name in FIELDS))
        return cls(scope, **turn) if turn else None


def days_of(hits: Sequence[Hit], question: str, query: Query) -> list[str | None]:
    """Return the day of each hit, "8 May 2023"; None: it has none, or the question names no days.

    The time of a hit is what :class:`scrubjay.Dates` goes by: `valid_from` of its metadata, else `created_at`.
    """
    if not isinstance(query.dates, Dates) or not query.dates.weight:
        return [None] * len(hits)
    now = to_utc(query.dates.now, "now") or datetime.now(timezone.utc)
    if not names_days(question, now_us=microseconds(now)):
        return [None] * len(hits)
    times = map(_time_of, hits)
    return [None if time is None else f"{time.day} {_MONTHS[time.month - 1]} {time.year}" for time in times]


def _time_of(hit: Hit) -> datetime | None:
    since = hit.metadata.get("valid_from")
    if isinstance(since, int) and not isinstance(since, bool):
        try:
            return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=since)
        except OverflowError:  # no calendar has that day
            return None
    return hit.created_at


def said_before(
    index: Index, hits: Sequence[Hit], scope: Scope, filter: FilterLike | None, query: Query
) -> list[str | None]:
    """Return for each hit what another speaker said just before it; None where there is no such turn.

    Args:
        index: where the hits are from.
        hits: of one search.
        scope, filter, query: of that search. Turns that its filter does not admit are left out; all are, where it names
            ids or the filter holds a function.

    The turn before is in the same exact scope and `run`, its `position` one less (:class:`scrubjay.Neighbours`). Of
    several the one that was written first.
    """
    turns = [_Turn.of(hit.scope, hit.metadata) for hit in hits]
    positions: dict[str, set[int]] = {}
    for turn in turns:
        if turn is not None:
            positions.setdefault(turn.run, set()).add(turn.position - 1)
    named = query.ids is not None or query.exclude is not None
    if not positions or named or has_functions(filter):
        return [None] * len(hits)
    backend = Backend.of(index)
    there = {"$or": [{"run": run, "position": {"$in": sorted(wanted)}} for run, wanted in positions.items()]}
    beside = backend.admitted(scope, filter=there)
    admitted = set(beside.keys)
    if filter is not None and admitted:
        admitted = set(backend.admitted(scope, filter=filter, ids=beside.ids.tolist()).keys)
    said: dict[tuple[Scope, str, int], list[tuple[str, str]]] = {}
    for other in beside:
        turn = _Turn.of(other.scope, other.metadata)
        if turn is not None and (other.scope, other.id) in admitted:
            said.setdefault(turn[:3], []).append((turn.speaker, other.text))

    def before(turn: _Turn | None) -> str | None:
        if turn is None:
            return None
        others = said.get((turn.scope, turn.run, turn.position - 1), ())
        text = next((text for speaker, text in others if speaker != turn.speaker), None)
        return None if text is None else text[-MOST_CHARACTERS:]

    return [before(turn) for turn in turns]
