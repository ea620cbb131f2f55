"""Sessions: appended events are durable, any process can continue a run, a replay gives the same prompts."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay import Scope, embedders
from scrubjay.base.errors import BudgetError
from scrubjay.memory import FactCandidate, Memory
from scrubjay.memory.read.prompt_parts import Turn
from scrubjay.memory.runs.session import CONVERSATION, Session
from tests.memory.setting import address_of, is_gone

JANE = Scope("acme", user="jane")
JOE = Scope("acme", user="joe")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        yield memory


def test_reserved_prompt_parts_are_encoded_once(memory: Memory) -> None:
    fill(memory)
    with memory.session(JANE, "r1") as session:
        session.user("Where does Jane live?")
        first, second = session.assemble(), session.assemble("What does Jane sail?")
        assert first.reserved.encoded is second.reserved.encoded
        memory.prefer("tone", "Informal.", scope=JANE)
        third = session.assemble()
    assert third.reserved.encoded != first.reserved.encoded
    assert all(one.faithful for one in memory.replay("r1", JANE).prompts())


def fill(memory: Memory) -> None:
    memory.policy("refunds", "Never promise refunds.", tenant="acme", by="boss")
    memory.prefer("tone", "Formal, no emoji.", scope=JANE)
    for text in ("Jane's staging key is sk-stg-0041.", "Jane moved to Toronto.", "Jane sails on Saturdays."):
        memory.propose(FactCandidate(text), scope=JANE, source="r0")
    memory.propose(FactCandidate("Joe's staging key is sk-stg-0099."), scope=JOE, source="r0")


def test_a_prompt_has_rules_memories_and_the_last_turns(memory: Memory) -> None:
    fill(memory)
    with memory.session(JANE, "r1") as session:
        session.user("Hello!")
        session.model("Good morning, Jane.")
        session.tool("lots of output " * 100, author="search")
        session.user("Which key is it for staging?")
        made = session.assemble()
    assert made.text.startswith(
        "# Policies (always follow)\n- refunds: Never promise refunds.\n\n# Preferences of the"
    )
    assert "sk-stg-0041" in made.text and "0099" not in made.text
    assert made.text.endswith(
        "# Recent turns\n- user: Hello!\n- model: Good morning, Jane.\n- user: Which key is it for staging?\n\n"
    )
    assert made.trace.query == "Which key is it for staging?"
    assert made.trace.mode == "lexical" and made.trace.retrieved[0]["kind"] == "fact"
    assert made.ids("memories")[0] == made.trace.retrieved[0]["id"]
    memory.prefer("tone", "Casual.", scope=JOE)
    assert memory.assemble("anything", JANE, 500).prefix == made.prefix
    memory.prefer("tone", "Casual.", scope=JANE)
    assert memory.assemble("anything", JANE, 500).prefix != made.prefix


def test_the_trace_of_a_prompt_lists_promoted_memories(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.scrubjay", embedders.default()) as memory:
        fill(memory)
        for i in range(30):
            memory.propose(FactCandidate(f"Note {i} about the staging key of {i}."), scope=JANE, source="r0")
        made = memory.assemble("what is sk-stg-0041", JANE)
    assert made.trace.mode == "hybrid"
    assert made.trace.promoted == made.ids("memories")[:1]
    assert made.trace.to_dict()["retrieved"][0]["tier"] == "high"


def test_a_prompt_without_anything_is_empty(memory: Memory) -> None:
    made = memory.assemble("anything", JANE, 10)
    assert made.text == "" == made.prefix and made.trace.tokens == {"total": 0} and made.blocks == ()
    assert "empty" in repr(made)


def test_rules_over_the_budget_are_an_error(memory: Memory) -> None:
    fill(memory)
    with pytest.raises(BudgetError) as failed:
        memory.assemble("anything", JANE, 10)
    assert pickle.loads(pickle.dumps(failed.value)).needed == failed.value.needed
    assert (
        memory.assemble("anything", JANE, failed.value.needed).text
        == memory.assemble("anything", JANE).prefix
    )


def test_turns_come_in_many_forms(memory: Memory) -> None:
    forms = [[Turn("user", "hi there")], [("user", "hi there")], [{"role": "user", "content": "hi there"}]]
    assert {memory.assemble("x", JANE, turns=turns).text for turns in forms} == {
        "# Recent turns\n- user: hi there\n\n"
    }
    for bad in ([1], ["user"], [{"role": "user"}], [("user", 1)]):
        with pytest.raises(TypeError, match=r"turns\[0\]: expected an event"):
            memory.assemble("x", JANE, turns=bad)


def test_a_retracted_turn_is_in_no_prompt(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    said = session.user("My password is hunter2.")
    session.user("What is the weather?")
    assert "hunter2" in session.assemble().text
    session.retract(said.seq, "a secret")
    assert "hunter2" not in session.assemble().text
    assert session.events()[0].content == "My password is hunter2.", "the trace is append-only"
    with pytest.raises(TypeError, match="seq: expected an int"):
        session.retract("1")  # type: ignore[arg-type]
    for wrong in (0, -3, 99, 5, 2**62, 2**63, -(2**70)):
        with pytest.raises(ValueError, match="seq: expected the number of an event"):
            session.retract(wrong)


@pytest.mark.parametrize("seed", range(5))
def test_recent_turns_are_the_last_ones_of_all_events(memory: Memory, seed: int) -> None:
    """Retracted events do not matter; for unencrypted events and for those decrypted cell by cell."""
    session, draw = memory.session(JANE, "r1"), random.Random(seed)
    said = []
    for number in range(30):
        said.append(
            session.append(
                draw.choice(("user", "model", "tool")), f"said {number}", data=draw.choice((None, {"n": 1}))
            )
        )
        if number in (11, 20, 26):
            gone = draw.choice(said[-4:])
            said = [event for event in said if event is not gone]
            session.retract(gone.seq)
        assert session.recent(8) == [event for event in said if event.kind in CONVERSATION][-8:]


def test_a_replay_gives_the_same_prompts_whatever_happened_since(memory: Memory, tmp_path: Path) -> None:
    fill(memory)
    session = memory.session(JANE, "r1")
    made = []
    for question in ("Where does Jane live?", "Which key is it?", "What does she do on Saturdays?"):
        session.user(question)
        made.append(session.assemble(budget_tokens=90))
        session.model("An answer. " * 30)
    assert len({one.text for one in made}) == 3
    memory.prefer("tone", "Casual.", scope=JANE)
    memory.policy("refunds", "Refunds within a week.", tenant="acme", by="boss")
    for hit in memory.recall("Jane", JANE):
        memory.delete(hit.id, scope=JANE)
    session.user("And now?")
    made.append(session.assemble(budget_tokens=90))
    session.close()
    for again in (memory.replay("r1", JANE), memory.replay("r1", JANE)):
        prompts = again.prompts()
        assert [one.assembled.text for one in prompts if one.assembled] == [one.text for one in made]
        assert all(one.faithful for one in prompts)
        assert [one.turn for one in prompts] == [1, 2, 3, 4]
    assert not any(one.faithful for one in memory.replay("r1", JANE).prompts(count=len))


def test_only_exactly_the_scope_replays(memory: Memory) -> None:
    memory.session(JANE, "r1").user("secret")
    for foreign in (JOE, Scope("acme"), Scope("acme", user="jane", agent="a"), Scope("globex", user="jane")):
        with pytest.raises(KeyError, match="this scope has no run 'r1'"):
            memory.replay("r1", foreign)
        assert memory.admin.find_in_traces("secret", foreign) == [] and memory.runs(foreign) == []
    assert memory.runs(JANE) == ["r1"]
    assert [(run, event.content) for run, event in memory.admin.find_in_traces("SECRET", JANE)] == [
        ("r1", "secret")
    ]
    with pytest.raises(TypeError, match="scope: expected"):
        memory.replay("r1", "acme")  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        memory.replay("r2", JANE)


def test_scratch_state_is_written_nowhere(memory: Memory, tmp_path: Path) -> None:
    session = memory.session(JANE, "r1")
    session.scratch["plan"] = "scratch-7391"
    session.user("hello")
    assert memory.session(JANE, "r1").scratch == {}
    session.close()
    assert all(b"scratch-7391" not in path.read_bytes() for path in tmp_path.iterdir())


RESUME = """
    import sys
    from scrubjay import Scope, embedders
    from scrubjay.memory import Memory
    with Memory.open(sys.argv[1]) as memory:
        session = memory.session(Scope("acme", user="jane"), "r1")
        assert session.turn == 2 and session.scratch == {}
        assert [event.content for event in session.recent()] == ["one", "two"]
        print(session.user("three").seq, session.assemble().text.count("- user:"))
        session.close()
