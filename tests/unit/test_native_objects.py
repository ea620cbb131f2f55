"""The native classes as Python objects: fast paths by exact type must give the same results for subclasses, too."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from scrubjay import Engine, Scope

SCOPE = Scope("acme", user="jane")


class OwnEngine(Engine):
    pass


class OwnScope(Scope):
    pass


def filled(kind: type[Engine] = Engine) -> Engine:
    engine = kind(4)
    vectors = np.eye(4, dtype=np.float32)
    engine.upsert_many([1, 2, 3, 4], ["oak", "oak elm", "elm", "ash"], scope=SCOPE, vectors=vectors)
    return engine


def both(result: Any) -> tuple[list[int], list[float]]:
    ids, scores = result
    return ids.tolist(), scores.tolist()


def test_subclasses_of_engine_and_scope_search_as_they_do() -> None:
    expected = both(filled().search("oak", vector=np.ones(4, np.float32), scope=SCOPE))
    assert expected[0][:2] == [1, 2]
    own = filled(OwnEngine)
    for scope in (SCOPE, OwnScope("acme", user="jane")):
        assert both(own.search("oak", vector=np.ones(4, np.float32), scope=scope)) == expected


@pytest.mark.parametrize("kind", [Scope, OwnScope])
def test_a_scope_that_was_never_initialised_is_refused(kind: type[Scope]) -> None:
    with pytest.raises(TypeError):
        filled().search("oak", scope=kind.__new__(kind))


def test_an_engine_that_was_never_initialised_is_refused() -> None:
    with pytest.raises(TypeError):
        Engine.__new__(Engine).search("oak", scope=SCOPE)


@pytest.mark.parametrize("kind", [Scope, OwnScope])
def test_scopes_are_copied_and_pickled(kind: type[Scope]) -> None:
    scope = kind("acme", user="jane")
    for twin in (copy.copy(scope), copy.deepcopy(scope), pickle.loads(pickle.dumps(scope))):
        assert type(twin) is kind and twin == scope and hash(twin) == hash(scope)


def test_scopes_hash_and_compare_like_their_subclasses() -> None:
    scopes = [Scope("acme"), Scope("acme", user="jane"), Scope("acme", agent="jane"), Scope("acme", "a", "b")]
    for i, scope in enumerate(scopes):
        for kind in (Scope, OwnScope):
            twin = kind(scope.tenant, scope.user, scope.agent)
            assert hash(twin) == hash(scope) == scope.__hash__()
            assert [twin == other for other in scopes] == [i == j for j in range(len(scopes))]
            assert [twin != other for other in scopes] == [i != j for j in range(len(scopes))]
            assert {scope: i}[twin] == i
        assert scope != "acme" and scope != None and scope.__eq__("acme") is NotImplemented  # noqa: E711
    assert sorted(scopes, reverse=True)[-1] == scopes[0] and scopes[0] < scopes[1]
    with pytest.raises(TypeError):
        scopes[0] < "acme"  # type: ignore[operator]  # noqa: B015


@pytest.mark.parametrize("kind", [Scope, OwnScope])
def test_a_scope_that_was_never_initialised_is_no_key(kind: type[Scope]) -> None:
    unset = kind.__new__(kind)
    with pytest.raises(TypeError):
        hash(unset)
    with pytest.raises(TypeError):
        unset == SCOPE  # noqa: B015
    with pytest.raises(TypeError):
        SCOPE.__eq__(unset)


def test_a_scope_in_use_never_changes() -> None:
    scope = Scope("acme")
    held = {scope: 1}
    assert not hasattr(scope, "__setstate__")
    scope.__init__("evil")  # type: ignore[misc]
    assert repr(scope) == "Scope('acme')" and held[Scope("acme")] == 1


def test_a_second_init_changes_nothing_while_others_search() -> None:
    engine, stop = filled(), threading.Event()

    def search() -> None:
        while not stop.is_set():
            assert both(engine.search("oak", scope=SCOPE))[0] == [1, 2]

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(500):
        engine.__init__(dim=3)  # type: ignore[misc]
    stop.set()
    for thread in threads:
        thread.join()
    assert len(engine) == 4 and engine.dim == 4


@pytest.mark.parametrize("scope", [None, "acme", 3, Scope])
def test_an_invalid_scope_is_refused_by_name(scope: Any) -> None:
    with pytest.raises(TypeError, match=r"scope: expected a scrubjay\.Scope"):
        filled().search("oak", scope=scope)


def test_results_of_single_and_batched_searches_are_the_same_kind_of_object() -> None:
    engine = filled()
    single = engine.search("elm", scope=SCOPE)
    (batched,) = engine.search_batch(["elm"], scope=SCOPE)
    assert type(single) is type(batched)
    assert both(single) == both(batched) == both(iter(single)) == both(type(single).__iter__(single))
    assert single.ids.dtype == np.dtype(np.int64) and single.scores.dtype == np.dtype(np.float64)
    assert single.ids.flags.owndata and single.ids.flags.writeable


def test_results_outlive_their_engine_and_die_when_the_last_reference_goes() -> None:
    engine = filled()
    single = engine.search("elm", scope=SCOPE)
    (batched,) = engine.search_batch(["elm"], scope=SCOPE)
    del engine
    for result in (single, batched):
        assert result.text(0) == "elm"
    seen = [weakref.ref(single), weakref.ref(batched)]
    del single, batched, result
    gc.collect()
    assert [reference() for reference in seen] == [None, None]


@pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="counts references")
def test_a_thousand_results_leave_no_reference_to_their_type() -> None:
    engine = filled()
    kind = type(engine.search("elm", scope=SCOPE))
    before = sys.getrefcount(kind)
    kept = [engine.search("elm", scope=SCOPE) for _ in range(1_000)]
    kept += engine.search_batch(["elm"] * 1_000, scope=SCOPE)
    for result in kept:
        ids, _ = result
        assert ids[0] == 3
    del kept, result
    gc.collect()
    assert sys.getrefcount(kind) == before
