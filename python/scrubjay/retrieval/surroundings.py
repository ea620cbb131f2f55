"""A reranker's input beside the text of a hit: its day, if the question names days, and the turn that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from scrubjay._native import Scope, names_days
from scrubjay.documents.payload import microseconds, to_utc
from scrubjay.documents.turns import FIELDS, as_turn
from scrubjay.filters import FilterLike
from scrubjay.fusion import Dates, Query
from scrubjay.index import Hit, Index
from scrubjay.index.backend import Backend
from scrubjay.index.filter_functions import has_functions

MOST_CHARACTERS = 200
"""Characters from the end of the previous turn: rerankers truncate long texts, and the hit's own text comes after
it."""


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


class _Turn(NamedTuple):
    scope: Scope
    run: str | int
    position: int
    speaker: str | int

    @classmethod
    def of(cls, scope: Scope, metadata: dict[str, Any]) -> _Turn | None:
        turn = as_turn(*(metadata.get(name) for name in FIELDS))
        return cls(scope, **turn) if turn else None


def days_of(hits: Sequence[Hit], question: str, query: Query) -> list[str | None]:
    """Return the day of each hit, "8 May 2023"; None if it has no time, or the question names no days.

    The time of a hit is that of :class:`scrubjay.Dates`: `valid_from` of its metadata, else `created_at`.
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
        except OverflowError:  # outside the calendar
            return None
    if isinstance(since, str):
        with suppress(ValueError):  # it is no time
            return to_utc(since)
    return hit.created_at


def said_before(
    index: Index, hits: Sequence[Hit], scope: Scope, filter: FilterLike | None, query: Query
) -> list[str | None]:
    """Return for each hit what another speaker said just before it, or None.

    Args:
        index: with the hits.
        hits: of one search.
        scope, filter, query: of that search. Turns that do not match its filter are left out; if it names ids, or the
            filter contains a function, all are.

    The previous turn is in the same exact scope and `run`, with `position` one less (:class:`scrubjay.Neighbours`). If
    there are several, the one written first.
    """
    turns = [_Turn.of(hit.scope, hit.metadata) for hit in hits]
    positions: dict[str | int, set[int]] = {}
    for turn in turns:
        if turn is not None:
            positions.setdefault(turn.run, set()).add(turn.position - 1)
    named = query.ids is not None or query.exclude is not None
    if not positions or named or has_functions(filter):
        return [None] * len(hits)
    backend = Backend.of(index)
    there = {
        "$or": [{"run": run, "position": {"$in": sorted(numbers)}} for run, numbers in positions.items()]
    }
    beside = backend.admitted(scope, filter=there)
    admitted = set(beside.keys)
    if filter is not None and admitted:
        admitted = set(backend.admitted(scope, filter=filter, ids=beside.ids.tolist()).keys)
    said: dict[tuple[Scope, str | int, int], list[tuple[str | int, str]]] = {}
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
