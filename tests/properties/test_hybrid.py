"""A hybrid search fuses its two rankings by reciprocal ranks, exactly.

With exact vectors (small integers, inner product) the whole result is compared with the model; with any other vectors,
with RRF over the rankings that the engine returns for each mode.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrubjay import Query
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.data.strategies import Put, Step
from tests.reference import judge
from tests.reference.query import PLAIN, Asked

Vector = NDArray[np.float32]
HOME = ("acme", "jane", None)
ONE = np.array([1, 0, 0, 0], dtype=np.float32)

exact_histories = draw.histories(vectors=draw.some_exact_vectors)


def rrf(k: float, weights: tuple[float, float] | None, **options: Any) -> Asked:
    """Plain reciprocal rank fusion."""
    return Asked(replace(PLAIN, rrf_k=k, weights=weights or (1.0, 1.0)), **options)


@given(
    exact_histories, draw.queries, draw.exact_vectors, draw.scope_keys, draw.k_values,
    draw.candidate_values, draw.weight_values, draw.rrf_k_values,
)  # fmt: skip
@example([Put(1, "jay", HOME, None), Put(2, "oak", HOME, ONE)], "jay", ONE, HOME, 10, None, None, 60.0)
@example([Put(1, "jay", HOME, None), Put(2, "oak", HOME, ONE)], "", ONE, HOME, 10, None, (0.0, 0.0), 60.0)
@example([Put(1, "jay jay", HOME, None), Put(2, "jay", HOME, ONE)], "jay", ONE, HOME, 10, 1, (1.0, 0.3), 0.0)
@example([Put(1, "jay", HOME, None)], "jay", ONE, HOME, 10, None, None, 60.0)
@example([Put(1, "jay", HOME, ONE)], "", ONE, HOME, 10, None, None, 60.0)
def test_hybrid_is_reciprocal_rank_fusion(
    kit: Kit, history: list[Step], text: str, vector: Vector, key: tuple, k: int,
    candidates: int | None, weights: tuple[float, float] | None, rrf_k: float,
) -> None:  # fmt: skip
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    options: dict[str, Any] = {
        "vector": vector, "scope": pair.scope(key), "k": k, "explain": True,
        "query": rrf(rrf_k, weights, candidates=candidates),
    }  # fmt: skip
    result = pair.engine.search(text, **options)
    expected = pair.model.search(text, **options)
    judge.same_result(result, expected, explain=True)
    judge.same_bits(result.similarities + 0.0, expected.similarities + 0.0, "similarities")


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@given(
    history=draw.histories(vectors=draw.some_vectors),
    text=draw.queries,
    vector=draw.finite_vectors,
    key=draw.scope_keys,
    k=st.integers(1, 20),
    candidates=st.integers(1, 8),
    weights=draw.weight_values,
    rrf_k=draw.rrf_k_values,
)
def test_hybrid_fuses_its_own_arms(
    kit: Kit, metric: str, history: list[Step], text: str, vector: Vector, key: tuple, k: int,
    candidates: int, weights: tuple[float, float] | None, rrf_k: float,
) -> None:  # fmt: skip
    pair = Pair(kit, dim=draw.DIM, metric=metric).apply(history)
    scope = pair.scope(key)
    lexical = pair.engine.search(text, scope=scope, k=candidates, query=Query(mode="lexical"))
    nearest = pair.engine.search(vector=vector, scope=scope, k=candidates, query=Query(mode="vector"))
    judge.vector_result(nearest, pair.model, vector, scope, candidates)
    query = rrf(rrf_k, weights, candidates=candidates)
    result = pair.engine.search(text, vector=vector, scope=scope, k=k, query=query)
    judge.fused_result(result, lexical, nearest, pair.model, scope, k, rrf_k=rrf_k, weights=weights)


@given(
    exact_histories, draw.queries, draw.exact_vectors, draw.scope_keys, draw.candidate_values,
    st.lists(draw.picks, min_size=1, max_size=3),
)  # fmt: skip
@example(  # the id names jane's, a pair what it says
    [Put(1, "jay", ("acme", None, None), ONE), Put(1, "oak", HOME, None), Put(2, "jay", HOME, ONE)],
    "jay", ONE, HOME, None, [[(0, False), (0, True)]],
)  # fmt: skip
def test_extra_rankings_take_part(
    kit: Kit,
    history: list[Step],
    text: str,
    vector: Vector,
    key: tuple,
    candidates: int | None,
    picks: list[list[tuple[int, bool]]],
) -> None:
    """Callers' rankings contain visible, foreign, unknown and repeated ids and pairs; only the visible ones count."""
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    unknown = "never written" if pair.model._id_type is str else 123456
    rankings = [pair.entries(one, unknown) for one in picks]
    options: dict[str, Any] = {
        "vector": vector, "scope": pair.scope(key), "explain": True,
        "query": Asked(candidates=candidates, rankings=rankings),
    }  # fmt: skip
    judge.same_result(pair.engine.search(text, **options), pair.model.search(text, **options), explain=True)


@pytest.mark.parametrize("limit", [30, 64, 65, 200, 400])
def test_a_long_ranking_counts_each_document_once(kit: Kit, limit: int) -> None:
    pair = Pair(kit)
    ids = list(range(300))
    for engine in (pair.engine, pair.model):
        engine.upsert_many(ids, ["oak"] * 300, scope=pair.scope(("acme", None, None)))
    numbers = np.random.default_rng(limit)
    ranking = [int(id) for id in numbers.integers(0, 350, size=2000)]
    options: dict[str, Any] = {
        "scope": pair.scope(("acme", None, None)), "k": 300, "query": Asked(candidates=limit, rankings=[ranking]),
    }  # fmt: skip
    judge.same_result(pair.engine.search("oak", **options), pair.model.search("oak", **options))


@given(
    exact_histories, draw.queries, draw.exact_vectors, draw.scope_keys, st.sampled_from(["text", "vector"])
)
def test_hybrid_without_text_or_vector_equals_the_other_arm(
    kit: Kit, history: list[Step], text: str, vector: Vector, key: tuple, only: str
) -> None:
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    scope = pair.scope(key)
    inputs: dict[str, Any] = {"text": text} if only == "text" else {"vector": vector}
    result = pair.engine.search(scope=scope, **inputs)
    expected = pair.model.search(scope=scope, **inputs)
    assert result.mode == ("lexical" if only == "text" else "vector")
    judge.same_keys(result, expected)
    judge.same_bits(result.scores + 0.0, expected.scores + 0.0, "scores")


@given(
    exact_histories,
    st.lists(st.tuples(draw.queries, draw.exact_vectors, draw.scope_keys), min_size=1, max_size=5),
    st.sampled_from([None, 1, 3]),
)
def test_batch_is_one_search_each(
    kit: Kit, history: list[Step], searches: list[tuple[str, Vector, tuple]], threads: int | None
) -> None:
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    results = pair.engine.search_batch(
        [text for text, _, _ in searches],
        vectors=np.stack([vector for _, vector, _ in searches]),
        scope=[pair.scope(key) for _, _, key in searches],
        k=6,
        threads=threads,
    )
    for result, (text, vector, key) in zip(results, searches, strict=True):
        judge.same_result(result, pair.model.search(text, vector=vector, scope=pair.scope(key), k=6))
