"""The overhead of a filter, by arm, kind of condition and fraction of documents that it admits.

Filtered and unfiltered calls alternate in one run; the fastest of several calls of each question counts, so that a
loaded machine disturbs the ratios little.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from benchmarks.compare import timing
from benchmarks.micro.data import ZipfTexts

DIM = 256
N_ROUNDS = 10

# Filters by name; the fields are made so that each admits the fraction in its name.
FILTERS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "category 1%": {"rare": "yes"},
    "category 10%": {"some": "yes"},
    "category 50%": {"half": True},
    "number 1%": {"n": {"$lt": 0.01}},
    "number 10%": {"n": {"$gte": 0.4, "$lt": 0.5}},
    "number 50%": {"n": {"$lt": 0.5}},
    "$in of 20, 4%": {"session": {"$in": [f"s{i}" for i in range(0, 40, 2)]}},
    "$in of 500, 50%": {"session": {"$in": [f"s{i}" for i in range(0, 1000, 2)]}},
    "$in of 500 numbers, 50%": {"room": {"$in": list(range(0, 1000, 2))}},
    "$contains 40%": {"tags": {"$contains": "a"}},
}


def attributes(numbers: random.Random) -> dict[str, Any]:
    """Return the metadata of one document."""
    return {
        "rare": "yes" if numbers.random() < 0.01 else f"no{numbers.randrange(7)}",
        "some": "yes" if numbers.random() < 0.1 else "no",
        "half": numbers.random() < 0.5,
        "n": numbers.random(),
        "session": f"s{numbers.randrange(500)}",
        "tags": numbers.sample("abcde", 2),
        "room": numbers.randrange(1000),
    }


def measure(n_documents: int, n_calls: int) -> dict[str, Any]:
    """Return p50 and p95 in microseconds for each arm and filter, with ratios to the search without a filter."""
    from scrubjay import Engine, Scope
    from scrubjay.documents import payload

    texts, numbers, random_vectors = ZipfTexts(seed=1), random.Random(0), np.random.default_rng(0)
    engine, scope = Engine(dim=DIM), Scope("micro")
    engine.upsert_many(
        list(range(n_documents)),
        texts.texts(n_documents),
        scope=scope,
        vectors=random_vectors.standard_normal((n_documents, DIM), dtype=np.float32),
        payloads=[payload.encode(attributes(numbers), None) for _ in range(n_documents)],
    )
    questions = [
        (texts.text(7), random_vectors.standard_normal(DIM, dtype=np.float32))
        for _ in range(max(20, n_calls // 10))
    ]
    report: dict[str, Any] = {"documents": n_documents, "dim": DIM}
    for mode in ("lexical", "vector", "hybrid"):
        best = {name: np.full(len(questions), np.inf) for name in FILTERS}

        def search(question: tuple[str, Any], filter: Any, mode: str = mode) -> Any:
            text = None if mode == "vector" else question[0]
            vector = None if mode == "lexical" else question[1]
            return engine.search(text, vector=vector, scope=scope, k=10, filter=filter)

        for _ in range(N_ROUNDS):
            for name, filter in FILTERS.items():
                taken = timing.time_calls(lambda question, one=filter: search(question, one), questions)
                best[name] = np.minimum(best[name], np.asarray(taken, dtype=np.float64))
        report[mode] = {
            name: {
                **timing.percentiles_us([times.tolist()]),
                "p50_ratio": float(np.median(times) / np.median(best["none"])),
                "p95_ratio": float(np.percentile(times, 95) / np.percentile(best["none"], 95)),
                "admitted": search(questions[0], FILTERS[name]).admitted,
            }
            for name, times in best.items()
        }
    return report


def lines(report: dict[str, Any]) -> list[str]:
    """Return the report for a terminal."""
    shown = [
        f"filters, {report['documents']:,} documents, {report['dim']} dimensions; p50 / p95 us, times unfiltered"
    ]
    for mode in ("lexical", "vector", "hybrid"):
        for name, facts in report[mode].items():
            shown.append(
                f"  {mode + ', ' + name:42} {facts['p50']:9.2f} / {facts['p95']:9.2f}"
                f"   x{facts['p50_ratio']:.2f} / x{facts['p95_ratio']:.2f}   {facts['admitted']:,} admitted"
            )
    return shown
