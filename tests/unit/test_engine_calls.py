"""The fast entries of Engine's short calls: every form of the arguments, and the errors of pybind11's entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scrubjay import Engine, Scope

JANE = Scope("acme", "jane")
OTHER = Scope("acme", "joe")


class Subclass(Engine):
    """Left to pybind11's entry."""


@pytest.fixture(params=[Engine, Subclass])
def engine(request: pytest.FixtureRequest) -> Engine:
    made: Engine = request.param(2)
    made.upsert(1, "a jay", scope=JANE, vector=[1.0, 0.0], payload=b"x")
    return made


@pytest.mark.parametrize(
    "call",
    [
        lambda e: e.upsert(2, "an oak", scope=JANE),
        lambda e: e.upsert(2, text="an oak", scope=JANE, vector=None, payload=None),
        lambda e: e.upsert(scope=JANE, text="an oak", id=2),
        lambda e: e.upsert(2, "an oak", **{"".join(["sco", "pe"]): JANE}),
        lambda e: Engine.upsert(e, 2, "an oak", scope=JANE),
    ],
)
def test_upsert_takes_its_arguments_in_every_way(engine: Engine, call: Any) -> None:
    assert call(engine) is None
    assert engine.get(2, scope=JANE).text == "an oak" and len(engine) == 2


def test_get_and_delete_take_their_arguments_in_every_way(engine: Engine) -> None:
    for document in (engine.get(1, scope=JANE), engine.get(id=1, scope=JANE), engine.get(scope=JANE, id=1)):
        assert (document.id, document.text, document.scope, document.payload) == (1, "a jay", JANE, b"x")
        assert np.array_equal(document.vector, [1.0, 0.0])
    assert engine.get(2, scope=JANE) is None and engine.get(1, scope=OTHER) is None
    assert engine.delete(1, scope=OTHER) is False
    assert engine.delete(id=1, scope=JANE) is True
    assert engine.delete(1, scope=JANE) is False
    assert engine.get(1, scope=JANE) is None


def test_a_document_outlives_its_engine(engine: Engine) -> None:
    found = [engine.get(1, scope=JANE) for _ in range(3)]
    engine.delete(1, scope=JANE)
    del engine
    assert [document.text for document in found] == ["a jay"] * 3


@pytest.mark.parametrize("name", ["get", "delete"])
def test_unusual_arguments_get_the_usual_errors(engine: Engine, name: str) -> None:
    method = getattr(engine, name)
    for arguments, keywords in (
        ((), {}),
        ((1,), {}),
        ((1, JANE), {}),
        ((1,), {"scope": JANE, "id": 1}),
        ((1,), {"scope": JANE, "k": 1}),
        ((), {"scope": JANE}),
    ):
        with pytest.raises(TypeError, match=rf"{name}\(\): incompatible function arguments"):
            method(*arguments, **keywords)
    with pytest.raises(TypeError, match=r"scope: expected a scrubjay\.Scope, got NoneType"):
        method(1, scope=None)
    with pytest.raises(TypeError, match="id: expected a str or an int"):
        method(1.5, scope=JANE)
    with pytest.raises(ValueError, match="id: expected a non-empty str"):
        method("", scope=JANE)
    with pytest.raises(TypeError, match="id: expected int like the ids of this index"):
        method("m1", scope=JANE)
    with pytest.raises(TypeError, match=f"'{name}' for 'scrubjay._native.Engine' objects"):
        getattr(Engine, name)(object(), 1, scope=JANE)
    assert len(engine) == 1


def test_a_failed_upsert_is_tried_once() -> None:
    seen: list[str] = []

    def stem(word: str) -> str:
        seen.append(word)
        raise LookupError(word)

    engine = Engine(analyzer="own", stemmer=stem)
    with pytest.raises(LookupError, match="jay"):
        engine.upsert(1, "jay", scope=JANE)
    assert seen == ["jay"] and len(engine) == 0


def test_get_on_an_uninitialised_engine_names_the_problem() -> None:
    hollow = Engine.__new__(Engine)
    for call in (hollow.get, hollow.delete):
        with pytest.raises(TypeError, match="__init__"):
            call(1, scope=JANE)
