"""A record longer than a prompt's limit is replaced by the part that answers the question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scrubjay.memory import Memory
from tests.memory.setting import ACME, JANE, open_memory

FILLER = "We went through the list of open points, and nobody had anything to add to it. " * 60
ANSWER = "The staging key begins with sk-stg-0041."
LONG = f"{FILLER}{ANSWER} {FILLER}"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.scrubjay") as memory:
        memory.index.upsert("minutes", LONG, scope=JANE)
        yield memory


def test_the_part_that_answers_is_in_the_prompt(memory: Memory) -> None:
    made = memory.assemble("What does the staging key sk-stg-0041 begin with?", scope=JANE, floor="none")
    (note,) = made.pieces["memories"]
    assert ANSWER in made.text and made.trace.excerpts == (note.id,) == ("minutes",)
    assert made.trace.dropped == () and made.trace.to_dict()["excerpts"] == ["minutes"]
    assert note.text.startswith("… ") and " … (" in note.text  # followed by the date and the tier
    assert made.limits.count(f"- {note.text}\n") <= made.limits.item_tokens < made.limits.count(LONG)


@pytest.mark.parametrize("item_tokens", [15, 16, 20, 50, 100, 1000])
def test_an_excerpt_is_no_longer_than_item_tokens(memory: Memory, item_tokens: int) -> None:
    def words(text: str) -> int:
        return len(text.split())

    made = memory.assemble("staging key", scope=JANE, floor="none", item_tokens=item_tokens, count=words)
    for piece in made.pieces["memories"]:
        assert words(f"- {piece.text}") <= item_tokens
    assert dict(made.trace.dropped).get("minutes") == (None if made.pieces["memories"] else "over_item_cap")


def test_a_record_that_fits_is_not_shortened(memory: Memory) -> None:
    made = memory.assemble("staging key", scope=JANE, floor="none", budget_tokens=10_000, item_tokens=5_000)
    assert LONG in made.text and made.trace.excerpts == ()


def test_a_record_whose_line_is_always_too_long_is_dropped(memory: Memory) -> None:
    made = memory.assemble("staging key", scope=JANE, floor="none", line=lambda hit: "x " * 2_000)
    assert made.trace.dropped == (("minutes", "over_item_cap"),) and made.trace.excerpts == ()


def test_a_template_gets_the_part_as_its_text(memory: Memory) -> None:
    made = memory.assemble(
        "staging key", scope=JANE, floor="none", line=lambda hit: f"<{hit.id}> {hit.text} </{hit.id}>"
    )
    (piece,) = made.pieces["memories"]
    assert piece.text.startswith("<minutes> … ") and piece.text.endswith(" </minutes>")
    assert ANSWER in piece.text


def test_notes_of_one_id_in_two_scopes_are_told_apart(memory: Memory) -> None:
    memory.index.upsert("minutes", f"{FILLER}The staging key of all is sk-stg-0099. {FILLER}", scope=ACME)
    made = memory.assemble("staging key", scope=JANE, floor="none")
    assert "sk-stg-0041" in made.text and "sk-stg-0099" in made.text
    assert made.trace.excerpts == ("minutes", "minutes")


def test_records_dropped_over_budget_are_not_listed_as_excerpts(memory: Memory) -> None:
    made = memory.assemble("staging key", scope=JANE, floor="none", budget_tokens=100)
    assert made.pieces["memories"] == () and made.trace.excerpts == ()
    assert made.trace.dropped == (("minutes", "over_budget"),)


def test_a_prompt_with_one_is_replayed_byte_for_byte(memory: Memory) -> None:
    with memory.session(JANE, "chat") as session:
        session.user("What does the staging key begin with?")
        made = session.assemble(floor="none")
    assert made.trace.excerpts == ("minutes",)
    (again,) = memory.replay("chat", JANE).prompts()
    assert again.faithful and again.assembled is not None and again.assembled.text == made.text
