"""The notes of a folder: Markdown and plain text, passage by passage, each with file and lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scrubjay.base.errors import StoreError
from scrubjay.memory.intake.passages import Passage, read_passages

SUFFIXES = (".md", ".markdown", ".txt")
MAX_PATH_CHARS = 250
"""Maximum length of a file's path below the folder; it is part of a record's provenance."""
MAX_PASSAGE_CHARS = 4000
"""Longer single paragraphs are cut, at line ends or else between words."""


@dataclass(frozen=True)
class Note:
    """A passage and its file: the path below the folder, with slashes."""

    file: str
    passage: Passage

    @property
    def place(self) -> str:
        """File and lines, as editors understand it: "trips/2026.md:12-18"."""
        first, last = self.passage.first_line, self.passage.last_line
        return f"{self.file}:{first}" if first == last else f"{self.file}:{first}-{last}"


@dataclass
class Notes:
    """The notes of a folder by file, and the skipped files with reasons: unreadable ones (`skipped`), and files that
    are not notes of this folder (`others`)."""

    by_file: dict[str, list[Note]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)


def read_notes(folder: str | Path) -> Notes:
    """Read the notes of a folder and its subfolders, files in alphabetical order; or one file.

    Hidden files and folders are left out. Files of other types, links to files outside of the folder, and files that
    are not UTF-8 are skipped and reported.

    Raises:
        FileNotFoundError: the folder does not exist.
        StoreError: a file or folder cannot be read.
    """
    root = Path(folder)
    if not root.exists():
        raise FileNotFoundError(f"folder: expected an existing folder or file, got {root}")
    notes = Notes()
    for path, why in _files(root):
        name = path.name if path == root else path.relative_to(root).as_posix()
        if why is not None:
            notes.others[name.encode(errors="replace").decode()] = why
            continue
        if len(name) > MAX_PATH_CHARS:
            notes.skipped[name.encode(errors="replace").decode()] = (
                f"has a path of more than {MAX_PATH_CHARS} characters"
            )
            continue
        try:
            name.encode()
            content = path.read_bytes().decode("utf-8-sig")
        except UnicodeError as error:
            shown = name.encode(errors="replace").decode()
            notes.skipped[shown] = (
                f"is not UTF-8 ({error.reason} at byte {error.start})"
                if isinstance(error, UnicodeDecodeError)
                else "has a name that is not UTF-8"
            )
            continue
        except OSError as error:
            raise StoreError(f"reading notes: {error.strerror or error}: {path}") from error
        passages = read_passages(content, markdown=path.suffix.lower() != ".txt")
        notes.by_file[name] = [Note(name, piece) for passage in passages for piece in _pieces(passage)]
    return notes


def _pieces(passage: Passage) -> Iterator[Passage]:
    """Cut a passage that is too long for one record; its pieces keep its headings and have their own lines."""
    if len(passage.body) <= MAX_PASSAGE_CHARS:
        yield passage
        return
    start, number, body = passage.first_line, passage.first_line, ""
    for line in passage.body.split("\n"):
        if body and len(body) + len(line) > MAX_PASSAGE_CHARS:
            yield passage._replace(body=body, first_line=start, last_line=number - 1)
            start, body = number, ""
        while len(line) > MAX_PASSAGE_CHARS:
            at = line.rfind(" ", 1, MAX_PASSAGE_CHARS) + 1 or MAX_PASSAGE_CHARS
            yield passage._replace(body=line[:at].strip(), first_line=number, last_line=number)
            line = line[at:]
            start = number
        body = f"{body}\n{line}" if body else line
        number += 1
    if body.strip():
        yield passage._replace(body=body, first_line=start, last_line=number - 1)


def _files(root: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield the files of a folder, or one file, and the reason why a file is not a note; None: it is one."""
    if root.is_file():
        yield root, None
        return
    inside = root.resolve()
    for path in sorted(root.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(root).parts) or not path.is_file():
            continue
        if not path.resolve().is_relative_to(inside):
            yield path, "is a link to a file outside of the folder"
        elif path.suffix.lower() not in SUFFIXES:
            yield path, f"is neither Markdown nor plain text ({', '.join(SUFFIXES)})"
        else:
            yield path, None
