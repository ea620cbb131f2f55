"""The recall of vector engines beside an exact search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import vectors as vectors_of
from benchmarks.compare.vector_engines import VectorEngine
from benchmarks.vectors import Floats

TIE = 1e-6


class Neighbours:
    """The exact answers to some questions, and the recall of others."""

    def __init__(self, vectors: Floats, questions: Floats, k: int) -> None:
        self._vectors, self._questions, self.k = vectors, questions, min(k, len(vectors))
        right = vectors_of.exact_neighbours(vectors, questions, self.k)
        self._bars = np.array(
            [vectors[rows[-1]] @ question for rows, question in zip(right, questions, strict=True)]
        )

    def recall(self, find: Callable[[Floats], Sequence[int]]) -> float:
        """Return the mean fraction of the k nearest that was found; ties with the last of them count as found."""
        shares = []
        for question, bar in zip(self._questions, self._bars, strict=True):
            rows = list(set(find(question)))
            shares.append(
                float(np.sum(self._vectors[rows] @ question >= bar - TIE)) / self.k if rows else 0.0
            )
        return float(np.mean(shares))


def caller(engine: VectorEngine, k: int) -> Callable[[Floats], Any]:
    search = engine.search
    return lambda question: search(question, k)


def finder(engine: VectorEngine, k: int) -> Callable[[Floats], Sequence[int]]:
    return lambda question: engine.found(question, k)
