"""Snippets: the part of a text that answers a question, short enough to display.

The part is the one with most of the question's words, rare ones (in this text) weighing more, close together; it is
extended to whole sentences and then to adjacent ones while they fit. If the text has no word of the question, the
snippet is the sentence nearest to it by meaning, if the index has a native embedder, else the beginning.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import StaticEmbedder
from scrubjay.documents.sentences import sentences, stripped
from scrubjay.index.matched_words import Mark

DEFAULT_WIDTH = 240
_LEAST_WIDTH = 20
_MOST_SENTENCES = 4096  # embedded to find the nearest one
_NEAR = 24  # characters searched for a space to cut at
_NEARLY = 0.7  # of the weight of the densest part


@dataclass(frozen=True)
class Snippet:
    """A part of a text, verbatim, with the words that match the question.

    Spans count characters (code points). ``str(snippet)`` is for one line of output: white space becomes one space, and
    an ellipsis marks where the text continues.

    >>> snippet = Snippet("Window  seat", 10, 22, ((0, 6),), before=True, after=False)
    >>> str(snippet), snippet.marked("<b>", "</b>")
    ('… Window seat', '<b>Window</b>  seat')
    """

    text: str
    """The text from `start` to `end`."""
    start: int
    """The position of its first character in the text."""
    end: int
    """The end of the snippet in the text (exclusive)."""
    highlights: tuple[tuple[int, int], ...] = ()
    """The words of the question in it, as (first character, end) in `text`; the end is exclusive."""
    identifiers: tuple[tuple[int, int], ...] = ()
    """Those of the highlights that are whole identifiers of the question."""
    before: bool = False
    """Whether the text continues before it."""
    after: bool = False
    """Whether the text continues after it."""

    def __str__(self) -> str:
        line = " ".join(self.text.split())
        return ("… " if self.before else "") + line + (" …" if self.after else "")

    def pieces(self) -> list[tuple[str, str | None]]:
        """Return the text split at the borders of highlights: each piece with its kind, "word" or "identifier" if it
        matches the question, else None."""
        pieces: list[tuple[str, str | None]] = []
        place = 0
        for start, end in self.highlights:
            kind = "identifier" if (start, end) in self.identifiers else "word"
            pieces += [(self.text[place:start], None), (self.text[start:end], kind)]
            place = end
        return [(text, kind) for text, kind in (*pieces, (self.text[place:], None)) if text]

    def marked(self, opening: str = "**", closing: str = "**") -> str:
        """Return the text with `opening` before and `closing` after each word of the question, without escaping."""
        return "".join(text if kind is None else opening + text + closing for text, kind in self.pieces())

    def to_dict(self) -> dict[str, Any]:
        """Return JSON types: `pieces` (`text` and `match`), `start`, `end`, `before`, `after`."""
        return {
            "pieces": [{"text": text, "match": kind} for text, kind in self.pieces()],
            "start": self.start,
            "end": self.end,
            "before": self.before,
            "after": self.after,
        }


def checked_width(width: Any, name: str = "width") -> int:
    """Return the width of a snippet in characters; TypeError and ValueError name the argument `name`."""
    if isinstance(width, bool) or not isinstance(width, (int, np.integer)):
        raise TypeError(f"{name}: expected an int, got {type(width).__name__}")
    if width < _LEAST_WIDTH:
        raise ValueError(f"{name}: expected {_LEAST_WIDTH} characters or more, got {width}")
    return int(width)


def cut_snippet(
    text: str, marks: Sequence[Mark], width: int, about: tuple[int, int] | None = None
) -> Snippet:
    """Return the best part of a text of at most `width` characters.

    Args:
        text: the text.
        marks: the words of the question in it, in order.
        width: in characters, without ellipses.
        about: a span that answers the question, used if the text has none of its words.
    """
    whole = first, last = stripped(text, 0, len(text))
    if last - first > width:
        spans = sentences(text)
        seed = _best_part(marks, spans, width) if marks else about or (first, first)
        first, last = _grown(text, spans, seed, width)
    inside = [mark for mark in marks if first <= mark.start and mark.end <= last]
    return Snippet(
        text[first:last],
        first,
        last,
        tuple((mark.start - first, mark.end - first) for mark in inside),
        tuple((mark.start - first, mark.end - first) for mark in inside if mark.is_identifier),
        before=first > whole[0],
        after=last < whole[1],
    )


def nearest_sentence(
    text: str, asked: NDArray[np.float32], embedder: StaticEmbedder
) -> tuple[int, int] | None:
    """Return the sentence whose vector is nearest to the question's, (dim,); the first of equal ones. None if nothing
    of the question or of the text can be embedded (its vector is zero)."""
    spans = sentences(text)[:_MOST_SENTENCES]
    if not spans or not asked.any():
        return None
    vectors = embedder.embed([text[start:end] for start, end in spans])
    # Rounded, so that another order of summation on another machine does not choose another sentence.
    nearness = np.round(vectors.astype(np.float64) @ asked.astype(np.float64), 6)
    best = int(np.argmax(nearness))
    return spans[best] if nearness[best] > 0 else None


def _best_part(marks: Sequence[Mark], spans: Sequence[tuple[int, int]], width: int) -> tuple[int, int]:
    """Return the sentence whose distinct terms weigh most if it fits and nearly equals the densest part of any
    sentences, otherwise that part; of equal ones the shortest, then the first."""
    frequencies = Counter(term for mark in marks for term in mark.terms)
    weights = {term: 1.0 / (1.0 + math.log(n)) for term, n in frequencies.items()}
    part, most = _densest(marks, weights, width)
    best, best_value, place = part, (_NEARLY * most, -len(weights) * width), 0
    for start, end in spans:
        terms: set[str] = set()
        while place < len(marks) and marks[place].end <= end:
            terms |= marks[place].terms
            place += 1
        value = (_weight(terms, weights), start - end)
        if end - start <= width and value > best_value:
            best, best_value = (start, end), value
    return best


def _densest(marks: Sequence[Mark], weights: dict[str, float], width: int) -> tuple[tuple[int, int], float]:
    """Return the span of at most `width` characters (or one word) whose distinct terms weigh most, and its weight; of
    equal ones the shortest, then the first."""
    best, best_value = (marks[0].start, marks[0].end), (-1.0, 0)
    nearest: dict[str, int] = {}  # term -> its first mark from here on
    for i in range(len(marks) - 1, -1, -1):
        start = marks[i].start
        nearest.update(dict.fromkeys(marks[i].terms, i))
        inside = {term: j for term, j in nearest.items() if j == i or marks[j].end - start <= width}
        end = marks[max(inside.values(), default=i)].end
        value = (_weight(inside, weights), start - end)
        if value >= best_value:
            best, best_value = (start, end), value
    return best, best_value[0]


def _weight(terms: Iterable[str], weights: dict[str, float]) -> float:
    return round(math.fsum(weights[term] for term in terms), 9)


def _grown(text: str, spans: Sequence[tuple[int, int]], seed: tuple[int, int], width: int) -> tuple[int, int]:
    """Return the seed extended to its sentences, and to those after and before while they fit."""
    touched = [
        i for i, (start, end) in enumerate(spans) if start < max(seed[1], seed[0] + 1) and end > seed[0]
    ]
    if not touched:
        return _cut(text, seed, (0, len(text)), width)
    first, last = touched[0], touched[-1]
    if spans[last][1] - spans[first][0] > width:
        return _cut(text, seed, (spans[first][0], spans[last][1]), width)
    grows = True
    while grows:
        grows = False
        if last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= width:
            last, grows = last + 1, True
        if first > 0 and spans[last][1] - spans[first - 1][0] <= width:
            first, grows = first - 1, True
    return spans[first][0], spans[last][1]


def _cut(text: str, seed: tuple[int, int], within: tuple[int, int], width: int) -> tuple[int, int]:
    """Return `width` characters around the seed, within some sentences, cut at spaces if possible."""
    start, end = seed[0], min(seed[1], seed[0] + width)
    spare = width - (end - start)
    first = max(within[0], start - spare // 2)
    last = min(within[1], first + width)
    first = max(within[0], last - width)
    if first > within[0]:
        first = _boundary(text, first, min(first + _NEAR, start), 1)
    if last < within[1]:
        last = _boundary(text, last, max(last - _NEAR, end, first + 1), -1)
    return stripped(text, first, last)


def _boundary(text: str, place: int, most: int, step: int) -> int:
    """Return where to cut between `place` and `most`: at the first space, else at the first position that does not
    separate a character from its marks, else `place` (a character may have more combining marks than fit)."""
    cuts = [cut for cut in range(place, most + step, step) if 0 < cut < len(text)]
    for cut in cuts:
        if text[cut - 1].isspace() or text[cut].isspace():
            return cut
    for cut in cuts:
        if unicodedata.category(text[cut])[0] != "M":
            return cut
    return place
