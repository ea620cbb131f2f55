"""Similarities of vectors, and the permitted error of a stored approximation.

Similarities are computed in float64 from the given vectors, or from those that bytes can hold; higher is better for
every metric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Metric = Literal["cosine", "ip", "l2"]

METRICS: tuple[Metric, ...] = ("cosine", "ip", "l2")
RELATIVE_BOUND: dict[str, float] = {"f32": 2e-6, "f16": 1e-3, "i8": 2e-6}
"""The largest allowed error of a reported similarity, in units of `magnitude`; "i8": with the vector as `in_bytes`."""


def in_bytes(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the vector that an engine with dtype "i8" stores: multiples of a step, from -127 to 127."""
    step = np.float32(step_of(float(np.abs(vector).max())))
    return np.rint(vector.astype(np.float32) / step).astype(np.float64) * float(step)


def step_of(greatest: float) -> float:
    """1/127 of the greatest magnitude with eight significant bits, upwards from the middle; where that is below the
    normal float32 numbers, the next power of two, and no less than the least float32."""
    if greatest == 0.0:
        return 1.0
    wanted = float(np.float32(greatest) / np.float32(127))
    if wanted < 2.0**-126:
        return max(2.0 ** math.ceil(math.log2(greatest / 127)), 2.0**-149)
    unit = 2.0 ** (math.floor(math.log2(wanted)) - 7)
    return math.floor(wanted / unit + 0.5) * unit


def similarity(metric: str, query: NDArray[np.float64], document: NDArray[np.float64]) -> float:
    """cosine: dot / (norm * norm); ip: dot; l2: minus the squared distance."""
    if metric == "l2":
        difference = query - document
        return -float(difference @ difference)
    dot = float(query @ document)
    if metric == "ip":
        return dot
    return dot / (float(np.linalg.norm(query)) * float(np.linalg.norm(document)))


def magnitude(metric: str, query: NDArray[np.float64], document: NDArray[np.float64]) -> float:
    """Return the magnitude to which errors of a similarity are relative: 1, |q||d|, or (|q| + |d|)^2."""
    if metric == "cosine":
        return 1.0
    norms = float(np.linalg.norm(query)), float(np.linalg.norm(document))
    return norms[0] * norms[1] if metric == "ip" else (norms[0] + norms[1]) ** 2


def bound(metric: str, dtype: str, query: NDArray[np.float64], document: NDArray[np.float64]) -> float:
    """Return the permitted distance of the engine's similarity from `similarity`, given its stored type."""
    return RELATIVE_BOUND[dtype] * magnitude(metric, query, document)


MOST_SAMPLED, MOST_FUSED = 512, 16


def sampled_places(n_documents: int, most: int = MOST_SAMPLED) -> list[int]:
    """Return the documents whose similarities are sampled for a scope's spread
    (cpp/src/engine/similarity_spread.hpp)."""
    shift = 0
    while math.ceil(n_documents / 2**shift) > most:
        shift += 1
    blocks = range(n_blocks(n_documents, most))
    places = [block * 2**shift + ((block * 0x9E3779B97F4A7C15) % 2**64 >> (64 - shift)) for block in blocks]
    return [place for place in places if place < n_documents]


def n_blocks(n_documents: int, most: int) -> int:
    """Return the number of blocks, whose size is the smallest power of two that gives at most `most` blocks."""
    return next(n for shift in range(64) if (n := math.ceil(n_documents / 2**shift)) <= most)


def spread(similarities: Sequence[float]) -> tuple[float, float]:
    """Return mean and population deviation; NaN for an empty sequence."""
    if not similarities:
        return math.nan, math.nan
    total = squares = 0.0
    for one in similarities:  # sum() compensates rounding; the definition does not
        total += one
    mean = total / len(similarities)
    for one in similarities:
        squares += (one - mean) * (one - mean)
    return mean, math.sqrt(squares / len(similarities))
