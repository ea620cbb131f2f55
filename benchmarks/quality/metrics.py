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


def ndcg(ranking: Sequence[str], relevant: Collection[str]) -> float:
    gain = sum(1 / math.log2(rank + 1) for rank, id in enumerate(ranking[:DEPTH], start=1) if id in relevant)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(len(relevant), DEPTH) + 1))
