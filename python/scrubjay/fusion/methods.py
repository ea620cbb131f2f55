"""Fusions: methods that merge several rankings into one (`cpp/src/fusion/fuse.hpp` has the formulas)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from scrubjay._native import CompiledRanking
from scrubjay.base.arguments import checked_flag, has_lone_surrogate, shown


class Fusion:
    """A method that merges the scores of several rankings: :class:`Auto`, :class:`RRF`, :class:`Weighted`,
    :class:`Boost` or :class:`Production`. A fusion alone stands for a :class:`scrubjay.Query` with no other options."""

    _method: ClassVar[str]

    @property
    def compiled(self) -> CompiledRanking:
        """The engine's form of this fusion, with the identifier tier and no other options."""
        return _compiled(self)

    def _options(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class Auto(Fusion):
    """Sum both scores of every candidate, whichever ranking it came from, each normalised by its spread in the scope.

    The score is words + meaning, where

        words = share * bm25 / d + 4 / (2 + lexical place)
        meaning = (1 - share) * e((similarity - mean) / deviation) + 4 / (2 + vector place) + 30 / (60 + vector place)

    d is the standard deviation that BM25 would have in the scope if the query's terms were independent (at least 0.2);
    mean and deviation are those of the query's similarities in the scope, estimated from an even sample of 16 visible
    documents (from the vector ranking, if most of those have no vector); e(z) = z ** 1.25 above 0. So words that most
    documents hold contribute little, and so does similarity where all documents are similar. A document without a
    vector counts as the least similar of the vector ranking.

    A place is one plus the number of documents of the ranking with a higher score; a ranking without the document adds
    nothing. So the best document of either ranking is among the first hits even if the other ranking lacks it; and of
    two documents in both rankings, one that is at least as good in both never scores lower.

    The lexical share is 0.6 - 0.1 a; the agreement a is the mean over both rankings of 1/sqrt(r), where r is the rank
    that a ranking's first document has in the other one; 0 where it is absent. `hits.lexical_share` is the share of a
    search. Form and constants were chosen by cross-validation (`python -m benchmarks.quality.shares`).

    What one ranking alone is sure of is never lost from the first ten: the first document by words, and of the three
    nearest those that stand out (at least 2.75 deviations above the mean of the first 100 by meaning). If fused scores
    leave one of them out, such documents are raised until all have a place among the ten, the last ones if need be
    (`hit.parts.guarantee`). Documents that share the first place by words, or the third by meaning with a fourth, are
    not guaranteed. The identifier tier stays first. Dates that the question names, signals, thresholds, diversity and
    rerankers come later and may move such a hit.

    Args:
        guarantee: False: fused scores alone decide.

    >>> Auto()
    Auto()
    >>> Auto(guarantee=False)
    Auto(guarantee=False)
    """

    guarantee: bool = True

    _method: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        compile_ranking(self)

    def _options(self) -> dict[str, Any]:
        return {"guarantee": self.guarantee}

    def __repr__(self) -> str:
        return "Auto()" if self.guarantee else "Auto(guarantee=False)"


@dataclass(frozen=True)
class RRF(Fusion):
    """Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009): the sum of weight / (k + rank) over the rankings.

    Args:
        k: 0 or more; the smaller, the more the first ranks count.
        weights: of the lexical ranking, the vector ranking and the caller's rankings; missing ones are 1.

    >>> RRF(10).k
    10
    >>> RRF(-1)
    Traceback (most recent call last):
    ...
    ValueError: k: expected a finite number >= 0, got -1
    """

    k: float = 60.0
    weights: Sequence[float] = (1.0, 1.0)

    _method: ClassVar[str] = "rrf"

    def __post_init__(self) -> None:
        weight(self.k, "k")
        object.__setattr__(self, "weights", numbers(self.weights, "weights"))
        compile_ranking(self)

    def _options(self) -> dict[str, Any]:
        return {"rrf_k": self.k, "weights": list(self.weights)}


@dataclass(frozen=True)
class Weighted(Fusion):
    """A weighted sum of normalised scores.

    Args:
        weights: of the lexical ranking, the vector ranking and the caller's rankings; missing ones are 1. A caller's
            ranking has no scores: it adds weight * 11 / (10 + rank).
        normalise:
            "zscore": (score - mean) / deviation of a ranking (the lexical one is taken to end in one zero).
            "minmax": (score - minimum) / (maximum - minimum); the minimum of BM25 is 0.
            "max": score / maximum.
            "logistic": BM25 by 1 / (1 + exp(-slope (score - midpoint))), with midpoint and slope 5 and 0.7 for up to
            3 distinct terms in the query, 7 and 0.6 up to 6, 9 and 0.5 up to 9, 10 and 0.5 up to 15, 12 and 0.5
            beyond; similarities clamped to 0 to 1.

    A document absent from the lexical ranking has BM25 0; one absent from the vector ranking has the lowest similarity
    of that ranking.

    >>> Weighted((0.3, 0.7), normalise="max").weights
    (0.3, 0.7)
    """

    weights: Sequence[float] = (0.5, 0.5)
    normalise: Literal["zscore", "minmax", "max", "logistic"] = "zscore"

    _method: ClassVar[str] = "weighted"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", numbers(self.weights, "weights"))
        if not isinstance(self.normalise, str):
            raise TypeError(
                f"normalise: expected a str, got {type(self.normalise).__name__} {shown(self.normalise)}"
            )
        compile_ranking(self)

    def _options(self) -> dict[str, Any]:
        return {"weights": list(self.weights), "normalise": self.normalise}


@dataclass(frozen=True)
class Boost(Fusion):
    """Vectors admit, words reorder: similarity + weight * (normalised BM25).

    Args:
        gate: the minimum similarity of a hit. Documents of the identifier tier are exempt, and all documents are if the
            search has no vector.
        weight: the gain of the best lexical match.
        normalise: of BM25: "max" divides by the maximum; "logistic" is 1 / (1 + exp(-slope (BM25 - midpoint))) by the
            number of the query's terms, as for :class:`Weighted`, so that a weak best match gains little.

    >>> Boost(gate=0.2).weight
    0.3
    """

    gate: float = 0.0
    weight: float = 0.3
    normalise: Literal["max", "logistic"] = "max"

    _method: ClassVar[str] = "boost"

    def __post_init__(self) -> None:
        if not isinstance(self.normalise, str) or self.normalise not in ("max", "logistic"):
            raise ValueError(f"normalise: expected 'max' or 'logistic', got {self.normalise!r}")
        weight(self.weight, "weight")
        compile_ranking(self)

    def _options(self) -> dict[str, Any]:
        return {"gate": self.gate, "boost": self.weight, "normalise": self.normalise}


@dataclass(frozen=True)
class Production(Fusion):
    """A rule common among memory systems: 0.6 BM25 / (maximum BM25) + 0.4 similarity, with a floor.

    Args:
        weights: of the lexical and the vector score.
        floor: a document whose similarity and normalised BM25 are both below it is dropped.
        literal: apply the rule as it is usually written: a document that only the vectors found has its bare similarity
            (and so outranks documents that both found), one that only the words found has 0, and scores below the floor
            are dropped. For comparisons; on most judged sets it is worse than BM25 alone.

    >>> Production().floor
    0.4
    """

    weights: Sequence[float] = (0.6, 0.4)
    floor: float = 0.4
    literal: bool = False

    _method: ClassVar[str] = "production"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", numbers(self.weights, "weights"))
        compile_ranking(self)

    def _options(self) -> dict[str, Any]:
        return {"weights": list(self.weights), "floor": self.floor, "literal": self.literal}


def compile_ranking(fusion: Fusion, **options: Any) -> CompiledRanking:
    """Return the engine's form of a fusion with options; native code checks the ranges of numbers.

    Raises:
        TypeError: an option is not a number where one is expected, or not a bool.
        ValueError: a number is out of its range.
    """
    settings = {**fusion._options(), **options}
    for name, value in settings.items():
        if name in _NUMBERS:
            number(value, name)
        elif name in _BOOLS:
            checked_flag(value, name)
        elif isinstance(value, str) and has_lone_surrogate(value):
            raise ValueError(
                f"{name}: expected text that UTF-8 can encode, got {shown(value)} with a lone surrogate"
            )
    return CompiledRanking(fusion._method, **settings)


_NUMBERS = {
    "rrf_k",
    "boost",
    "gate",
    "floor",
    "coverage",
    "recency",
    "dates",
    "neighbours",
    "entities",
    "prior",
}
_BOOLS = {"literal", "guarantee", "identifier_tier", "spelling"}


@lru_cache(maxsize=1024)
def _compiled(fusion: Fusion) -> CompiledRanking:
    return compile_ranking(fusion)


def number(value: Any, name: str, expected: str = "a number") -> float:
    """Return a number, NumPy's included, as a float. Raise TypeError for other types, ValueError on overflow."""
    if isinstance(value, (bool, np.timedelta64)) or not isinstance(value, Real):
        raise TypeError(f"{name}: expected {expected}, got {type(value).__name__} {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}: expected {expected} that a float can hold, got a greater one") from None


def weight(value: Any, name: str) -> None:
    """Raise TypeError or ValueError unless the value is a finite number >= 0."""
    if not 0 <= number(value, name) < inf:
        raise ValueError(f"{name}: expected a finite number >= 0, got {value}")


def numbers(values: Any, name: str) -> tuple[float, ...]:
    """Return a sequence of numbers as floats, or raise TypeError."""
    if isinstance(values, (str, bytes, bytearray, memoryview)) or not isinstance(
        values, (Sequence, np.ndarray)
    ):
        raise TypeError(
            f"{name}: expected a sequence of numbers, got {type(values).__name__} {shown(values)}"
        )
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"{name}: expected a sequence of numbers, got shape {values.shape}")
    return tuple(number(value, name, "numbers") for value in values)
