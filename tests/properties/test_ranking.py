"""A ranking equals its formulas: fusion, identifier tier, signals, thresholds, marginal relevance.

Vectors are exact (see tests/data/strategies.py), so that the whole result is compared with the twin, bit for bit.
"""

from __future__ import annotations

import dataclasses
import itertools
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrubjay import Boost, Entities, Index, Prior, Query, Recency, Scope
from scrubjay.documents import payload
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.data.strategies import Put, Step
from tests.reference import judge
from tests.reference.fusion import Options
from tests.reference.query import Asked

Vector = NDArray[np.float32]
HOME = ("acme", "jane", None)
ONE = np.array([1, 0, 0, 0], dtype=np.float32)
OTHER = np.array([0, 1, 0, 0], dtype=np.float32)
BOTH = np.array([1, 1, 1, 1], dtype=np.float32)

histories = draw.histories(vectors=draw.some_exact_vectors)
weights = st.floats(0, 4)
shares = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@st.composite
def options(draw_: st.DrawFn) -> Options:
    """Any method with any of the options."""
    method = draw_(st.sampled_from(["auto", "auto", "rrf", "weighted", "weighted", "boost", "production"]))
    n_weights = draw_(st.integers(2, 4))
    optional: dict[str, Any] = draw_(
        st.fixed_dictionaries(
            {},
            optional={
                "coverage": weights,
                "mmr": shares,
                "min_score": st.floats(-2, 3),
                "relevance": st.sampled_from(["low", "standard", "high"]),
                "relevance_bounds": st.tuples(*[st.tuples(shares, shares)] * 3),
            },
        )
    )
    return Options(
        method,
        rrf_k=draw_(draw.rrf_k_values),
        weights=tuple(draw_(st.lists(weights, min_size=n_weights, max_size=n_weights))),
        normalise=draw_(st.sampled_from(["zscore", "minmax", "max", "logistic"])),
        boost=draw_(weights),
        gate=draw_(st.floats(-1, 2)),
        floor=draw_(st.floats(-1, 2)),
        literal=draw_(st.booleans()),
        identifier_tier=draw_(st.booleans()),
        spelling=draw_(st.booleans()),
        **optional,
    )


MANY = [
    Put(n, f"jay {'oak ' * n} TS-{n}", HOME, v)
    for n, v in enumerate([ONE, OTHER, BOTH, ONE, None, OTHER, 2 * ONE, -BOTH])
]


