"""What must hold of an engine and its model after any write? Each function is one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.data.replay import Pair, outcome
from tests.reference import judge
from tests.reference.scopes import key

Key = tuple[str, str | None, str | None]


def same_number_of_documents(pair: Pair, scope_key: Key) -> None:
    """len, count() and count(scope) agree with the model."""
    assert len(pair.engine) == len(pair.model) == pair.engine.count()
    assert pair.engine.count(pair.scope(scope_key)) == pair.model.count(pair.scope(scope_key))


def same_documents(pair: Pair, id: Any) -> None:
    """get returns what was last written, or None; `in` says the same."""
    if outcome(lambda engine: engine.get(id), pair.model)[0] == "raised":
        pair.both(lambda engine: engine.get(id))
        return
    expected, given = pair.model.get(id), pair.engine.get(id)
    assert (given is None) == (expected is None)
    assert (id in pair.engine) == (expected is not None)
    if expected is None:
        return
    assert (given.id, given.text, given.payload) == (expected.id, expected.text, expected.payload)
    assert type(given.id) is type(expected.id)
    assert key(given.scope) == key(expected.scope)
    assert (given.vector is None) == (expected.vector is None)
    if expected.vector is not None:
        assert np.array_equal(given.vector, expected.vector)


def same_lexical_results(pair: Pair, query: str, scope_key: Key) -> None:
    """BM25 from a scope: ids, order, bits, evidence, stored texts and payloads."""
    options: dict[str, Any] = {"scope": pair.scope(scope_key), "mode": "lexical", "explain": True}
    judge.same_result(pair.engine.search(query, **options), pair.model.search(query, **options), explain=True)


def same_vector_results(pair: Pair, vector: Any, scope_key: Key) -> None:
    """Nearest vectors from a scope (the machine's vectors are exact)."""
    options: dict[str, Any] = {"vector": vector, "scope": pair.scope(scope_key), "mode": "vector"}
    given, expected = pair.engine.search(**options), pair.model.search(**options)
    judge.same_ids(given, expected)
    judge.same_bits(given.scores + 0.0, expected.scores + 0.0, "scores")


def same_hybrid_results(pair: Pair, query: str, vector: Any, scope_key: Key, k: int) -> None:
    """Both arms fused."""
    options: dict[str, Any] = {"vector": vector, "scope": pair.scope(scope_key), "k": k, "candidates": 5}
    judge.same_result(pair.engine.search(query, **options), pair.model.search(query, **options))


def nothing_foreign(pair: Pair, query: str, scope_key: Key) -> None:
    """Whatever is returned lies in a partition that the scope sees. (Says it without the model's ranking.)"""
    tenant, user, agent = scope_key
    result = pair.engine.search(query, scope=pair.scope(scope_key), k=judge.ALL, mode="lexical")
    for index in range(len(result)):
        found = key(result.scope(index))
        assert found[0] == tenant
        assert found[1] in (None, user)
        assert found[2] in (None, agent)


def same_statistics(pair: Pair, scope_key: Key) -> None:
    """The counters that callers see follow the live documents."""
    for scope in (None, pair.scope(scope_key)):
        given, expected = pair.engine.stats(scope), pair.model.stats(scope)
        assert {name: given[name] for name in expected} == expected
