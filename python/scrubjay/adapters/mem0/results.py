"""What does mem0 get for a hit, and how similar is it said to be?

mem0 drops whatever is not similar before it looks at keywords. So the similarity that it is told counts them: it is
that of the vectors, or what the matching words are worth, whichever is more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scrubjay.adapters.mem0.filters import payload_of
from scrubjay.results import Hit

__all__ = ["OutputData", "best", "output", "similarity"]

# What a keyword match is worth as a similarity, at most. Below 0.95, from which on mem0 takes two entities for one.
_CEILING = 0.9
# At a BM25 of this the match is worth half of that: two documents in three have the word where it is near 1.
_HALF_BM25 = 2.0


@dataclass
class OutputData:
    """One memory as mem0's stores give it: `score` is None where nothing was ranked."""

    id: str
    score: float | None
    payload: dict[str, Any]


def similarity(hit: Hit, metric: str) -> float:
    """Return how similar a hit of an explained search is, from 0 to 1, words counted."""
    value = hit.similarity
    if value is None:
        similar = 0.0
    elif metric == "l2":
        similar = 1.0 / (1.0 + math.sqrt(max(0.0, -value)))
    else:
        similar = min(1.0, max(0.0, value))
    bm25 = hit.bm25
    if not bm25:
        return similar
    worth = 1.0 if hit.identifier else math.sqrt(hit.coverage or 0.0) * bm25 / (bm25 + _HALF_BM25)
    return max(similar, _CEILING * worth)


def output(hit: Hit, score: float) -> OutputData:
    """Return a hit as mem0 takes it."""
    return OutputData(str(hit.id), score, payload_of(hit))


def best(found: list[OutputData], k: int) -> list[OutputData]:
    """Return the best by score, each once: what others wrote for the whole tenant is seen from each of its scopes.

    >>> [one.id for one in best([OutputData("a", 0.1, {}), OutputData("b", 0.9, {}), OutputData("a", 0.1, {})], 2)]
    ['b', 'a']
    """
    by_id = {one.id: one for one in sorted(found, key=lambda one: one.score or 0.0)}
    return sorted(by_id.values(), key=lambda one: -(one.score or 0.0))[:k]