@given(
    histories, draw.queries, draw.exact_vectors, draw.scope_keys, draw.k_values, draw.candidate_values, options(),
    st.lists(draw.picks, max_size=2),
    st.sampled_from(["hybrid", "hybrid", "hybrid", "lexical", "vector"]),
    st.one_of(st.just([]), st.lists(st.integers(0, 14), max_size=4)),
)  # fmt: skip
@example(MANY, "jay oak", ONE, HOME, 10, None, Options(), [], "hybrid", [])
@example(MANY, "TS-3", ONE, HOME, 3, 2, Options(), [], "hybrid", [])
@example(MANY, "TS-3 TS-4", ONE, HOME, 5, 2, Options(coverage=0.5), [], "hybrid", [0, 3])
@example(
    [*MANY, Put(9, "jay TS-3 TS-4", HOME, OTHER)],
    "jay TS-4 TS-3",
    ONE,
    HOME,
    5,
    2,
    Options(),
    [],
    "hybrid",
    [],
)
@example(MANY, "jay oak TS-3 TS-4", ONE, HOME, 3, 1, Options(mmr=0.5), [], "hybrid", [])
@example(
    MANY,
    "jay oak unheard",
    ONE,
    HOME,
    10,
    None,
    Options(coverage=0.5, relevance="standard"),
    [],
    "hybrid",
    [],
)
@example(MANY, "jay oak", ONE, HOME, 4, None, Options(mmr=0.25), [], "vector", [])
@example(
    MANY, "jay oak", ONE, HOME, 5, 2, Options(), [], "vector", []
)  # one ranking: k decides, nothing is fused
@example(MANY, "jay oak", ONE, HOME, 5, 2, Options(), [], "lexical", [])
@example(  # the nearest holds the identifier, too, and has the BM25 that the cut lexical ranking does not say
    [Put(1, "TS-999", HOME, None), Put(2, "TS-999", HOME, ONE)],
    "TS-999",
    ONE,
    HOME,
    5,
    1,
    Options(),
    [],
    "hybrid",
    [],
)
@example(
    MANY, "jay oak", ONE, HOME, 10, None, Options("boost", gate=0.5), [[(3, False), (4, True)]], "hybrid", []
)
@example(MANY, "jay oak", ONE, HOME, 10, None, Options("production"), [], "hybrid", [])
@example(MANY, "jay oak", ONE, HOME, 10, None, Options("production", literal=True), [], "hybrid", [])
def test_a_ranking_is_what_its_twin_says(
    kit: Kit, history: list[Step], text: str, vector: Vector, key: tuple, k: int,
    candidates: int | None, ranking: Options, picks: list[list[tuple[int, bool]]], mode: str, excluded: list[int],
) -> None:  # fmt: skip
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    known = [id for _, id in pair.model.live_keys()]
    rankings = [pair.entries(one) for one in picks]
    inputs = {
        "hybrid": {"text": text, "vector": vector}, "lexical": {"text": text}, "vector": {"vector": vector}
    }[mode]  # fmt: skip
    asked: dict[str, Any] = {
        **inputs, "scope": pair.scope(key), "k": k,
        "query": Asked(
            ranking, mode, candidates, rankings=rankings,
            exclude=[known[pick] for pick in excluded if pick < len(known)],
        ),
    }  # fmt: skip
    judge.same_result(
        pair.engine.search(**asked, explain=True), pair.model.search(**asked, explain=True), explain=True
    )
    judge.same_result(pair.engine.search(**asked), pair.model.search(**asked))


@pytest.mark.parametrize("chunk_docs", [64, None])
@given(st.integers(0, 2**32 - 1))
def test_missing_scores_are_those_of_all_candidates(kit: Kit, chunk_docs: int | None, seed: int) -> None:
    """Only scores that can matter are completed; the hits are those of a search that returns all candidates.

    Identifiers come first, and their bonus depends on the greatest and the lowest score of all.
    """
    random = np.random.default_rng(seed)
    pair = Pair(kit, chunk_docs, dim=8)
    scope, words = pair.scope(HOME), [f"w{place}" for place in range(12)]
    names = [f"TS-{100 + place}" for place in range(60)]

    def some_words(most: int, share: float) -> str:
        """Return some words and, in this share of texts, one or two identifiers."""
        named: list[str] = (
            list(random.choice(names, random.integers(1, 3))) if random.random() < share else []
        )
        return " ".join([*random.choice(words, random.integers(1, most)), *named])

    texts = [some_words(9, 0.3) for _ in range(200)]
    pair.engine.upsert_many(
        list(range(200)), texts, scope=scope, vectors=random.normal(size=(200, 8)).astype(np.float32)
    )
    for _ in range(4):
        k = int(random.integers(1, 40))
        asked: dict[str, Any] = {
            "text": some_words(6, 0.5), "vector": random.normal(size=8).astype(np.float32), "scope": scope,
            "query": Asked(candidates=(int(random.integers(1, 60)), int(random.integers(1, 60)))),
        }  # fmt: skip
        some = pair.engine.search(**asked, k=k, explain=bool(random.integers(2)))
        every = pair.engine.search(**asked, k=len(texts))
        assert judge.keys(some) == judge.keys(every, k)
        judge.same_bits(some.scores, every.scores[:k], "scores")
        judge.same_bits([some.lexical_share], [every.lexical_share], "lexical_share")


@given(histories, draw.queries, draw.exact_vectors, draw.scope_keys)
def test_scores_descend_with_the_order(
    kit: Kit, history: list[Step], text: str, vector: Vector, key: tuple
) -> None:
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    scores = pair.engine.search(text, vector=vector, scope=pair.scope(key), k=100).scores
    assert list(scores) == sorted(scores, reverse=True)


