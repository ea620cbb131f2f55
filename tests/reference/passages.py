"""Documents with several vectors: each belongs to a passage of the text; the nearest passage counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference import vectors


@dataclass(frozen=True)
class Passages:
    """`rows[i]` is the vector of the text from `spans[i][0]` to `spans[i][1]`; (0, 0): unknown."""

    rows: NDArray[np.float64]
    spans: tuple[tuple[int, int], ...]

    @property
    def dim(self) -> int:
        return int(self.rows.shape[1])

    def stored(self) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
        return self.rows.astype(np.float32), np.array(self.spans, np.uint32).reshape(-1, 2)


Several = NDArray[np.float64] | Passages
"""The vector or passages of a document."""


def is_pair(value: Any) -> bool:
    """Whether a caller's vector is a pair of the vectors of passages and their spans."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], np.ndarray)
        and value[0].ndim == 2
    )


def nearest(metric: str, query: NDArray[np.float64], several: Several) -> tuple[int, float]:
    """Return position and similarity of the nearest passage, the first of equals; for a single vector 0 and its own."""
    rows = several.rows if isinstance(several, Passages) else [several]
    similarities = [vectors.similarity(metric, query, row) for row in rows]
    best = max(similarities)
    return similarities.index(best), best


def direction(metric: str, query: NDArray[np.float64] | None, several: Several) -> NDArray[np.float64]:
    """Return the vector by which a document is compared with others: of its passages the one nearest to the query."""
    if not isinstance(several, Passages):
        return several
    return several.rows[0 if query is None else nearest(metric, query, several)[0]]
