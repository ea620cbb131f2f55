"""Relevance follows from the evidence, and only searches with explain=True know it."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay import Index, Query, Scope
from scrubjay.index import relevance
from scrubjay.index.relevance import TIERS, best_of, checked_tier, probability, reaches, tier_of

ACME = Scope("acme")
TEXTS = ["Jane sails on Saturdays", "Jane sells shells", "The key is sk-stg-0041", "Trains to Rome"]


@pytest.fixture
def index() -> Index:
    index = Index()
    for number, text in enumerate(TEXTS):
        vector = [1.0, 0.0, 0.0] if number == 0 else [0.0, 1.0, float(number)]
        index.upsert(number, text, scope=ACME, vector=vector)
    return index


def search(index: Index, text: str | None, **options: Any) -> Any:
    return index.search(text, scope=ACME, explain=True, **options)


def test_only_a_search_that_explains_knows(index: Index) -> None:
    hits = index.search("sails", scope=ACME)
    for ask in (lambda: hits.relevance, lambda: hits[0].relevance, lambda: hits[0].relevance_parts):
        with pytest.raises(ValueError, match="known only to a search with explain=True"):
            ask()
    assert "relevance" not in hits[0].to_dict()


def test_evidence_of_a_hit(index: Index) -> None:
    """Fraction of idf without function words, in units of an unknown word; deviations above the scope's mean."""
    found = search(index, "what are the sails of Jane and zebra?", vector=[1.0, 0.0, 0.0])
    parts = {hit.id: hit.relevance_parts for hit in found}
    n = len(TEXTS)
    idf = {df: math.log(1 + (n - df + 0.5) / (df + 0.5)) for df in (0, 1, 2)}
    total = idf[1] + idf[2] + idf[0]  # sail, jane, zebra
    assert parts[0].information == pytest.approx((idf[1] + idf[2]) / total)
    assert parts[0].found == pytest.approx((idf[1] + idf[2]) / idf[0])
    assert parts[1].information == pytest.approx(idf[2] / total)
    assert parts[0].standing == pytest.approx(math.sqrt(3))  # one of four at 1, the others at 0
    assert parts[0].n_documents == n and not parts[0].identifier
    fields = found[0].to_dict()
    assert fields["relevance"] == found[0].relevance and fields["relevance_parts"]["n_documents"] == n


def test_relevance_parts_of_a_single_ranking(index: Index) -> None:
    words = search(index, "sails", query=Query(mode="lexical"))[0].relevance_parts
    assert words.standing is None and words.information == 1.0
    nearest = search(index, None, vector=[1.0, 0.0, 0.0])[0].relevance_parts
    assert nearest.information is None and nearest.found is None and nearest.standing is not None
    assert probability(None, 0.0, None, 10, False) == 0.0


def test_a_static_embedder_gives_cosines() -> None:
    """In a scope of one document its own similarities mean nothing; a static embedder's cosine does."""
    index = Index(embedder="static")
    index.upsert("home", "Jonas is employed by Northwind.", scope=ACME)
    (hit,) = search(index, "Where does Jonas work?")
    parts = hit.relevance_parts
    assert parts.standing is None and parts.cosine == pytest.approx(hit.cosine)
    assert hit.relevance in ("standard", "high")
    assert search(index, "zebra ballet quantum").relevance == "none"
    (by_vector,) = search(index, None, vector=index.embedder.embed_query("Where does Jonas work?"))
    assert by_vector.relevance_parts.cosine is None and by_vector.relevance_parts.standing == 0.0
    (words,) = search(index, "Jonas", query=Query(mode="lexical"))
    assert words.relevance_parts.cosine is None
    assert pickle.loads(pickle.dumps(search(index, "Jonas")))[0].relevance_parts.cosine is not None


@pytest.mark.parametrize(
    ("question", "of_another"),
    [
        ("sk-stg-0041", False), ("sk-stg-0042", True), ("the key sk-stg-0042", True), ("skstg0041?", False),
        ("sk-stg-0041 or sk-stg-0042", False), ("QX7TLC", True), ("key 41", False), ("key of 2023", False),
        ("which key", False), ("key AcmeGate", False),
        ("key of 2023-04-20", False), ("key of 10.1.2024", False), ("v1.2.0", True), ("host db-7.example.org", True),
        ("stg-0041", False), ("the key stg-0041", False), ("STG-0041?", False), ("stg-004", True), ("tg-0041", True),
        ("stg_0041", True), ("prod-0041", True),
    ],
)  # fmt: skip
def test_an_identifier_that_is_not_there_is_not_answered_by_its_neighbour(
    question: str, of_another: bool
) -> None:
    index = Index(embedder="static")
    index.upsert("key", "The key is sk-stg-0041", scope=ACME)
    hits = search(index, question)
    assert [hit.relevance_parts.another for hit in hits] == [of_another] * len(hits)
    if of_another:
        assert hits.relevance in ("none", "low")
    elif "0041" in question:
        assert hits.relevance == "high"


