"""Results in mem0's form, with the similarity reported to mem0.

mem0 drops dissimilar memories before it considers keywords. So the reported similarity includes them: it is that of the
vectors or the worth of the matching words, whichever is greater.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scrubjay._native import Scope
from scrubjay.adapters._similarity import similarity as similarity_of_vectors
from scrubjay.adapters._similarity import worth
from scrubjay.adapters.mem0.filters import payload_of
from scrubjay.documents.records import Record
from scrubjay.index import Hit

# The maximum similarity of a keyword match: below 0.95, from which on mem0 treats two entities as the same.
_CEILING = 0.9


class MemoryId(str):
    """A memory's id with its scope: mem0 passes it back in operations on a result."""

    scope: Scope

    @classmethod
    def of(cls, document: Record | Hit) -> MemoryId:
        """Return the id of a memory."""
        id = cls(document.id)
        id.scope = document.scope
        return id


@dataclass
class OutputData:
    """One memory in the form of mem0's stores; `score` is None if nothing was ranked."""

    id: str
    score: float | None
    payload: dict[str, Any]


def similarity(hit: Hit, metric: str) -> float:
    """Return the similarity of an explained hit, from 0 to 1, words included."""
    return max(similarity_of_vectors(hit, metric), _CEILING * worth(hit))


def best(scored: list[tuple[float, Hit]], k: int) -> list[OutputData]:
    """Return the best k by score in mem0's form; the earlier one wins a tie.

    Duplicates are removed: documents of the whole tenant are visible from each of its scopes.
    """
    by_key: dict[tuple[Scope, str | int], tuple[float, Hit]] = {}
    for score, hit in scored:
        key = hit.scope, hit.id
        if key not in by_key or by_key[key][0] < score:
            by_key[key] = score, hit
    chosen = sorted(by_key.values(), key=lambda pair: -pair[0])[:k]
    return [OutputData(MemoryId.of(hit), score, payload_of(hit)) for score, hit in chosen]
