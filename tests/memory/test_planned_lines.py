"""A prompt must say that a plan is a plan, and for which day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay import FactCandidate
from scrubjay.memory import Memory
from tests.memory.setting import JANE


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory with keyword search."""
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        yield memory


def test_a_plan_says_which_day_it_is_for(memory: Memory) -> None:
    plan = FactCandidate("Jane moves to Rome", "Jane", "lives in", relation="plans", valid_from="2090-06-01")
    memory.propose(plan, scope=JANE, source="r")
    memory.propose(FactCandidate("Jane will dive", "Jane", "dives", relation="plans"), scope=JANE, source="r")
    prompt = memory.assemble("where does Jane move, Rome? will she dive?", JANE, floor="none").text
    assert re.search(r"Jane moves to Rome \(planned for 2090-06-01; (high|standard|low)\)", prompt)
    assert re.search(r"Jane will dive \(a plan of 20\d\d-\d\d-\d\d; (high|standard|low)\)", prompt)
    with memory.session(JANE, "chat") as session:
        session.user("where does Jane move, Rome?")
        said = session.assemble(floor="none").text
    assert "planned for 2090-06-01" in said
    (again,) = memory.replay("chat", JANE).prompts()
    assert again.faithful and again.assembled is not None and again.assembled.text == said
