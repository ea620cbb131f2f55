"""A run is distilled completely or not at all, once, off the request path, by the process that comes first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from scrubjay import RetrievalError, Scope
from scrubjay.memory import EpisodeCandidate, FactCandidate, Memory, PreferenceCandidate, Provenance
from scrubjay.memory.intake.extractors import Extraction, Retraction, SourcedCandidate
from scrubjay.memory.intake.transcripts import Transcript
from scrubjay.retrieval import Retriever
from tests.memory.setting import address_of

JANE = Scope("acme", user="jane")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        yield memory


class Scripted:
    """Finds the candidates of its script wherever a phrase occurs, and counts its calls."""

    name = "scripted"

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.read: list[Transcript] = []

    def extract(self, transcript: Transcript) -> Extraction:
        self.read.append(transcript)
        found, retracted = [], []
        for said in transcript.utterances:
            for phrase, what in self.script.items():
                if phrase in said.text:
                    if isinstance(what, Retraction):
                        retracted.append(Retraction(what.subject, what.predicate, said.seq))
                    else:
                        found.append(SourcedCandidate(what, said.seq))
        return Extraction(tuple(found), tuple(retracted))


SCRIPT = {
    "Bergen": FactCandidate("Jane lives in Bergen.", "Jane", "lives in"),
    "Oslo": FactCandidate("Jane lives in Oslo.", "Jane", "lives in"),
    "sails": FactCandidate("Jane sails.", "Jane", "sport"),
    "brief": PreferenceCandidate("tone", "Brief answers."),
    "booked": EpisodeCandidate("Booked a train.", "success", steps=["searched", "paid"]),
    "gossip": FactCandidate("Unsure gossip.", confidence=0.2),
    "no longer sail": Retraction("Jane", "sport"),
}


def contents(memory: Memory) -> list[str]:
    return sorted(record.content for record in memory.list(JANE, kinds=("fact",)))


def test_a_run_is_distilled_through_the_gate_with_its_provenance(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    session.user("I live in Bergen.", author="Jane")
    session.user("Please be brief. Some gossip.", author="Jane")
    session.model("I booked the train.")
    extractor = Scripted(SCRIPT)
    done = memory.distil("r1", extractor, scope=JANE)
    assert [(one.kind, one.status) for one in done.outcomes] == [
        ("fact", "written"),
        ("preference", "written"),
        ("fact", "rejected"),
        ("episode", "written"),
    ]
    assert done.fresh and done.through == 3 and done.n_malformed == 0
    source = memory.why(done.outcomes[0].id, scope=JANE).provenance
    assert (source.run, source.turn, source.author, source.place) == ("r1", 1, "Jane", "event 1")
    assert "r1" in str(memory.why(done.outcomes[3].id, scope=JANE))
    assert [one.text for one in memory.known(JANE).preferences] == ["Brief answers."]
    assert memory.recall("train", JANE)[0].kind == "episode"


def test_distilling_again_reads_only_new_events(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    session.user("I live in Bergen.")
    extractor = Scripted(SCRIPT)
    first = memory.distil("r1", extractor, scope=JANE)
    again = memory.distil("r1", extractor, scope=JANE)
    assert (first.fresh, again.fresh) == (True, False) and again.outcomes == first.outcomes
    assert len(extractor.read) == 1 and again.through == first.through
    session.assemble("x")
    session.flush()
    assert not memory.distil("r1", extractor, scope=JANE).fresh, "a prompt says nothing new"
    session.user("I moved to Oslo.")
    third = memory.distil("r1", extractor, scope=JANE)
    assert [one.status for one in third.outcomes] == ["superseded"]
    assert [said.seq for said in extractor.read[1].context] == [1]
    assert contents(memory) == ["Jane lives in Oslo."]
    # Distilling the same run again does not bring back what was superseded since.
    memory.distil("r1", extractor, scope=JANE)
    assert contents(memory) == ["Jane lives in Oslo."]


def test_retracted_turns_are_not_distilled(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    session.user("I live in Bergen.")
    session.model("Bergen, noted.")
    session.user("Scratch that. Somebody sails.")
    gone = session.user("I moved to Oslo.")
    session.retract(gone.seq)
    memory.distil("r1", Scripted(SCRIPT), scope=JANE)
    assert contents(memory) == ["Jane sails."]


def test_retracting_a_distilled_turn_revokes_its_facts(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    first = session.user("I live in Bergen.")
    session.user("Somebody sails. Please be brief.")
    memory.distil("r1", Scripted(SCRIPT), scope=JANE)
    memory.propose(FactCandidate("Said elsewhere."), scope=JANE, source="r0")
    session.retract(first.seq)
    done = memory.distil("r1", Scripted(SCRIPT), scope=JANE)
    assert [(one.kind, one.status) for one in done.outcomes] == [("fact", "revoked")]
    assert contents(memory) == ["Jane sails.", "Said elsewhere."]
    session.user("Never mind what I just said.")
    done = memory.distil("r1", Scripted(SCRIPT), scope=JANE)
    assert sorted(one.kind for one in done.outcomes) == ["fact", "preference"]
    assert contents(memory) == ["Said elsewhere."] and memory.known(JANE).preferences == ()


def test_a_retraction_ends_facts_of_earlier_runs(memory: Memory) -> None:
    memory.session(JANE, "r1").user("She sails. I live in Bergen.")
    memory.distil("r1", Scripted(SCRIPT), scope=JANE)
    memory.session(JANE, "r2").user("I no longer sail.")
    done = memory.distil("r2", Scripted(SCRIPT), scope=JANE)
    assert [one.status for one in done.outcomes] == ["superseded"]
    assert contents(memory) == ["Jane lives in Bergen.", "No longer so: Jane sails."]
    sails, ends = memory.history("Jane", "sport", JANE)
    assert sails.superseded_by == ends.id and len(sails.holds) == 1, "it was so before"
    memory.session(JANE, "r3").user("He sails. Later: I no longer sail.")
    assert memory.distil("r3", Scripted(SCRIPT), scope=JANE).outcomes == ()
    session = memory.session(JANE, "r4")
    session.user("I no longer sail.")
    session.user("Oh well, she sails again.")
    memory.distil("r4", Scripted(SCRIPT), scope=JANE)
    assert contents(memory) == ["Jane lives in Bergen.", "Jane sails."], "the end is over, too"


def test_a_retraction_ends_only_what_it_names(memory: Memory) -> None:
    def facts(*values: str) -> dict[str, Any]:
        named = {"subject": "Jane", "predicate": "allergic to"}
        return {
            "facts": [{**named, "content": f"Jane is allergic to {one}.", "value": one} for one in values]
        }

    gone = {"content": "Jane's nut allergy is gone.", "subject": "Jane", "predicate": "allergic to"}
    memory.session(JANE, "r1").user("x")
    memory.distil("r1", lambda _: facts("nuts", "latex"), scope=JANE)
    memory.session(JANE, "r2").user("x")
    memory.distil("r2", lambda _: {"retracted": [gone]}, scope=JANE)
    assert contents(memory) == ["Jane is allergic to latex.", "Jane's nut allergy is gone."]
    memory.session(JANE, "r3").user("x")
    both = {**facts("kiwi", "bees"), "retracted": [{**gone, "content": "It is over.", "value": "bee"}]}
    memory.distil("r3", lambda _: both, scope=JANE)
    assert "Jane is allergic to kiwi." in contents(memory) and "Jane is allergic to bees." not in contents(
        memory
    )
    memory.session(JANE, "r4").user("x")
    vague = {**gone, "content": "Jane feels better."}
    memory.distil("r4", lambda _: {"retracted": [vague]}, scope=JANE)
    assert {"Jane is allergic to latex.", "Jane is allergic to kiwi.", "Jane feels better."} <= set(
        contents(memory)
    )


def test_a_run_is_not_distilled_if_nothing_of_the_answer_can_be_read(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    memory.session(JANE, "r1").user("I live in Bergen.")
    bad: dict[str, Any] = {"content": "Jane lives in Bergen.", "confidence": "high"}
    with pytest.raises(RetrievalError, match="all 1 items of its answer for run 'r1' are malformed"):
        memory.distil("r1", lambda _: {"facts": [bad]}, scope=JANE)
    assert "run 'r1': 1 items of the extractor's answer are malformed" in caplog.text
    done = memory.distil("r1", lambda _: {"facts": [bad, "Jane sails.", {"text": "Jane rows."}]}, scope=JANE)
    assert done.fresh and done.n_malformed == 1 and contents(memory) == ["Jane rows.", "Jane sails."]


def test_an_extractor_that_fails_leaves_nothing(memory: Memory) -> None:
    memory.session(JANE, "r1").user("I live in Bergen.")

    def fails(_: Transcript) -> Any:
        raise RuntimeError("the model is away")

    with pytest.raises(RuntimeError, match="away"):
        memory.distil("r1", fails, scope=JANE)
    with pytest.raises(TypeError, match="extractor: expected"):
        memory.distil("r1", lambda _: 7, scope=JANE)
    with pytest.raises((TypeError, ValueError)):  # the second candidate is invalid: neither is kept
        memory.distil("r1", lambda _: [FactCandidate("x"), FactCandidate(7)], scope=JANE)  # type: ignore[arg-type]
    assert contents(memory) == []
    assert memory.distil("r1", Scripted(SCRIPT), scope=JANE).fresh
    assert contents(memory) == ["Jane lives in Bergen."]


def test_writes_do_not_wait_for_a_running_extractor(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    session.user("I live in Bergen.")
    may_go, began = threading.Event(), threading.Event()

    def slow(_: Transcript) -> Any:
        began.set()
        assert may_go.wait(20)
        return [SCRIPT["Bergen"]]

    future = memory.distil_later("r1", slow, scope=JANE)
    assert began.wait(20)
    session.user("This does not wait, and sails along.")  # a write
    assert session.assemble().ids("memories") == ()
    memory.propose(FactCandidate("Written meanwhile."), scope=JANE, source="r0")
    may_go.set()
    assert future.result(20).through == 1
    assert contents(memory) == ["Jane lives in Bergen.", "Written meanwhile."]
    assert memory.distil("r1", Scripted(SCRIPT), scope=JANE).through == 2


def test_closing_waits_for_scheduled_distillations(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        for i in range(3):
            memory.session(JANE, f"r{i}").user("I live in Bergen.")
        futures = [memory.distil_later(f"r{i}", Scripted(SCRIPT), scope=JANE) for i in range(3)]
    assert [future.result(0).fresh for future in futures] == [True] * 3


def test_threads_distil_a_run_once(memory: Memory) -> None:
    memory.session(JANE, "r1").user("I live in Bergen. booked, brief")
    barrier = threading.Barrier(8)
    done = []

    class Together(Scripted):
        def extract(self, transcript: Transcript) -> Extraction:
            barrier.wait(20)  # all have read the run before the first writes
            return super().extract(transcript)

    def work() -> None:
        done.append(memory.distil("r1", Together(SCRIPT), scope=JANE))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.fresh for one in done) == [False] * 7 + [True]
    assert len({one.outcomes for one in done}) == 1
    assert len(memory.list(JANE, kinds=("fact", "episode", "preference"))) == 3
    assert len(memory.why(done[0].outcomes[0].id, scope=JANE).events) == 1


def test_distilling_a_run_erased_meanwhile_writes_nothing(memory: Memory) -> None:
    memory.session(JANE, "r1").user("I live in Bergen.")

    def forgets(_: Transcript) -> Any:
        memory.forget(tenant="acme", user="jane")
        return [SCRIPT["Bergen"]]

    done = memory.distil("r1", forgets, scope=JANE)
    assert not done.fresh and done.outcomes == () and contents(memory) == []


DISTIL = """
    import sys
    from scrubjay import Scope
    from scrubjay.memory import FactCandidate, Memory
    memory = Memory.open(sys.argv[1], durability="normal")
    scope = Scope("acme", user="jane")
    for number in range(int(sys.argv[2]), 10_000):
        memory.session(scope, f"run {number}").user(f"word {number}")
        memory.distil(
            f"run {number}",
            lambda transcript: [
                FactCandidate(f"Fact {number} {i}.", "Jane", f"topic {i}", single=True) for i in range(5)
            ],
            scope=scope,
        )
        print(number, flush=True)
