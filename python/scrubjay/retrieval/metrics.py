"""Measures of one ranking, cut at ten unless stated otherwise.

recall = relevant documents among the first ten / relevant documents (not capped at ten).
nDCG = DCG / ideal DCG, DCG = sum over relevant hits of gain / log2(rank + 1); the ideal ranking has the documents of
the highest gains first, as many as fit. The gain is 1, or the grade of the judgement for graded judgements, as in
trec_eval and BEIR. [Järvelin and Kekäläinen, TOIS 2002]
The figure of a set is the mean over its judged queries.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

DEPTH = 10


def recall(ranking: Sequence[Any], relevant: Collection[Any]) -> float:
    """Return the fraction of the relevant documents that are among the first ten.

    >>> recall(["a", "b"], {"b", "c"})
    0.5
    """
    return recall_at(DEPTH, ranking, relevant)


def recall_at(depth: int, ranking: Sequence[Any], relevant: Collection[Any]) -> float:
    """Return the same as :func:`recall`, cut at `depth`."""
    return sum(id in relevant for id in ranking[:depth]) / len(relevant)


def reciprocal_rank(ranking: Sequence[Any], relevant: Collection[Any], depth: int = DEPTH) -> float:
    """Return 1 / rank of the first relevant document among the first `depth`, or 0 without one; its mean is MRR.

    >>> reciprocal_rank(["a", "b"], {"b"})
    0.5
    """
    return next((1 / rank for rank, id in enumerate(ranking[:depth], start=1) if id in relevant), 0.0)


def ndcg(
    ranking: Sequence[Any], relevant: Collection[Any] | Mapping[Any, float], depth: int = DEPTH
) -> float:
    """Return the normalised discounted cumulative gain of the first `depth`.

    Args:
        relevant: the relevant documents, each of gain 1; or a mapping of each to its grade, above 0.

    >>> ndcg(["b", "a"], {"b"}), round(ndcg(["a", "b"], {"b"}), 3)
    (1.0, 0.631)
    >>> round(ndcg(["a", "b"], {"a": 1, "b": 2}), 3)
    0.86
    """
    grades: Mapping[Any, float] = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)
    gain = sum(grades.get(id, 0) / math.log2(rank + 1) for rank, id in enumerate(ranking[:depth], start=1))
    ideal = sorted(grades.values(), reverse=True)[:depth]
    return gain / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, start=1))
