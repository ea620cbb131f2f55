"""Passages of long texts: they cover everything, none is too long, borders are those of the text."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import Index, Query, Scope, embedders
from scrubjay.documents.passages import Passage, split

MIDDLE = "If the nightly backups fail three times in a row, page Ada before touching the replica."
FILLER = [f"Section {i} is about the upkeep of pumps, valves and pipes in hall {i % 7}." for i in range(500)]
LONG = " ".join([*FILLER[:250], MIDDLE, *FILLER[250:]])
PARTS = st.sampled_from(
    ["word ", "A sentence. ", "东京都。", "क्या। ", "é\u0301", "\n", "\n\n", "\r\n", "# Head\n", "## Sub ##\n", "```\n",
     "~~~~\n", "- item\n", "Ada: yes\n", "x" * 70, "\u2028", "\t", "#no\n", "  "]
)  # fmt: skip
TEXTS = st.lists(PARTS, max_size=60).map("".join)


@given(TEXTS, st.integers(50, 90), st.integers(0, 25), st.booleans())
@example("x" * 200, 50, 25, True)
@example("a b. " * 30 + "\n\n" + "c. " * 20, 50, 20, True)
@example("```\n# no heading\n```\n# yes\n", 50, 0, True)
def test_everything_is_in_a_passage_that_fits(
    text: str, max_chars: int, overlap: int, markdown: bool
) -> None:
    passages = split(text, max_chars=max_chars, overlap=overlap, markdown=markdown)
    assert passages == split(text, max_chars=max_chars, overlap=overlap, markdown=markdown)
    covered = set()
    for passage in passages:
        assert passage.text == text[passage.start : passage.end] == passage.text.strip() != ""
        assert len(passage.text) <= max_chars
        covered |= set(range(passage.start, passage.end))
    for one, next_one in pairwise(passages):
        assert one.start < next_one.start and one.end < next_one.end
        assert one.end - next_one.start <= overlap
        if one.headings != next_one.headings or not overlap:
            assert one.end <= next_one.start
    left = "".join(c for i, c in enumerate(text) if i not in covered and not c.isspace())
    if not markdown:
        assert left == ""
    else:  # headings alone
        for heading in ("##Sub##", "#Head", "#yes", "#no"):
            left = left.replace(heading, "")
        assert left == ""


def test_headings_paragraphs_and_code_are_borders() -> None:
    code = "```python\n# no heading\n\nx = 1\n```"
    text = f"Intro.\n\n# Trips\nBy train.\n\n{code}\n\n## Riga ##\nIn March.\n\nBy ship.\n# End\nBye."
    assert [(one.text, one.headings, one.context) for one in split(text, max_chars=50)] == [
        ("Intro.", (), None),
        ("By train.\n\n```python\n# no heading\n\nx = 1\n```", ("Trips",), "Trips"),
        ("In March.\n\nBy ship.", ("Trips", "Riga"), "Trips > Riga"),
        ("Bye.", ("End",), "End"),
    ]
    assert "# Trips" in split(text, max_chars=400, markdown=False)[0].text


def test_long_paragraphs_are_cut_at_sentences_then_spaces_then_characters() -> None:
    assert [one.text for one in split("One is short. " * 3 + "Two.", max_chars=50)] == [
        "One is short. One is short. One is short. Two."
    ]
    assert [one.text for one in split("One is a bit longer. " * 3, max_chars=50)] == [
        "One is a bit longer. One is a bit longer.", "One is a bit longer.",
    ]  # fmt: skip
    words = split("word " * 100, max_chars=50)
    assert all(one.text == " ".join(["word"] * 10) for one in words) and len(words) == 10
    marks = split("e\u0301" * 100, max_chars=51)
    assert all(unicodedata.category(one.text[0]) == "Ll" for one in marks)
    assert [len(one.text) for one in split("東京。" * 40, max_chars=60)] == [60, 60]


def test_a_passage_repeats_whole_sentences_of_the_one_before() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    first, second, *_ = split(text, max_chars=50, overlap=20)
    assert first.text.endswith(" Seven eight nine.") and second.text == "Seven eight nine. Ten eleven twelve."
    plain = split(text, max_chars=50)
    assert [one.text for one in plain] == [
        "One two three. Four five six. Seven eight nine.",
        "Ten eleven twelve.",
    ]


def test_a_sentence_amid_a_long_text_is_found_by_meaning_through_its_passages() -> None:
    index, scope = Index(embedder=embedders.default()), Scope("acme")
    index.upsert_many(
        [
            {"id": f"manual#{number}", "text": one.text, "context": "Manual of the pump halls",
             "metadata": {"document": "manual", "start": one.start, "end": one.end}}
            for number, one in enumerate(split(LONG, max_chars=400, overlap=80))
        ],
        scope=scope,
    )  # fmt: skip
    found = index.search(
        "whom do we inform when saving our data goes wrong again and again?", scope=scope, k=3,
        query=Query(mode="vector"),
    )  # fmt: skip
    best = found[0]
    assert MIDDLE in best.text or MIDDLE[:60] in best.text
    assert LONG[best.metadata["start"] : best.metadata["end"]] == best.text


@pytest.mark.parametrize(
    ("options", "name", "error"),
    [
        ({"max_chars": 49}, "max_chars", ValueError),
        ({"max_chars": 99.0}, "max_chars", TypeError),
        ({"overlap": -1}, "overlap", ValueError),
        ({"max_chars": 100, "overlap": 51}, "overlap", ValueError),
        ({"overlap": True}, "overlap", TypeError),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], name: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=rf"^{name}: expected .* got"):
        split("text", **options)
    with pytest.raises(TypeError, match=r"^text: expected a str, got bytes"):
        split(b"text")  # type: ignore[arg-type]


def test_a_passage_is_a_tuple() -> None:
    assert split("") == split(" \n ") == [] and split(" a ") == [Passage(1, 2, "a")]
