"""Times and correctness of each engine for the queries of one cell of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.compare import exact, timing
from benchmarks.compare.lexical_engines import LexicalEngine, Scrubjay
from benchmarks.compare.workload import Query

N_PASSES = 3
SLOW = 1.5
"""An engine that needs longer than this fraction of a pass's time, even for its few queries, gets one pass."""
N_CHECKED_POSTINGS = 20_000_000
MAX_CHECKED, LEAST_CHECKED = 200, 10

Call = Callable[[Query, int], Any]


def calls_of(engine: LexicalEngine) -> dict[str, Call]:
    """Return the ways to call an engine, by the names of the table's rows."""
    calls: dict[str, Call] = {engine.name: engine.search}
    if hasattr(engine, "bare"):
        calls[f"{engine.name} bare"] = engine.bare
    return calls


def measure(
    engines: Sequence[LexicalEngine], queries: Sequence[Query], k: int, seconds: float
) -> dict[str, Any]:
    """Return percentiles for each way to call each engine; passes alternate between the engines."""
    calls = {name: of_query(call, k) for engine in engines for name, call in calls_of(engine).items()}
    items = {name: timing.affordable(call, queries, seconds) for name, call in calls.items()}
    passes: dict[str, list[Any]] = {name: [] for name in calls}
    for number in range(N_PASSES):
        for name, call in calls.items():
            if number == 0 or passes[name][0].sum() < SLOW * seconds * 1e9:
                passes[name].append(timing.time_calls(call, items[name]))
    return {name: {**timing.percentiles_us(passes[name]), "queries": len(items[name])} for name in calls}


def of_query(call: Call, k: int) -> Callable[[Query], Any]:
    return lambda query: call(query, k)


def check(
    engines: Sequence[LexicalEngine],
    queries: Sequence[Query],
    k: int,
    own: exact.Exhaustive,
    peers: exact.Exhaustive,
) -> dict[str, Any]:
    """Return for each engine its mean recall of the k best by its own formula, and by Scrubjay's formula.

    For Scrubjay also the number of answers identical to the formula's: documents, order, and scores to the last bit.
    """
    work = 1 + mean(own.n_postings(query) for query in queries) + own.n_documents
    n_checked = max(LEAST_CHECKED, min(MAX_CHECKED, int(N_CHECKED_POSTINGS / work)))
    checked = queries[:: max(1, len(queries) // n_checked)][:n_checked]
    report: dict[str, Any] = {}
    for engine in engines:
        formula = own if isinstance(engine, Scrubjay) else peers
        recalls, overlaps, identical = [], [], 0
        for query in checked[: LEAST_CHECKED if engine.name == "fts5" else None]:
            found, right = engine.found(query, k), exact.best(own.scores(query), k)
            recalls.append(exact.recall(found, formula.scores(query), k))
            overlaps.append(len(set(found) & set(right.tolist())) / max(1, len(right)))
            identical += isinstance(engine, Scrubjay) and is_exact(engine, query, k, own)
        report[engine.name] = {"queries": len(recalls), "recall": mean(recalls), "overlap": mean(overlaps)}
        if isinstance(engine, Scrubjay):
            report[engine.name]["identical"] = identical
    return report


def is_exact(engine: Scrubjay, query: Query, k: int, own: exact.Exhaustive) -> bool:
    """Return whether documents, order and scores are identical to the last bit, without corrections of terms."""
    ids, scores = engine.bare(query, k)
    right = own.scores(query)
    best = exact.best(right, k)
    return bool(np.array_equal(np.asarray(ids), best) and np.array_equal(np.asarray(scores), right[best]))
