"""Splitting a long text into passages that fit an embedder, as spans of its characters.

Cuts are made at Markdown headings first, then at blank lines, then at turns, list items and sentences (of any script),
then at spaces, and only then between characters. Fenced code and paragraphs stay whole if they fit. The result is
deterministic.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from scrubjay.documents.sentences import sentences, stripped

__all__ = ["DEFAULT_MAX_CHARS", "Passage", "split"]

DEFAULT_MAX_CHARS = 1200
_LEAST_MAX_CHARS = 50
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_HEADING = re.compile(r"[ ]{0,3}(\#{1,6})[ \t]+(.*?)(?:[ \t]+\#+)?[ \t]*$")
_FENCE = re.compile(r"[ ]{0,3}(```+|~~~+)")

Span = tuple[int, int]


class Passage(NamedTuple):
    """A part of a text, with the headings above it from the outermost inwards."""

    start: int
    """Its first character in the text."""
    end: int
    """Its end in the text (exclusive)."""
    text: str
    headings: tuple[str, ...] = ()

    @property
    def context(self) -> str | None:
        """The headings as a context for :meth:`scrubjay.Index.upsert`, or None without headings.

        >>> [passage.context for passage in split("# Trips\\nBy train.\\n## Riga\\nIn March.")]
        ['Trips', 'Trips > Riga']
        """
        return " > ".join(self.headings) or None


def split(
    text: str, *, max_chars: int = DEFAULT_MAX_CHARS, overlap: int = 0, markdown: bool = True
) -> list[Passage]:
    """Return the passages of a text in order, stripped of white space; none is empty.

    Args:
        text: the text.
        max_chars: maximum length of a passage, 50 or more; a token of English has about four or five characters.
        overlap: maximum number of characters of the previous passage that a passage repeats, at most half of
            `max_chars`: as many whole sentences as fit. Overlaps never cross a heading.
        markdown: whether lines that begin with # are headings, which become `headings` and are not part of passages.

    Every character outside headings, except white space, is in a passage.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.

    >>> text = "# Trips\\n\\nBy train. In March.\\n\\nBack by ship."
    >>> [(passage.text, passage.headings) for passage in split(text, max_chars=50)]
    [('By train. In March.\\n\\nBack by ship.', ('Trips',))]
    >>> text = "The first one. The second is here. And a third. Last."
    >>> [passage.text for passage in split(text, max_chars=50, overlap=20)]
    ['The first one. The second is here. And a third.', 'And a third. Last.']
    """
    if not isinstance(text, str):
        raise TypeError(f"text: expected a str, got {type(text).__name__}")
    for name, value in (("max_chars", max_chars), ("overlap", overlap)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name}: expected an int, got {type(value).__name__}")
    if max_chars < _LEAST_MAX_CHARS:
        raise ValueError(f"max_chars: expected {_LEAST_MAX_CHARS} or more, got {max_chars}")
    if not 0 <= overlap <= max_chars // 2:
        raise ValueError(f"overlap: expected 0 to half of max_chars ({max_chars // 2}), got {overlap}")
    passages = []
    for headings, start, end in _sections(text) if markdown else [((), 0, len(text))]:
        for first, last in _joined(text, list(_blocks(text, start, end)), max_chars, overlap):
            passages.append(Passage(first, last, text[first:last], headings))
    return passages


def _cut(text: str, start: int, end: int, max_chars: int) -> Iterator[Span]:
    """Yield pieces of a part of a text of at most `max_chars`: sentences, or parts of a longer sentence that end at a
    space if possible."""
    for first, last in sentences(text[start:end]):
        first, last = first + start, last + start
        while last - first > max_chars:
            at = _space_before(text, first, first + max_chars)
            yield stripped(text, first, at)
            first, _ = stripped(text, at, last)
        yield first, last


def _space_before(text: str, first: int, most: int) -> int:
    """Return where to cut: after the last space of the second half, else before a character and its combining marks."""
    for at in range(most, (first + most) // 2, -1):
        if text[at - 1].isspace() or text[at].isspace():
            return at
    at = most
    while at > first + 1 and unicodedata.category(text[at])[0] == "M":
        at -= 1
    return at if at > first + 1 else most


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield (headings, start, end) of each stretch between headings; a # in fenced code is not a heading."""
    path: list[tuple[int, str]] = []
    start, fence = 0, None
    for line in _lines(text, 0, len(text)):
        content = text[line[0] : line[1]].rstrip("\r\n")
        fence = _fence_after(content, fence)
        heading = _HEADING.match(content) if fence is None else None
        if heading is None:
            continue
        yield tuple(title for _, title in path), start, line[0]
        level = len(heading[1])
        path = [*((depth, title) for depth, title in path if depth < level), (level, heading[2])]
        start = line[1]
    yield tuple(title for _, title in path), start, len(text)


def _blocks(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield paragraphs and fenced code, without surrounding white space."""
    first: int | None = None
    fence: str | None = None
    for line_start, line_end in _lines(text, start, end):
        content = text[line_start:line_end].rstrip("\r\n")
        before, fence = fence, _fence_after(content, fence)
        if content.strip() or before is not None:
            first = line_start if first is None else first
        elif first is not None:
            yield stripped(text, first, line_start)
            first = None
    if first is not None and text[first:end].strip():
        yield stripped(text, first, end)


def _joined(text: str, blocks: list[Span], max_chars: int, overlap: int) -> Iterator[Span]:
    """Yield adjacent blocks merged as far as they fit, longer blocks in pieces, each preceded by the overlap."""
    pieces: list[Span] = []
    for block in blocks:
        whole = block[1] - block[0] <= max_chars - overlap
        pieces += [block] if whole else _cut(text, *block, max_chars - overlap)
    first = 0
    while first < len(pieces):
        start = _overlapping(text, pieces[first - 1], overlap) if first and overlap else pieces[first][0]
        place = first + 1
        while place < len(pieces) and pieces[place][1] - start <= max_chars:
            place += 1
        if pieces[place - 1][1] - start > max_chars:  # there is much space between them
            start = pieces[first][0]
        yield start, pieces[place - 1][1]
        first = place


def _overlapping(text: str, piece: Span, overlap: int) -> int:
    """Return the start of the last whole sentences of a piece that fit into the overlap, or its end if none does."""
    start = piece[1]
    for first, _ in reversed(sentences(text[piece[0] : piece[1]])):
        if piece[1] - (piece[0] + first) > overlap:
            break
        start = piece[0] + first
    return start if start < piece[1] else stripped(text, piece[1], len(text))[0]


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield lines including their line ends (CRLF, LF or CR)."""
    while start < end:
        match = _LINE.match(text, start, end)
        assert match is not None
        yield match.span()
        start = match.end()


def _fence_after(line: str, fence: str | None) -> str | None:
    """Return the fence that is open after a line, or None."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    if fence is None:
        return match[1]
    closes = match[1][0] == fence[0] and len(match[1]) >= len(fence) and not line[match.end() :].strip()
    return None if closes else fence
