"""The passages of a Markdown or text file, with their headings and lines.

Sections are cut at headings, long ones between paragraphs; a single long paragraph stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from scrubjay.documents.passages import split

_LINE_END = re.compile(r"\r\n|\n|\r")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_MAX_CHARS = 1200


class Passage(NamedTuple):
    """A passage: the headings above it, outermost first, its text, and its first and last line, counted from 1."""

    headings: tuple[str, ...]
    body: str
    first_line: int
    last_line: int

    @property
    def text(self) -> str:
        """The headings and the text."""
        return "\n".join(filter(None, [" > ".join(self.headings), self.body]))


def read_passages(content: str, *, markdown: bool = True, max_chars: int = _MAX_CHARS) -> Iterator[Passage]:
    """Yield the passages of a file in order; front matter is left out.

    Paragraphs of a section are joined as long as they stay within `max_chars`.

    >>> for passage in read_passages("# Trips\\nBy train.\\n\\n## 2026\\nTo Riga.\\n"):
    ...     print(passage.first_line, passage.headings, passage.body)
    2 ('Trips',) By train.
    5 ('Trips', '2026') To Riga.
    """
    lines = _LINE_END.split(content)
    sections = _sections(lines) if markdown else iter([((), 0, len(lines))])
    for headings, first, end in sections:
        for start, stop in _joined(lines, first, end, max_chars):
            yield Passage(headings, "\n".join(lines[start:stop]).strip(), start + 1, stop)


def read_pieces(content: str, *, markdown: bool = True, max_chars: int = _MAX_CHARS) -> Iterator[Passage]:
    """Yield the passages of a file as :func:`read_passages` does, with paragraphs longer than `max_chars` in pieces:
    whole sentences, if they fit (:func:`scrubjay.documents.passages.split`).

    >>> [piece.body for piece in read_pieces("# Trips\\n" + "By train to Riga. " * 4, max_chars=60)]
    ['By train to Riga. By train to Riga. By train to Riga.', 'By train to Riga.']
    """
    for passage in read_passages(content, markdown=markdown, max_chars=max_chars):
        if len(passage.body) <= max_chars:
            yield passage
            continue
        for piece in split(passage.body, max_chars=max_chars, markdown=False):
            first = passage.first_line + passage.body.count("\n", 0, piece.start)
            last = first + piece.text.count("\n")
            yield Passage(passage.headings, piece.text, first, last)


def _sections(lines: list[str]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield (headings, first line, line after the last), counted from 0, for each section between headings."""
    start = 0
    if lines[0].strip() == "---":
        closing = next((i for i, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
        start = 0 if closing is None else closing + 1
    path: list[tuple[int, str]] = []
    fence: str | None = None
    for number in range(start, len(lines)):
        opened = _FENCE.match(lines[number])
        if opened:
            fence = opened[1] if fence is None else None if fence == opened[1] else fence
        # A # inside a code block is a comment.
        heading = _HEADING.match(lines[number]) if fence is None else None
        if heading is None:
            continue
        yield tuple(title for _, title in path), start, number
        level = len(heading[1])
        path = [*((depth, title) for depth, title in path if depth < level), (level, heading[2])]
        start = number + 1
    yield tuple(title for _, title in path), start, len(lines)


def _joined(lines: list[str], first: int, end: int, max_chars: int) -> Iterator[tuple[int, int]]:
    """Yield (first line, line after the last) of passages: paragraphs, joined while they fit."""
    start: int | None = None
    stop, n_chars = first, 0
    for begin, after in _paragraphs(lines, first, end):
        n_more = sum(len(line) + 1 for line in lines[begin:after])
        if start is not None and n_chars + n_more > max_chars:
            yield start, stop
            start, n_chars = None, 0
        if start is None:
            start = begin
        stop, n_chars = after, n_chars + n_more
    if start is not None:
        yield start, stop


def _paragraphs(lines: list[str], first: int, end: int) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for number in range(first, end):
        if lines[number].strip():
            start = number if start is None else start
        elif start is not None:
            yield start, number
            start = None
    if start is not None:
        yield start, end
