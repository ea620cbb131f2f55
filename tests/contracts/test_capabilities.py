"""docs/project/capabilities.md lists what is tested, and everything it names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import scrubjay
from scrubjay import memory, retrieval

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "project" / "capabilities.md").read_text(encoding="utf-8")
TESTS = (ROOT / "tests" / "memory" / "test_capability_rows.py").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| (works|in part) \| `test_row_(\d+)` \|$", PAGE, re.MULTILINE
)
N_ROWS = 41


def test_every_row_of_the_page_has_its_test_and_every_test_its_row() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, N_ROWS + 1))
    assert all(number == test for number, *_, test in ROWS)
    assert PAGE.count("\n| ") == N_ROWS + 2 * 5  # plus the headers of five tables; no row of another form
    names = [node.name for node in ast.parse(TESTS).body if isinstance(node, ast.FunctionDef)]
    tested = [re.match(r"test_row_(\d+)_", name) for name in names if name.startswith("test_")]
    assert [found and int(found[1]) for found in tested] == list(range(1, N_ROWS + 1))


def test_capabilities_that_do_not_work_state_a_reason() -> None:
    reasons = set(re.findall(r"^- \*\*(\d+), ", PAGE.partition("## In part")[2], re.MULTILINE))
    assert {number for number, _, _, state, _ in ROWS if state != "works"} <= reasons
    assert reasons <= {number for number, *_ in ROWS}


@pytest.mark.parametrize(("number", "verb"), [(number, verb) for number, _, verb, *_ in ROWS])
def test_names_in_the_capability_table_are_public(number: str, verb: str) -> None:
    """The classes and functions that the page names exist; the tests of the rows cover their arguments."""
    named = re.findall(r"(?<![\w.\"=])([A-Z]\w+)(?:\.(\w+))?", verb)
    assert named or "conversation" in verb or "filters" in verb or "$in" in verb, (
        f"row {number} names nothing"
    )
    for owner, member in named:
        homes = [home for home in (scrubjay, memory, retrieval) if hasattr(home, owner)]
        assert homes, f"row {number}: {owner} is not public"
        if member:
            assert hasattr(getattr(homes[0], owner), member), f"row {number}: {owner}.{member} is not there"
