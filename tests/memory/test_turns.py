"""Records from a conversation name their turn, so that an answer is found by its question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Query, Scope
from scrubjay.adapters._turn_memory import TurnMemory, TurnMessage
from scrubjay.memory import FactCandidate, Memory, Provenance
from scrubjay.memory.intake.extractors import Extraction, SourcedCandidate
from scrubjay.memory.intake.transcripts import Transcript
from scrubjay.memory.ledger.trace import sweep_traces
from tests.memory.setting import JANE, Clock, open_memory

TALK = [
    ("ann", "Which port does the staging server use?"),
    ("bob", "Take 8443."),
    ("ann", "What is for lunch in the canteen?"),
    ("bob", "Rye bread, as always."),
]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay", clock) as memory:
        yield memory


class Verbatim:
    """Extracts every utterance as it was said."""

    name = "verbatim"

    def extract(self, transcript: Transcript) -> Extraction:
        return Extraction(
            tuple(SourcedCandidate(FactCandidate(one.text), one.seq) for one in transcript.utterances)
        )


def turns(memory: Memory, scope: Scope = JANE) -> dict[str, tuple[Any, Any, Any]]:
    """Return text -> (run, position, speaker) of its document."""
    found = memory.documents.scroll(scope=scope)
    return {
        one.text: tuple((one.metadata or {}).get(name) for name in ("run", "position", "speaker"))
        for one in found
    }


def test_positions_of_distilled_facts_count_turns_only(memory: Memory) -> None:
    with memory.session(JANE, "monday") as session:
        for number, (author, text) in enumerate(TALK):
            kind = "user" if number % 2 == 0 else "model"
            session.append(kind, text, author=author)
            if kind == "user":
                session.assemble("port")
                session.tool("looked it up")
    memory.distil("monday", Verbatim(), JANE)
    said = turns(memory)
    places = [said[text] for _, text in TALK]
    assert places == [("monday", n, author) for n, (author, _) in enumerate(TALK, 1)]
    assert said["looked it up"] == (None, None, None)
    session = memory.session(JANE, "monday")
    assert [session.position(one) for one in session.events() if one.kind in ("user", "model")] == [
        1,
        2,
        3,
        4,
    ]
    assert memory.admin.check() == []


def test_an_answer_is_recalled_by_its_question(memory: Memory) -> None:
    with memory.session(JANE, "monday") as session:
        session.extend({"kind": "user", "author": author, "content": text} for author, text in TALK)
    for number in range(4):
        memory.propose(FactCandidate(f"Take the stairs at {number}."), scope=JANE, source="elsewhere")
    memory.distil("monday", Verbatim(), JANE)

    def place(neighbours: bool) -> int:
        query = Query(mode="hybrid", neighbours=neighbours)
        found = memory.recall("take which port of the staging server", JANE, k=10, query=query)
        return [hit.text for hit in found].index("Take 8443.")

    assert place(True) == 1 < place(False)


def test_a_source_with_run_turn_and_author_is_a_turn(memory: Memory) -> None:
    asked = Provenance("r", turn=3, author="ann")
    memory.propose(FactCandidate("Ann asked."), scope=JANE, source=asked)
    memory.propose(FactCandidate("A job found."), scope=JANE, source=Provenance("r", turn=4))
    own = FactCandidate("Bob wrote.", metadata={"position": 8, "speaker": "bob"})
    memory.propose(own, scope=JANE, source=asked)
    assert turns(memory) == {
        "Ann asked.": ("r", 3, "ann"),
        "A job found.": (None, None, None),
        "Bob wrote.": ("r", 8, "bob"),
    }
    (fact,) = [one for one in memory.list(JANE, ["fact"]) if one.text == "Ann asked."]
    assert not fact.metadata


def test_documents_of_older_versions_are_no_fault_and_renewed_on_request(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr("scrubjay.memory.model.documents.as_turn", lambda *_: {})
        memory.propose(FactCandidate("Ann asked."), scope=JANE, source=Provenance("r", turn=3, author="ann"))
    assert turns(memory)["Ann asked."] == (None, None, None)
    assert memory.admin.check() == []
    assert memory.admin.reindex() == 1
    assert turns(memory)["Ann asked."] == ("r", 3, "ann")
    assert memory.admin.reindex() == 0


def test_positions_grow_when_retention_deletes(memory: Memory, clock: Clock) -> None:
    session = memory.session(JANE, "long", retention="short")
    for author, text in TALK:
        event = session.user(text, author=author)
    session.tool("a look-up")
    assert session.position(event) == 4
    clock.pass_days(30)
    store = memory._parts.context.store
    with store.writing("sweeping") as transaction:
        transaction.lock([JANE.tenant])
        assert sweep_traces(transaction.connection, clock.now, (), JANE.tenant) == 5
    with memory.session(JANE, "long") as again:
        first, second = again.user("Back.", author="ann"), again.model("Hello.")
        assert 4 < again.position(first) == again.position(second) - 1


def test_turns_of_adapters_are_turns_of_their_run(memory: Memory) -> None:
    agent = TurnMemory(memory)
    with agent.before(JANE, "chat", "The port is 8443.")[0] as session:
        said = [
            TurnMessage("user", "ann", "The port is 8443."),
            TurnMessage("tool", "grep", "8443"),
            TurnMessage("model", "m", "Noted."),
        ]
        agent.after(session, said)
    found = {one.text: one.metadata for one in memory.index.scroll(scope=JANE)}
    assert found == {
        "The port is 8443.": {"session_id": "chat", "run": "chat", "position": 1, "speaker": "ann"},
        "Noted.": {"session_id": "chat", "run": "chat", "position": 2, "speaker": "m"},
    }
