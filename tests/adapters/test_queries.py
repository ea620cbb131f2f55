"""Every field of a query reaches the search, through each adapter."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from scrubjay import RRF, Entities, Index, Prior, Query, Recency, Relevance, Scope, Weighted
from scrubjay.backend.queries import as_query, narrowed
from tests.adapters.frameworks import FRAMEWORKS, Framework, by_name

ACME, JANE = Scope("acme"), Scope("acme", user="jane")
TEXT = "staging key of graphiti"
NOW = dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc)
QUERIES = [
    Query(),
    Query(RRF(10, (1.0, 0.2)), candidates=(3, 5), recall="exact"),
    Query(Weighted(normalise="max"), candidates=2),
    Query("production", identifier_tier=False),
    Query(mode="lexical"),
    Query(coverage=0.9),
    Query(recency=Recency(5.0, now=NOW.isoformat())),
    Query(entities=["Graphiti"], prior=Prior(2.0, "worth")),
    Query(entities=Entities(5.0, names=["Jane"])),
    Query(prior=Prior(-9.0, "worth")),
    Query(mmr=0.1),
    Query(min_score=0.9),
    Query(mode="keyword", min_score=1.0),
    Query(relevance="high"),
    Query(relevance=Relevance("low", low=(0.9, 0.6))),
    Query(keywords="invoices"),
    Query(ids=["m1", "m4", "m9"]),
    Query(exclude=["m1", "nobody"]),
    Query(rankings=[["m4", "m3"]]),
    Query(rankings=[[(ACME, "m2"), (JANE, "m5")]], ids=["m2", "m5", "m1"], mmr=0.5),
]


@pytest.fixture(scope="module")
def index() -> Index:
    index = Index()
    notes = index.collection("notes")
    for number, text in enumerate(
        [
            "The staging key is sk-stg-0041.",
            "Graphiti keeps a key for staging and one for production.",
            "Invoices go out on Mondays, the key is in the safe.",
            "The staging area of git.",
            "Keys, keys, keys.",
        ],
        1,
    ):
        fields: dict[str, Any] = {"created_at": NOW - dt.timedelta(days=9 * number)}
        notes.upsert(
            f"m{number}",
            text,
            scope=ACME if number == 2 else JANE,
            metadata={"worth": number, "data": text, "user_id": "jane"},
            entities=["Graphiti"] if number == 2 else ["Jane"] if number == 4 else None,
            **fields,
        )
    return index


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=by_name)
@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_a_query_through_an_adapter_is_the_query(
    index: Index, framework: type[Framework], query: Query
) -> None:
    asked = query if framework.mode is None else query.replace(mode=framework.mode)
    expected = [hit.id for hit in index.collection("notes").search(TEXT, scope=JANE, query=asked)]
    found = list(framework(index, "acme", "jane", query).found(TEXT))
    if framework.in_order:
        assert found == expected
    else:
        assert sorted(found) == sorted(map(str, expected))


@pytest.mark.parametrize(
    "query",
    [Query(dates=False), Query(neighbours=False), Query(dates=False, recency=True, mmr=0.5)],
    ids=repr,
)
def test_settings_sent_to_the_service_are_the_query(query: Query) -> None:
    pytest.importorskip("fastapi")
    from scrubjay.adapters.service import search_models

    assert search_models.SearchIn(text="oak", **query.to_dict()).query(JANE) == query


def test_sample_queries_give_different_answers(index: Index) -> None:
    found = [
        [hit.id for hit in index.collection("notes").search(TEXT, scope=JANE, query=one)] for one in QUERIES
    ]
    assert len({tuple(one) for one in found}) >= 8


def test_invalid_queries_are_refused_by_name() -> None:
    for given, error, message in (
        ("rrf", TypeError, "query: expected a scrubjay.Query or its settings, got str 'rrf'"),
        ({"scope": "globex"}, ValueError, "scope: unknown in a query"),
        ({"ids": ["m1"]}, ValueError, "ids: unknown in a query"),
        ({"mmr": 7}, ValueError, "mmr"),
    ):
        with pytest.raises(error, match=message):
            as_query(given)  # type: ignore[arg-type]
    assert as_query({"fusion": "rrf", "recency": True}) == Query(RRF(), recency=True)
    assert as_query(None) == Query() and as_query(None, usual=QUERIES[1]) is QUERIES[1]


def test_ids_of_a_query_are_narrowed_and_never_widened() -> None:
    query = Query(ids={"m1", "m2"}, mmr=0.5)
    assert narrowed(query, None) is query
    assert narrowed(query, ["m3"]).ids == [] and narrowed(query, ["m2", "m3"]).ids == ["m2"]
    assert narrowed(Query(mmr=0.5), ["m3"]) == Query(mmr=0.5, ids=["m3"])
