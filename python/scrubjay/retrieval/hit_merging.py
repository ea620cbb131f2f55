"""Merges the hits of several queries: each document keeps its best evidence."""

from __future__ import annotations

from collections.abc import Sequence

from scrubjay._native import Scope
from scrubjay.index import Hits
from scrubjay.retrieval.result import RetrievedHit, retrieved_hits


def merge(rankings: Sequence[Hits]) -> list[RetrievedHit]:
    """Order documents by their best rank in any of the rankings; ties are won by the earlier query.

    A document is ranked by its best evidence, not its first (the first query may be vague) nor its sum (five
    paraphrases of one idea are one piece of evidence). Ranks are used because scores of different queries are not
    comparable. Documents in the identifier tier of any query come before all others, as in the search for that query.
    """
    if len(rankings) == 1:
        return retrieved_hits(rankings[0])
    best: dict[tuple[Scope, str | int], tuple[bool, int, int]] = {}
    queries: dict[tuple[Scope, str | int], list[int]] = {}
    for query, hits in enumerate(rankings):
        for rank, (key, hit) in enumerate(zip(hits.keys, hits, strict=True)):
            queries.setdefault(key, []).append(query)
            evidence = (not hit.identifier, rank, query)
            if key not in best or evidence < best[key]:
                best[key] = evidence
    order = sorted(best, key=best.__getitem__)
    return [
        RetrievedHit(rankings[query], rank, float(rankings[query].scores[rank]), tuple(queries[key]))
        for key in order
        for _, rank, query in (best[key],)
    ]