@given(histories, draw.scope_keys, draw.exact_vectors, st.sampled_from(draw.IDENTIFIERS))
def test_a_document_with_the_rare_identifier_ranks_first(
    kit: Kit, history: list[Step], key: tuple, vector: Vector, identifier: str
) -> None:
    """(Without the twin.) The query is the identifier alone, so that it consists mostly of identifiers."""
    if not any(character.isdigit() for character in identifier):
        return
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    scope = pair.scope(key)
    result = pair.engine.search(identifier, vector=vector, scope=scope, k=judge.ALL)
    in_tier = list(result.identifiers)
    assert in_tier == sorted(in_tier, reverse=True)
    found = judge.keys(result)
    verbatim = [key for key in found if f" {identifier} " in f" {pair.model.stored(key).text} "]
    if 0 < len(verbatim) <= 5 and identifier not in ("0041",) and not all(c.isdigit() for c in identifier):
        n_holders = sum(in_tier)
        if n_holders:
            assert set(verbatim) <= set(found[:n_holders])


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
def test_diversity_takes_the_different_first(kit: Kit, metric: str) -> None:
    pair = Pair(kit, dim=draw.DIM, metric=metric).apply(
        [Put(1, "jay", HOME, BOTH), Put(2, "jay", HOME, BOTH), Put(3, "oak", HOME, OTHER)]
    )
    scope = pair.scope(HOME)
    plain = pair.engine.search("jay", vector=BOTH, scope=scope, query=Asked(Options()))
    assert list(plain.ids) == [1, 2, 3]
    varied = pair.engine.search("jay", vector=BOTH, scope=scope, query=Asked(Options(mmr=0.25)))
    assert list(varied.ids) == [1, 3, 2]


def test_a_relevance_floor_drops_unrelated_hits(kit: Kit) -> None:
    pair = Pair(kit, dim=draw.DIM, metric="cosine").apply(
        [Put(1, "the jay caches acorns", HOME, ONE), Put(2, "the oak", HOME, OTHER)]
    )
    scope = pair.scope(HOME)
    query = Asked(Options(relevance="standard"))
    nonsense = -ONE + np.array([0, -1, 0.5, 0.5], dtype=np.float32)
    assert len(pair.engine.search("xylophone quartet", vector=nonsense, scope=scope)) == 2
    assert len(pair.engine.search("xylophone quartet", vector=nonsense, scope=scope, query=query)) == 0
    found = pair.engine.search("acorn caches", vector=nonsense, scope=scope, query=query)
    assert list(found.ids) == [1]


times = st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(timezone.utc))


@given(
    st.lists(
        st.tuples(times, times, st.dictionaries(st.sampled_from(["a", "created_at"]), st.text(max_size=5)))
    ),
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(timezone.utc)),
    st.floats(0, 4),
    st.floats(0.01, 1e5),
)
def test_recency_is_halved_with_every_half_life(
    kit: Kit, documents: list[tuple[Any, Any, dict[str, str]]], now: datetime, weight: float, hours: float
) -> None:
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply([])
    scope = pair.scope(HOME)
    for id, (created_at, expires_at, metadata) in enumerate(documents):
        encoded = payload.encode(metadata or None, created_at, expires_at)
        pair.both(
            lambda engine, id=id, encoded=encoded: engine.upsert(id, "jay", scope=scope, payload=encoded)
        )
    ranking = Options(recency=weight, half_life_us=hours * 3600e6, now_us=payload.microseconds(now))
    asked: dict[str, Any] = {"scope": scope, "k": 50, "query": Asked(ranking), "explain": True}
    judge.same_result(pair.engine.search("jay", **asked), pair.model.search("jay", **asked), explain=True)


