"""Merges the hits of several queries: each document keeps its best evidence."""

from __future__ import annotations

from collections.abc import Sequence

from scrubjay._native import Scope
from scrubjay.index import Hits
from scrubjay.retrieval.result import RetrievedHit, retrieved_hits


def merge(found: Sequence[Hits]) -> list[RetrievedHit]:
    """Order documents by their best rank in any of the rankings; of equal ones the earlier query's comes first.

    A document's evidence is its best, not its first (a vague query may have come first) nor its sum (five paraphrases
    of one idea are one piece of evidence). Ranks, because scores of different queries cannot be compared.
    """
    if len(found) == 1:
        return retrieved_hits(found[0])
    best: dict[tuple[Scope, str | int], tuple[int, int]] = {}
    queries: dict[tuple[Scope, str | int], list[int]] = {}
    for query, hits in enumerate(found):
        for rank, key in enumerate(hits.keys):
            queries.setdefault(key, []).append(query)
            if key not in best or (rank, query) < best[key]:
                best[key] = (rank, query)
    order = sorted(best, key=best.__getitem__)
    return [
        RetrievedHit(found[query], rank, float(found[query].scores[rank]), tuple(queries[key]))
        for key in order
        for rank, query in (best[key],)
    ]
