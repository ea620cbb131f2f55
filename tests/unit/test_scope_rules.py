"""Visibility between scopes, and what erasing a scope removes."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import pytest

from scrubjay import Query
from tests.data.engines import Kit
from tests.reference.scopes import key, visible_partitions

COMPONENTS = list(itertools.product(["t1", "t2"], [None, "u1", "u2"], [None, "a1", "a2"]))


@pytest.fixture
def full(kit: Kit) -> Any:
    """One document in each of eighteen partitions; its id spells the scope."""
    engine = kit.Engine(dim=2)
    for components in COMPONENTS:
        engine.upsert(repr(components), "the same text", scope=kit.Scope(*components), vector=[1.0, 0.5])
    return engine


def seen_by_the_rule(tenant: str, user: str | None, agent: str | None) -> set[str]:
    """Own and shared documents: a component of the document is None or that of the searcher."""
    return {
        repr((t, u, a)) for t, u, a in COMPONENTS if t == tenant and u in (None, user) and a in (None, agent)
    }  # fmt: skip


@pytest.mark.parametrize("components", COMPONENTS, ids=repr)
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_a_search_sees_its_own_and_the_shared(kit: Kit, full: Any, components: tuple, mode: str) -> None:
    scope = kit.Scope(*components)
    result = full.search("same text", vector=[1.0, 0.0], scope=scope, query=Query(mode=mode), k=100)
    assert set(result.ids) == seen_by_the_rule(*components)
    assert full.count(scope) == len(result)
    assert all(repr(key(result.scope(index))) == id for index, id in enumerate(result.ids))


def test_ties_stand_in_partition_order(kit: Kit) -> None:
    engine = kit.Engine()
    partitions = [("t", None, None), ("t", "u", None), ("t", None, "a"), ("t", "u", "a")]
    for number, components in enumerate(reversed(partitions)):
        engine.upsert_many([2 * number, 2 * number + 1], ["jay", "jay"], scope=kit.Scope(*components))
    assert engine.search("jay", scope=kit.Scope("t", "u", "a")).ids.tolist() == [6, 7, 4, 5, 2, 3, 0, 1]


@pytest.mark.parametrize("components", COMPONENTS, ids=repr)
@pytest.mark.parametrize("exact", [False, True])
def test_erase_removes_the_scopes_that_match(kit: Kit, full: Any, components: tuple, exact: bool) -> None:
    doomed = {
        repr(other)
        for other in COMPONENTS
        if (
            other == components
            if exact
            else all(w is None or w == h for w, h in zip(components, other, strict=True))
        )
    }
    everything = {repr(other) for other in COMPONENTS}
    assert full.erase(kit.Scope(*components), exact=exact) == len(doomed)
    left = {repr(other) for other in COMPONENTS if full.get(repr(other), scope=kit.Scope(*other)) is not None}
    assert left == everything - doomed
    assert full.erase(kit.Scope(*components), exact=exact) == 0
    for other in COMPONENTS:
        result = full.search("same text", scope=kit.Scope(*other), k=100)
        assert set(result.ids) == seen_by_the_rule(*other) - doomed


@pytest.mark.parametrize("components", COMPONENTS, ids=repr)
@pytest.mark.parametrize("exact", [False, True])
def test_erase_goes_by_scope_where_all_have_one_id(kit: Kit, components: tuple, exact: bool) -> None:
    engine = kit.Engine()
    engine.upsert_many(
        ["m"] * len(COMPONENTS),
        [f"jay {components!r}" for components in COMPONENTS],
        scope=[kit.Scope(*components) for components in COMPONENTS],
    )
    doomed = [
        other
        for other in COMPONENTS
        if (
            other == components
            if exact
            else all(w is None or w == h for w, h in zip(components, other, strict=True))
        )
    ]
    assert engine.erase(kit.Scope(*components), exact=exact) == len(doomed)
    for other in COMPONENTS:
        result = engine.search("jay", scope=kit.Scope(*other), k=100)
        seen = [seen for seen in visible_partitions(kit.Scope(*other)) if seen not in doomed]
        assert [key(result.scope(index)) for index in range(len(result))] == seen
        assert [result.text(index) for index in range(len(result))] == [f"jay {home!r}" for home in seen]


def test_an_erased_id_is_free_again(kit: Kit) -> None:
    engine = kit.Engine()
    engine.upsert("m", "jay", scope=kit.Scope("t1"))
    engine.erase(kit.Scope("t1"))
    engine.upsert("m", "jay", scope=kit.Scope("t2"))
    assert engine.count(kit.Scope("t2")) == 1
    assert len(engine.search("jay", scope=kit.Scope("t1"))) == 0
    engine.upsert("m", "jay again", scope=kit.Scope("t1"))
    assert engine.get("m", scope=kit.Scope("t1")).text == "jay again"
    assert engine.get("m", scope=kit.Scope("t2")).text == "jay"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b", None), ("a", None, "b")),
        (("ab", None, None), ("a", "b", None)),
        (("a\0b", None, None), ("a", "b", None)),
        (("a", "b\0c", None), ("a", "b", "c")),
        (("a/b", None, None), ("a", "b", None)),
        (("a", "None", None), ("a", None, None)),
        (("a", "\0", None), ("a", None, None)),
        (("a\0", None, None), ("a", None, None)),
        (("a", " ", None), ("a", None, None)),
        (("A", None, None), ("a", None, None)),
        (("e\u0301", None, None), ("\u00e9", None, None)),
        (("a ", None, None), ("a", None, None)),
    ],
    ids=repr,
)
def test_names_are_never_confused(kit: Kit, one: tuple, other: tuple) -> None:
    """Names are not joined, trimmed, folded or normalised: different names are different partitions, and an id in one
    is another document than the same id in the other.
    """
    engine = kit.Engine()
    engine.upsert("one", "jay", scope=kit.Scope(*one))
    engine.upsert("other", "jay", scope=kit.Scope(*other))
    assert kit.Scope(*one) != kit.Scope(*other)
    for components in (one, other):
        visible = visible_partitions(kit.Scope(*components))
        expected = {id for id, home in (("one", one), ("other", other)) if home in visible}
        assert set(engine.search("jay", scope=kit.Scope(*components)).ids) == expected
    assert key(engine.get("one", scope=kit.Scope(*one)).scope) == one
    engine.erase(kit.Scope(*one), exact=True)
    assert list(engine.search("jay", scope=kit.Scope(*other)).ids) == ["other"]
    for home in (one, other):
        engine.upsert("both", f"oak {home!r}", scope=kit.Scope(*home))
    for home in (one, other):
        assert engine.get("both", scope=kit.Scope(*home)).text == f"oak {home!r}"
    assert engine.delete("both", scope=kit.Scope(*one))
    assert not engine.delete("both", scope=kit.Scope(*one))
    assert engine.get("both", scope=kit.Scope(*other)).text == f"oak {other!r}"


def test_a_scope_is_a_value(kit: Kit) -> None:
    scope = kit.Scope("acme", user="jane")
    assert (scope.tenant, scope.user, scope.agent) == ("acme", "jane", None)
    assert scope == kit.Scope("acme", "jane") == kit.Scope("acme", "jane", None)
    assert hash(scope) == hash(kit.Scope("acme", "jane"))
    assert scope != kit.Scope("acme", agent="jane")
    assert scope != kit.Scope("acme")
    assert scope != "acme"
    assert len({scope, kit.Scope("acme", "jane"), kit.Scope("acme")}) == 2
    assert pickle.loads(pickle.dumps(scope)) == scope
    assert pickle.loads(pickle.dumps(kit.Scope("é\0", None, "x"))) == kit.Scope("é\0", None, "x")
    assert "acme" in repr(scope)
    assert "jane" in repr(scope)
    with pytest.raises(AttributeError):
        scope.tenant = "globex"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, TypeError),
        ({"tenant": None}, TypeError),
        ({"tenant": ""}, ValueError),
        ({"tenant": 7}, TypeError),
        ({"tenant": b"acme"}, TypeError),
        ({"tenant": "acme", "user": ""}, ValueError),
        ({"tenant": "acme", "user": 7}, TypeError),
        ({"tenant": "acme", "agent": ""}, ValueError),
        ({"tenant": "acme", "agent": 1.5}, TypeError),
        ({"tenant": "\ud800"}, ValueError),
        ({"tenant": "acme", "user": "\udfff"}, ValueError),
    ],
    ids=repr,
)
def test_scopes_with_invalid_names_are_refused(kit: Kit, arguments: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        kit.Scope(**arguments)


def test_statistics_are_joint_over_the_visible_partitions(kit: Kit) -> None:
    """Split over four partitions, with a foreign one beside them, or in one: the same scores, to the bit."""
    texts = [f"jay {'oak ' * (number % 3)}w{number}" for number in range(40)]
    split, single = kit.Engine(), kit.Engine()
    partitions = [("t", None, None), ("t", "u", None), ("t", None, "a"), ("t", "u", "a")]
    for number, text in enumerate(texts):
        split.upsert(1000 + number, f"jay {text} oak", scope=kit.Scope("t", "someone else"))
        split.upsert(number, text, scope=kit.Scope(*partitions[number // 10]))
        single.upsert(number, text, scope=kit.Scope("t"))
    for query in ("jay", "oak", "w7 oak jay", "jay jay w39"):
        from_split = split.search(query, scope=kit.Scope("t", "u", "a"), k=40)
        from_single = single.search(query, scope=kit.Scope("t"), k=40)
        assert from_split.ids.tolist() == from_single.ids.tolist()
        assert from_split.scores.tobytes() == from_single.scores.tobytes()