@given(histories, draw.queries, draw.exact_vectors, draw.scope_keys)
@example(  # equal by words: the nearer one was written later, and is first
    [Put(n, "jay", HOME, v) for n, v in enumerate([OTHER, OTHER, OTHER, BOTH])], "jay", ONE, HOME
)  # fmt: skip
@example(  # equally near: the one with more words was written later
    [Put(n, text, HOME, ONE) for n, text in enumerate(["jay oak", "jay acorn", "jay jay"])], "jay", ONE, HOME
)  # fmt: skip
def test_a_document_as_good_in_both_rankings_never_scores_lower(
    kit: Kit, history: list[Step], text: str, vector: Vector, key: tuple
) -> None:
    """(Without the twin.)"""
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    query = Asked(Options(identifier_tier=False))
    found = pair.engine.search(text, vector=vector, scope=pair.scope(key), k=50, query=query, explain=True)
    if found.mode != "hybrid":
        return
    bm25, similarity = np.nan_to_num(found.bm25), np.asarray(found.similarities)
    for i, j in itertools.permutations(np.flatnonzero(~np.isnan(similarity)), 2):
        if bm25[i] >= bm25[j] and similarity[i] >= similarity[j]:
            assert found.scores[i] >= found.scores[j]


def test_the_parts_of_a_score_are_named(kit: Kit) -> None:
    """(Without the twin.) Two documents; a fusion whose parts can be computed by hand."""
    if not kit.is_native:
        pytest.skip("of the index")
    index, scope = Index(dtype="f32"), Scope("acme")
    now = datetime(2026, 1, 8, tzinfo=timezone.utc)
    index.upsert(
        1, "jay", scope=scope, vector=[1.0, 0.0], metadata={"importance": 0.5, "entities": ["ada"]},
        created_at=now - timedelta(hours=168),
    )  # fmt: skip
    index.upsert(2, "oak", scope=scope, vector=[0.6, 0.8])
    query = Query(
        Boost(weight=0.5),
        recency=Recency(weight=0.4, now=now),
        prior=Prior(0.2),
        entities=["ada"],
        coverage=0.1,
    )
    first, second = index.search("jay", vector=[1.0, 0.0], scope=scope, query=query, explain=True)
    width = 1.5 - 0.6
    assert (first.id, second.id) == (1, 2)
    assert first.parts.words == pytest.approx(0.5 / width)
    assert first.parts.meaning == pytest.approx(1.0 / width)
    assert first.parts.scaling == second.parts.scaling == pytest.approx(-0.6 / width, rel=1e-3)
    assert first.parts.recency == pytest.approx(0.2)
    assert (first.parts.prior, first.parts.coverage, first.parts.identifier) == (0.1, 0.1, 0.0)
    assert first.parts.entities == pytest.approx(Entities().weight)
    assert first.parts.boosts == pytest.approx(0.2 + Entities().weight)
    for hit in (first, second):
        judge.add_up(dataclasses.asdict(dataclasses.replace(hit.parts, final=0.0)), hit.score)
    assert hit.parts.final == hit.score


def test_the_clock_is_that_of_the_search(kit: Kit) -> None:
    if not kit.is_native:
        pytest.skip("the twin has no clock")
    index = Index()
    scope = Scope("acme")
    day = timedelta(days=1)
    now = datetime.now(timezone.utc)
    for id, age in (("old", 100 * day), ("new", 0 * day), ("never", None)):
        index.upsert(id, "jay", scope=scope, created_at=None if age is None else now - age)
    hits = index.search("jay", scope=scope, query=Query(recency=Recency(weight=1.0)))
    assert list(hits.ids) == ["new", "old", "never"]
    assert hits.scores[0] == pytest.approx(2.0, abs=1e-3)
    assert hits.scores[1] == pytest.approx(1.0 + 2 ** -(100 / 7), rel=1e-3)
    assert index.search("jay", scope=scope, query=Query(recency=True))[0].id == "new"


named = st.lists(st.sampled_from(["ada", "bob", "new york", "é"]), max_size=3)
numbers = st.one_of(
    st.integers(-3, 3),
    st.floats(-2, 2),
    st.just(2**70),
    st.booleans(),
    st.just("0.5"),
    st.none(),
    st.just(2**62),
)
carried = st.fixed_dictionaries(
    {},
    optional={
        "entities": named,
        "people": named | st.text(max_size=3),
        "importance": numbers,
        "worth": numbers,
    },
)


