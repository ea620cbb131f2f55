"""A result reports the work of its vector search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scrubjay import Engine, Index, Query, Scope

ACME = Scope("acme")
N, DIM, K = 3000, 64, 10
NOTHING = {"codes": 0, "originals": 0, "in_graphs": 0, "in_view": 0, "graphs_given_up": 0}


def vectors() -> Any:
    return np.random.default_rng(3).standard_normal((N, DIM)).astype(np.float32)


def engine_of(plan: str) -> Engine:
    made = Engine(DIM, vector_plan=plan, background=False)
    made.upsert_many(list(range(N)), ["a word"] * N, scope=ACME, vectors=vectors())
    return made


@pytest.fixture(scope="module")
def scanned() -> Engine:
    return engine_of("auto")


@pytest.fixture(scope="module")
def graph() -> Engine:
    made = engine_of("graph")
    assert made.build_graphs(min_vectors=N) == 1
    return made


def test_an_exact_search_looks_at_every_original(scanned: Engine, graph: Engine) -> None:
    for engine in (scanned, graph):
        found = engine.search(
            vector=vectors()[0], scope=ACME, k=K, query=Query(mode="vector", recall="exact")
        )
        assert found.vector_work == NOTHING | {"originals": N}


def test_codes_choose_what_is_looked_at(scanned: Engine) -> None:
    work = scanned.search(vector=vectors()[0], scope=ACME, k=K, query=Query(mode="vector")).vector_work
    assert K <= work["originals"] < N // 4
    assert work == NOTHING | {"codes": N, "originals": work["originals"]}


def test_a_graph_chooses_what_is_looked_at(graph: Engine) -> None:
    work = graph.search(vector=vectors()[0], scope=ACME, k=K, query=Query(mode="vector")).vector_work
    assert (work["codes"], work["in_graphs"], work["graphs_given_up"]) == (0, N, 0)
    assert K <= work["originals"] <= work["in_view"] < N


def test_a_graph_is_given_up_where_what_lies_about_the_query_is_hidden(graph: Engine) -> None:
    query = vectors()[0]
    far = np.argsort(vectors() @ query)[: N // 2].tolist()
    found = graph.search(vector=query, scope=ACME, k=K, query=Query(mode="vector", ids=far))
    work = found.vector_work
    assert (work["graphs_given_up"], work["in_graphs"]) == (1, 0)
    assert work["codes"] in (N, N // 2)
    assert len(found) == K


def test_words_alone_look_at_no_vector(scanned: Engine) -> None:
    assert scanned.search("word", scope=ACME, k=K, query=Query(mode="lexical")).vector_work == NOTHING


def test_hits_say_it_too() -> None:
    index = Index(dim=2)
    index.upsert("a", "sailing", vector=[1.0, 0.0], scope=ACME)
    assert index.search("sailing", vector=[1.0, 0.0], scope=ACME).vector_work == NOTHING | {"originals": 1}
