"""The grid of tuning: fusions and weights in coarse steps, then one step around the best of them."""

from __future__ import annotations

from dataclasses import replace

from scrubjay.fusion import (
    RRF,
    Auto,
    Boost,
    Dates,
    Fusion,
    Neighbours,
    Production,
    Query,
    Recency,
    Weighted,
)

BM25_PAIRS = ((0.4, 0.2), (0.8, 0.5), (1.2, 0.75), (1.6, 0.75), (1.2, 0.3))
"""(k1, b) for short turns, for texts in between, and the usual values for long texts."""
_RECENCY = ((0.1, 168.0), (0.3, 168.0), (0.1, 2160.0), (0.3, 2160.0))  # a week, a quarter of a year


def fusions() -> list[Query]:
    """Return every fusion in a few weights, with defaults for all else."""
    fusions: list[Fusion] = [Auto()]
    fusions += [
        RRF(k, weights)
        for k in (5.0, 10.0, 20.0, 60.0)
        for weights in ((1.0, 1.0), (1.0, 0.5), (0.5, 1.0), (1.0, 0.25), (0.25, 1.0))
    ]
    fusions += [
        Weighted(_shares(share), normalise)
        for normalise in ("zscore", "minmax", "max", "logistic")
        for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    ]
    fusions += [Boost(weight=weight) for weight in (0.1, 0.3, 1.0)]
    fusions += [Production(), Production(floor=0.0)]
    return [Query(fusion) for fusion in fusions]


def variations(query: Query) -> list[Query]:
    """Return the queries one step away from `query`: in its weights, or in one signal."""
    varied = [replace(query, identifier_tier=False), replace(query, spelling=False)]
    varied += [replace(query, coverage=coverage) for coverage in (0.1, 0.2, 0.4, 0.8)]
    varied += [
        replace(query, neighbours=neighbours) for neighbours in (False, Neighbours(0.1), Neighbours(0.4))
    ]
    varied += [replace(query, dates=dates) for dates in (False, Dates(3.0), Dates(12.0))]
    varied += [replace(query, recency=Recency(weight, hours)) for weight, hours in _RECENCY]
    fusion = query.fusion
    if isinstance(fusion, Weighted):
        share = fusion.weights[0]
        varied += [
            replace(query, fusion=Weighted(_shares(share + step), fusion.normalise)) for step in (-0.05, 0.05)
        ]
    elif isinstance(fusion, RRF):
        lexical, vector = fusion.weights[:2]
        varied += [replace(query, fusion=RRF(fusion.k, (lexical * factor, vector))) for factor in (0.75, 1.5)]
    return varied


def _shares(lexical: float) -> tuple[float, float]:
    return (round(lexical, 2), round(1 - lexical, 2))
