"""The spread of a scope's similarities is that of the documented sample, whatever the layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.data.strategies import Compact, Delete, Put, Step
from tests.reference.query import Asked
from tests.reference.vectors import MOST_SAMPLED, sampled_places

HOME = ("acme", "jane", None)
ONE = np.array([1, 0, 0, 0], dtype=np.float32)
ASKED = Asked(spread=True)


def same(given: Any, expected: Any) -> None:
    assert given.similarity_spread == pytest.approx(expected.similarity_spread, rel=1e-12, nan_ok=True)


@given(
    draw.histories(vectors=draw.some_exact_vectors), draw.queries, draw.exact_vectors, draw.scope_keys,
    st.sampled_from(["hybrid", "vector", "lexical"]), st.integers(1, 3),
)  # fmt: skip
@example([Put(1, "jay", HOME, None)], "jay", ONE, HOME, "hybrid", 1)
@example([Put(1, "jay", HOME, ONE), Put(2, "oak", HOME, ONE), Delete(1, HOME)], "jay", ONE, HOME, "vector", 1)
@example([Put(1, "jay", HOME, ONE), Delete(1, HOME), Compact()], "jay", ONE, HOME, "hybrid", 1)
def test_spread_of_a_small_scope(
    kit: Kit, history: list[Step], text: str, vector: Any, key: tuple, mode: str, chunk_docs: int
) -> None:
    pair = Pair(kit, chunk_docs, dim=draw.DIM, metric="ip").apply(history)
    options = {"vector": vector, "scope": pair.scope(key), "query": Asked(mode=mode, spread=True)}
    same(pair.engine.search(text, **options), pair.model.search(text, **options))


@pytest.mark.parametrize("chunk_docs", [64, 1000, None])
@pytest.mark.parametrize("n_documents", [MOST_SAMPLED, MOST_SAMPLED + 1, 3000])
def test_spread_of_a_sample(kit: Kit, n_documents: int, chunk_docs: int | None) -> None:
    """Deleted documents, whether compacted or not, and documents without a vector do not count."""
    pair = Pair(kit, chunk_docs, dim=4, metric="ip")
    scope = pair.scope(HOME)
    values = np.random.default_rng(1).integers(-4, 5, (n_documents, 4)).astype(np.float32)
    values[:, 0] = 9  # no vector is zero
    for engine in (pair.engine, pair.model):
        engine.upsert_many(list(range(n_documents)), ["jay"] * n_documents, scope=scope, vectors=values)
        engine.upsert(1, "jay", scope=scope)  # without a vector, and the last one now
    options = {"vector": ONE, "scope": scope, "query": ASKED}
    same(pair.engine.search("jay", **options), pair.model.search("jay", **options))
    for engine in (pair.engine, pair.model):
        engine.delete_many(list(range(100, 700, 3)), scope=scope)
    expected = pair.model.search("jay", **options)
    same(pair.engine.search("jay", **options), expected)
    pair.engine.compact()
    same(pair.engine.search("jay", **options), expected)


def test_a_filter_does_not_change_the_spread(kit: Kit) -> None:
    engine = kit.Engine(dim=4, metric="ip")
    scope = kit.Scope(*HOME)
    vectors = np.arange(1, 41, dtype=np.float32).reshape(10, 4)
    engine.upsert_many(list(range(10)), ["jay"] * 10, scope=scope, vectors=vectors)
    options = {"vector": ONE, "scope": scope}
    everything = engine.search("jay", query=ASKED, **options)
    some = engine.search("jay", query=Asked(spread=True, ids=[3, 4]), **options)
    assert len(some) == 2
    assert some.similarity_spread == everything.similarity_spread == pytest.approx((19.0, math.sqrt(132.0)))


def test_the_spread_is_computed_only_with_explain(kit: Kit) -> None:
    engine = kit.Engine(dim=4)
    scope = kit.Scope(*HOME)
    engine.upsert(1, "jay", scope=scope, vector=ONE)
    assert all(map(math.isnan, engine.search("jay", vector=ONE, scope=scope).similarity_spread))
    assert engine.search("jay", vector=ONE, scope=scope, explain=True).similarity_spread == (1.0, 0.0)


@given(st.integers(0, 20_000))
@example(MOST_SAMPLED)
@example(MOST_SAMPLED + 1)
def test_the_sample_is_spread_evenly(n_documents: int) -> None:
    places = sampled_places(n_documents)
    assert places == sorted(set(places)) and len(places) <= MOST_SAMPLED
    assert len(places) == n_documents if n_documents <= MOST_SAMPLED else len(places) >= MOST_SAMPLED // 2
