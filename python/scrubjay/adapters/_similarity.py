"""How similar a hit is, from 0 to 1, for frameworks whose scores are similarities and that know no words.

An index ranks by words and meaning; a framework that weighs or cuts off by similarity would lose what only has the
words. So words are worth a similarity as well.
"""

from __future__ import annotations

import math

from scrubjay.index import Hit

# At a BM25 of this a match is worth half: two documents in three have the word where it is near 1.
_HALF_BM25 = 2.0


def similarity(hit: Hit, metric: str) -> float:
    """Return the similarity of the vectors: the cosine or inner product within 0 and 1, or for l2 1 / (1 + distance);
    0 without a vector."""
    value = hit.similarity
    if value is None:
        return 0.0
    return 1.0 / (1.0 + math.sqrt(max(0.0, -value))) if metric == "l2" else min(1.0, max(0.0, value))


def worth(hit: Hit) -> float:
    """Return what the matching words of a hit of an explained search are worth: 1 for a verbatim identifier, otherwise
    sqrt(share of the query's terms) * BM25 / (BM25 + 2)."""
    bm25 = hit.bm25
    if not bm25:
        return 0.0
    if hit.identifier:
        return 1.0
    return math.sqrt(hit.coverage or 0.0) * bm25 / (bm25 + _HALF_BM25)
