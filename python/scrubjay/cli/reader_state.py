"""State shared by all readers: the scope of the memories, and the skipped items."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay._native import Scope

_MOST_PLACES = 5  # named per reason and file
_OF_RECORD = re.compile(r"records\[(\d+)\]: (.*)", re.DOTALL)

_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")


class InputError(Exception):
    """A file that cannot be read as memories; the message names file and line."""


def of_record(error: Exception, records: Sequence[Mapping[str, Any]]) -> InputError:
    """Return the index's error about records[i], with the file and the id of that record in place of i."""
    match = _OF_RECORD.fullmatch(str(error))
    if match is None or int(match[1]) >= len(records):
        return InputError(str(error))
    record = records[int(match[1])]
    file = (record.get("metadata") or {}).get("file")
    place = f"{file}: " if isinstance(file, str) else ""
    return InputError(f"{place}record {record['id']!r}: {match[2]}")


class Skips:
    """Items that were skipped, and items that were read but changed: (file, reason) -> count, in order of occurrence.

    >>> skips = Skips()
    >>> skips.add("a.csv", "a row without a text", at="row 2 (T-42)")
    >>> skips.add("a.csv", "a row without a text", at="row 7")
    >>> skips.add("b.png", "not a kind of file that is read")
    >>> skips.note("c.txt", "a byte that is not UTF-8, read as U+FFFD", 3)
    >>> skips.lines()
    ['a.csv: a row without a text: row 2 (T-42), row 7', 'b.png: not a kind of file that is read']
    >>> skips.note_lines()
    ['c.txt: a byte that is not UTF-8, read as U+FFFD (3 times)']
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.notes: Counter[tuple[str, str]] = Counter()
        self._places: dict[tuple[str, str], list[str]] = {}

    def add(self, file: str, why: str, n: int = 1, *, at: str | None = None) -> None:
        """Count `n` skipped items of `file`; `at` is the position of one, and the first few are named."""
        if n:
            self.counts[file, why] += n
            if at is not None and len(places := self._places.setdefault((file, why), [])) < _MOST_PLACES:
                places.append(at)

    def note(self, file: str, what: str, n: int = 1) -> None:
        """Count `n` items of `file` that were read, but changed."""
        if n:
            self.notes[file, what] += n

    def lines(self) -> list[str]:
        """Return a line for each file and reason for skipping."""
        return [f"{file}: {why}{self._where(file, why, n)}" for (file, why), n in self.counts.items()]

    def note_lines(self) -> list[str]:
        """Return a line for each file and note."""
        return [f"{file}: {note}{_times(n)}" for (file, note), n in self.notes.items()]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the skipped items as JSON types."""
        return [
            {"file": file, "why": why, "n": n}
            | ({"at": places} if (places := self._places.get((file, why))) else {})
            for (file, why), n in self.counts.items()
        ]

    def notes_to_dicts(self) -> list[dict[str, Any]]:
        """Return the notes as JSON types."""
        return [{"file": file, "what": note, "n": n} for (file, note), n in self.notes.items()]

    def _where(self, file: str, why: str, n: int) -> str:
        places = self._places.get((file, why))
        if not places:
            return _times(n)
        return f": {', '.join(places)}" + (f" and {n - len(places):,} more" if n > len(places) else "")


def _times(n: int) -> str:
    return f" ({n:,} times)" if n > 1 else ""


@dataclasses.dataclass
class Reading:
    """One run of the readers.

    Attributes:
        scope: of records without one.
        columns: "text", "id" or "created_at" -> the field of tables and JSON that holds it, if it has another name; "":
            no field does.
        skips: the skipped items.
    """

    scope: Scope
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    skips: Skips = dataclasses.field(default_factory=Skips)


def decode(data: bytes, name: str, skips: Skips) -> str:
    """Return a file's text: UTF-8, or UTF-16 with a byte order mark. Invalid bytes become U+FFFD, which is noted.

    Raises:
        InputError: it is not text.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    head = data[:65536]
    text = data.decode("utf-8-sig", "replace")
    n_controls = sum(byte in _CONTROLS for byte in head)
    n_unknown = text[:65536].count("\ufffd")
    if b"\0" in head or 50 * n_controls > len(head) or 3 * n_unknown > len(head):
        raise InputError(f"{name}: expected text, got other bytes")
    skips.note(
        name, "a byte that is not UTF-8, read as U+FFFD", text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    )
    return text
