"""The merged ranking of facts and notes. The twin of `scrubjay.memory.read.index_notes.merged`, by all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def merged(facts: Sequence[Any], notes: Sequence[Any]) -> list[tuple[int, int]]:
    """Return (0 for a fact or 1 for a note, its rank from 0) of each hit, best first."""
    both = (facts, notes)
    places = [(side, rank) for side in (0, 1) for rank in range(len(both[side]))]

    def strength(side: int, rank: int) -> float:
        hit = both[side][rank]
        if facts and notes and facts[0].rerank_score is not None and notes[0].rerank_score is not None:
            return float("-inf") if hit.rerank_score is None else float(hit.rerank_score)
        all_hits = [*facts, *notes]
        greatest = max([one.bm25 for one in all_hits if one.bm25 is not None] or [0.0])
        words = (hit.bm25 or 0.0) / greatest if greatest > 0 else 0.0
        farthest = min([0.0, *[one.similarity for one in all_hits if one.similarity is not None]])
        return float((farthest if hit.similarity is None else hit.similarity) + words)

    def counts(side: int, rank: int) -> float:
        return min(strength(side, before) for before in range(rank + 1))

    def leads(side: int, rank: int) -> bool:
        return all(both[side][before].identifier for before in range(rank + 1))

    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        if leads(*one) != leads(*other):
            return leads(*one)
        if counts(*one) != counts(*other):
            return counts(*one) > counts(*other)
        return (one[1], one[0]) < (other[1], other[0])

    ordered: list[tuple[int, int]] = []
    while len(ordered) < len(places):
        left = [place for place in places if place not in ordered]
        ordered.append(next(one for one in left if all(one == other or beats(one, other) for other in left)))
    return ordered
