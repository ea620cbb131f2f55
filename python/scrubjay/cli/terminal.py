"""Terminal output: width, colour, cells that cannot break the layout."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import TextIO

_MAX_WIDTH = 140


def terminal_width() -> int:
    """Return the width of the terminal, or 100."""
    return min(_MAX_WIDTH, max(40, shutil.get_terminal_size((100, 24)).columns))


def clean(text: str) -> str:
    """Return `text` on one line without control characters, so that a memory cannot control the terminal."""
    return " ".join(
        "".join(" " if c.isspace() else c for c in text if c.isspace() or c.isprintable()).split()
    )


def width_of(text: str) -> int:
    """Return the width of `text` in columns: wide characters take two, combining ones zero."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def fit(text: str, width: int) -> str:
    """Cut `text` to `width` columns, ending in "..." if it was cut."""
    if width_of(text) <= width:
        return text
    if width <= 3:
        return "..."[:width]
    chars, used = [], 0
    for c in text:
        used += width_of(c)
        if used > width - 3:
            break
        chars.append(c)
    return "".join(chars).rstrip() + "..."


def render_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, stretch: int, width: int | None = None
) -> str:
    """Lay out `rows` under `head`; column `stretch` is shortened if a line would be too long.

    >>> print(render_table(["id", "text"], [["1", "a long memory"], ["12", "short"]], stretch=1, width=14))
    id  text
    1   a long...
    12  short
    """
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(width_of(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    spare = (terminal_width() if width is None else width) - sum(widths) - 2 * (len(widths) - 1)
    if spare < 0:
        widths[stretch] = max(8, widths[stretch] + spare)
    lines = []
    for row in [list(head), *cells]:
        fitted = [fit(cell, width) for cell, width in zip(row, widths, strict=True)]
        padded = [cell + " " * (width - width_of(cell)) for cell, width in zip(fitted, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    lines[0] = dim(lines[0])
    return "\n".join(lines)


def bold(text: str) -> str:
    """Return `text` in bold, if the terminal supports it."""
    return _styled(text, "1")


def dim(text: str) -> str:
    """Return `text`, dimmed."""
    return _styled(text, "2")


def green(text: str) -> str:
    """Return `text` in green."""
    return _styled(text, "32")


def mark() -> str:
    """Return a tick, or an asterisk if standard output cannot encode one."""
    try:
        "\u2713".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "*"
    return "\u2713"


def _styled(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if _has_colour(sys.stdout) else text


def _has_colour(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
