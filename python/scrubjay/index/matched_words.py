"""The words of a text that match a question's terms, as spans of characters.

Terms are stemmed, folded and split, but a reader should see whole words as written. So the text is split at white
space, which no term spans, the analyzer itself finds the pieces that hold a term, and each is narrowed to its words,
without rules for any language here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from scrubjay._native import analyze, query_terms

_RUN = re.compile(r"\S+")
_FEW_RUNS = 32
_SHORT_RUN = 100  # characters; a longer run is a paragraph without spaces and is not marked as a whole
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_MOST_CHARS = 1 << 20  # per call of the analyzer
# The maximum number of pieces between two spaces that are tried together, and the same for a run with more pieces than
# that (a paragraph without spaces).
_MOST_PIECES, _FEW_PIECES = 24, 6
_OF_IDENTIFIERS = "#@+_"  # kept at either end of an identifier


class Mark(NamedTuple):
    """A word of a text: its first character, its end (exclusive), and the question's terms that it matches."""

    start: int
    end: int
    terms: frozenset[str]
    is_identifier: bool = False
    """Whether one of the terms is a whole identifier."""


class Terms(NamedTuple):
    """The wanted terms that a text has, and those that are whole identifiers in it."""

    all: frozenset[str]
    whole: frozenset[str]


_NO_TERMS = Terms(frozenset(), frozenset())


class Language(NamedTuple):
    """The analysis of texts: the name of an analyzer, and the stemmer if it is not built in."""

    analyzer: str = "english"
    stemmer: Callable[[str], str] | None = None

    def asked(self, question: str) -> list[str]:
        """Return the distinct terms of a question; function words only if it has no others."""
        return query_terms(question, self.analyzer, stemmer=self.stemmer)

    def terms(self, texts: Sequence[str], wanted: frozenset[str]) -> list[Terms]:
        """Return the wanted terms of each text. The texts are analysed together, separated by a number that occurs in
        none of them."""
        if texts and sum(map(len, texts)) <= _MOST_CHARS:
            return self._terms_of_each(texts, wanted)
        results: list[Terms] = []
        first = 0
        while first < len(texts):
            end, n_chars = first, 0
            while end < len(texts) and (end == first or n_chars + len(texts[end]) <= _MOST_CHARS):
                n_chars += len(texts[end])
                end += 1
            results += self._terms_of_each(texts[first:end], wanted)
            first = end
        return results

    def _terms_of_each(self, texts: Sequence[str], wanted: frozenset[str]) -> list[Terms]:
        number = 90_817_263
        while True:
            border = str(number)
            tokens = analyze(f" {border} ".join(texts), self.analyzer, stemmer=self.stemmer)
            # Nearly all tokens match neither: this loop is most of the cost of a snippet.
            at, held = 0, list[tuple[int, str, str]]()
            for term, kind in tokens:
                if term == border:
                    at += 1
                elif term in wanted:
                    held.append((at, term, kind))
            if at + 1 == len(texts):
                return _by_text(held, len(texts))
            number += 1  # the number occurs in a text


def _by_text(held: Iterable[tuple[int, str, str]], n_texts: int) -> list[Terms]:
    """Return the terms of each text, from (index of the text, term, kind of the token)."""
    terms = [_NO_TERMS] * n_texts
    for at, own in groupby(held, itemgetter(0)):
        tokens = list(own)
        terms[at] = Terms(
            frozenset(term for _, term, _ in tokens),
            frozenset(term for _, term, kind in tokens if kind == "whole"),
        )
    return terms


def find_words(text: str, terms: Iterable[str], language: Language) -> list[Mark]:
    """Return the words of a text that match some of `terms`, in order, without overlaps.

    An identifier is marked as a whole if the question has it whole, otherwise by the parts that match. In scripts
    without spaces, the matching pairs of characters are marked.

    >>> language = Language()
    >>> text = "Keys (staging): sk-stg-0041."
    >>> [text[mark.start : mark.end] for mark in find_words(text, language.asked("stage key SK-STG-0041"), language)]
    ['Keys', 'staging', 'sk-stg-0041']
    """
    wanted_terms = frozenset(terms)
    runs = list(dict.fromkeys(text.split()))
    held = zip(runs, language.terms(runs, wanted_terms), strict=True)
    holding = {run: terms.all for run, terms in held if terms.all}
    if not holding:
        return []
    narrowed = _narrow(holding, wanted_terms, language)
    places = _RUN
    if len(holding) <= _FEW_RUNS:  # testing every word takes five times as long
        places = re.compile(r"(?<!\S)(?:" + "|".join(map(re.escape, holding)) + r")(?!\S)")
    return [
        Mark(match.start() + mark.start, match.start() + mark.end, mark.terms, mark.is_identifier)
        for match in places.finditer(text)
        for mark in sorted(narrowed.get(match[0], ()), key=lambda mark: mark.start)
    ]


