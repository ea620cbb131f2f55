"""Codes only select candidates: hits are scored exactly and in order, and hardly any is missed.

A search by codes misses a vector only if its estimate errs by more than a margin that depends on the requested recall.
On random vectors the guarantee has room to spare: the requested recall is a lower bound, and tested as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Query, Scope
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.reference import judge, vectors

HOME = ("acme", "jane", None)


def drawn(kind: str, n: int, dim: int, numbers: np.random.Generator) -> np.ndarray:
    """Embeddings are clustered, have a common direction, or a few dimensions much larger than the others."""
    rows = numbers.normal(size=(n, dim))
    if kind == "clustered":
        centres = numbers.normal(size=(20, dim)) * 2
        rows = centres[numbers.integers(20, size=n)] + rows
    elif kind == "outliers":
        rows[:, numbers.integers(dim, size=2)] *= 30
    elif kind == "shifted":
        rows += numbers.normal(size=dim) * 3
    elif kind == "sparse":
        rows *= numbers.random(size=(n, dim)) < 0.05
        rows[:, 0] += 0.01
    return rows.astype(np.float32)


def filled(kit: Kit, rows: np.ndarray, chunk_docs: int | None = None, **options: Any) -> Pair:
    """Two visible partitions and a foreign one with each other's ids; some documents without a vector, some deleted,
    some rewritten.
    """
    if not kit.is_native:
        pytest.skip("the model has no codes")
    n = len(rows)
    pair = Pair(kit, chunk_docs, vector_plan="codes", dim=rows.shape[1], **options)
    keys = [HOME, HOME, ("acme", None, None), ("globex", None, None)]
    homes = [pair.scope(keys[number % 4]) for number in range(n)]
    given = [None if number % 11 == 7 else rows[number] for number in range(n)]
    ids = [number // 4 * 2 + number % 2 for number in range(n)]
    pair.both(lambda engine: engine.upsert_many(ids, ["t"] * n, scope=homes, vectors=given))
    pair.both(lambda engine: engine.delete_many(ids[::13], scope=homes[::13]))
    late = slice(5, n, 17)
    pair.both(
        lambda engine: engine.upsert_many(
            ids[late], ["new"] * len(ids[late]), scope=homes[late], vectors=rows[late][::-1]
        )
    )
    return pair


def share_found(pair: Pair, queries: np.ndarray, wanted: dict[int, float]) -> None:
    """Check every similarity and the order against the exact answer, and the recall `wanted` at each k."""
    scope = pair.scope(HOME)
    found = dict.fromkeys(wanted, 0.0)
    for number, query in enumerate(queries):
        everything = pair.engine.search(vector=query, scope=scope, k=judge.ALL, query=Query(recall="exact"))
        if number < 2:
            judge.vector_result(everything, pair.model, query, scope, judge.ALL)
        best = judge.keys(everything)
        score_of = dict(zip(best, everything.scores.tolist(), strict=True))
        place = {document: index for index, document in enumerate(best)}
        for k, recall in wanted.items():
            given = pair.engine.search(vector=query, scope=scope, k=k, query=Query(recall=recall))
            hits = judge.keys(given)
            assert len(hits) == len(set(hits)) == min(k, len(best))
            assert given.scores.tolist() == [score_of[hit] for hit in hits]
            assert hits == sorted(hits, key=place.__getitem__)
            found[k] += len(set(hits) & set(best[:k])) / len(hits)
    for k, recall in wanted.items():
        assert found[k] >= recall * len(queries), f"recall {found[k] / len(queries):.4f} at {k}"


@pytest.mark.parametrize("metric", vectors.METRICS)
@pytest.mark.parametrize("dim", [64, 100, 300])
@pytest.mark.parametrize("kind", ["clustered", "outliers", "shifted", "sparse", "even"])
def test_codes_reach_their_documented_recall(kit: Kit, metric: str, dim: int, kind: str) -> None:
    numbers = np.random.default_rng(dim)
    rows = drawn(kind, 1_300, dim, numbers)
    pair = filled(kit, rows, metric=metric)
    queries = rows[::100] + numbers.normal(size=(13, dim)).astype(np.float32) * np.float32(0.3)
    share_found(pair, queries, {1: 0.99, 10: 0.99, 11: 0.5, 60: 0.99})


@pytest.mark.parametrize("metric", vectors.METRICS)
@pytest.mark.parametrize("dim", [400, 640])
@pytest.mark.parametrize("kind", ["clustered", "outliers", "shifted", "sparse", "even"])
def test_signs_of_wide_vectors_miss_no_more(kit: Kit, metric: str, dim: int, kind: str) -> None:
    """Searches compare signs first; with this many documents they do so for k up to 5."""
    numbers = np.random.default_rng(dim)
    rows = drawn(kind, 2_700, dim, numbers)
    pair = filled(kit, rows, metric=metric)
    queries = rows[::200] + numbers.normal(size=(14, dim)).astype(np.float32) * np.float32(0.3)
    share_found(pair, queries, {1: 0.99, 3: 0.99, 5: 0.99, 40: 0.99})


@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
@pytest.mark.parametrize("chunk_docs", [257, 300])
def test_codes_across_chunks(kit: Kit, dtype: str, chunk_docs: int) -> None:
    numbers = np.random.default_rng(5)
    rows = drawn("clustered", 1_700, 128, numbers)
    pair = filled(kit, rows, chunk_docs, dtype=dtype)
    share_found(pair, rows[::50], {40: 0.99})


@pytest.mark.parametrize("metric", ["ip", "l2"])
@pytest.mark.parametrize("magnitude", [1e-17, 1e-12, 1e12, 1e17])
def test_vectors_of_any_length_are_found(kit: Kit, metric: str, magnitude: float) -> None:
    """A vector outside the range of bounds in single precision is always compared."""
    numbers = np.random.default_rng(7)
    rows = drawn("even", 900, 64, numbers)
    rows[::3] *= np.float32(magnitude)
    pair = filled(kit, rows, metric=metric)
    share_found(pair, rows[::90], {10: 0.99})
    share_found(pair, rows[1::90], {10: 0.99})


@pytest.mark.parametrize("recall", [0, -0.1, 1.5, float("nan"), "perfect", True, b"exact"])
def test_an_invalid_recall_is_refused(kit: Kit, recall: Any) -> None:
    if not kit.is_native:
        pytest.skip("the model is always exact")
    engine = kit.Engine(dim=2)
    with pytest.raises(ValueError, match=r"recall: expected a number in \(0, 1\] or 'exact', got"):
        engine.search(vector=[1.0, 0.0], scope=kit.Scope("acme"), query=Query(recall=recall))


def test_an_index_hands_the_recall_on(kit: Kit) -> None:
    """Exact if exact was requested, through every entry point, and an error that names the argument."""
    if not kit.is_native:
        pytest.skip("the model is always exact")
    numbers = np.random.default_rng(11)
    rows = drawn("clustered", 400, 64, numbers)
    index, home = Index(dim=64), Scope("acme")
    index.upsert_many([{"id": i, "text": "t", "scope": home, "vector": row} for i, row in enumerate(rows)])
    for query in rows[:20]:
        exact = index.search(vector=query, scope=home, query=Query(recall="exact"))
        assert exact[0].id == int(np.argmax(rows @ query / np.linalg.norm(rows, axis=1)))
        batch = index.search_batch(vectors=[query], scope=home, query=Query(recall=np.float32(1.0)))
        assert [hit.id for hit in batch[0]] == [hit.id for hit in exact]
    with pytest.raises(ValueError, match="recall: expected"):
        index.search(vector=rows[0], scope=home, query=Query(recall=1.5))


def test_a_wrong_option_of_a_fusion_is_named(kit: Kit) -> None:
    if not kit.is_native:
        pytest.skip("options are compiled by the native module")
    index = Index(dim=64)
    with pytest.raises(ValueError, match="mmr"):
        index.search("oak", scope=Scope("acme"), query=Query(mmr=7))
