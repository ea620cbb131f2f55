"""The rankings by links order documents as their twin does, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrubjay import Index, Links, Query, Scope
from scrubjay.documents import payload
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.reference import judge
from tests.reference.fusion import Options
from tests.reference.query import Asked

HOME = ("acme", "jane", None)
SCOPE = Scope("acme", user="jane")
NAMES = ["a", "b", "c", "d", "e", "7", "07", "nowhere", ""]

homes = st.one_of(st.just(HOME), st.just(HOME), st.just(HOME), draw.scope_keys)
linked = st.one_of(
    st.lists(st.sampled_from(NAMES[:6]), max_size=4),
    st.lists(st.sampled_from(NAMES[:6]), max_size=4),
    st.lists(st.one_of(st.sampled_from(NAMES), st.sampled_from([7, None, True])), max_size=4),
    st.sampled_from([None, *NAMES]),
)
_row = st.tuples(
    homes, st.sampled_from(NAMES[:7]), linked, st.sampled_from(["jay", "jay oak", "oak", "acorn"]),
    draw.some_exact_vectors,
)  # fmt: skip
# Hypothesis prefers short lists; graphs need documents.
documents = st.integers(3, 12).flatmap(lambda n: st.lists(_row, min_size=n, max_size=n))
# A chain, with a hub at its end to which all link; a fan with unequally linked rim; and a line.
CHAIN = [
    (HOME, name, [following, "e"], "acorn" if name != "a" else "jay", None)
    for name, following in zip("abcde", "bcdeb", strict=True)
]

FAN = [
    (HOME, name, links, "jay", None)
    for name, links in (("a", ["b", "c"]), ("b", ["d", "e"]), ("c", ["e"]), ("d", []), ("e", []))
]
LINE = [(HOME, name, following, "jay", None) for name, following in zip("abcde", "bcde7", strict=True)]
ONES = np.ones(4, np.float32)


@given(
    documents, draw.exact_vectors, homes, st.lists(st.sampled_from(NAMES[:8]), max_size=3),
    st.integers(1, 4), st.sampled_from(["out", "in", "both"]), st.booleans(),
    st.sampled_from(["auto", "rrf", "boost", "weighted"]), st.sampled_from([None, 1, 3]),
    st.sampled_from(["hybrid", "lexical"]), st.sampled_from(["jay oak", "jay oak", None]), st.booleans(),
    st.sampled_from([None, 2]), st.lists(st.sampled_from(NAMES[:5]), max_size=2), st.booleans(),
)  # fmt: skip
@example(CHAIN, ONES, HOME, ["a"], 2, "out", True, "rrf", None, "lexical", "jay oak", False, None, [], True)
@example(CHAIN, ONES, HOME, ["e"], 1, "in", True, "rrf", 1, "hybrid", None, False, None, ["b"], False)
@example(LINE, ONES, HOME, ["a"], 4, "out", False, "rrf", None, "hybrid", None, False, None, [], False)
@example(FAN, ONES, HOME, ["a"], 2, "out", False, "rrf", None, "hybrid", None, False, None, [], False)
@example(FAN, ONES, HOME, [], 1, "both", True, "rrf", 1, "lexical", "jay oak", False, None, [], False)
def test_links_rank_as_their_twin_says(
    kit: Kit, rows: list[tuple[Any, Any, Any, str, Any]], vector: NDArray[np.float32], key: tuple, centres: list[str],
    hops: int, direction: Any, mentions: bool, method: str, chunk_docs: int | None, mode: str, text: str | None,
    with_vector: bool, candidates: int | None, excluded: list[str], deletes: bool,
) -> None:  # fmt: skip
    pair = Pair(kit, chunk_docs=chunk_docs, dim=draw.DIM, metric="ip").apply([])
    for home, id, links, words, own in rows:
        scope, encoded = pair.scope(home), payload.encode({"links": links}, None)
        pair.both(
            lambda engine, id=id, words=words, own=own, scope=scope, encoded=encoded: engine.upsert(
                id, words, scope=scope, vector=own, payload=encoded
            )
        )
    if deletes and rows:
        scope = pair.scope(rows[0][0])
        pair.both(lambda engine: engine.delete(rows[0][1], scope=scope))
    mode = mode if text is not None else "hybrid"
    links = Links(centres, hops, direction, mentions) if centres or mentions else Links(["a"])
    weights = (1.0, 1.0, 0.5, 2.0)
    query = Asked(Options(method, weights=weights), mode, candidates, exclude=excluded, links=links)
    given_vector = vector if with_vector and mode == "hybrid" else None
    if text is None and given_vector is None and not centres:
        return
    asked: dict[str, Any] = {"scope": pair.scope(key), "k": 20, "query": query, "vector": given_vector}
    for explain in (False, True):
        judge.same_result(
            pair.engine.search(text, **asked, explain=explain),
            pair.model.search(text, **asked, explain=explain),
            explain=explain,
        )


@pytest.fixture
def family() -> Index:
    index = Index(dim=2)
    links = {"jane": ["lin", "joe"], "lin": ["max"], "joe": [], "max": ["ada"], "ada": [], "zoe": ["jane"]}
    for name, others in links.items():
        index.upsert(name, f"{name} is a person", scope=SCOPE, metadata={"links": others})
    return index


@pytest.mark.parametrize(
    ("direction", "hops", "expected"),
    [
        ("out", 1, ["lin", "joe"]),
        ("out", 2, ["lin", "joe", "max"]),
        ("both", 1, ["lin", "joe", "zoe"]),
        ("in", 3, ["zoe"]),
    ],
)
def test_distance_alone_is_a_walk(family: Index, direction: Any, hops: int, expected: list[str]) -> None:
    query = Query("rrf", links=Links(["jane"], hops=hops, direction=direction))
    assert family.search(None, scope=SCOPE, query=query).ids.tolist() == expected


def test_mentions_reorder_what_was_found(family: Index) -> None:
    family.upsert("w", "max walks", scope=SCOPE, metadata={"links": ["max", "max"]})
    plain = family.search("person", scope=SCOPE, query=Query("rrf"), k=2).ids.tolist()
    ranked = family.search("person", scope=SCOPE, query=Query("rrf", links=Links(mentions=True)), k=6)
    assert plain == ["jane", "lin"] and set(ranked.ids) == {"jane", "lin", "joe", "max", "ada", "zoe"}
    assert ranked.ids.tolist()[0] in ("jane", "max")  # lexically first, or with most mentions


def test_links_are_not_followed_through_filtered_documents(family: Index) -> None:
    query = Query("rrf", links=Links(["jane"], direction="out"), exclude=["lin"])
    assert family.search(None, scope=SCOPE, query=query).ids.tolist() == ["joe"]


def test_links_do_not_leave_the_scope(family: Index) -> None:
    family.upsert("ada", "another", scope=Scope("acme", user="joe"), metadata={"links": ["jane"]})
    query = Query("rrf", links=Links(["jane"], hops=10))
    found = family.search(None, scope=SCOPE, query=query)
    assert {hit.scope for hit in found} == {SCOPE} and len(found) == 5
    assert len(family.search(None, scope=Scope("acme", user="joe"), query=query)) == 0


def test_more_links_than_codes_of_a_chunk() -> None:
    """A field with more distinct texts than a chunk has codes for: the rest is compared as text."""
    index = Index(dim=2)
    many = [f"n{i}" for i in range(65_600)]
    index.upsert("a", "first", scope=SCOPE, metadata={"links": many})
    index.upsert("n65599", "last", scope=SCOPE, metadata={"links": []})
    for centre, direction, other in (("a", "out", "n65599"), ("n65599", "in", "a")):
        query = Query("rrf", links=Links([centre], direction=direction))  # type: ignore[arg-type]
        assert index.search(None, scope=SCOPE, query=query).ids.tolist() == [other]


def test_ids_that_are_integers_are_linked_in_decimal() -> None:
    index = Index(dim=2)
    index.upsert(1, "one", scope=SCOPE, metadata={"links": ["-2", "03", "+1"]})
    index.upsert(-2, "two", scope=SCOPE, metadata={"links": "1"})
    index.upsert(3, "three", scope=SCOPE)
    for direction in ("out", "in"):
        query = Query("rrf", links=Links([1], direction=direction))  # type: ignore[arg-type]
        assert index.search(None, scope=SCOPE, query=query).ids.tolist() == [-2]
    with pytest.raises(TypeError, match=r"links\.centres"):
        index.search("one", scope=SCOPE, query=Query(links=Links(["1"])))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "centres: expected ids, or mentions=True, got neither"),
        ({"centres": "jane"}, TypeError, "centres: expected ids .*, got str 'jane'"),
        ({"centres": ["a"], "hops": 0}, ValueError, "hops: expected 1 to 10, got 0"),
        ({"centres": ["a"], "hops": True}, TypeError, "hops: expected int, got bool True"),
        ({"centres": ["a"], "direction": "up"}, ValueError, "direction: expected 'out', 'in' or 'both', got 'up'"),
        ({"centres": ["a"], "mentions": 1}, TypeError, "mentions: expected bool, got int 1"),
        ({"centres": ["a"], "field": ""}, ValueError, "field: expected the name of a metadata field, got ''"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(")):
        Links(**options)
    with pytest.raises(TypeError, match="links: expected Links, got list"):
        Query(links=["a"])  # type: ignore[arg-type]


def test_the_query_is_equal_to_its_copy_and_belongs_to_one_question() -> None:
    query = Query(links=Links(["a", (SCOPE, "b")], mentions=True))
    assert query == query.replace() and hash(query) == hash(query.replace())
    with pytest.raises(ValueError, match="links"):
        query.to_dict()
