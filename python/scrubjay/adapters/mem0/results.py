"""Results in mem0's form, and the similarity that mem0 is given.

mem0 drops dissimilar memories before it considers keywords. So the similarity that it is given includes them: that of
the vectors or the value of the matching words, whichever is greater.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scrubjay._native import Scope
from scrubjay.adapters._similarity import similarity as similarity_of_vectors
from scrubjay.adapters._similarity import worth
from scrubjay.adapters.mem0.filters import payload_of
from scrubjay.index import Hit
from scrubjay.records import Record

# What a keyword match is worth as a similarity, at most. Below 0.95, from which on mem0 takes two entities for one.
_CEILING = 0.9


class MemoryId(str):
    """A memory's id that remembers the memory's scope: mem0 passes it on to what it does with a result."""

    scope: Scope

    @classmethod
    def of(cls, found: Record | Hit) -> MemoryId:
        """Return the id of a memory."""
        id = cls(found.id)
        id.scope = found.scope
        return id


@dataclass
class OutputData:
    """One memory as mem0's stores give it: `score` is None where nothing was ranked."""

    id: str
    score: float | None
    payload: dict[str, Any]


def similarity(hit: Hit, metric: str) -> float:
    """Return how similar a hit of an explained search is, from 0 to 1, words counted."""
    return max(similarity_of_vectors(hit, metric), _CEILING * worth(hit))


def best(scored: list[tuple[float, Hit]], k: int) -> list[OutputData]:
    """Return the best k by score as mem0 takes them; of equal scores the earlier one.

    Each once: what others wrote for the whole tenant is seen from each of its scopes.
    """
    by_key: dict[tuple[Scope, str | int], tuple[float, Hit]] = {}
    for score, hit in scored:
        key = hit.scope, hit.id
        if key not in by_key or by_key[key][0] < score:
            by_key[key] = score, hit
    chosen = sorted(by_key.values(), key=lambda pair: -pair[0])[:k]
    return [OutputData(MemoryId.of(hit), score, payload_of(hit)) for score, hit in chosen]
