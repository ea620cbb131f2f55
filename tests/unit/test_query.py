"""The query: its fields, comparison, copies, and that every field reaches the engine."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from scrubjay import RRF, Auto, Entities, Index, Query, Recency, Relevance, Scope, Weighted, fusion
from scrubjay.backend import Backend

JANE = Scope("acme", user="jane")

QUERIES = [
    Query(),
    Query("weighted", mode="keyword", candidates=(5, 50), recall="exact", coverage=0.2),
    Query(RRF(10), recency=Recency(0.5), entities=["Graphiti"], prior=True, mmr=0.5, min_score=0.1),
    Query(relevance="high", keywords="oak", ids={1, 2}, exclude=[3]),
    Query(ids=np.arange(5), rankings=[[1, (JANE, 2)], []]),
]


@pytest.mark.parametrize("query", QUERIES, ids=repr)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_is_equal_and_searches(query: Query, copied: Any) -> None:
    other = copied(query)
    assert other == query and hash(other) == hash(query)
    index = Index()
    for id in range(6):
        index.upsert(id, "oak jay", scope=JANE)
    given, wanted = (index.search("oak", scope=JANE, query=one) for one in (other, query))
    assert [(hit.id, hit.score) for hit in given] == [(hit.id, hit.score) for hit in wanted]


def test_equal_queries_are_equal() -> None:
    assert Query("rrf") == Query(RRF()) != Query()
    assert Query(ids=[1, 2]) == Query(ids=(1, 2))
    assert Query(ids={1, 2}) == Query(ids=frozenset([2, 1]))
    assert len({Query(), Query("auto"), Query(Auto()), Query(mode="hybrid")}) == 1
    assert Query(mode="semantic") == Query(mode="vector") and Query(mode="keyword") == Query(mode="lexical")
    assert Query() != 3


def test_a_query_is_frozen() -> None:
    query = Query()
    with pytest.raises(dataclasses.FrozenInstanceError):
        query.mmr = 0.5  # type: ignore[misc]


def test_settings_belong_to_no_question() -> None:
    for given in ({"ids": [1]}, {"exclude": [1]}, {"keywords": "oak"}, {"rankings": [[1]]}):
        with pytest.raises(ValueError, match=next(iter(given))):
            Query(**given).to_dict()  # type: ignore[arg-type]
    assert Query.from_dict({"fusion": "rrf"}) == Query("rrf")


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"recency": {"weight": -1}}, ValueError, "^recency.weight: expected a finite number >= 0, got -1$"),
        ({"dates": {"weight": "x"}}, TypeError, "^dates.weight: expected a number, got str 'x'$"),
        ({"fusion": {"method": "rrf", "k": -1}}, ValueError, "^fusion.k: expected a finite number >= 0"),
        (7, TypeError, "^settings: expected a mapping, got int 7$"),
    ],
)
def test_errors_in_settings_name_their_place(given: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Query.from_dict(given)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"fusion": "magic"}, ValueError, "fusion: expected one of 'auto'"),
        ({"fusion": 3}, TypeError, "fusion: expected Auto"),
        ({"mode": "fuzzy"}, ValueError, "mode: expected 'hybrid'"),
        ({"mode": None}, ValueError, "mode: expected 'hybrid'"),
        ({"candidates": 0}, ValueError, "candidates"),
        ({"candidates": (1, 2, 3)}, ValueError, "candidates"),
        ({"candidates": (1, "x")}, TypeError, r"candidates\[1\]"),
        ({"recall": 0}, ValueError, "recall"),
        ({"recall": "most"}, ValueError, "recall"),
        ({"keywords": 3}, TypeError, "keywords"),
        ({"ids": 3}, TypeError, "ids"),
        ({"exclude": [1, "a"]}, TypeError, r"exclude\[1\]"),
        ({"rankings": [3]}, TypeError, r"rankings\[0\]"),
        ({"rankings": [[("acme", 3)]]}, TypeError, r"rankings\[0\]"),
        (
            {"rankings": [["a"], {"b", "a"}]},
            TypeError,
            r"rankings\[1\]: expected a sequence, best first, got set",
        ),
        ({"rankings": [{"a": 0.9, "b": 0.8}]}, TypeError, r"rankings\[0\]: expected a sequence, .* got dict"),
        ({"rankings": {"a": 0.9}}, TypeError, "rankings: expected a sequence, got dict"),
        ({"rankings": 3}, TypeError, "rankings: expected a sequence, got int"),
        ({"entities": 3}, TypeError, "entities"),
        ({"relevance": "some"}, ValueError, "relevance"),
        ({"mmr": float("inf")}, ValueError, "mmr: expected a finite number"),
        ({"mmr": float("nan")}, ValueError, "mmr: expected a finite number"),
        ({"min_score": float("nan")}, ValueError, "min_score: expected a finite number"),
        ({"coverage": float("nan")}, ValueError, "coverage"),
    ],
)
def test_invalid_queries_are_refused_on_construction(
    given: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        Query(**given)


def test_an_iterator_of_ids_is_used_more_than_once() -> None:
    index = Index()
    index.upsert(1, "oak", scope=JANE)
    index.upsert(2, "oak", scope=JANE)
    query = Query(ids=iter([1]))
    for _ in range(2):
        assert [hit.id for hit in index.search("oak", scope=JANE, query=query)] == [1]


@pytest.mark.parametrize(
    "rankings", [lambda: iter([["b"]]), lambda: [iter(["b"])], lambda: (["b"] for _ in "1")]
)
def test_an_iterator_of_rankings_is_used_more_than_once(rankings: Any) -> None:
    index = Index()
    for id in ("a", "b"):
        index.upsert(id, "oak", scope=JANE)
    query = Query(rankings=rankings())
    for asked in (query, query.replace(mode="lexical"), copy.copy(query)):
        assert [hit.id for hit in index.search("oak", scope=JANE, query=asked)] == ["b", "a"]


@pytest.mark.parametrize("name", ["identifier_tier", "spelling"])
@pytest.mark.parametrize("number", [1, np.True_, 1.0])
def test_a_number_is_no_bool_even_if_an_equal_query_was_made_before(name: str, number: Any) -> None:
    Query(**{name: True})
    with pytest.raises(TypeError, match=f"{name}: expected a bool, got"):
        Query(**{name: number})


@pytest.mark.parametrize(
    "given",
    [
        {"candidates": np.int64(7)},
        {"candidates": np.array([7, 9])},
        {
            "recency": Recency(weight=np.float32(0.25), now=np.datetime64("2026-03-01")),
            "mmr": np.float32(0.5),
        },
        {"coverage": Fraction(1, 4), "min_score": np.float64(0.5)},
    ],
    ids=repr,
)
def test_settings_of_other_libraries_numbers_are_read_again(given: dict[str, Any]) -> None:
    query = Query(**given)
    settings = Query.from_dict(query.to_dict())
    assert settings.candidates == query.candidates and settings.mmr == query.mmr
    assert (settings.coverage, settings.min_score) == (query.coverage, query.min_score)
    assert (settings.recency is None) == (query.recency is None)
    assert settings.recency is None or settings.recency.weight == query.recency.weight  # type: ignore[union-attr]


def test_each_arm_has_candidates_of_its_own() -> None:
    index = Index(dtype="f32")
    for id in range(10):
        vector = np.eye(10)[id] + 0.01
        index.upsert(id, "oak " * (id + 1), scope=JANE, vector=vector)
    hits = index.search("oak", vector=np.eye(10)[3], scope=JANE, k=10, query=Query("rrf", candidates=(2, 5)))
    assert sum(hit.lexical_rank is not None for hit in hits) == 2
    assert sum(hit.vector_rank is not None for hit in hits) == 5


def test_names_of_entities_are_found_in_the_text_unless_given() -> None:
    index = Index()
    index.upsert("a", "a walk in the park", scope=JANE, entities=["Ada"])
    index.upsert("b", "a walk in the park", scope=JANE, entities=["Bob"])
    asked = {
        "True": Query(entities=True),
        "names": Query(entities=["Bob"]),
        "both": Query(entities=Entities()),
    }
    assert index.search("a walk with Bob", scope=JANE, query=asked["True"])[0].id == "b"
    assert index.search("a walk", scope=JANE, query=asked["names"])[0].id == "b"
    assert index.search("a walk with Ada", scope=JANE, query=asked["both"])[0].id == "a"
    batch = index.search_batch(["a walk with Bob", "a walk with Ada"], scope=JANE, query=asked["True"])
    assert [hits[0].id for hits in batch] == ["b", "a"]


def test_a_query_of_another_kind_is_named() -> None:
    index = Index()
    index.upsert("a", "oak", scope=JANE)
    for wrong in ("rrf", RRF(), 3):
        with pytest.raises(TypeError, match=r"query: expected a scrubjay\.Query"):
            index.search("oak", scope=JANE, query=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="query"):
            Backend.of(index).engine.search("oak", scope=JANE, query=wrong)
    with pytest.raises(TypeError, match=r"query\[1\]"):
        index.search_batch(["oak", "jay"], scope=JANE, query=[None, 3])  # type: ignore[list-item]


def test_a_fusion_saved_alone_is_a_query(tmp_path: Any) -> None:
    fusion.save(Weighted((0.3, 0.7)), tmp_path / "q.json")
    assert fusion.load(tmp_path / "q.json") == Query(Weighted((0.3, 0.7)))
    assert Query(relevance=Relevance("low")).relevance == Relevance("low")


def test_a_replaced_query_with_the_same_values_is_the_query() -> None:
    query = Query(mode="vector", ids=["m1"], mmr=0.5)
    assert query.replace() is query
    assert query.replace(mode="vector", ids=query.ids, mmr=query.mmr) is query
    assert query.replace(mode="hybrid") is not query
    assert query.replace(mmr=None).mmr is None
    with pytest.raises(TypeError):
        query.replace(modes="vector")
