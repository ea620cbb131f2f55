"""Vector search returns the nearest documents of the scope, in order, with similarities within the bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrubjay import Query
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.data.strategies import Put, Step
from tests.reference import judge, vectors

Vector = NDArray[np.float32]
HOME = ("acme", "jane", None)
STORED = ["f16", "f32", "i8"]


def check(pair: Pair, query: Vector, key: tuple, k: int) -> None:
    scope = pair.scope(key)
    result = pair.engine.search(vector=query, scope=scope, k=k, query=Query(mode="vector", recall="exact"))
    judge.vector_result(result, pair.model, query, scope, k)
    default = pair.engine.search(vector=query, scope=scope, k=k, query=Query(mode="vector"))
    judge.vector_result(default, pair.model, query, scope, k)


@pytest.mark.parametrize("metric", vectors.METRICS)
@pytest.mark.parametrize("dtype", STORED)
@given(
    history=draw.histories(vectors=draw.some_vectors),
    query=draw.finite_vectors,
    key=draw.scope_keys,
    k=draw.k_values,
    chunk_docs=draw.chunk_sizes,
)
def test_nearest_documents_are_those_of_the_twin_within_the_bound(
    kit: Kit,
    metric: str,
    dtype: str,
    history: list[Step],
    query: Vector,
    key: tuple,
    k: int,
    chunk_docs: int | None,
) -> None:
    check(Pair(kit, chunk_docs, dim=draw.DIM, metric=metric, dtype=dtype).apply(history), query, key, k)


@pytest.mark.parametrize("metric", ["ip", "l2"])
@pytest.mark.parametrize("dtype", ["f16", "f32"])  # bytes round small whole numbers, too
@given(
    history=draw.histories(vectors=draw.some_exact_vectors),
    query=draw.exact_vectors,
    key=draw.scope_keys,
    k=draw.k_values,
    chunk_docs=draw.chunk_sizes,
)
def test_exact_vectors_have_exact_rankings(
    kit: Kit,
    metric: str,
    dtype: str,
    history: list[Step],
    query: Vector,
    key: tuple,
    k: int,
    chunk_docs: int | None,
) -> None:
    """If no rounding can happen there is no tolerance: ids, order of ties, and the bits of the scores."""
    pair = Pair(kit, chunk_docs, dim=draw.DIM, metric=metric, dtype=dtype).apply(history)
    scope = pair.scope(key)
    result = pair.engine.search(vector=query, scope=scope, k=k, query=Query(mode="vector"))
    judge.same_keys(result, pair.model.search(vector=query, scope=scope, k=k, query=Query(mode="vector")))
    expected = pair.model.search(vector=query, scope=scope, k=k, query=Query(mode="vector"))
    judge.same_bits(result.scores + 0.0, expected.scores + 0.0, "scores")


@pytest.mark.parametrize("metric", vectors.METRICS)
@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("dim", [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 256, 384, 1000])
def test_each_dimension_around_the_simd_lanes(kit: Kit, metric: str, dtype: str, dim: int) -> None:
    """Widths around the SIMD lanes; enough rows for whole blocks and a tail, with deletes and updates between."""
    random = np.random.default_rng(dim)
    pair = Pair(kit, dim=dim, metric=metric, dtype=dtype)
    n_rows = 75
    rows = random.normal(size=(n_rows, dim)).astype(np.float32) * random.uniform(
        0.1, 10, size=(n_rows, 1)
    ).astype(np.float32)
    rows[3] = rows[40] = rows[74]  # ties across block borders
    scope = pair.scope(HOME)
    pair.both(
        lambda engine: engine.upsert_many(list(range(n_rows)), ["t"] * n_rows, scope=scope, vectors=rows)
    )
    pair.both(lambda engine: engine.delete_many([0, 31, 32, 64], scope=scope))
    pair.step(Put(5, "again", HOME, rows[6]))
    for query in (rows[3], random.normal(size=dim).astype(np.float32)):
        check(pair, query, HOME, 10)
        check(pair, query, HOME, 1000)


@pytest.mark.parametrize("metric", vectors.METRICS)
@pytest.mark.parametrize("dtype", STORED)
@given(
    scale=st.sampled_from([1e-20, 1e-6, 1e-3, 1.0, 1e3]),
    rows=st.lists(draw.finite_vectors, min_size=1, max_size=8),
    query=draw.finite_vectors,
)
def test_norms_of_any_size(
    kit: Kit, metric: str, dtype: str, scale: float, rows: list[Vector], query: Vector
) -> None:
    """The bound is relative to the norms: tiny and large vectors are as good as unit vectors; no result is NaN.

    An engine may refuse a vector that its stored type cannot hold (ValueError), but not answer wrongly.
    """
    pair = Pair(kit, dim=draw.DIM, metric=metric, dtype=dtype)
    scaled = [(row * np.float32(scale)).astype(np.float32) for row in rows]
    assume(all(np.linalg.norm(row.astype(np.float64)) > 1e-25 for row in scaled))
    for id, row in enumerate(scaled):
        pair.step(Put(id, "t", HOME, row))
    check(pair, query, HOME, 5)


@given(rows=st.lists(draw.some_vectors, min_size=1, max_size=20), query=draw.finite_vectors)
@example(rows=[None, np.ones(draw.DIM, np.float32)], query=np.ones(draw.DIM, np.float32))
def test_documents_without_a_vector_are_absent(kit: Kit, rows: list[Vector | None], query: Vector) -> None:
    pair = Pair(kit)
    scope = pair.scope(HOME)
    pair.both(
        lambda engine: engine.upsert_many(
            list(range(len(rows))), ["t"] * len(rows), scope=scope, vectors=rows
        )
    )
    check(pair, query, HOME, 50)
    for id in range(len(rows)):
        stored, expected = pair.engine.get(id, scope=scope).vector, pair.model.get(id, scope=scope).vector
        assert (stored is None) == (expected is None)
        if expected is not None:
            if isinstance(expected, tuple):
                assert stored[1].tolist() == expected[1].tolist()
                stored, expected = stored[0], expected[0]
            assert stored.dtype == np.float32
            assert np.allclose(stored, expected, rtol=1e-3, atol=1e-3 * float(np.linalg.norm(expected)))


@given(
    rows=st.lists(draw.finite_vectors, min_size=1, max_size=10),
    queries=st.lists(draw.finite_vectors, min_size=1, max_size=5),
)
def test_batch_is_one_search_each(kit: Kit, rows: list[Vector], queries: list[Vector]) -> None:
    pair = Pair(kit)
    scope = pair.scope(HOME)
    pair.both(
        lambda engine: engine.upsert_many(
            list(range(len(rows))), ["t"] * len(rows), scope=scope, vectors=rows
        )
    )
    results = pair.engine.search_batch(
        None, vectors=np.stack(queries), scope=scope, k=4, query=Query(mode="vector")
    )
    for query, result in zip(queries, results, strict=True):
        judge.vector_result(result, pair.model, query, scope, 4)
        alone = pair.engine.search(vector=query, scope=scope, k=4, query=Query(mode="vector"))
        judge.same_keys(result, alone)
        judge.same_bits(result.scores, alone.scores, "scores")
