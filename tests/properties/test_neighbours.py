"""Only the turns beside a turn count. Compared with the twin, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrubjay import Index, Neighbours, Query, Scope
from scrubjay.documents import payload
from tests.data import strategies as draw
from tests.data.engines import Kit
from tests.data.replay import Pair
from tests.reference import judge
from tests.reference.fusion import Options
from tests.reference.query import Asked

HOME = ("acme", "jane", None)
SCOPE = Scope("acme", user="jane")

turns = st.fixed_dictionaries(
    {},
    optional={
        "run": st.sampled_from(["a", "a", "a", "b", 3, 3, "3", 3.0, True, 2**64, -(2**63), ""]),
        "position": st.one_of(st.integers(0, 4), st.sampled_from([2**63 - 1, -(2**63) + 1, 1.0, "1", True])),
        "speaker": st.sampled_from(["ada", "bob", "bob", 1, 1, 2, None, True, ["ada"]]),
    },
)
documents = st.lists(
    st.tuples(
        draw.scope_keys, turns, st.sampled_from(["jay", "jay oak", "oak", "acorn"]), draw.some_exact_vectors
    ),
    max_size=10,
)
TALK = [
    (
        HOME,
        {"run": "a", "position": n, "speaker": "ada" if n % 2 else "bob"},
        "jay oak"[: 3 + 4 * (n % 2)],
        None,
    )
    for n in range(5)
]
NUMBERED = [
    (home, {**turn, "run": 3, "speaker": n % 2}, text, own) for n, (home, turn, text, own) in enumerate(TALK)
]
HALVES = [
    (HOME, half, "jay", None) for half in ({"run": "a", "speaker": "ada"}, {"run": "a", "position": 0}, {})
]
"""Together they have all fields of a turn, but none of them is one: nothing may change, however they are stored."""


@given(
    documents, draw.exact_vectors, draw.scope_keys, st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from(["auto", "rrf", "boost", "weighted"]), st.sampled_from([None, 1, 3]),
    st.sampled_from(["hybrid", "hybrid", "hybrid", "lexical"]), st.booleans(), st.sampled_from([None, 2]),
    st.lists(st.integers(0, 9), max_size=3), st.lists(st.integers(0, 9), max_size=2), st.booleans(),
)  # fmt: skip
@example(TALK, np.ones(4, np.float32), HOME, 0.25, "auto", None, "hybrid", False, None, [], [], False)
@example(NUMBERED, np.ones(4, np.float32), HOME, 0.25, "auto", None, "hybrid", False, None, [], [], False)
@example(
    TALK + NUMBERED, np.ones(4, np.float32), HOME, 0.25, "rrf", 3, "lexical", False, None, [], [1, 6], False
)
@example(HALVES, np.ones(4, np.float32), HOME, 0.25, "auto", None, "hybrid", False, 2, [], [], False)
@example(HALVES, np.ones(4, np.float32), HOME, 0.25, "auto", 1, "hybrid", False, 2, [], [], False)
def test_neighbours_add_what_their_twin_says(
    kit: Kit, rows: list[tuple[Any, Any, str, Any]], vector: NDArray[np.float32], key: tuple, weight: float,
    method: str, chunk_docs: int | None, mode: str, with_vector: bool, candidates: int | None, excluded: list[int],
    deleted: list[int], relevant: bool,
) -> None:  # fmt: skip
    pair = Pair(kit, chunk_docs=chunk_docs, dim=draw.DIM, metric="ip").apply([])
    for id, (home, metadata, text, own) in enumerate(rows):
        scope, encoded = pair.scope(home), payload.encode(metadata, None)
        pair.both(
            lambda engine, id=id, text=text, own=own, scope=scope, encoded=encoded: engine.upsert(
                id, text, scope=scope, vector=own, payload=encoded
            )
        )
    for id in deleted:
        if id < len(rows):
            scope = pair.scope(rows[id][0])
            pair.both(lambda engine, id=id, scope=scope: engine.delete(id, scope=scope))
    ranking = Options(method, neighbours=weight, relevance="low" if relevant else None)
    asked: dict[str, Any] = {
        "scope": pair.scope(key), "k": 20, "query": Asked(ranking, mode, candidates, exclude=excluded),
        "vector": vector if with_vector and mode == "hybrid" else None,
    }  # fmt: skip
    for explain in (False, True):
        judge.same_result(
            pair.engine.search("jay oak", **asked, explain=explain),
            pair.model.search("jay oak", **asked, explain=explain),
            explain=explain,
        )


def conversation(speakers: str) -> Index:
    index = Index()
    texts = ["which port is free for staging", "take the second one", "what is for lunch", "take one"]
    for position, (speaker, text) in enumerate(zip(speakers, texts, strict=True)):
        metadata = {"run": "monday", "position": position, "speaker": speaker}
        index.upsert(f"t{position}", text, scope=SCOPE, metadata=metadata)
    return index


@pytest.mark.parametrize(("speakers", "first"), [("abab", "t1"), ("aaaa", "t3")])
def test_an_answer_is_found_by_its_question(speakers: str, first: str) -> None:
    """Both answers contain one word of the question; by words alone the shorter one is better."""
    index = conversation(speakers)
    hits = index.search("take staging", scope=SCOPE)
    assert next(id for id in hits.ids if id in ("t1", "t3")) == first
    without = index.search("take staging", scope=SCOPE, query=Query(neighbours=False))
    assert next(id for id in without.ids if id in ("t1", "t3")) == "t3"


def test_the_evidence_is_that_of_the_turn() -> None:
    index = conversation("abab")
    alone = {
        hit.id: hit.bm25 for hit in index.search("take staging", scope=SCOPE, query=Query(neighbours=False))
    }
    assert {hit.id: hit.bm25 for hit in index.search("take staging", scope=SCOPE)} == alone


def test_without_turns_nothing_changes() -> None:
    index = Index()
    for position in range(4):
        index.upsert(
            position, "jay " * (position + 1), scope=SCOPE, metadata={"position": position, "run": "a"}
        )
    with_default, without = (
        index.search("jay", scope=SCOPE, query=query) for query in (None, Query(neighbours=False))
    )
    assert list(with_default.scores) == list(without.scores)


def test_options_of_neighbours() -> None:
    assert Query() == Query(neighbours=True) and Query(neighbours=False).neighbours is None
    assert Query.from_dict(Query(neighbours=False).to_dict()) == Query(neighbours=False) != Query()
    with pytest.raises(TypeError, match="neighbours: expected Neighbours or a bool, got int 3"):
        Query(neighbours=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="weight: expected a finite number >= 0"):
        Neighbours(-1.0)