def _narrow(
    holding: dict[str, frozenset[str]], wanted: frozenset[str], language: Language
) -> dict[str, list[Mark]]:
    """Return the words in each run that hold its terms."""
    pieces = {run: _pieces(run) for run in holding}
    marks = {
        run: [mark for mark in found if mark.terms]
        for run, found in _analyse(
            {run: iter(some) for run, some in pieces.items()}, wanted, language
        ).items()
    }
    # Terms that span several pieces: identifiers, hyphenated words.
    left = {run: terms.difference(*(mark.terms for mark in marks[run])) for run, terms in holding.items()}
    joined = _analyse(
        {run: _ranges(run, pieces[run]) for run, terms in left.items() if terms}, wanted, language
    )
    for run, ranges in joined.items():
        best = _best_range(ranges, left[run])
        if best is not None:
            outside = (mark for mark in marks[run] if mark.end <= best.start or mark.start >= best.end)
            marks[run] = [*outside, best]
        held = frozenset[str]().union(*(mark.terms for mark in marks[run]))
        if not marks[run] or (len(run) <= _SHORT_RUN and not holding[run] <= held):
            marks[run] = [Mark(0, len(run), holding[run])]
    return _narrowed_to_pairs(marks, wanted, language)


def _best_range(ranges: list[Mark], wanted: frozenset[str]) -> Mark | None:
    """Return the range with most of the terms, then the shortest, then the first; None if no range has any."""
    best, most = None, (0, 0)
    for mark in ranges:
        value = (len(mark.terms & wanted), mark.start - mark.end)
        if value[0] and (best is None or value > most):
            best, most = mark, value
    return best


def _narrowed_to_pairs(
    marks: dict[str, list[Mark]], wanted: frozenset[str], language: Language
) -> dict[str, list[Mark]]:
    """Narrow pieces of scripts without spaces, which have many terms, to the matching pairs of characters."""
    pairs = {
        run: iter([pair for mark in found if mark.end - mark.start > 2 for pair in _pairs(run, mark)])
        for run, found in marks.items()
        if not run.isascii()
    }
    result = dict(marks)
    for run, found in _analyse(pairs, wanted, language).items():
        small = sorted(mark for mark in found if mark.terms)
        narrowed: list[Mark] = []
        for mark in marks[run]:
            inside = [other for other in small if mark.start <= other.start and other.end <= mark.end]
            covered = frozenset[str]().union(*(other.terms for other in inside))
            narrowed += _merged(inside) if covered >= mark.terms else [mark]
        result[run] = narrowed
    return result


def _analyse(
    spans: dict[str, Iterator[tuple[int, int]]], wanted: frozenset[str], language: Language
) -> dict[str, list[Mark]]:
    """Return spans of runs with the wanted terms that they hold; each distinct text is analysed once."""
    by_run = {run: list(some) for run, some in spans.items()}
    texts = list(dict.fromkeys(run[start:end] for run, some in by_run.items() for start, end in some))
    terms = dict(zip(texts, language.terms(texts, wanted), strict=True))
    return {
        run: [_mark(start, end, terms[run[start:end]]) for start, end in some] for run, some in by_run.items()
    }


def _mark(start: int, end: int, terms: Terms) -> Mark:
    return Mark(start, end, terms.all, bool(terms.whole))


def _pieces(run: str) -> list[tuple[int, int]]:
    """Return the spans of letters (with combining marks) and digits. A span ends where cased and uncased letters meet
    (Latin beside Chinese or Thai)."""
    if run.isascii():
        return [match.span() for match in _ASCII_WORD.finditer(run)]
    pieces: list[tuple[int, int]] = []
    start, last = 0, ""
    for place, character in enumerate(run):
        kind = _kind(character)
        if kind == "mark":  # stays with its base character
            kind = last
        if kind != last:
            if last:
                pieces.append((start, place))
            start, last = place, kind
    if last:
        pieces.append((start, len(run)))
    return pieces


def _kind(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] == "M" or character in "\u200c\u200d":  # joiners occur inside Persian and Indian words
        return "mark"
    if category in ("Lo", "Lm", "Cn", "Co"):  # Cn: newer than Python's Unicode, usually an ideograph
        return "other"
    if category[0] not in "LN" and not any(map(str.isalnum, unicodedata.normalize("NFKC", character))):
        return ""
    return "cased"  # includes symbols that stand for letters


def _ranges(run: str, pieces: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield ranges of adjacent pieces, also with characters that may surround an identifier (C++, __init__)."""
    most = _MOST_PIECES if len(pieces) <= _MOST_PIECES else _FEW_PIECES
    for first, (start, _) in enumerate(pieces):
        left = start
        while left > 0 and run[left - 1] in _OF_IDENTIFIERS:
            left -= 1
        for _, end in pieces[first : first + most]:
            right = end
            while right < len(run) and run[right] in _OF_IDENTIFIERS:
                right += 1
            yield from dict.fromkeys(((start, end), (left, end), (start, right), (left, right)))


def _pairs(run: str, mark: Mark) -> Iterator[tuple[int, int]]:
    """Yield pairs of adjacent characters; vowel signs and other marks stay with their base characters."""
    starts = [
        place
        for place in range(mark.start, mark.end)
        if place == mark.start or unicodedata.category(run[place])[0] != "M"
    ]
    ends = [*starts[1:], mark.end]
    yield from zip(starts, ends[1:], strict=False)


def _merged(marks: list[Mark]) -> list[Mark]:
    """Return marks with overlapping ones merged."""
    united: list[Mark] = []
    for mark in marks:
        if united and mark.start < united[-1].end:
            last = united.pop()
            mark = Mark(last.start, max(last.end, mark.end), last.terms | mark.terms, False)
        united.append(mark)
    return united
