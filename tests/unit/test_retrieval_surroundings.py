"""A reranker reads the turn that a turn answers, and the day if the question names days."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Dates, Filter, Index, Query, Retriever, Scope
from scrubjay.retrieval import surroundings

JANE, JOE, ALL = Scope("acme", user="jane"), Scope("acme", user="joe"), Scope("acme")


class Listening:
    """Records its input; the score of a text is its length."""

    name = "listening"

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, query: str, texts: list[str]) -> Any:
        self.read += texts
        return np.array([len(text) for text in texts], dtype=np.float32)


def turn(run: str, position: int, speaker: str, **more: Any) -> dict[str, Any]:
    return {"run": run, "position": position, "speaker": speaker, **more}


@pytest.fixture(params=["memory", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    found = Index() if request.param == "memory" else Index.open(tmp_path / "turns.scrubjay")
    with found:
        yield found


def conversation(index: Index) -> None:
    """A short conversation; the question "oak" finds its second and fourth turn and the note."""
    for id, text, metadata in (
        ("ask", "What grows behind the house?", turn("monday", 0, "Ann")),
        ("answer", "An oak.", turn("monday", 1, "Bob")),
        ("more", "Tell me its age.", turn("monday", 2, "Bob", secret=True)),
        ("age", "The oak is a hundred.", turn("monday", 3, "Ann")),
        ("note", "Oak is hard.", {}),
    ):
        index.upsert(id, text, scope=JANE, metadata=metadata, created_at="2023-05-08T10:00:00Z")


def test_a_turn_is_read_again_behind_what_it_answers(index: Index) -> None:
    conversation(index)
    reranker = Listening()
    found = Retriever(index, reranker=reranker, fused_weight=0).search("oak", scope=JANE)
    assert set(found.ids) == {"answer", "age", "note"}
    assert set(reranker.read) == {
        "An oak.", "What grows behind the house?\nAn oak.",
        "The oak is a hundred.", "Tell me its age.\nThe oak is a hundred.",
        "Oak is hard.",
    }  # fmt: skip
    scores = {hit.id: hit.rerank_score for hit in found}
    assert scores["answer"] == (len("An oak.") + len("What grows behind the house?\nAn oak.")) / 2
    assert scores["note"] == len("Oak is hard.")
    assert list(found.ids) == sorted(scores, key=lambda id: -scores[id])
    assert found.trace.stages[-2].details["read_twice"] == 2


def test_run_and_speaker_may_be_integers(index: Index) -> None:
    for run, speakers, text in (
        (7, (1, 2), "What grows?"),
        ("7", (1, 2), "What sings?"),
        (8, (2, 2), "What is it?"),
    ):
        index.upsert(
            f"ask {run!r}", text, scope=JANE, metadata={"run": run, "position": 0, "speaker": speakers[0]}
        )
        index.upsert(
            f"tell {run!r}",
            "An oak.",
            scope=JANE,
            metadata={"run": run, "position": 1, "speaker": speakers[1]},
        )
    reranker = Listening()
    Retriever(index, reranker=reranker).search("oak", scope=JANE)
    assert set(reranker.read) == {"An oak.", "What grows?\nAn oak.", "What sings?\nAn oak."}


def test_without_surroundings_texts_are_read_alone(index: Index) -> None:
    conversation(index)
    reranker = Listening()
    Retriever(index, reranker=reranker, surroundings=False).search("oak on 8 May 2023", scope=JANE)
    assert set(reranker.read) == {"An oak.", "The oak is a hundred.", "Oak is hard."}


@pytest.mark.parametrize(
    "beside",
    [
        {"scope": JANE, "metadata": turn("monday", 0, "Bob")},  # the same speaker
        {"scope": JANE, "metadata": turn("tuesday", 0, "Ann")},
        {"scope": JANE, "metadata": turn("monday", 2, "Ann")},  # what was said afterwards
        {"scope": JANE, "metadata": {"run": "monday", "position": 0}},
        {"scope": JOE, "metadata": turn("monday", 0, "Ann")},
        {"scope": ALL, "metadata": turn("monday", 0, "Ann")},  # visible, but in another scope
    ],
)
def test_only_preceding_turns_of_the_same_conversation_are_read(index: Index, beside: dict[str, Any]) -> None:
    index.upsert("it", "An oak.", scope=JANE, metadata=turn("monday", 1, "Bob"))
    index.upsert("other", "What grows?", **beside)
    reranker = Listening()
    Retriever(index, reranker=reranker).search("oak", scope=JANE)
    assert reranker.read == ["An oak."]


@pytest.mark.parametrize(
    ("filter", "is_read"),
    [
        (None, True),
        ({"run": "monday"}, True),
        ({"secret": {"$ne": True}}, False),
        (Filter({"secret": {"$ne": True}}), False),
        (Filter({"run": "monday"}), True),
        (lambda record: True, False),
    ],
)
def test_only_what_the_filter_admits_is_read(index: Index, filter: Any, is_read: bool) -> None:
    conversation(index)
    reranker = Listening()
    found = Retriever(index, reranker=reranker).search("hundred", scope=JANE, filter=filter)
    assert list(found.ids) == ["age"]
    assert ("Tell me its age.\nThe oak is a hundred." in reranker.read) == is_read


@pytest.mark.parametrize("query", [Query(ids=["age", "more"]), Query(exclude=["more"])])
def test_where_ids_are_named_nothing_else_is_read(index: Index, query: Query) -> None:
    conversation(index)
    reranker = Listening()
    Retriever(index, reranker=reranker).search("hundred", scope=JANE, query=query)
    assert reranker.read == ["The oak is a hundred."]


def test_of_a_long_turn_the_end_is_read(index: Index) -> None:
    index.upsert("before", "x" * 5000 + "?", scope=JANE, metadata=turn("monday", 0, "Ann"))
    index.upsert("it", "An oak.", scope=JANE, metadata=turn("monday", 1, "Bob"))
    reranker = Listening()
    Retriever(index, reranker=reranker).search("oak", scope=JANE)
    assert reranker.read[1] == "x" * (surroundings.MOST_CHARACTERS - 1) + "?\nAn oak."


def test_of_several_turns_before_the_first_written_is_read(index: Index) -> None:
    index.upsert("z", "First?", scope=JANE, metadata=turn("monday", 0, "Ann"))
    index.upsert("a", "Second?", scope=JANE, metadata=turn("monday", 0, "Ann"))
    index.upsert("it", "An oak.", scope=JANE, metadata=turn("monday", 1, "Bob"))
    reranker = Listening()
    Retriever(index, reranker=reranker).search("oak", scope=JANE)
    assert reranker.read == ["An oak.", "First?\nAn oak."]


@pytest.mark.parametrize(
    ("question", "query", "read"),
    [
        ("oak on 8 May 2023", Query(), "8 May 2023: An oak."),
        ("oak yesterday", Query(dates=Dates(now="2023-05-09")), "8 May 2023: An oak."),
        ("oak", Query(), "An oak."),
        ("oak error 2023", Query(), "An oak."),  # no date
        ("oak on 8 May 2023", Query(dates=False), "An oak."),
    ],
)
def test_the_day_is_read_where_the_question_names_days(
    index: Index, question: str, query: Query, read: str
) -> None:
    index.upsert("it", "An oak.", scope=JANE, created_at="2023-05-08T10:00:00Z")
    index.upsert("none", "No oak.", scope=JANE)
    reranker = Listening()
    Retriever(index, reranker=reranker).search(question, scope=JANE, query=query)
    assert set(reranker.read) == {read, "No oak."}


def test_the_day_is_that_since_which_it_holds(index: Index) -> None:
    metadata = {"valid_from": 1_000_000 * 86_400 * 365}
    index.upsert("it", "An oak.", scope=JANE, metadata=metadata, created_at="2023-05-08T10:00:00Z")
    index.upsert("never", "No oak.", scope=JANE, metadata={"valid_from": 2**62})
    index.upsert(
        "text", "My oak.", scope=JANE, metadata={"valid_from": "1971-01-02"}, created_at="2023-05-08"
    )
    index.upsert("soon", "Her oak.", scope=JANE, metadata={"valid_from": "soon"}, created_at="2023-05-08")
    reranker = Listening()
    Retriever(index, reranker=reranker).search("oak in May 2023", scope=JANE)
    assert set(reranker.read) == {
        "1 January 1971: An oak.",
        "No oak.",
        "2 January 1971: My oak.",
        "8 May 2023: Her oak.",
    }


def test_surroundings_that_cannot_be_read_leave_the_texts(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError("gone")

    conversation(index)
    monkeypatch.setattr("scrubjay.retrieval.retriever.said_before", broken)
    reranker = Listening()
    found = Retriever(index, reranker=reranker).search("oak", scope=JANE)
    assert found.degraded[-1] == "surroundings_failed: OSError: gone"
    assert set(reranker.read) == {"An oak.", "The oak is a hundred.", "Oak is hard."}


@pytest.mark.parametrize("given", [1, None, "yes"])
def test_surroundings_are_on_or_off(given: Any) -> None:
    with pytest.raises(TypeError, match="surroundings: expected a bool, got"):
        Retriever(Index(), surroundings=given)
