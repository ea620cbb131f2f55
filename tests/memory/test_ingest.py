"""Notes: after every ingestion memory agrees with the files, whatever happened to files and processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay import Scope
from scrubjay.memory import FactCandidate, Memory
from scrubjay.memory.intake.extractors import SourcedCandidate
from scrubjay.memory.intake.transcripts import Transcript
from tests.memory.setting import address_of

JANE = Scope("acme", user="jane")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.scrubjay") as memory:
        yield memory


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "trips").mkdir(parents=True)
    (folder / "trips" / "2026.md").write_text("# Riga\n\nThe hotel is Neiburgs.\n\n# Bergen\nIt rained.\n")
    (folder / "keys.txt").write_text("The staging key is sk-stg-0041.")
    return folder


def contents(memory: Memory, scope: Scope = JANE) -> list[str]:
    return sorted(record.content for record in memory.list(scope, kinds=("fact",)))


def test_passages_are_facts_with_headings_file_and_line(memory: Memory, notes: Path) -> None:
    done = memory.ingest(notes, scope=JANE)
    assert (done.files, done.written, done.unchanged, done.revoked, done.rejected) == (2, 3, 0, 0, [])
    hit = memory.recall("which hotel in Riga?", JANE)[0]
    assert hit.text == "Riga\nThe hotel is Neiburgs." and hit.metadata["heading"] == "Riga"
    source = memory.why(hit.id, scope=JANE).provenance
    assert (source.run, source.place) == ("notes:notes", "trips/2026.md:3")
    assert memory.recall("hotel", Scope("acme", user="joe")).ids == []
    assert "Riga\n  The hotel is Neiburgs." in memory.assemble("hotel", JANE).text


def test_an_ingestion_follows_the_files(memory: Memory, notes: Path) -> None:
    memory.ingest(notes, scope=JANE)
    ids = {record.content: record.id for record in memory.list(JANE, kinds=("fact",))}
    again = memory.ingest(notes, scope=JANE)
    assert (again.written, again.unchanged, again.revoked) == (0, 3, 0)
    (notes / "trips" / "2026.md").write_text("# Riga\n\nThe hotel is Dome.\n\n# Bergen\nIt rained.\n")
    changed = memory.ingest(notes, scope=JANE)
    assert (changed.written, changed.unchanged, changed.revoked) == (1, 2, 1)
    assert contents(memory) == [
        "Bergen\nIt rained.",
        "Riga\nThe hotel is Dome.",
        "The staging key is sk-stg-0041.",
    ]
    assert ids["Bergen\nIt rained."] in [record.id for record in memory.list(JANE, kinds=("fact",))]
    (notes / "keys.txt").rename(notes / "moved.txt")
    moved = memory.ingest(notes, scope=JANE)
    assert (moved.written, moved.revoked) == (1, 1)
    (notes / "moved.txt").unlink()
    (notes / "trips" / "2026.md").write_text("")
    gone = memory.ingest(notes, scope=JANE)
    assert (gone.written, gone.revoked) == (0, 3) and contents(memory) == []
    assert len(memory.recall("Riga Bergen staging", JANE)) == 0


def test_passages_that_change_places_are_kept(memory: Memory, notes: Path) -> None:
    for name, text in (("a", "one"), ("b", "two"), ("c", "three")):
        (notes / f"{name}.md").write_text(text)
    memory.ingest(notes, scope=JANE)
    before = contents(memory)
    for name, text in (("a", "two"), ("b", "three"), ("c", "one")):
        (notes / f"{name}.md").write_text(text)
    assert memory.ingest(notes, scope=JANE).written == 3
    assert contents(memory) == before
    (notes / "a.md").write_text("three")  # now in two files
    memory.ingest(notes, scope=JANE)
    (notes / "b.md").write_text("")
    memory.ingest(notes, scope=JANE)
    assert "three" in contents(memory) and "two" not in contents(memory)


def test_a_file_that_cannot_be_read_today_keeps_its_facts(memory: Memory, notes: Path) -> None:
    memory.ingest(notes, scope=JANE)
    before = contents(memory)
    (notes / "keys.txt").write_bytes(b"caf\xe9")
    done = memory.ingest(notes, scope=JANE)
    assert list(done.skipped) == ["keys.txt"] and done.revoked == 0 and contents(memory) == before


def test_skipped_files_are_reported_with_the_reason(memory: Memory, notes: Path) -> None:
    read = memory.ingest(notes, scope=JANE)
    assert read.skipped == {}
    (notes / "plan.pdf").write_bytes(b"%PDF-1.7")
    (notes / "deep").mkdir()
    (notes / "deep" / "data.CSV").write_text("a,b")
    (notes / "latin.md").write_bytes(b"caf\xe9")
    (notes / ".hidden").write_text("x")
    again = memory.ingest(notes, scope=JANE)
    assert {file: why.split(" (")[0] for file, why in again.skipped.items()} == {
        "deep/data.CSV": "is neither Markdown nor plain text",
        "latin.md": "is not UTF-8",
        "plan.pdf": "is neither Markdown nor plain text",
    }
    assert (again.files, again.unchanged, again.revoked) == (read.files, read.written, 0)
    (notes / "plan.pdf").rename(notes / "plan.md")
    assert memory.ingest(notes, scope=JANE).written == 1
    outside = notes.parent / "outside.md"
    (notes / "plan.md").rename(outside)
    (notes / "plan.md").symlink_to(outside)
    gone = memory.ingest(notes, scope=JANE)  # it does not belong to this folder any more
    assert gone.revoked == 1 and gone.skipped["plan.md"] == "is a link to a file outside of the folder"


def test_other_memories_and_other_folders_are_left_alone(memory: Memory, notes: Path, tmp_path: Path) -> None:
    memory.propose(FactCandidate("Said in a conversation."), scope=JANE, source="r0")
    memory.ingest(notes, scope=JANE)
    other = tmp_path / "other"
    other.mkdir()
    (other / "keys.txt").write_text("Another key.")
    memory.ingest(other, scope=JANE)
    memory.ingest(notes, scope=Scope("acme", user="joe"))
    assert len(contents(memory)) == 5 and len(contents(memory, Scope("acme", user="joe"))) == 3
    (other / "keys.txt").unlink()
    assert memory.ingest(other, scope=JANE).revoked == 1
    assert len(contents(memory)) == 4
    single = memory.ingest(notes / "keys.txt", scope=JANE, name="single")
    assert (single.files, single.unchanged) == (1, 1), "the same content is known from the folder"


def test_a_tenants_notes_wait_to_be_confirmed(memory: Memory, notes: Path) -> None:
    acme = Scope("acme")
    (notes / "copy.txt").write_text("The staging key is sk-stg-0041.")
    for _ in range(2):
        memory.ingest(notes, scope=acme)
        assert len(memory.recall("staging key", JANE)) == 0, "the same notes again are no second observation"
    waiting = [one for one in memory.list(acme, kinds=("fact",), hidden=True) if "staging" in one.content]
    memory.confirm(waiting[0].id, by="boss", scope=acme)
    assert memory.recall("staging key", JANE)[0].text == "The staging key is sk-stg-0041."


def test_an_extractor_reads_what_is_new_and_its_facts_go_with_their_passage(
    memory: Memory, notes: Path
) -> None:
    read: list[str] = []

    def extractor(transcript: Transcript) -> Any:
        for said in transcript.utterances:
            read.append(said.text)
            yield SourcedCandidate(FactCandidate(f"Noted: {said.text}", "notes", said.text), said.seq)

    done = memory.ingest(notes, scope=JANE, extractor=extractor)
    assert (done.written, done.distilled, len(read)) == (3, 3, 3)
    found = next(one for one in memory.list(JANE, kinds=("fact",)) if one.content.startswith("Noted: Riga"))
    assert memory.why(found.id, scope=JANE).provenance.place == "trips/2026.md:3"
    assert memory.ingest(notes, scope=JANE, extractor=extractor).unchanged == 3 and len(read) == 3
    (notes / "trips" / "2026.md").write_text("# Riga\n\nThe hotel is Dome.\n\n# Bergen\nIt rained.\n")
    memory.ingest(notes, scope=JANE, extractor=extractor)
    assert read[3:] == ["Riga The hotel is Dome."]
    assert [text for text in contents(memory) if "Riga" in text] == [
        "Noted: Riga The hotel is Dome.",
        "Riga\nThe hotel is Dome.",
    ]

    def fails(_: Transcript) -> Any:
        raise RuntimeError("away")

    (notes / "keys.txt").write_text("The key changed.")
    before = contents(memory)
    with pytest.raises(RuntimeError):
        memory.ingest(notes, scope=JANE, extractor=fails)
    assert contents(memory) == before, "a file is one transaction"


FILES = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "c/d.txt"]),
    st.lists(st.sampled_from(["# H", "## Sub", "alpha", "beta gamma", "", "alpha.", "\u200b"]), max_size=6),
    max_size=3,
)


@settings(max_examples=15)
@given(states=st.lists(FILES, min_size=1, max_size=4))
def test_facts_of_a_folder_equal_its_files_after_each_ingestion(
    states: list[dict[str, list[str]]], tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("ingest")
    notes = folder / "notes"
    with Memory.open(folder / "m.scrubjay", durability="normal") as memory:
        for state in states:
            for old in list(notes.rglob("*.*")):
                old.unlink()
            notes.mkdir(exist_ok=True)
            for name, lines in state.items():
                (notes / name).parent.mkdir(exist_ok=True)
                (notes / name).write_text("\n\n".join(lines))
            memory.ingest(notes, scope=JANE)
            living = contents(memory)
            with Memory.open(folder / f"fresh{len(list(folder.iterdir()))}.scrubjay") as fresh:
                fresh.ingest(notes, scope=JANE)
                expected = contents(fresh)
            # Of passages that differ only in case or a full stop either may be kept.
            assert sorted(text.rstrip(".") for text in living) == sorted(
                text.rstrip(".") for text in expected
            )
            assert memory.ingest(notes, scope=JANE).written == 0


INGEST = """
    import sys
    from pathlib import Path
    from scrubjay import Scope
    from scrubjay.memory import Memory
    memory = Memory.open(sys.argv[1], durability="normal")
    notes = Path(sys.argv[2])
    number = int(sys.argv[3])
    while True:
        number += 1
        for i in range(4):
            (notes / f"{i}.txt").write_text(f"one {number} {i}\\n\\n" + f"two {number} {i} " * 200)
        print(number, flush=True)
        memory.ingest(notes, scope=Scope("acme", user="jane"))