@given(
    st.lists(st.tuples(draw.scope_keys, carried, draw.some_exact_vectors), min_size=1, max_size=12),
    st.lists(st.integers(0, 11), max_size=3), named, draw.exact_vectors, draw.scope_keys, st.floats(0, 4),
    st.floats(-4, 4), st.sampled_from(["entities", "people"]), st.sampled_from(["importance", "worth"]),
    st.sampled_from([None, 1, 3]), st.lists(st.integers(0, 11), max_size=3),
)  # fmt: skip
def test_entities_and_priors_are_what_their_twin_says(
    kit: Kit, documents: list[tuple[Any, Any, Any]], deleted: list[int], asked: list[str], vector: Vector,
    key: tuple, weight: float, worth: float, entity_field: str, prior_field: str, chunk_docs: int | None,
    excluded: list[int],
) -> None:  # fmt: skip
    pair = Pair(kit, chunk_docs=chunk_docs, dim=draw.DIM, metric="ip").apply([])
    for id, (home, metadata, own) in enumerate(documents):
        scope, encoded = pair.scope(home), payload.encode(metadata, None)
        pair.both(
            lambda engine, id=id, own=own, scope=scope, encoded=encoded: engine.upsert(
                id % 4, "jay oak", scope=scope, vector=own, payload=encoded
            )
        )
    for id in deleted:
        scope = pair.scope(documents[id % len(documents)][0])
        pair.both(lambda engine, id=id, scope=scope: engine.delete(id % 4, scope=scope))
    ranking = Options(entities=weight, entity_field=entity_field, prior=worth, prior_field=prior_field)
    options: dict[str, Any] = {
        "vector": vector, "scope": pair.scope(key), "k": 20,
        "query": Asked(ranking, entities=asked, exclude=excluded), "explain": True,
    }  # fmt: skip
    judge.same_result(pair.engine.search("jay", **options), pair.model.search("jay", **options), explain=True)


def test_the_rarer_entity_says_more(kit: Kit) -> None:
    if not kit.is_native:
        pytest.skip("of the index")
    index = Index()
    scope = Scope("acme")
    for number in range(60):
        index.upsert(f"m{number}", "a walk", scope=scope, entities=["Ada Lovelace"])
    index.upsert("rare", "a walk", scope=scope, entities=["  GRAPHITI, "])
    assert index.search("a walk", scope=scope)[0].id == "m0"
    assert (
        index.search("a walk", scope=scope, query=Query(entities=["graphiti", "ada lovelace"]))[0].id
        == "rare"
    )
    assert (
        index.search("Did Graphiti walk with Ada Lovelace?", scope=scope, query=Query(entities=True))[0].id
        == "rare"
    )
    hit = index.search("a walk", scope=scope, query=Query(entities=Entities(2.0, names=["Graphiti"])))[0]
    assert hit.id == "rare" and hit.score == pytest.approx(3.0) and hit.metadata == {"entities": ["graphiti"]}
    batch = index.search_batch(["a walk"] * 2, scope=scope, query=[Query(entities=["Graphiti"]), None])
    assert [hits[0].id for hits in batch] == ["rare", "m0"]
    with pytest.raises(TypeError, match="entities"):
        index.search("a walk", scope=scope, query=Query(entities="graphiti"))


def test_a_huge_prior_ranks_first_with_finite_scores(kit: Kit) -> None:
    if not kit.is_native:
        pytest.skip("of the index")
    index = Index()
    scope = Scope("acme")
    for id, worth in (("low", 0.1), ("high", 0.9), ("none", None)):
        index.upsert(id, "jay", scope=scope, metadata=None if worth is None else {"importance": worth})
    assert list(index.search("jay", scope=scope, query=Query(prior=True)).ids) == ["high", "low", "none"]
    assert list(index.search("jay", scope=scope, query=Query(prior=Prior(-1.0))).ids) == [
        "none",
        "low",
        "high",
    ]
    index.upsert("huge", "jay", scope=scope, metadata={"importance": 1e308}, vector=[1.0, 0.0])
    hits = index.search("jay", vector=[1.0, 0.0], scope=scope, query=Query(prior=Prior(1e10), mmr=0.5))
    assert hits[0].id == "huge" and np.isfinite(hits.scores).all()
