"""A filtered search finds what the definitions admit, with the scores of an unfiltered search."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrubjay.documents import payload
from tests.data import filter_strategies
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.filter_strategies import Written
from tests.data.replay import Pair, outcome
from tests.reference import filters, judge
from tests.reference.query import Asked

HOME = ("acme", "jane", None)
ONE = np.array([1, 0, 0, 0], dtype=np.float32)

searches = st.tuples(
    filter_strategies.filters,
    draw.queries,
    draw.exact_vectors,
    st.sampled_from(["hybrid", "lexical", "vector"]),
    st.integers(1, 12),
)


def given_to(mode: str, text: str, vector: Any) -> tuple[Any, Any]:
    """Return only the inputs of the mode."""
    return (None if mode == "vector" else text, None if mode == "lexical" else vector)


def compare(pair: Pair, key: tuple, search: tuple, **more: Any) -> None:
    filter, text, vector, mode, k = search
    options: dict[str, Any] = {
        "scope": pair.scope(key),
        "k": k,
        "filter": filter,
        "explain": True,
        "query": Asked(mode=mode, **more),
    }
    text, vector = given_to(mode, text, vector)
    result = pair.engine.search(text, vector=vector, **options)
    judge.same_result(result, pair.model.search(text, vector=vector, **options), explain=True)
    count = {"filter": filter, "ids": more.get("ids"), "exclude": more.get("exclude")}
    n_admitted = pair.both(lambda engine: engine.count(options["scope"], **count))[1]
    if pair.kit.is_native:
        assert result.admitted == n_admitted


def written(**metadata: Any) -> Written:
    return Written(len(metadata), "jay", HOME, ONE, payload.encode(metadata, None))


def same_results(
    kit: Kit, chunk_docs: int | None, history: list[Any], key: tuple, cases: list[tuple]
) -> None:
    pair = filter_strategies.replay(Pair(kit, chunk_docs, dim=draw.DIM, metric="ip"), history)
    for search in cases:
        compare(pair, key, search)


@given(
    draw.chunk_sizes, filter_strategies.histories, draw.scope_keys, st.lists(searches, min_size=1, max_size=4)
)
@example(None, [written(n=2**53 + 1)], HOME, [({"n": {"$gt": 2.0**53}}, "jay", ONE, "hybrid", 3)])
@example(None, [written(n=-(2**63))], HOME, [({"n": -(2.0**63)}, "jay", ONE, "lexical", 3)])
@example(None, [written(n=True)], HOME, [({"n": 1}, "jay", ONE, "vector", 3)])
@example(None, [written(n=-0.0)], HOME, [({"n": {"$gte": 0, "$lt": 5e-324}}, "jay", ONE, "hybrid", 3)])
@example(
    None, [written(t="\ud800")], HOME, [({"t": {"$gt": "\ud7ff", "$lt": "\ue000"}}, "jay", ONE, "hybrid", 3)]
)
def test_filtered_results_are_those_of_the_definitions(
    kit: Kit, chunk_docs: int | None, history: list[Any], key: tuple, cases: list[tuple]
) -> None:
    same_results(kit, chunk_docs, history, key, cases)


@pytest.mark.slow
@settings(max_examples=400)
@given(
    draw.chunk_sizes, filter_strategies.histories, draw.scope_keys, st.lists(searches, min_size=5, max_size=5)
)
def test_two_thousand_filtered_searches(
    kit: Kit, chunk_docs: int | None, history: list[Any], key: tuple, cases: list[tuple]
) -> None:
    same_results(kit, chunk_docs, history, key, cases)


@pytest.mark.long
@settings(max_examples=2000)
@given(
    draw.chunk_sizes, filter_strategies.histories, draw.scope_keys, st.lists(searches, min_size=5, max_size=5)
)
def test_ten_thousand_filtered_searches(
    kit: Kit, chunk_docs: int | None, history: list[Any], key: tuple, cases: list[tuple]
) -> None:
    same_results(kit, chunk_docs, history, key, cases)


id_sets = st.one_of(
    st.none(), st.sets(st.integers(-1, 45), max_size=3), st.sets(st.integers(-1, 190), max_size=60)
)
id_forms = st.sampled_from(
    [set, list, tuple, frozenset, iter, lambda ids: np.array(sorted(ids), dtype=np.int64)]
)


keys = st.lists(st.tuples(draw.scope_keys, st.integers(-1, 45)), max_size=4)


@given(
    draw.chunk_sizes, filter_strategies.histories, draw.scope_keys, searches, id_sets, id_sets, id_forms, keys
)
@example(  # the id names both
    None,
    [Written(1, "jay", ("acme", None, None), ONE, None), Written(1, "jay", HOME, ONE, None)],
    HOME, ({}, "jay", ONE, "hybrid", 5), {1}, None, set, [],
)  # fmt: skip
@example(  # a key names one of them
    None,
    [Written(1, "jay", ("acme", None, None), ONE, None), Written(1, "jay", HOME, ONE, None)],
    HOME, ({}, "jay", ONE, "hybrid", 5), set(), None, set, [(HOME, 1)],
)  # fmt: skip
def test_ids_and_exclude_restrict_like_the_twin(
    kit: Kit,
    chunk_docs: int | None,
    history: list[Any],
    key: tuple,
    search: tuple,
    ids: Any,
    exclude: Any,
    form: Any,
    keys: Any,
) -> None:
    """Ids in every form, and beside them exact keys."""
    pair = filter_strategies.replay(Pair(kit, chunk_docs, dim=draw.DIM, metric="ip"), history)
    filter, text, vector, mode, k = search
    text, vector = given_to(mode, text, vector)
    for one in (filter, None):
        places = [(pair.scope(place), id) for place, id in keys]
        some = {name: ids for name, ids in (("ids", ids), ("exclude", exclude)) if ids is not None}
        named = {name: [*value, *places] if places else value for name, value in some.items()}
        given_sets = {name: list(value) if places else form(value) for name, value in named.items()}
        options: dict[str, Any] = {
            "scope": pair.scope(key),
            "k": k,
            "filter": one,
            "explain": True,
        }
        result = pair.engine.search(text, vector=vector, query=Asked(mode=mode, **given_sets), **options)
        expected = pair.model.search(text, vector=vector, query=Asked(mode=mode, **named), **options)
        judge.same_result(result, expected, explain=True)


@given(
    filter_strategies.histories,
    draw.scope_keys,
    searches,
    st.lists(draw.picks, max_size=2),
    st.lists(st.integers(0, 110), max_size=8),
    id_sets,
)
def test_callers_rankings_are_filtered_too(
    kit: Kit, history: list[Any], key: tuple, search: tuple, picks: list[Any], listed: list[int], without: Any
) -> None:
    """An id in a ranking refers to the most specific of the documents that match the filter."""
    pair = filter_strategies.replay(Pair(kit, dim=draw.DIM, metric="ip"), history)
    filter, text, vector, _, k = search
    rankings = [*(pair.entries(one) for one in picks), listed]
    compare(pair, key, (filter, text, vector, "hybrid", k), rankings=rankings, exclude=without)


@given(filter_strategies.histories, st.lists(searches, min_size=1, max_size=4), draw.scope_keys, id_sets)
def test_a_batch_is_one_search_each(
    kit: Kit, history: list[Any], cases: list[tuple], key: tuple, ids: Any
) -> None:
    pair = filter_strategies.replay(Pair(kit, dim=draw.DIM, metric="ip"), history)
    filter, *_ = cases[0]
    options: dict[str, Any] = {
        "scope": pair.scope(key),
        "k": 5,
        "filter": filter,
        "query": Asked(exclude=ids),
    }
    results = pair.engine.search_batch(
        [text for _, text, *_ in cases], vectors=np.stack([vector for _, _, vector, *_ in cases]), **options
    )
    for result, (_, text, vector, *_) in zip(results, cases, strict=True):
        judge.same_result(result, pair.model.search(text, vector=vector, **options))


@given(filter_strategies.wrong_filters, st.one_of(filter_strategies.filters, st.just({})))
def test_invalid_filters_are_refused_with_the_same_error(kit: Kit, wrong: Any, right: dict[str, Any]) -> None:
    pair = Pair(kit, dim=draw.DIM)
    for filter in (wrong, {"$or": [right, wrong]}, {"$not": wrong}):
        pair.both(
            lambda engine, one=filter: list(engine.search("jay", scope=pair.scope(HOME), filter=one).ids)
        )
        found = outcome(
            lambda engine, one=filter: engine.search("jay", scope=pair.scope(HOME), filter=one), pair.engine
        )
        assert found[0] == "raised", f"accepted: {filter}"


@given(
    st.one_of(
        st.sampled_from(filter_strategies.TIMES),
        st.from_regex(filters.ISO_TIME, fullmatch=True),
        st.text(max_size=12),
    ),
    st.booleans(),
)
def test_texts_that_name_a_time(kit: Kit, text: str, stored: bool) -> None:
    """A text in metadata is a time exactly if the definition parses it as one, and the same one."""
    pair = Pair(kit, dim=draw.DIM)
    pair.both(
        lambda e: e.upsert(1, "jay", scope=pair.scope(HOME), payload=payload.encode({"when": text}, None))
    )
    instant = filters.instant_of(text)
    for moment in filter_strategies.MOMENTS:
        for operator in ("$gte", "$eq", "$lt"):
            pair.both(lambda e, o=operator, m=moment: e.count(pair.scope(HOME), filter={"when": {o: m}}))
    assert pair.engine.count(pair.scope(HOME), filter={"when": {"$gte": datetime(1, 1, 1)}}) == (
        instant is not None and instant >= filters._instant(datetime(1, 1, 1))
    )


@given(
    st.one_of(st.sampled_from(["2026-03-01", "2026-03-01T00:00:00Z", "2026"]), st.text(max_size=3)),
    st.sampled_from(filter_strategies.MOMENTS),
    st.sampled_from(["", "2026-03-01", "3"]),
    st.permutations(["moment", "text", "list"]),
)
def test_conditions_on_a_field_as_text_and_as_time_hold_together(
    kit: Kit, value: str, moment: datetime, text: str, order: list[str]
) -> None:
    """A text that is an ISO 8601 time is both, so conditions of both types on one field can hold at once."""
    pair = Pair(kit, dim=draw.DIM)
    pair.both(
        lambda e: e.upsert(1, "jay", scope=pair.scope(HOME), payload=payload.encode({"when": value}, None))
    )
    for by_time in ("$gte", "$lte", "$eq"):
        for by_text in ("$gte", "$lt"):
            conditions = {"moment": (by_time, moment), "text": (by_text, text), "list": ("$in", [moment])}
            for n in (2, 3):
                filter = {"when": dict(conditions[name] for name in order[:n])}
                pair.both(lambda e, f=filter: e.count(pair.scope(HOME), filter=f))
