"""The invariants of an engine and its model after any write. Each function is one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from scrubjay import Query
from tests.data.replay import Pair, outcome
from tests.reference import judge
from tests.reference.query import Asked
from tests.reference.scopes import key

Key = tuple[str, str | None, str | None]


def same_number_of_documents(pair: Pair, scope_key: Key) -> None:
    """len, count() and count(scope) agree with the model."""
    assert len(pair.engine) == len(pair.model) == pair.engine.count()
    assert pair.engine.count(pair.scope(scope_key)) == pair.model.count(pair.scope(scope_key))


def same_documents(pair: Pair, id: Any, scope_key: Key) -> None:
    """get returns the most specific document that the scope sees, as last written, or None."""
    scope = pair.scope(scope_key)
    if outcome(lambda engine: engine.get(id, scope=scope), pair.model)[0] == "raised":
        pair.both(lambda engine: engine.get(id, scope=scope))
        return
    expected, given = pair.model.get(id, scope=scope), pair.engine.get(id, scope=scope)
    assert (given is None) == (expected is None)
    if expected is None:
        return
    assert (given.id, given.text, given.payload) == (expected.id, expected.text, expected.payload)
    assert type(given.id) is type(expected.id)
    assert key(given.scope) == key(expected.scope)
    assert (given.vector is None) == (expected.vector is None)
    if expected.vector is not None:
        same = zip(_parts(given.vector), _parts(expected.vector), strict=True)
        assert all(np.array_equal(one, other) for one, other in same)


def same_lexical_results(pair: Pair, query: str, scope_key: Key) -> None:
    """BM25 from a scope: ids, order, bits, evidence, stored texts and payloads."""
    options: dict[str, Any] = {
        "scope": pair.scope(scope_key),
        "query": Asked(mode="lexical"),
        "explain": True,
    }
    judge.same_result(pair.engine.search(query, **options), pair.model.search(query, **options), explain=True)


def _parts(vector: Any) -> tuple[Any, ...]:
    return vector if isinstance(vector, tuple) else (vector,)


def same_vector_results(pair: Pair, vector: Any, scope_key: Key) -> None:
    """Nearest vectors from a scope (the machine's vectors are exact)."""
    options: dict[str, Any] = {
        "vector": vector,
        "scope": pair.scope(scope_key),
        "query": Asked(mode="vector"),
    }
    given, expected = pair.engine.search(**options), pair.model.search(**options)
    judge.same_keys(given, expected)
    judge.same_bits(given.scores + 0.0, expected.scores + 0.0, "scores")


def same_hybrid_results(pair: Pair, query: str, vector: Any, scope_key: Key, k: int) -> None:
    """Both rankings, fused."""
    options: dict[str, Any] = {
        "vector": vector,
        "scope": pair.scope(scope_key),
        "k": k,
        "query": Asked(candidates=5),
    }
    judge.same_result(pair.engine.search(query, **options), pair.model.search(query, **options))


def same_rankings(pair: Pair, scope_key: Key, entries: list[Any]) -> None:
    """A caller's ranking of ids and of pairs (scope, id)."""
    options: dict[str, Any] = {"scope": pair.scope(scope_key), "query": Asked(rankings=[entries]), "k": 50}
    judge.same_result(pair.engine.search("jay", **options), pair.model.search("jay", **options))


def same_admitted_ids(pair: Pair, scope_key: Key, ids: list[Any]) -> None:
    """An id in `ids` and in `exclude` refers to every visible document with it."""
    for choice in ({"ids": ids}, {"exclude": ids}):
        options: dict[str, Any] = {"scope": pair.scope(scope_key), "k": judge.ALL, "query": Asked(**choice)}
        judge.same_result(pair.engine.search("jay oak", **options), pair.model.search("jay oak", **options))
        pair.both(lambda engine, choice=choice: engine.count(pair.scope(scope_key), **choice))


def nothing_foreign(pair: Pair, query: str, scope_key: Key) -> None:
    """Every hit is in a partition that the scope sees. (Without the model's ranking.)"""
    tenant, user, agent = scope_key
    result = pair.engine.search(query, scope=pair.scope(scope_key), k=judge.ALL, query=Query(mode="lexical"))
    for index in range(len(result)):
        found = key(result.scope(index))
        assert found[0] == tenant
        assert found[1] in (None, user)
        assert found[2] in (None, agent)


def same_statistics(pair: Pair, scope_key: Key) -> None:
    """The counters that callers see match the live documents."""
    for scope in (None, pair.scope(scope_key)):
        given, expected = pair.engine.stats(scope), pair.model.stats(scope)
        assert {name: given[name] for name in expected} == expected
