"""Arguments of a memory's verbs that are refused at once, with their name, what was expected and what was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scrubjay.memory import FactCandidate
from tests.memory.setting import JANE, open_memory


@pytest.mark.parametrize(
    ("proposals", "message"),
    [
        ([FactCandidate("a")], r"proposals\[0\]: expected \(candidate, scope, source\), got FactCandidate"),
        ([("a", JANE, "r"), "text"], r"proposals\[1\]: expected .*, got str"),
        ([("a", JANE)], r"proposals\[0\]: expected .*, got 2 values"),
        (FactCandidate("a"), "proposals: expected .* in a sequence, got FactCandidate"),
        ("abc", "proposals: expected .* in a sequence, got str"),
    ],
)
def test_proposals_of_another_form_are_refused(tmp_path: Path, proposals: Any, message: str) -> None:
    with open_memory(tmp_path / "m.scrubjay") as memory:
        with pytest.raises(TypeError, match=message):
            memory.propose_all(proposals)
        assert memory.list(JANE, hidden=True) == []


@pytest.mark.parametrize("name", ["line", "count", "summarise"])
def test_what_is_no_function_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with (
        open_memory(tmp_path / "m.scrubjay") as memory,  # that has nothing to recall
        pytest.raises(TypeError, match=f"{name}: expected a function, got str"),
    ):
        memory.assemble("x", JANE, **{name: "x"})  # type: ignore[arg-type]


def test_no_question_has_no_answer(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay") as memory:
        memory.add("Jane sails", scope=JANE)
        assert len(memory.recall("sails", JANE)) == 1
        assert len(memory.recall("", JANE)) == len(memory.recall(" \n", JANE)) == 0
