"""Selection of the files and passages that become notes, and the line numbers of passages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.memory.intake.notes import MAX_PASSAGE_CHARS, read_notes
from scrubjay.memory.intake.passages import read_passages

MARKDOWN = """---
title: front matter
---
Before any heading.

# Trips
By train.

## 2026 ##
To Riga.
Two lines.

```sh
# no heading
```
# Tea
"""


def test_passages_know_their_headings_and_lines() -> None:
    found = [(one.headings, one.body, one.first_line, one.last_line) for one in read_passages(MARKDOWN)]
    assert found == [
        ((), "Before any heading.", 4, 4),
        (("Trips",), "By train.", 7, 7),
        (("Trips", "2026"), "To Riga.\nTwo lines.\n\n```sh\n# no heading\n```", 10, 15),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_editors_do(end: str) -> None:
    (one,) = read_passages(
        f"a\x0bb\u2028c{end}{end}# H{end}{end}text{end}".removeprefix(f"a\x0bb\u2028c{end}")
    )
    assert (one.first_line, one.body) == (4, "text")


@given(st.text(alphabet="ab#`~- \n\r\t\x0c", max_size=200), st.integers(1, 60))
def test_every_word_is_in_one_passage_on_the_lines_it_says(content: str, max_chars: int) -> None:
    lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    last = 0
    for one in read_passages(content, markdown=False, max_chars=max_chars):
        assert last < one.first_line <= one.last_line
        assert one.body == "\n".join(lines[one.first_line - 1 : one.last_line]).strip() != ""
        assert not "".join(lines[last : one.first_line - 1]).strip()
        last = one.last_line
    assert not "".join(lines[last:]).strip()
    for one in read_passages(content):
        assert "\n".join(lines[one.first_line - 1 : one.last_line]).strip() == one.body


def test_a_folder_is_read_without_files_that_are_not_notes(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    notes = tmp_path / "notes"
    (notes / "trips").mkdir(parents=True)
    (notes / "b.md").write_text("\ufeff# B\nwith a byte order mark", encoding="utf-8")
    (notes / "a.txt").write_text("# no heading in text")
    (notes / "trips" / "2026.markdown").write_text("one\n\n" + "two " * 400 + "\n\nthree")
    (notes / ".hidden.md").write_text("hidden")
    (notes / ".git").mkdir()
    (notes / ".git" / "x.md").write_text("hidden")
    (notes / "code.py").write_text("print()")
    (notes / "empty.md").write_text("")
    (notes / "latin.md").write_bytes(b"caf\xe9")
    (notes / "link.md").symlink_to(outside / "secret.md")
    (notes / "loop").symlink_to(notes)
    found = read_notes(notes)
    assert {
        file: [note.passage.body[:20] for note in passages] for file, passages in found.by_file.items()
    } == {
        "a.txt": ["# no heading in text"],
        "b.md": ["with a byte order ma"],
        "empty.md": [],
        "trips/2026.markdown": ["one", "two " * 5, "three"],
    }
    assert found.others == {
        "code.py": "is neither Markdown nor plain text (.md, .markdown, .txt)",
        "link.md": "is a link to a file outside of the folder",
    }
    assert list(found.skipped) == ["latin.md"] and "is not UTF-8" in found.skipped["latin.md"]
    assert found.by_file["trips/2026.markdown"][1].place == "trips/2026.markdown:3"
    assert read_notes(notes / "b.md").by_file["b.md"][0].place == "b.md:2"
    with pytest.raises(FileNotFoundError, match="folder: expected an existing folder"):
        read_notes(tmp_path / "nothing")


def test_a_paragraph_of_any_length_becomes_records_that_fit(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text(
        "# H\n" + "\n".join(f"line {i} " + "x" * 90 for i in range(100)) + "\n\nend"
    )
    (tmp_path / "wide.md").write_text("word " * 3000 + "\n" + "y" * 9000 + "\nlast")
    found = read_notes(tmp_path).by_file
    for passages in found.values():
        assert all(0 < len(note.passage.body) <= MAX_PASSAGE_CHARS for note in passages)
    lines = (tmp_path / "long.md").read_text().split("\n")
    for note in found["long.md"]:
        one = note.passage
        assert one.headings == ("H",)
        assert "\n".join(lines[one.first_line - 1 : one.last_line]).strip() == one.body
    words = "".join("".join(note.passage.body.split()) for note in found["wide.md"])
    assert words == "word" * 3000 + "y" * 9000 + "last"
