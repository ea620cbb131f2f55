"""The output of the memory tool: numbered lines, and directories with sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrubjay.adapters.anthropic.paths import MemoryFileError

_MAX_LINES = 999_999
_WIDTH = 6  # of the greatest line number
_AROUND = 2


def content(path: str, text: str, view_range: Any = None) -> str:
    """Return a file's numbered lines, restricted to `view_range` (first, last), where -1 is the end.

    Raises:
        MemoryFileError: the file has more than 999,999 lines, or the range is invalid.
    """
    lines = text.split("\n")
    if len(lines) > _MAX_LINES:
        raise MemoryFileError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if view_range is not None:
        if (
            not isinstance(view_range, (list, tuple))
            or len(view_range) != 2
            or not all(isinstance(one, int) and not isinstance(one, bool) for one in view_range)
        ):
            raise MemoryFileError(f"view_range: expected two line numbers, got {view_range!r}")
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else max(0, view_range[1])
    return f"Here's the content of {path} with line numbers:\n" + _numbered(lines[first - 1 : last], first)


def around(text: str, line: int) -> str:
    """Return the numbered lines around a line, a zero-based number."""
    first = max(0, line - _AROUND)
    return _numbered(text.split("\n")[first : line + _AROUND + 1], first + 1)


def lines_of(text: str, wanted: str) -> list[int]:
    """Return the line numbers, from 1, at which occurrences of a text begin, overlapping ones included.

    >>> lines_of("a\\nbab\\nb", "b")
    [2, 2, 3]
    """
    lines, at = [], text.find(wanted)
    while at >= 0:
        lines.append(text.count("\n", 0, at) + 1)
        at = text.find(wanted, at + 1)
    return lines


def directory(path: str, sizes: Mapping[str, int]) -> str:
    """Return the listing of a directory, given the sizes in bytes of all files below it by relative path.

    Two levels, each sorted by name; names that begin with a period are hidden, but their sizes count.
    """
    shown: dict[str, int] = {}
    for name, n_bytes in sizes.items():
        parts = name.split("/")
        for depth in (1, 2):
            if len(parts) < depth or any(part.startswith(".") for part in parts[:depth]):
                break
            entry = "/".join(parts[:depth]) + ("/" if len(parts) > depth else "")
            shown[entry] = shown.get(entry, 0) + n_bytes
    entries = sorted(shown, key=lambda entry: entry.rstrip("/").split("/"))
    lines = [
        f"{size(sum(sizes.values()))}\t{path}",
        *(f"{size(shown[one])}\t{path}/{one}" for one in entries),
    ]
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:\n"
    return header + "\n".join(lines)


def size(n_bytes: int) -> str:
    """Return a number of bytes for people.

    >>> size(0), size(1023), size(1024), size(1536), size(3 << 30)
    ('0B', '1023B', '1K', '1.5K', '3G')
    """
    amount, units = float(n_bytes), "BKMG"
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{int(amount)}{units[0]}" if amount == int(amount) else f"{amount:.1f}{units[0]}"


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))
