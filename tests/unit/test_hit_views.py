"""Hits are views that native code makes: do they say what the result's arrays say, and outlive what they came from?"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from scrubjay import Hit, Index, Scope
from scrubjay._native import HitView, hits_of
from scrubjay.backend import Backend

JANE = Scope("acme", user="jane")


def filled(ids: list[Any]) -> Index:
    index = Index(dim=2)
    for place, id in enumerate(ids):
        index.upsert(id, f"sails and ropes {id} ü", scope=JANE, vector=[1.0, place / 10])
    return index


@pytest.mark.parametrize("ids", [[5, -7, 2**62], ["a", "ß", "x" * 300]])
def test_a_hit_says_what_the_arrays_say(ids: list[Any]) -> None:
    hits = filled(ids).search("sails", vector=[1.0, 0.0], scope=JANE)
    assert [hit.id for hit in hits] == hits.ids.tolist()
    assert {type(hit.id) for hit in hits} == {type(ids[0])}
    assert [hit.score for hit in hits] == hits.scores.tolist()
    assert {hit.text for hit in hits} == {f"sails and ropes {id} ü" for id in ids}
    assert [hit.id for hit in hits[1:]] == hits.ids.tolist()[1:]
    assert (hits[-1].id, hits[0].score) == (hits.ids.tolist()[-1], hits.scores[0])


def test_a_hit_outlives_hits_index_and_document() -> None:
    index = filled([1, 2, 3])
    first = next(iter(index.search("sails", vector=[1.0, 0.0], scope=JANE)))
    index.delete(first.id, scope=JANE)
    index.close()
    del index
    gc.collect()
    assert (first.id, first.text) == (1, "sails and ropes 1 ü")


def test_a_circle_through_a_hit_is_collected() -> None:
    class Kept(Hit):
        pass

    hits = filled([1]).search("sails", scope=JANE)
    one: Any = Kept(hits, 0)
    one.me = one
    gone = weakref.ref(one)
    del one, hits
    gc.collect()
    assert gone() is None


def test_hits_are_of_the_class_that_is_asked_for() -> None:
    class Other(Hit):
        pass

    index = filled([1, 2])
    hits = index.search("sails", scope=JANE)
    result = Backend.of(index).engine.search("sails", scope=JANE)
    assert {type(one) for one in hits_of(Other, hits, result)} == {Other}
    assert {type(one) for one in hits} == {Hit}


def test_bad_arguments_are_refused() -> None:
    hits: Any = filled([1]).search("sails", scope=JANE)
    wrong: Any = hits_of
    for arguments in ((int, hits, hits._result), (Hit, hits, hits), (Hit, hits)):
        with pytest.raises(TypeError):
            wrong(*arguments)
    for place in (1, -1, 2**62):
        with pytest.raises(IndexError, match="position: expected 0 to 0"):
            Hit(hits, place)
    with pytest.raises(TypeError, match="result: expected a Result"):
        HitView(hits, 3, 0)  # type: ignore[arg-type]
    for make in (HitView, Hit):
        with pytest.raises(TypeError, match=r"__init__\(\) was not called"):
            make.__new__(make).text  # noqa: B018
    for name in ("id", "score", "text"):
        with pytest.raises(AttributeError):
            setattr(hits[0], name, 1)