@pytest.mark.parametrize(
    ("text", "question", "is_there"),
    [
        ("Mail jane.doe7@example.org", "doe7@example.org", True),
        ("Paths: /srv/app-2/logs/err_3.log", "app-2/logs", True),
        ("Hosts: x-app-2", "app-2", True),
        ("Hosts: x-app-2", "app-2/log", False),  # what is a part of it is not asked for
        ("See OPS-4711-B and OPS-4712", "OPS-4711", True),
        ("See OPS-4711B and OPS-4712", "OPS-4711", False),
        ("x" * 65_530 + " sk-stg-0041", "stg-0041", False),  # beyond what is read
    ],
)
def test_a_part_of_an_identifier_is_answered_by_the_whole(text: str, question: str, is_there: bool) -> None:
    index = Index(dim=4)
    index.upsert("a", text, scope=ACME)
    index.upsert("b", "Notes on lunch", scope=ACME)
    hits = search(index, question)
    assert [hit.relevance_parts.another for hit in hits if hit.id == "a"] == [not is_there] * sum(
        hit.id == "a" for hit in hits
    )
    assert not is_there or hits.relevance in ("standard", "high")


def test_the_context_of_a_document_may_hold_the_whole_identifier() -> None:
    index = Index(dim=4)
    index.upsert("a", "It was rotated in May.", scope=ACME, context="Key sk-stg-0041")
    (hit,) = search(index, "stg-0041")
    assert not hit.relevance_parts.another and hit.relevance in ("standard", "high")


def test_another_metric_has_no_cosines() -> None:
    index = Index(embedder="static", metric="ip")
    index.upsert("home", "Jonas is employed by Northwind.", scope=ACME)
    assert search(index, "Jonas")[0].relevance_parts.cosine is None


def test_the_result_is_as_relevant_as_its_best_hit(index: Index) -> None:
    found = search(index, "sk-stg-0041", vector=[1.0, 0.0, 0.0])
    assert found.relevance == found[0].relevance == "high" and found[0].relevance_parts.identifier
    assert search(index, "zebra ballet quantum", vector=[1.0, 1.0, 1.0]).relevance == "none"
    assert search(index, "zebra").relevance == "none"  # no hits at all


@given(
    st.one_of(st.none(), st.floats(0, 1)),
    st.floats(0, 3),
    st.one_of(st.none(), st.floats(-1e6, 1e6)),
    st.one_of(st.none(), st.floats(-1, 1)),
    st.integers(0, 10**9),
    st.booleans(),
)
def test_more_evidence_never_counts_less(
    information: float | None,
    found: float,
    standing: float | None,
    cosine: float | None,
    n: int,
    identifier: bool,
) -> None:
    weighed = probability(information, found, standing, n, identifier, cosine)
    assert 0.0 <= weighed <= 1.0 and tier_of(weighed) in TIERS
    if information is not None:
        assert probability(min(1.0, information + 0.1), found, standing, n, identifier, cosine) >= weighed
        assert probability(information, found, standing, n, True, cosine) >= weighed
    if standing is not None:
        assert probability(information, found, standing + 0.5, n, identifier, cosine) >= weighed
    if cosine is not None:
        assert probability(information, found, standing, n, identifier, cosine + 0.1) >= weighed
    assert probability(information, found, standing, 2 * n, identifier, cosine) <= weighed


def test_probabilities_map_to_tiers() -> None:
    assert [tier_of(p) for p in (0.0, 0.399, 0.4, 0.6, 0.949, 0.95, 1.0)] == [
        "none", "none", "low", "standard", "standard", "high", "high",
    ]  # fmt: skip
    assert best_of(["low", "high", "none"]) == "high" and best_of([]) == "none"
    assert reaches("high", "low") and reaches("low", "low") and not reaches("none", "low")
    with pytest.raises(ValueError, match="floor: expected one of none, low, standard, high, got 'some'"):
        checked_tier("some", "floor")


def test_the_weights_have_the_signs_of_their_evidence() -> None:
    for weights in (
        relevance.BOTH, relevance.WORDS, relevance.VECTORS, relevance.BOTH_STATIC, relevance.VECTORS_STATIC,
    ):  # fmt: skip
        assert min(weights._replace(constant=0.0, documents=0.0)) >= 0
        assert weights.documents < 0
