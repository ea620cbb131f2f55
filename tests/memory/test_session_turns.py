"""The turns that a session caches for its prompts equal those in the trace."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay.memory.runs.session import Session
from tests.memory.setting import JANE, Clock, open_memory

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, 2), st.sampled_from(["user", "model", "tool"])),
        st.tuples(st.just("ask"), st.integers(0, 2), st.none()),
        st.tuples(st.just("retract"), st.integers(0, 2), st.integers(1, 12)),
        st.tuples(st.just("flush"), st.integers(0, 2), st.none()),
        st.tuples(st.just("wait"), st.integers(0, 2), st.sampled_from([1, 6, 40, -3])),
        st.tuples(st.just("sweep"), st.integers(0, 2), st.none()),
        st.tuples(st.just("forget"), st.integers(0, 2), st.none()),
        st.tuples(st.just("look"), st.integers(0, 2), st.none()),
    ),
    max_size=40,
)


def as_told(session: Session) -> list[tuple[int, str]]:
    return [(turn.seq, turn.content) for turn in session._turns_now()]


@given(steps=STEPS)
@example([("say", 0, "user"), ("look", 0, None), ("say", 1, "user"), ("say", 0, "user")])
@example([("say", 0, "user"), ("look", 1, None), ("say", 1, "user"), ("wait", 1, 40)])
def test_the_cached_turns_equal_the_stored_ones(steps: list[tuple[str, int, object]]) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder) / "m.scrubjay", clock) as memory:
        # One run; two of its sessions have another retention.
        sessions = [
            memory.session(JANE, "r1", retention=retention) for retention in ("standard", "short", "short")
        ]
        for number, (step, which, detail) in enumerate(steps):
            session = sessions[which]
            if step == "say":
                session.append(str(detail), f"what was said {number}")
            elif step == "ask" and session._turns_now():
                session.assemble("what was said")
            elif step == "retract" and any(
                event.seq == detail and event.kind in ("user", "model", "tool") for event in session.events()
            ):
                session.retract(int(str(detail)))
            elif step == "flush":
                session.flush()
            elif step == "wait":
                clock.pass_days(float(str(detail)))
            elif step == "sweep":
                memory.admin.sweep()
            elif step == "forget":
                memory.forget(tenant="acme", user="jane", reason="asked for")
            clock.now += 1000
            if step in ("look", "wait"):
                assert as_told(session) == [(turn.seq, turn.content) for turn in session.recent()]
        for one in sessions:
            assert as_told(one) == [(turn.seq, turn.content) for turn in one.recent()]


def test_turns_of_this_session_are_not_read_from_the_store(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay", Clock()) as memory:
        session = memory.session(JANE, "r1")
        session.user("Hello!")
        session.assemble()
        session.model("Good morning.")
        session.user("Where do I live?")

        def reading(n: int) -> object:
            raise AssertionError("the turns were read again")

        kept, session._read_recent = session._read_recent, reading  # type: ignore[method-assign,assignment]
        assert [text for _, text in as_told(session)] == ["Hello!", "Good morning.", "Where do I live?"]
        session._read_recent = kept  # type: ignore[method-assign]
        memory.session(JANE, "r1").tool("from elsewhere")
        assert [text for _, text in as_told(session)] == ["Hello!", "Good morning.", "Where do I live?"]
