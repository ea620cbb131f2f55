"""What stood beside a hit, for a reranker: a turn of a conversation says little without what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.backend import Backend
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index
from scrubjay.index.residue import has_functions
from scrubjay.turns import FIELDS, as_turn

__all__ = ["MOST_CHARACTERS", "said_before"]

MOST_CHARACTERS = 200
"""The last ones of the turn before: rerankers cut the end of a long text, and the hit's own text is behind it."""


class _Turn(NamedTuple):
    scope: Scope
    run: str
    position: int
    speaker: str

    @classmethod
    def of(cls, scope: Scope, metadata: dict[str, Any]) -> _Turn | None:
        turn = as_turn(*(metadata.get(name) for name in FIELDS))
        return cls(scope, **turn) if turn else None


def said_before(
    index: Index, hits: Sequence[Hit], scope: Scope, filter: FilterLike | None, query: Query
) -> list[str | None]:
    """Return for each hit what another speaker said just before it; None: it is no turn, or nobody did.

    Args:
        index: where the hits are from.
        hits: of one search.
        scope, filter, query: of that search. What its filter does not admit is not shown; where it names ids, or the
            filter holds a function, nothing is.

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
