"""The first ten memories of each engine for each query of a set, arm by arm.

The native engine contains a whole set, with one user for each scope, and is called through its public search. The
oracle is one slow model for each scope (others cannot affect it), evaluated for each arm once and fused by the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference import fusion, scopes
from tests.reference.model import ModelEngine
from tests.reference.query import Asked

from benchmarks.quality.judged import VECTOR_SETS, JudgedSet, Memory, Query

Rankings = dict[str, list[list[str]]]
"""For each arm and each query of the set, the ids of its hits, best first."""

Progress = Callable[[str], None]

DEPTH = 10
CANDIDATES = 100
RRF_KS = (60, 10)


def arms() -> Iterator[tuple[str, str | None, int | None]]:
    """Yield name, vector set and RRF constant of each row of the report."""
    yield "lexical", None, None
    for model in VECTOR_SETS:
        yield f"{model} vector", model, None
        for rrf_k in RRF_KS:
            yield f"{model} RRF({rrf_k})", model, rrf_k


def native_engine(judged: JudgedSet, model: str | None, dtype: Any = "f16") -> Any:
    from scrubjay import _native
    from scrubjay.documents import payload

    engine = _native.Engine(dtype=dtype)
    rows: list[Any] = []
    if model is not None:
        stored = judged.document_vectors(model)
        rows = [stored[memory.row] if stored[memory.row].any() else None for memory in judged.memories]
    engine.upsert_many(
        [memory.id for memory in judged.memories],
        [memory.text for memory in judged.memories],
        payloads=[payload.encode(memory.turn, memory.created_at) for memory in judged.memories],
        scope=[native_scope(memory.scope) for memory in judged.memories],
        vectors=rows or None,
    )
    return engine


def native_scope(name: str) -> Any:
    from scrubjay import _native

    return _native.Scope("judged", user=name)


def asked_then(asked: Any, query: Query) -> Any:
    """Return the search with dates relative to the time of the question."""
    import scrubjay

    if asked.dates is None or query.asked_at is None:
        return asked
    return asked.replace(dates=scrubjay.Dates(asked.dates.weight, query.asked_at))


def native_rankings(judged: JudgedSet, progress: Progress) -> Rankings:
    import scrubjay

    engines = {model: native_engine(judged, model) for model in VECTOR_SETS}
    vectors = {model: judged.query_vectors(model) for model in VECTOR_SETS}
    rankings: Rankings = {}
    for name, model, rrf_k in arms():
        progress(f"{judged.name}: native, {name}")
        engine = engines[model or VECTOR_SETS[0]]
        rankings[name] = []
        if rrf_k is None:
            asked = scrubjay.Query(mode="lexical" if model is None else "vector")
        else:
            asked = scrubjay.Query(
                scrubjay.RRF(rrf_k),
                identifier_tier=False,
                dates=False,
                neighbours=False,
                candidates=CANDIDATES,
            )
        for query in judged.queries:
            result = engine.search(
                query.text,
                vector=None if model is None else vectors[model][query.row],
                scope=native_scope(query.scope),
                k=DEPTH,
                query=asked,
            )
            rankings[name].append(list(result.ids))
    return rankings


def oracle_rankings(judged: JudgedSet, progress: Progress) -> Rankings:
    rankings: Rankings = {name: [[] for _ in judged.queries] for name, _, _ in arms()}
    documents = {model: judged.document_vectors(model).astype(np.float64) for model in VECTOR_SETS}
    queries = {model: judged.query_vectors(model).astype(np.float64) for model in VECTOR_SETS}
    for scope in sorted({memory.scope for memory in judged.memories}):
        memories = [memory for memory in judged.memories if memory.scope == scope]
        asked = [(index, query) for index, query in enumerate(judged.queries) if query.scope == scope]
        if not asked:
            continue
        progress(f"{judged.name}: oracle, {scope}")
        oracle = ScopeOracle(
            memories, {model: rows[[memory.row for memory in memories]] for model, rows in documents.items()}
        )
        for index, query in asked:
            lexical = oracle.lexical(query)
            for name, model, rrf_k in arms():
                ranking = lexical if model is None else oracle.nearest(model, queries[model][query.row])
                if rrf_k is not None:
                    ranking = oracle.fused([lexical, ranking], rrf_k)
                rankings[name][index] = [memories[place].id for place in ranking[:DEPTH]]
    return rankings


class ScopeOracle:
    """The memories of one scope; rankings are positions in the list of memories."""

    def __init__(self, memories: list[Memory], vectors: dict[str, NDArray[np.float64]]) -> None:
        self.scope = scopes.Scope("judged")
        self.model = ModelEngine()
        self.model.upsert_many(
            list(range(len(memories))), [memory.text for memory in memories], scope=self.scope
        )
        self.vectors = {
            name: rows / np.linalg.norm(rows, axis=1, keepdims=True) for name, rows in vectors.items()
        }  # fmt: skip

    def lexical(self, query: Query) -> list[int]:
        asked = Asked(mode="lexical")
        result = self.model.search(query.text, scope=self.scope, query=asked, k=CANDIDATES)
        return [int(place) for place in result.ids]

    def nearest(self, model: str, query: NDArray[np.float64]) -> list[int]:
        """Return the nearest by cosine in float64; ties by position."""
        similarities = self.vectors[model] @ (query / np.linalg.norm(query))
        return [int(place) for place in np.argsort(-similarities, kind="stable")[:CANDIDATES]]

    def fused(self, rankings: list[list[int]], rrf_k: int) -> list[int]:
        scores = fusion.reciprocal_rank_scores(rankings, [1.0] * len(rankings), float(rrf_k))
        return sorted(scores, key=lambda place: (-scores[place], place))
