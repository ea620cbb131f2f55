"""What does fusing several rankings give?

[CCB09] Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods,
SIGIR 2009: score(d) = sum over rankings of 1 / (k + rank(d)); here with a weight per ranking.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

Id = TypeVar("Id", bound=Hashable)


def reciprocal_rank_scores(
    rankings: Sequence[Sequence[Id]], weights: Sequence[float], rrf_k: float
) -> dict[Id, float]:
    """RRF scores of every document of any ranking, added in the order of the rankings; ranks start at 1."""
    scores: dict[Id, float] = {}
    for ranking, ranking_weight in zip(rankings, weights, strict=True):
        for rank, document in enumerate(ranking, start=1):
            scores[document] = scores.get(document, 0.0) + ranking_weight / (rrf_k + rank)
    return scores
