"""What all readers share: whose memories they read, and what they passed over."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

from scrubjay._native import Scope

__all__ = ["InputError", "Reading", "Skips", "decode"]

_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")


class InputError(Exception):
    """A file that cannot be read as memories; the message names file and line."""


class Skips:
    """What was passed over: (file, reason) -> how often, in order of finding.

    >>> skips = Skips()
    >>> skips.add("a.csv", "a row without a text", 2)
    >>> skips.add("b.png", "not a kind of file that is read")
    >>> skips.lines()
    ['a.csv: a row without a text (2 times)', 'b.png: not a kind of file that is read']
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def add(self, file: str, why: str, n: int = 1) -> None:
        """Count `n` things of `file` that were passed over."""
        if n:
            self.counts[file, why] += n

    def lines(self) -> list[str]:
        """Return a line for each file and reason."""
        return [
            f"{file}: {why}" + (f" ({n:,} times)" if n > 1 else "") for (file, why), n in self.counts.items()
        ]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the same for JSON."""
        return [{"file": file, "why": why, "n": n} for (file, why), n in self.counts.items()]


@dataclasses.dataclass
class Reading:
    """One run of the readers.

    Attributes:
        scope: of records that name none.
        columns: "text", "id" or "created_at" -> the field of tables and JSON that holds it, where it has another name;
            "": none does.
        skips: what is passed over.
    """

    scope: Scope
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    skips: Skips = dataclasses.field(default_factory=Skips)


def decode(data: bytes, name: str, skips: Skips) -> str:
    """Return a file's text: UTF-8, or UTF-16 with its mark. Other bytes become U+FFFD, which is noted.

    Raises:
        InputError: it is no text.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    head = data[:65536]
    text = data.decode("utf-8-sig", "replace")
    n_controls = sum(byte in _CONTROLS for byte in head)
    n_unknown = text[:65536].count("\ufffd")
    if b"\0" in head or 50 * n_controls > len(head) or 3 * n_unknown > len(head):
        raise InputError(f"{name}: expected text, got other bytes")
    skips.add(
        name, "a byte that is not UTF-8, read as U+FFFD", text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    )
    return text
