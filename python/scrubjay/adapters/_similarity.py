"""Similarity of a hit, from 0 to 1, for frameworks whose scores are similarities and that do not rank by keywords.

An index ranks by words and meaning; a framework that weighs or cuts off by similarity would lose memories that match
by words only. So matching words count as a similarity as well.
"""

from __future__ import annotations

import math

from scrubjay.index import Hit

# The BM25 at which a match is worth half: a word that two documents in three have scores near 1.
_HALF_BM25 = 2.0


def similarity(hit: Hit, metric: str) -> float:
    """Return the similarity of the vectors: cosine or inner product clamped to [0, 1], or for l2 1 / (1 + distance);
    0 without a vector."""
    value = hit.similarity
    if value is None:
        return 0.0
    return 1.0 / (1.0 + math.sqrt(max(0.0, -value))) if metric == "l2" else min(1.0, max(0.0, value))


def worth(hit: Hit) -> float:
    """Return the similarity that the matching words of an explained hit are worth: 1 for a verbatim identifier, else
    sqrt(share of the query's terms) * BM25 / (BM25 + 2)."""
    bm25 = hit.bm25
    if not bm25:
        return 0.0
    if hit.identifier:
        return 1.0
    return math.sqrt(hit.coverage or 0.0) * bm25 / (bm25 + _HALF_BM25)
