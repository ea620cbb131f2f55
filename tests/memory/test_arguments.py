"""Invalid arguments of a memory's methods are refused at once, with the name, the expected and the given value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scrubjay import Filter
from scrubjay.memory import FactCandidate, Memory
from tests.memory.setting import JANE, open_memory


@pytest.mark.parametrize(
    ("proposals", "message"),
    [
        ([FactCandidate("a")], r"proposals\[0\]: expected \(candidate, scope, source\), got FactCandidate"),
        ([("a", JANE, "r"), "text"], r"proposals\[1\]: expected .*, got str"),
        ([("a", JANE)], r"proposals\[0\]: expected .*, got 2 values"),
        ([("a", JANE, "r"), (7, JANE, "r")], r"^proposals\[1\].candidate: expected a candidate"),
        (
            [("a", JANE, "r"), ("b", "acme", "r")],
            r"^proposals\[1\].scope: expected a scrubjay.Scope, got str",
        ),
        (FactCandidate("a"), "proposals: expected .* in a sequence, got FactCandidate"),
        ("abc", "proposals: expected .* in a sequence, got str"),
    ],
)
def test_proposals_of_another_form_are_refused(tmp_path: Path, proposals: Any, message: str) -> None:
    with open_memory(tmp_path / "m.scrubjay") as memory:
        with pytest.raises(TypeError, match=message):
            memory.propose_all(proposals)
        assert memory.list(JANE, hidden=True) == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"retriever": 7}, "^retriever: expected a function of an Index, got int$"),
        ({"decay": 0.5}, "^decay: expected a Decay, got float$"),
        ({"clock": 7}, "^clock: expected a callable, got int$"),
        ({"dates": "de"}, "^dates: expected a sequence of languages"),
    ],
)
def test_an_option_that_is_refused_makes_no_file(
    tmp_path: Path, option: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Memory.open(tmp_path / "m.scrubjay", **option)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["line", "count", "summarise"])
def test_a_callback_that_is_not_a_function_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with (
        open_memory(tmp_path / "m.scrubjay") as memory,  # with nothing to recall
        pytest.raises(TypeError, match=f"{name}: expected a function, got str"),
    ):
        memory.assemble("x", JANE, **{name: "x"})  # type: ignore[arg-type]


@pytest.mark.parametrize("kinds", [("fact", "episode", "note"), ("fact",), ("note",)])
@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ("x", "^filter: expected a mapping of fields to conditions, got str 'x'$"),
        ([{"a": 1}], "^filter: expected a mapping of fields to conditions, got list"),
        (Filter({"a": 1}), r"^filter: expected a mapping of fields to conditions, got a compiled Filter\("),
        ({"$and": [{"a": 1}, 7]}, r"^\$and\[1\]: expected a mapping of fields to conditions, got int 7$"),
        ({"$or": "a"}, r"^\$or: expected a list"),
    ],
)
def test_a_filter_is_refused_at_its_own_place(tmp_path: Path, filter: Any, message: str, kinds: Any) -> None:
    """Not at that of a part of the filter for what is in force."""
    with open_memory(tmp_path / "m.scrubjay") as memory:
        for options in ({}, {"without": ["secret"]}, {"as_of": 0}):
            with pytest.raises(TypeError, match=message):
                memory.recall("sails", JANE, filter=filter, kinds=kinds, **options)


def test_an_empty_question_recalls_nothing(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.scrubjay") as memory:
        memory.add("Jane sails", scope=JANE)
        assert len(memory.recall("sails", JANE)) == 1
        assert len(memory.recall("", JANE)) == len(memory.recall(" \n", JANE)) == 0
