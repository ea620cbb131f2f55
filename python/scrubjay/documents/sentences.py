"""Splitting a text of any script into sentences: at punctuation, blank lines, list items, headings and turns."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["sentences", "stripped"]

_BREAK = re.compile(
    r"""
    [.!?\u2026]+ ["'\u201d\u2019\u00bb)\]]* (?=\s)                    # Latin, Greek, Cyrillic, Hebrew: before a space
  | [\u3002\uff01\uff1f\uff61\uff0e]+ [\u300d\u300f\u201d\u2019\uff09]*   # Chinese and Japanese: no space follows
  | [\u0964\u0965\u061f\u06d4\u0589\u1362\u1367\u17d4\u104b\u0f0d]+   # Indian, Arabic, Armenian, Ethiopic and others
  | \n (?=[^\S\n]*\n)                                                # a blank line
  | \n (?=[^\S\n]*(?:[-*+\u2022>|\#]|\d{1,3}[.)]|```|~~~)[^\S\n]?)   # an item, a heading, a quotation, a row, code
  | \n (?=[^\s:]{1,40}(?:[ ][^\s:]{1,40})?:\s)                       # a turn: "Ada:", "Ada Byron:"
    """,
    re.VERBOSE,
)
# The first characters of the pattern; searching for a character class is ten times as fast.
_MAY_BREAK = re.compile(
    "[.!?\u2026\u3002\uff01\uff1f\uff61\uff0e\u0964\u0965\u061f\u06d4\u0589\u1362\u1367\u17d4\u104b\u0f0d\n]"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the sentences as spans of characters, without surrounding white space; none is empty.

    >>> text = "Trains, mostly. Why? See 3.2.\\n- Window seat\\n"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Trains, mostly.', 'Why?', 'See 3.2.', '- Window seat']
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for border in (*_borders(text), len(text)):
        first, last = stripped(text, start, border)
        if first < last:
            spans.append((first, last))
        start = border
    return spans


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span of a text without the white space at its ends; possibly empty.

    >>> stripped(" By train. ", 0, 11)
    (1, 10)
    """
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _borders(text: str) -> Iterator[int]:
    end = 0
    for candidate in _MAY_BREAK.finditer(text):
        if candidate.start() >= end and (match := _BREAK.match(text, candidate.start())):
            end = match.end()
            yield end
