"""How good is one ranking? Binary judgements, cut at ten.

recall@10 = relevant documents among the first ten / relevant documents (not capped at ten).
nDCG@10 = DCG / ideal DCG, DCG = sum over relevant hits of 1 / log2(rank + 1); the ideal ranking has all relevant
documents first, as many as fit into ten. [Järvelin and Kekäläinen, TOIS 2002, with gains 0 and 1]
A set's figure is the mean over its judged queries.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

DEPTH = 10


def recall(ranking: Sequence[str], relevant: Collection[str]) -> float:
    return sum(id in relevant for id in ranking[:DEPTH]) / len(relevant)


def recall_at(depth: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """The same as recall, cut elsewhere."""
    return sum(id in relevant for id in ranking[:depth]) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant document among the first ten, 0 if there is none; its mean is MRR@10."""
    return next((1 / rank for rank, id in enumerate(ranking[:DEPTH], start=1) if id in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: Collection[str]) -> float:
    gain = sum(1 / math.log2(rank + 1) for rank, id in enumerate(ranking[:DEPTH], start=1) if id in relevant)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(len(relevant), DEPTH) + 1))