"""


def test_a_killed_process_leaves_whole_runs(memory: Memory, tmp_path: Path) -> None:
    first = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(DISTIL), address_of(tmp_path / "m.scrubjay"), str(first)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(4):
            done = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        done = max([done, *map(int, process.stdout.read().split())])
        process.wait()
        process.stdout.close()
        living = contents(memory)
        # All five facts of one run have replaced those of the run before.
        latest = int(living[0].split()[1])
        assert living == [f"Fact {latest} {i}." for i in range(5)] and latest - done in (0, 1)
        assert sorted(hit.text for hit in memory.recall("Fact", JANE, k=50)) == living
        again = memory.distil(f"run {latest}", lambda _: [FactCandidate("never read")], scope=JANE)
        assert not again.fresh and len(again.outcomes) == 5
        first = latest + 2


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda m: m.distil("r9", lambda _: [], scope=JANE), KeyError, "this scope has no run 'r9'"),
        (lambda m: m.distil("r1", lambda _: [], scope=Scope("acme")), KeyError, "this scope has no run"),
        (lambda m: m.distil("r1", None, scope=JANE), TypeError, "extractor: expected an Extractor"),
        (lambda m: m.distil("r1", lambda _: [], scope="acme"), TypeError, "scope: expected"),
        (lambda m: m.distil("", lambda _: [], scope=JANE), ValueError, "run_id: expected"),
    ],
)
def test_bad_arguments_are_named(memory: Memory, make, error: type[Exception], said: str) -> None:
    memory.session(JANE, "r1").user("x")
    with pytest.raises(error, match=said):
        make(memory)


def test_facts_of_an_old_conversation_hold_from_its_date(memory: Memory) -> None:
    """A conversation imported late supersedes nothing that was said since."""
    memory.propose(
        SCRIPT["Oslo"], scope=JANE, source=Provenance("r0", at=datetime(2024, 1, 1, tzinfo=timezone.utc))
    )
    session = memory.session(JANE, "r1")
    session.append("user", "I live in Bergen.", at=datetime(2019, 5, 1, tzinfo=timezone.utc))
    memory.distil("r1", Scripted(SCRIPT), scope=JANE)
    assert contents(memory) == ["Jane lives in Oslo."]
    [then] = memory.list(JANE, kinds=("fact",), as_of=datetime(2020, 1, 1, tzinfo=timezone.utc))
    assert then.text == "Jane lives in Bergen."


def test_an_extractor_hears_the_turns_and_the_summary_of_its_run(tmp_path: Path) -> None:
    """Row "rewriter reads the conversation history" of the course, for extractors and rewriters alike."""
    heard: list[Any] = []

    def extractor(transcript: Any, conversation: Any) -> list[Any]:
        heard.append(conversation)
        return []

    def rewriter(question: str, conversation: Any) -> dict[str, Any]:
        heard.append(conversation)
        return {"keywords": ["Tom"], "searchQuery": "Jane met Tom"}

    with Memory.open(
        tmp_path / "m.scrubjay", retriever=lambda index: Retriever(index, rewriter=rewriter)
    ) as memory:
        memory.propose("Jane met Tom", scope=JANE, source="r")
        session = memory.session(JANE, "run-1")
        session.user("I met Tom.")
        session.model("How is he?")
        memory.distil("run-1", extractor, scope=JANE)
        assert heard.pop() == ((), "")
        session.user("what's his name again?")
        prompt = session.assemble(summarise=lambda turns: "Jane met somebody.")
        asked = heard[0]
        assert asked.turns[:2] == (("user", "I met Tom."), ("model", "How is he?"))
        assert asked.summary == "Jane met somebody." and "Jane met Tom" in prompt.text
        session.model("Tom.")
        heard.clear()
        memory.distil("run-1", extractor, scope=JANE)
        (before,) = heard
        assert before == ((("user", "I met Tom."), ("model", "How is he?")), "Jane met somebody.")