"""


def test_a_killed_ingestion_is_simply_run_again(memory: Memory, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    number = 0
    for _ in range(3):
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                textwrap.dedent(INGEST),
                address_of(tmp_path / "m.scrubjay"),
                str(notes),
                str(number),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(3):
            number = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        number = max([number, *map(int, process.stdout.read().split())])
        process.wait()
        process.stdout.close()
        by_file: dict[str, set[str]] = {}
        for record in memory.list(JANE, kinds=("fact",)):
            by_file.setdefault(record.metadata["file"], set()).add(record.content.split()[1])
        assert all(len(numbers) == 1 for numbers in by_file.values()), "each file is as it was, or as it is"
        memory.ingest(notes, scope=JANE)
        said = {line for path in notes.iterdir() for line in path.read_text().split("\n\n")}
        assert contents(memory) == sorted(line.strip() for line in said)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (
            lambda m, f: m.ingest(f / "nothing", scope=JANE),
            FileNotFoundError,
            "folder: expected an existing folder",
        ),
        (lambda m, f: m.ingest(f, scope=None), TypeError, "scope: expected"),
        (lambda m, f: m.ingest(f, scope=JANE, name="a/b"), ValueError, "name: expected"),
        (lambda m, f: m.ingest(f, scope=JANE, name=""), ValueError, "name: expected"),
        (lambda m, f: m.ingest(f, scope=JANE, extractor=7), TypeError, "extractor: expected"),
    ],
)
def test_bad_arguments_are_named(
    memory: Memory, notes: Path, make, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        make(memory, notes)
    assert contents(memory) == []
