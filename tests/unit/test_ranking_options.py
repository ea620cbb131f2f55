"""Ranking options of the wrong type: the error names the argument, what was expected and what was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scrubjay
from scrubjay import Index, Query, Scope

SCOPE = Scope("acme")


@pytest.fixture(scope="module")
def index() -> Index:
    made = Index(dim=4)
    made.upsert("a", "oak", scope=SCOPE, vector=[1.0, 0.0, 0.0, 0.0])
    return made


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("mmr", "x", "mmr: expected a number, got str 'x'"),
        ("mmr", True, "mmr: expected a number, got bool True"),
        ("coverage", "x", "coverage: expected a number, got str 'x'"),
        ("min_score", [1], r"min_score: expected a number, got list \[1\]"),
        ("identifier_tier", "x", "identifier_tier: expected a bool, got str 'x'"),
        ("spelling", "x", "spelling: expected a bool, got str 'x'"),
        ("recency", "x", "recency: expected Recency or a bool, got str 'x'"),
        ("prior", 3, "prior: expected Prior or a bool, got int 3"),
        ("relevance", 0.5, "relevance: expected Relevance or one of its tiers, got float 0.5"),
    ],
)
def test_an_option_of_a_search(index: Index, option: str, value: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        index.search("oak", vector=[1.0, 0.0, 0.0, 0.0], scope=SCOPE, query=Query(**{option: value}))
    assert len(index.search("oak", scope=SCOPE)) == 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: scrubjay.RRF("x"), "^k: expected a number"),  # type: ignore[arg-type]
        (lambda: scrubjay.Boost("x"), "gate: expected a number"),  # type: ignore[arg-type]
        (lambda: scrubjay.Production(floor="x"), "floor: expected a number"),  # type: ignore[arg-type]
        (lambda: scrubjay.Recency("x"), "^weight: expected a number"),  # type: ignore[arg-type]
        (lambda: scrubjay.Recency(half_life_hours="x"), "half_life_hours: expected a number"),  # type: ignore[arg-type]
        (lambda: scrubjay.Entities("x"), "^weight: expected a number"),  # type: ignore[arg-type]
        (lambda: scrubjay.Prior("x"), "^weight: expected a number"),  # type: ignore[arg-type]
    ],
)
def test_a_part_of_a_ranking(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: scrubjay.RRF(-1), r"^k: expected a finite number >= 0, got -1$"),
        (lambda: scrubjay.RRF(10**400), "^k: expected a number that a float can hold"),
        (lambda: scrubjay.Boost(weight=-1), "^weight: expected a finite number >= 0, got -1$"),
        (lambda: scrubjay.Recency(-1), "^weight: expected a finite number >= 0, got -1$"),
        (
            lambda: scrubjay.Recency(half_life_hours=-1),
            "^half_life_hours: expected a finite number > 0, got -1$",
        ),
        (
            lambda: scrubjay.Recency(half_life_hours=0),
            "^half_life_hours: expected a finite number > 0, got 0$",
        ),
        (lambda: scrubjay.Dates(float("inf")), "^weight: expected a finite number >= 0, got inf$"),
        (lambda: scrubjay.Neighbours(-0.5), "^weight: expected a finite number >= 0, got -0.5$"),
        (lambda: scrubjay.Entities(float("nan")), "^weight: expected a finite number >= 0, got nan$"),
        (lambda: scrubjay.Prior(float("inf")), "^weight: expected a finite number, got inf$"),
        (lambda: Query(coverage=10**400), "^coverage: expected a number that a float can hold"),
        (lambda: Query(min_score=10**400), "^min_score: expected a number that a float can hold"),
    ],
)
def test_a_number_out_of_its_range_is_named_as_the_caller_names_it(
    make: Callable[[], Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_numbers_of_numpy_are_numbers(index: Index) -> None:
    options: dict[str, Any] = {"mmr": np.float32(0.5), "coverage": np.float64(0.25), "recency": True}
    assert len(index.search("oak", vector=[1.0, 0.0, 0.0, 0.0], scope=SCOPE, query=Query(**options))) == 1
