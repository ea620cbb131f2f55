"""Does a graph only choose candidates? What it finds is scored exactly, in order, in scope, alive; and it finds enough.

Recall is asked for with room to spare (the measurement of recall is a benchmark); everything else has no tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.reference import judge, vectors

N_ROWS, DIM = 1_200, 24
HOME = ("acme", "jane", None)
MIN_RECALL = 0.9


def filled(kit: Kit, metric: str, dtype: str, chunk_docs: int | None, dim: int = DIM) -> tuple[Pair, Any]:
    """Clustered vectors in two visible partitions and a foreign one, with graphs, then a few later writes."""
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
    ids = list(range(N_ROWS))
    pair.both(lambda engine: engine.upsert_many(ids, ["t"] * N_ROWS, scope=homes, vectors=rows))
    pair.both(lambda engine: engine.delete_many(ids[::13]))
    assert pair.engine.build_graphs(min_vectors=100) >= 2
    pair.both(lambda engine: engine.delete_many(ids[::17]))
    late = ids[5:200:7]
    pair.both(
        lambda engine: engine.upsert_many(
            late, ["new"] * len(late), scope=[homes[id] for id in late], vectors=rows[late] + np.float32(0.25)
        )
    )
    return pair, centres


@pytest.mark.parametrize("metric", vectors.METRICS)
@pytest.mark.parametrize("dtype", ["f16", "f32"])
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
        exact = pair.engine.search(vector=query, scope=scope, k=10, recall="exact")
        judge.vector_result(exact, pair.model, query, scope, 10)
        score_of = dict(zip(exact.ids.tolist(), exact.scores.tolist(), strict=True))
        everything = pair.engine.search(vector=query, scope=scope, k=judge.ALL, recall="exact")
        score_of.update(zip(everything.ids.tolist(), everything.scores.tolist(), strict=True))
        given = pair.engine.search(vector=query, scope=scope, k=10)
        ids = given.ids.tolist()
        assert len(ids) == len(set(ids)) == 10
        assert [score_of[id] for id in ids] == given.scores.tolist()
        place = {id: index for index, id in enumerate(everything.ids.tolist())}
        assert ids == sorted(ids, key=place.__getitem__)
        found += len(set(ids) & set(exact.ids.tolist()))
        wanted += 10
    assert found >= MIN_RECALL * wanted, f"recall {found / wanted:.3f}"


def test_graphs_see_deletes_and_erasure(kit: Kit) -> None:
    pair, centres = filled(kit, "cosine", "f16", None)
    scope = pair.scope(HOME)
    for round_number in range(30):
        result = pair.engine.search(vector=centres[round_number], scope=scope, k=20)
        gone = result.ids.tolist()[:10]
        pair.both(lambda engine, gone=gone: engine.delete_many(gone))
        again = pair.engine.search(vector=centres[round_number], scope=scope, k=20)
        assert not set(gone) & set(again.ids.tolist())
        assert len(again) == 20
    pair.both(lambda engine: engine.erase(scope))
    pair.engine.compact()
    left = pair.engine.search(vector=centres[0], scope=scope, k=judge.ALL)
    judge.vector_result(left, pair.model, centres[0], scope, judge.ALL)


def test_k_beyond_what_a_graph_gives(kit: Kit) -> None:
    """Never fewer than k where there are as many, and all of them for a huge k."""
    pair, centres = filled(kit, "cosine", "f16", None)
    scope = pair.scope(HOME)
    n_visible = len(pair.model.search(vector=centres[0], scope=scope, k=judge.ALL))
    for k in (100, 300, n_visible - 1, n_visible, judge.ALL):
        assert len(pair.engine.search(vector=centres[0], scope=scope, k=k)) == min(k, n_visible), k
