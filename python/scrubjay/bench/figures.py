"""Means and percentiles over questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

ALL = "all"
"""The category of a question without one."""


@dataclass
class Sample:
    """The measures of one question. `search_us` and `embed_us` have one value per timed pass."""

    category: str
    search_us: Sequence[float] = ()
    embed_us: Sequence[float] = ()
    quality: dict[str, float] = field(default_factory=dict)
    answer: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Figures:
    """The measures of several questions.

    Attributes:
        n: questions; `n_judged` of them have a relevant document, `n_answered` have accepted answers and were answered.
        quality: recall@k, ndcg@k and mrr@k: means over the judged questions. answer@k: the fraction of the questions
            with accepted answers for which a found text contains one. Absent if there are no such questions.
        answer: f1, exact and contains (:mod:`scrubjay.bench.answerers`), means over the answered questions.
        search_us, embed_us: p50 and p95 in microseconds over the questions, by the median of each one's passes; empty
            if nothing was timed.
    """

    n: int = 0
    n_judged: int = 0
    n_answered: int = 0
    quality: dict[str, float] = field(default_factory=dict)
    answer: dict[str, float] = field(default_factory=dict)
    search_us: dict[str, float] = field(default_factory=dict)
    embed_us: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        return {
            "questions": self.n,
            "judged": self.n_judged,
            "answered": self.n_answered,
            **self.quality,
            "answer": self.answer,
            "search_us": self.search_us,
            "embed_us": self.embed_us,
        }


def figures_of(samples: Sequence[Sample]) -> Figures:
    """Return the figures of several questions.

    >>> figures_of([Sample("a", [3.0, 1.0, 2.0]), Sample("a", [4.0])]).search_us
    {'p50': 3.0, 'p95': 3.9}
    """
    return Figures(
        len(samples),
        sum(any(name.startswith("recall") for name in sample.quality) for sample in samples),
        sum(bool(sample.answer) for sample in samples),
        _means(sample.quality for sample in samples),
        _means(sample.answer for sample in samples),
        _tail([median(sample.search_us) for sample in samples if sample.search_us]),
        _tail([median(sample.embed_us) for sample in samples if sample.embed_us]),
    )


def _means(measures: Iterable[dict[str, float]]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for measure in measures:
        for name, value in measure.items():
            values.setdefault(name, []).append(value)
    return {name: sum(some) / len(some) for name, some in values.items()}


def _tail(times: Sequence[float]) -> dict[str, float]:
    if not times:
        return {}
    return {name: round(float(np.percentile(times, at)), 3) for name, at in (("p50", 50), ("p95", 95))}
