"""Hits are native views: they agree with the result's arrays, and outlive the objects they came from."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import pytest

from scrubjay import Engine, Hit, Index, Scope
from scrubjay._native import HitView, hits_of, named_in, names_in
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


@pytest.mark.parametrize("pickled", [False, True])
def test_names_in_payloads_are_found_as_in_their_bytes(pickled: bool) -> None:
    index = Index()
    given: list[Any] = [
        {"a": "x"},
        {"a": '"b":', "b": 1},
        None,
        {"a": "x", "c": {"a": "y"}},
        {"b": ""},
        {"a": ""},
    ]
    for place, metadata in enumerate(given):
        index.upsert(place, "sails", scope=JANE, metadata=metadata)
    found = index.search("sails", scope=JANE)
    hits = list(pickle.loads(pickle.dumps(found)) if pickled else found)
    payloads = [hit._result.payload(hit._position) or b"" for hit in hits]
    names = (b'"a":', b'"b":')
    assert names_in(hits, names) == [
        sum(1 << bit for bit, name in enumerate(names) if name in payload) for payload in payloads
    ]
    name = b'"a":"'
    assert [named_in(hit, name) for hit in hits] == [
        payload.split(name)[1].partition(b'"')[0] if payload.count(name) == 1 else None
        for payload in payloads
    ]
    assert {named_in(hit, name) for hit in hits} == {None, b"x", b"\\", b""}


def test_names_are_asked_of_hits_alone() -> None:
    ask: Any = names_in
    one: Any = named_in
    hit = filled([1]).search("sails", scope=JANE)[0]
    for arguments in (([1], (b"a",)), ([hit], ("a",)), ((hit,), (b"a",)), ([hit],), ([hit], [b"a"])):
        with pytest.raises(TypeError):
            ask(*arguments)
    with pytest.raises(ValueError, match="at most 8"):
        ask([hit], (b"a",) * 9)
    for arguments in ((1, b"a"), (hit, "a"), (hit,)):
        with pytest.raises(TypeError):
            one(*arguments)
    for hits in ([HitView.__new__(HitView)], [Hit.__new__(Hit)]):
        with pytest.raises(TypeError, match=r"__init__\(\) was not called"):
            ask(hits, (b"a",))


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


def test_a_hit_is_itself() -> None:
    index, acme = Index(), Scope("acme")
    for number in range(3):
        index.upsert(number, f"pump {number}", scope=acme)
    hits, again = index.search("pump", scope=acme), index.search("pump", scope=acme)
    assert hits[0] == hits[0] and hits[0] in hits and hits[-1] == hits[2] and len({*hits, *hits}) == 3
    assert hits[0] != hits[1] and hits[0] != again[0] and hits[0] != "0"
    with pytest.raises(TypeError, match="position: expected an int or a slice, got str"):
        hits["a"]  # type: ignore[call-overload]


TEXTS = [
    "pump",
    "pump ü",
    "pump ñandú" * 40,
    "pump 日本語 🙂",
    "pump \x00 end",
    "pump " + "x" * 5_000,
    "pump \x7f\x80",
    "pump é",
]


@pytest.mark.parametrize("as_str", [False, True])
def test_many_hits_are_read_as_one_by_one(as_str: bool) -> None:
    """In one pass, singly, by slices, as lists, and from a copy: texts of all kinds and of every length up to 70."""
    index, acme = Index(), Scope("acme")
    texts = [*TEXTS, *("pump" + "s" * n for n in range(70)), *("pump" + "ß" * n for n in range(70))]
    written = {f"é{place}" if as_str else place - 9: text for place, text in enumerate(texts)}
    for id, text in written.items():
        index.upsert(id, text, scope=acme)
    hits = index.search("pump", scope=acme, k=500)
    for found in (hits, pickle.loads(pickle.dumps(hits))):
        together = [(hit.id, hit.score, hit.text) for hit in found]
        singly = [(hit.id, hit.score, hit.text) for hit in (found[place] for place in range(len(found)))]
        assert together == singly == [(hit.id, hit.score, hit.text) for hit in found[:]]
        assert together == list(zip(found.ids.tolist(), found.scores.tolist(), found.texts, strict=True))
        assert len(together) >= len(TEXTS) and all(written[id] == text for id, _, text in together)
        assert {type(score) for _, score, _ in together} == {float}


def test_a_hit_of_a_part_of_a_character() -> None:
    """Engines take bytes that are not UTF-8: they are read with replacement characters."""
    engine, acme = Engine(), Scope("acme")
    engine.upsert(1, b"pump \xff\xc3", scope=acme)
    assert engine.search("pump", scope=acme).texts == ["pump \ufffd\ufffd"]


def test_attributes_of_an_uninitialised_hit_raise_attribute_error() -> None:
    for make in (HitView, Hit):
        for name in ("id", "score"):
            with pytest.raises(AttributeError, match=name):
                getattr(make.__new__(make), name)


def test_a_hit_can_be_made_again() -> None:
    hits = filled([1, 2]).search("sails", vector=[1.0, 0.0], scope=JANE)
    hit = hits[0]
    with pytest.raises(IndexError):
        hit.__init__(hits, 2)  # type: ignore[misc]
    assert (hit.id, hit.text) == (hits[0].id, hits[0].text)
    hit.__init__(hits, 1)  # type: ignore[misc]
    assert hit == hits[1] and (hit.id, hit.score, hit.text) == (hits[1].id, hits[1].score, hits[1].text)
