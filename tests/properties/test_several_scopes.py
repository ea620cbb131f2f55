"""A search over several scopes equals the search of one scope that sees what any of them sees.

The model defines it. The answer is the same if all the documents are in one scope, and if documents that none of the
scopes sees come and go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.data.strategies import Put, Step
from tests.reference import judge
from tests.reference.query import PLAIN, Asked
from tests.reference.scopes import visible_together

Vector = NDArray[np.float32]
Key = tuple[str, str | None, str | None]
JANE: Key = ("acme", "jane", None)
JOE: Key = ("acme", "joe", None)
ONE = np.array([1, 0, 0, 0], dtype=np.float32)

several = st.lists(draw.scope_keys, min_size=1, max_size=5)
exact_histories = draw.histories(vectors=draw.some_exact_vectors)
plain_queries = [Asked(PLAIN), Asked(replace(PLAIN, identifier_tier=True, spelling=True)), Asked()]


@pytest.mark.parametrize("chunk_docs", [None, 3])
@given(
    exact_histories, draw.queries, draw.exact_vectors, several, draw.k_values, st.sampled_from(plain_queries),
)  # fmt: skip
@example(
    [Put(1, "jay", JANE, ONE), Put(1, "jay", JOE, ONE)], "jay", ONE, [JOE, JANE, JOE], 10, plain_queries[0]
)
@example([Put(1, "jay oak", JANE, None), Put(2, "oak", JOE, None)], "jay oka", ONE, [JANE, JOE], 1, Asked())
def test_several_scopes_are_searched_as_one(
    kit: Kit, chunk_docs: int | None, history: list[Step], text: str, vector: Vector, keys: list[Key], k: int,
    query: Asked,
) -> None:  # fmt: skip
    pair = Pair(kit, chunk_docs=chunk_docs, dim=draw.DIM, metric="ip").apply(history)
    scope = [pair.scope(key) for key in keys]
    for options in ({"vector": vector}, {}):
        asked: dict[str, Any] = {**options, "scope": scope, "k": k, "query": query, "explain": True}
        given, expected = pair.engine.search(text, **asked), pair.model.search(text, **asked)
        judge.same_result(given, expected, explain=True)


@given(
    exact_histories, draw.queries, draw.exact_vectors, several, st.lists(draw.picks, min_size=1, max_size=2)
)
def test_rankings_of_several_scopes_name_what_they_see(
    kit: Kit, history: list[Step], text: str, vector: Vector, keys: list[Key], picks: list[list[tuple[int, bool]]]
) -> None:  # fmt: skip
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    unknown = "never written" if pair.model._id_type is str else 123456
    options: dict[str, Any] = {
        "vector": vector, "scope": [pair.scope(key) for key in keys], "explain": True,
        "query": Asked(rankings=[pair.entries(one, unknown) for one in picks]),
    }  # fmt: skip
    judge.same_result(pair.engine.search(text, **options), pair.model.search(text, **options), explain=True)


@given(exact_histories, exact_histories, draw.queries, draw.exact_vectors, several)
def test_unseen_documents_change_no_search_of_several_scopes(
    kit: Kit, history: list[Step], others: list[Step], text: str, vector: Vector, keys: list[Key]
) -> None:
    """The answer is bit-identical when documents that none of the scopes sees are written and deleted."""
    pair = Pair(kit, dim=draw.DIM, metric="ip").apply(history)
    seen = set(visible_together([pair.scope(key) for key in keys]))
    foreign = [
        step
        for step in others
        if isinstance(step, Put)
        and step.scope not in seen
        and isinstance(step.id, pair.model._id_type or object)
    ]
    assume(foreign)
    options: dict[str, Any] = {
        "vector": vector, "scope": [pair.scope(key) for key in keys], "k": 50, "explain": True,
    }  # fmt: skip
    before = pair.engine.search(text, **options)
    for step in foreign:
        pair.engine.upsert(step.id, step.text, scope=pair.scope(step.scope), vector=step.vector)
    judge.same_result(pair.engine.search(text, **options), before, explain=True)
    for step in foreign[::2]:
        pair.engine.delete(step.id, scope=pair.scope(step.scope))
    pair.engine.compact()
    judge.same_result(pair.engine.search(text, **options), before, explain=True)


@given(st.lists(st.tuples(st.integers(0, 9), draw.texts, draw.some_exact_vectors), max_size=30), draw.queries)
def test_the_spread_of_documents_over_scopes_changes_no_score(
    kit: Kit, documents: list[tuple[int, str, Any]], text: str
) -> None:
    """In one scope or in ten: the same scores in the same order, if the scopes are in the order of writing."""
    one, many = kit.Engine(dim=draw.DIM, metric="ip"), kit.Engine(dim=draw.DIM, metric="ip")
    users = [kit.Scope("acme", f"u{i}") for i in range(10)]
    for number, (user, written, vector) in enumerate(sorted(documents, key=lambda document: document[0])):
        many.upsert(number, written, scope=users[user], vector=vector)
        one.upsert(number, written, scope=kit.Scope("acme"), vector=vector)
    options: dict[str, Any] = {"vector": ONE, "k": 40, "explain": True}
    found = many.search(text, scope=users, **options)
    expected = one.search(text, scope=kit.Scope("acme"), **options)
    assert found.ids.tolist() == expected.ids.tolist()
    judge.same_bits(found.scores, expected.scores, "scores")
    judge.same_bits(found.bm25, expected.bm25, "bm25")


def test_filters_and_sets_of_ids_hold_in_each_scope(kit: Kit) -> None:
    pair = Pair(kit)
    scopes = [pair.scope(("acme", f"u{i}", None)) for i in range(40)]
    for engine in (pair.engine, pair.model):
        for i, scope in enumerate(scopes):
            engine.upsert_many(
                [f"m{j}" for j in range(6)],
                [f"oak {'jay' * (i % 3)} {j}" for j in range(6)],
                scope=scope,
                payloads=[b'{"metadata": {"n": %d}}' % (i * j) for j in range(6)],
            )
    for query in (Asked(), Asked(ids=["m1", "m5"]), Asked(exclude=["m0", "m2", "m4"])):
        for filter in (None, {"n": {"$gte": 40}}, {"n": 7}):
            options: dict[str, Any] = {"scope": scopes[3:30], "k": 300, "filter": filter, "query": query}
            judge.same_result(
                pair.engine.search("jay oak 3", **options), pair.model.search("jay oak 3", **options)
            )


@pytest.mark.parametrize("scope", [[], (), [None], ["acme"], [("acme", None, None)], {1}])
def test_invalid_scopes_are_refused(kit: Kit, scope: Any) -> None:
    pair = Pair(kit)
    kind, _ = pair.both(lambda engine: len(engine.search("jay", scope=scope)))
    assert kind == "raised"
