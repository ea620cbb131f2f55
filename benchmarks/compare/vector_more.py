"""Vector search with filters of any selectivity, and after all vectors were replaced."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import recording
from benchmarks import vectors as vectors_of
from benchmarks.compare.vector_engines import GRAPH_FROM, Scrubjay
from benchmarks.compare.vector_recall import Neighbours, caller, finder
from benchmarks.latency.engine import accepts
from benchmarks.memories import ROWS_A_CALL
from benchmarks.vectors import Floats
from scrubjay.backend import Backend

K = 10
SHARES = (0.0001, 0.001, 0.01, 0.1, 0.5, 1.0)
N_TURNOVERS = 10


def filters(options: argparse.Namespace, skipped: list[str]) -> list[dict[str, Any]]:
    """Measure filters that admit a random fraction of the vectors, far from the question.

    Compared with the better of a gather (NumPy, float32, given the matching rows) and the search without a filter, and
    with an index of the matches alone, which need neither be found nor selected.
    """
    import scrubjay

    if not accepts(scrubjay.Engine.search, "filter"):
        skipped.append("filters: not available (Engine.search has no parameter `filter`)")
        return []
    n, dim = options.n_filtered, options.dims[0]
    vectors = vectors_of.clustered(n, dim, options.seed)
    anchor = vectors[0]
    ranks = {
        "random": np.random.default_rng(options.seed).permutation(n),
        "far": np.argsort(np.argsort(vectors @ anchor, kind="stable"), kind="stable"),
    }
    index = scrubjay.Index(dim=dim)
    scope = scrubjay.Scope("bench")
    for first in range(0, n, ROWS_A_CALL):
        records = [
            {
                "id": row,
                "text": "",
                "vector": vectors[row],
                "metadata": {name: int(rank[row]) for name, rank in ranks.items()},
            }
            for row in range(first, min(first + ROWS_A_CALL, n))
        ]
        index.upsert_many(records, scope=scope, progress=False)
    if n >= GRAPH_FROM:
        Backend.of(index).engine.native.build_graphs()
    n_questions = min(500, options.n_queries)
    nearest = vectors_of.nearest(vectors, anchor, max(n_questions, n // 100))[:n_questions]
    asked = {
        "random": vectors_of.near(vectors[np.arange(n_questions) * 7 % n], options.seed + 3),
        "far": vectors_of.near(vectors[nearest], options.seed + 3),
    }
    rows = []
    for kind, questions in asked.items():
        for share in SHARES:
            bar = max(1, int(n * share))
            rows.append(
                filtered(index, scope, vectors, np.flatnonzero(ranks[kind] < bar), kind, questions, options)
            )
            rows[-1] |= {"share": bar / n, "n": n}
    return rows


def filtered(
    index: Any,
    scope: Any,
    vectors: Floats,
    matches: Any,
    kind: str,
    questions: Floats,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Measure one selectivity."""
    import scrubjay

    given = {kind: {"$lt": len(matches)}}
    alone = Scrubjay()
    alone.build(np.ascontiguousarray(vectors[matches]))
    k = min(K, len(matches))
    native, near = Backend.of(index).engine.search, scrubjay.Query(mode="vector")

    def search(question: Floats) -> Any:
        ids, scores = native(vector=question, scope=scope, k=K, query=near, filter=given)
        return ids, scores

    def unfiltered(question: Floats) -> Any:
        ids, scores = native(vector=question, scope=scope, k=K, query=near)
        return ids, scores

    def gather(question: Floats) -> Any:
        similarities = vectors[matches] @ question
        best = np.argpartition(similarities, len(matches) - k)[-k:]
        best = best[np.argsort(-similarities[best])]
        return matches[best], similarities[best]

    calls: dict[str, Callable[[Floats], Any]] = {
        "filtered": search,
        "gather": gather,
        "alone": lambda question: alone.search(question, K),
        "unfiltered": unfiltered,
    }
    times = recording.interleaved(calls, list(questions), seconds=options.seconds)
    place_of = {int(row): place for place, row in enumerate(matches)}
    exact = Neighbours(np.ascontiguousarray(vectors[matches]), questions[: options.n_checked], K)
    recall = exact.recall(lambda question: [place_of[int(row)] for row in search(question)[0]])
    better = min(times["gather"]["p50"], times["unfiltered"]["p50"])
    return {
        "kind": kind,
        **times["filtered"],
        "recall": recall,
        "gather": times["gather"],
        "alone": times["alone"],
        "unfiltered": times["unfiltered"],
        "over_better": times["filtered"]["p50"] / better,
        "over_alone": times["filtered"]["p50"] / times["alone"]["p50"],
    }


def turnovers(options: argparse.Namespace) -> dict[str, Any]:
    """Replace every vector ten times, in a new random order each time; compare with a fresh build of the last state."""
    n, dim = options.n_turned, options.dims[0]
    numbers = np.random.default_rng(options.seed)
    turned = Scrubjay()
    turned.build(vectors_of.clustered(n, dim, options.seed))
    vectors = np.empty((n, dim), dtype=np.float32)
    for turn in range(1, N_TURNOVERS + 1):
        vectors = vectors_of.clustered(n, dim, options.seed + turn)
        order = numbers.permutation(n)
        for first in range(0, n, ROWS_A_CALL):
            turned.replace(order[first : first + ROWS_A_CALL].tolist(), vectors)
    fresh = Scrubjay()
    fresh.build(vectors)
    rows = numbers.integers(n, size=options.n_queries)
    questions = vectors_of.near(vectors[rows], options.seed + 99)
    engines = {"turned": turned, "fresh": fresh}
    calls = {name: caller(engine, K) for name, engine in engines.items()}
    times = recording.interleaved(calls, list(questions), seconds=options.seconds)
    exact = Neighbours(vectors, questions[: options.n_checked], K)
    found: dict[str, Any] = {
        name: {**times[name], "recall": exact.recall(finder(engine, K))} for name, engine in engines.items()
    }
    ratio = found["turned"]["p95"] / found["fresh"]["p95"]
    dead = int(turned.engine.stats()["dead"])
    return {"n": n, "dim": dim, "p95_ratio": ratio, "dead": dead, **found}