"""


def test_another_process_goes_on_with_a_run(memory: Memory, tmp_path: Path) -> None:
    session = memory.session(JANE, "r1")
    session.user("one")
    session.user("two")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RESUME), address_of(tmp_path / "m.scrubjay")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["3", "3"], done.stderr
    assert session.user("four").seq == 5 and session.turn == 4
    assert [event.content for event in session.recent(2)] == ["three", "four"]
    assert all(one.faithful for one in memory.replay("r1", JANE).prompts())


APPEND = """
    import sys
    from scrubjay import Scope, embedders
    from scrubjay.memory import Memory
    memory = Memory.open(sys.argv[1], durability="normal")
    session = memory.session(Scope("acme", user="jane"), "r1")
    number = int(sys.argv[2])
    while True:
        number += 1
        session.assemble("word", 1000)
        session.extend([{"kind": "user", "content": f"a {number}"}, {"kind": "model", "content": f"b {number}"}])
        print(number, flush=True)
"""


def test_a_killed_process_leaves_whole_appends(memory: Memory, tmp_path: Path) -> None:
    """Acknowledged events exist; others completely or not at all; a prompt and the event after it are together."""
    last = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(APPEND), address_of(tmp_path / "m.scrubjay"), str(last)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(5):
            acknowledged = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, process.stdout.read().split())])
        process.wait()
        process.stdout.close()
        events = memory.replay("r1", JANE).events
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [event.kind for event in events] == ["prompt", "user", "model"] * (len(events) // 3)
        said = [event.content for event in events if event.kind != "prompt"]
        last = len(said) // 2
        assert last - acknowledged in (0, 1)
        assert said == [f"{who} {number}" for number in range(1, last + 1) for who in "ab"]
    assert all(one.faithful for one in memory.replay("r1", JANE).prompts())


def test_a_run_is_the_source_of_what_it_proposes(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    session.user("Book the train.")
    assert session.propose("Jane takes the train.").status == "written"
    done = session.complete("Booked the 9:14 train.", steps=["searched", "paid"], artifacts=["ticket-7"])
    why = memory.why(done.id, scope=JANE)
    assert (why.provenance.run, why.provenance.turn, why.record.steps) == ("r1", 1, ("searched", "paid"))
    assert sorted(hit.kind for hit in memory.recall("train", JANE)) == ["episode", "fact"]


@pytest.mark.parametrize("query", ["", " ", "\0", "word " * 50_000, "\u202e\ud7ff", "' OR 1=1 --", "*", '"'])
def test_any_query_gets_a_prompt(memory: Memory, query: str) -> None:
    fill(memory)
    made = memory.assemble(query, JANE, 120)
    assert made.ids("policies") and "0099" not in made.text and made.trace.tokens["total"] <= 120


def test_turns_may_be_any_iterable(memory: Memory) -> None:
    assert (
        memory.assemble("x", JANE, turns=(("user", f"turn {i}") for i in range(20))).text.count("- user") == 8
    )


@pytest.mark.parametrize("who", [{"tenant": "acme", "user": "jane"}, {"tenant": "acme"}])
def test_a_prompt_does_not_bring_back_what_was_forgotten(memory: Memory, tmp_path: Path, who: dict) -> None:
    fill(memory)
    session = memory.session(JANE, "r1")
    session.user("Which key is it for staging?")
    assert "sk-stg-0041" in session.assemble().text
    memory.forget(**who)
    session.user("Hello again.")
    session.close()
    assert [event.content for event in session.events()] == ["Hello again."]
    memory.admin.compact()
    assert is_gone(memory, Scope("nobody"), "Jane's staging key is sk-stg-0041.")


def test_deletions_of_other_scopes_leave_a_prompt_stored(memory: Memory) -> None:
    fill(memory)
    session = memory.session(JANE, "r1")
    session.assemble("key")
    memory.forget(JOE)
    memory.forget(tenant="globex")
    session.close()
    assert [event.kind for event in session.events()] == ["prompt"]


def test_a_deletion_by_another_opener_of_the_file_counts(memory: Memory, tmp_path: Path) -> None:
    """The number of the last deletion is cached until something other than traces is written."""
    fill(memory)
    session = memory.session(JANE, "r1")
    kinds = []
    with Memory.open(address_of(tmp_path / "m.scrubjay")) as other:
        for is_deleted in (False, True, False, True, False):
            session.assemble("Which key is it for staging?")
            if is_deleted:
                other.delete(str(other.propose("Jane sings", scope=JANE, source="r").id), scope=JANE)
            session.user("Hello.")
            kinds += ["user"] if is_deleted else ["prompt", "user"]
            assert [event.kind for event in session.events()] == kinds


def test_a_failed_append_keeps_the_prompt_for_the_next(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    session.user("hello")
    session.assemble()
    with pytest.raises(ValueError, match=r"events\[1\]: content: expected text that UTF-8 can encode"):
        session.extend([{"kind": "model", "content": "x"}, {"kind": "model", "content": "\ud800"}])
    assert [event.kind for event in session.events()] == ["user"]
    session.model("answer")
    assert [event.kind for event in session.events()] == ["user", "prompt", "model"]


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda m: m.session("acme", "r"), TypeError, "scope: expected a scrubjay.Scope, got str"),
        (lambda m: m.session(JANE, ""), ValueError, "run_id: expected 1 to 500"),
        (lambda m: m.session(JANE, " r"), ValueError, "run_id: expected 1 to 500"),
        (lambda m: m.session(JANE, 7), TypeError, "run_id: expected a str, got int"),
        (lambda m: m.session(JANE, "x" * 501), ValueError, "run_id: expected at most 500"),
        (lambda m: m.session(JANE, "r", retention="ever"), ValueError, "retention: expected one of"),
        (lambda m: m.session(JANE, "r").append("prompt", "x"), ValueError, "kind: 'prompt' is written by"),
        (
            lambda m: m.session(JANE, "r").extend([{"kind": "user"}]),
            ValueError,
            "content: expected a value, it is missing",
        ),
        (lambda m: m.session(JANE, "r").extend([{}]), ValueError, "kind: expected a value, it is missing"),
        (
            lambda m: m.session(JANE, "r").assemble(),
            ValueError,
            "query: expected a str, because the user has not said anything",
        ),
        (lambda m: m.admin.find_in_traces("x", JANE, limit=0), ValueError, "limit: expected 1 or more"),
        (lambda m: m.assemble("x", JANE, 0), ValueError, "budget_tokens: expected 1 or more"),
        (lambda m: m.assemble("x", None), TypeError, "scope: expected"),
        (lambda m: m.assemble(7, JANE), TypeError, "text: expected a str, got int"),
    ],
)
def test_bad_arguments_are_named(memory: Memory, make, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make(memory)
    assert memory.runs(JANE) == []


def test_a_session_is_shown(memory: Memory) -> None:
    session = memory.session(JANE, "r1")
    assert isinstance(session, Session) and "'r1'" in repr(session)
    assert "r1" in repr(memory.replay("r1", JANE)) if session.user("x") else False
