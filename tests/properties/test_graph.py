"""A graph only selects candidates: hits are scored exactly, in order, in scope and not deleted, and few are missed.

The requested recall leaves room to spare (benchmarks measure recall); everything else has no tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scrubjay import Query
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.reference import judge, vectors

N_ROWS, DIM = 1_200, 24
HOME = ("acme", "jane", None)
MIN_RECALL = 0.9


def filled(kit: Kit, metric: str, dtype: str, chunk_docs: int | None, dim: int = DIM) -> tuple[Pair, Any]:
    """Clustered vectors in two visible partitions and a foreign one, with graphs, then a few later writes.

    The partitions share their ids, up to the size of the smaller one.
    """
    if not kit.is_native:
        pytest.skip("the model has no graphs")
    numbers = np.random.default_rng(17)
    pair = Pair(kit, chunk_docs, vector_plan="graph", dim=dim, metric=metric, dtype=dtype)
    centres = numbers.normal(size=(30, dim)) * 2
    rows = (centres[numbers.integers(30, size=N_ROWS)] + numbers.normal(size=(N_ROWS, dim))).astype(
        np.float32
    )
    keys = [HOME, ("acme", None, None), ("globex", None, None)]
    homes = [pair.scope(keys[number % 5 % 3]) for number in range(N_ROWS)]
    ids = [number // 5 * 2 + number % 5 // 3 for number in range(N_ROWS)]
    pair.both(lambda engine: engine.upsert_many(ids, ["t"] * N_ROWS, scope=homes, vectors=rows))
    pair.both(lambda engine: engine.delete_many(ids[::13], scope=homes[::13]))
    assert pair.engine.build_graphs(min_vectors=100) >= 2
    pair.both(lambda engine: engine.delete_many(ids[::17], scope=homes[::17]))
    late = slice(5, 200, 7)
    pair.both(
        lambda engine: engine.upsert_many(
            ids[late], ["new"] * len(ids[late]), scope=homes[late], vectors=rows[late] + np.float32(0.25)
        )
    )
    return pair, centres


@pytest.mark.parametrize("metric", vectors.METRICS)
@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
@pytest.mark.parametrize("chunk_docs", [None, 64])
@pytest.mark.parametrize("dim", [DIM, 100])  # without codes, with codes
def test_a_graph_only_chooses_candidates(
    kit: Kit, metric: str, dtype: str, chunk_docs: int | None, dim: int
) -> None:
    pair, centres = filled(kit, metric, dtype, chunk_docs, dim)
    scope, numbers = pair.scope(HOME), np.random.default_rng(18)
    found = wanted = 0
    for number in range(40):
        query = (centres[number % 30] + numbers.normal(size=dim)).astype(np.float32)
        exact = pair.engine.search(vector=query, scope=scope, k=10, query=Query(recall="exact"))
        judge.vector_result(exact, pair.model, query, scope, 10)
        score_of = dict(zip(judge.keys(exact), exact.scores.tolist(), strict=True))
        everything = pair.engine.search(vector=query, scope=scope, k=judge.ALL, query=Query(recall="exact"))
        every_hit = judge.keys(everything)
        score_of.update(zip(every_hit, everything.scores.tolist(), strict=True))
        given = pair.engine.search(vector=query, scope=scope, k=10)
        hits = judge.keys(given)
        assert len(hits) == len(set(hits)) == 10
        assert [score_of[hit] for hit in hits] == given.scores.tolist()
        place = {hit: index for index, hit in enumerate(every_hit)}
        assert hits == sorted(hits, key=place.__getitem__)
        found += len(set(hits) & set(judge.keys(exact)))
        wanted += 10
    assert found >= MIN_RECALL * wanted, f"recall {found / wanted:.3f}"


def test_graphs_see_deletes_and_erasure(kit: Kit) -> None:
    pair, centres = filled(kit, "cosine", "f16", None)
    scope = pair.scope(HOME)
    for round_number in range(30):
        result = pair.engine.search(vector=centres[round_number], scope=scope, k=20)
        gone = judge.keys(result, 10)
        ids, homes = [id for _, id in gone], [pair.scope(home) for home, _ in gone]
        pair.both(lambda engine, ids=ids, homes=homes: engine.delete_many(ids, scope=homes))
        again = pair.engine.search(vector=centres[round_number], scope=scope, k=20)
        assert not set(gone) & set(judge.keys(again))
        assert len(again) == 20
    pair.both(lambda engine: engine.erase(scope))
    pair.engine.compact()
    left = pair.engine.search(vector=centres[0], scope=scope, k=judge.ALL)
    judge.vector_result(left, pair.model, centres[0], scope, judge.ALL)


def test_a_k_above_the_graphs_candidates_returns_k_hits(kit: Kit) -> None:
    """At least k hits if there are that many documents, and all of them for a huge k."""
    pair, centres = filled(kit, "cosine", "f16", None)
    scope = pair.scope(HOME)
    n_visible = len(pair.model.search(vector=centres[0], scope=scope, k=judge.ALL))
    for k in (100, 300, n_visible - 1, n_visible, judge.ALL):
        assert len(pair.engine.search(vector=centres[0], scope=scope, k=k)) == min(k, n_visible), k
