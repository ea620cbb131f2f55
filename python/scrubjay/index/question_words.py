"""The question of a search, kept with its hits to mark words in texts and to find the nearest sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scrubjay.documents.records import as_text
from scrubjay.index.matched_words import Language, Mark, find_words
from scrubjay.index.snippets import Snippet, checked_width, cut_snippet, nearest_sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from scrubjay._native import Result, StaticEmbedder
    from scrubjay.index.frozen import FrozenResult
    from scrubjay.index.semantic import Semantics

_LONG_CHARS = 1 << 18  # a longer text is not searched word by word
_STRETCH_CHARS = 1 << 16
_WORD_CHARS = 100  # searched for the end of a word, to end a stretch there
_SPACE = re.compile(r"\s")


class Reading:
    """A collection's way of reading texts: its analyzer and its embedder. Immutable except for the embedder, which is
    the collection's current one.

    Args:
        language: the analyzer.
        semantics: of the collection; None: nothing is embedded.
    """

    __slots__ = ("language", "semantics")

    def __init__(self, language: Language, semantics: Semantics | None = None) -> None:
        self.language = language
        self.semantics = semantics

    def __reduce__(self) -> tuple[Any, ...]:
        # The embedder is not pickled, nor is a stemmer, which is a function: its analyzer is replaced by "plain".
        language = self.language if self.language.stemmer is None else Language("plain")
        return Reading, (language,)


class Wording:
    """The words of one search that are marked in its hits; analysed at the first call.

    Args:
        text: the text of the search; None: no text.
        reading: of the searched collection.
        result: of the search, with the corrections of misspelt words.
    """

    __slots__ = ("_reading", "_terms", "_text", "_vector")

    def __init__(
        self, text: str | bytes | None, reading: Reading | None, result: Result | FrozenResult
    ) -> None:
        self._text = None if text is None else result.corrected(as_text(text))
        self._reading = Reading(Language()) if reading is None else reading
        self._terms: frozenset[str] | None = None
        self._vector: tuple[StaticEmbedder, NDArray[np.float32]] | None = None  # of the question

    def marks(self, text: str) -> list[Mark]:
        """Return the words of a text that match the question, in order."""
        terms = self._query_terms()
        return find_words(text, terms, self._reading.language) if terms else []

    def _query_terms(self) -> frozenset[str]:
        if self._terms is None:
            terms = [] if self._text is None else self._reading.language.asked(self._text)
            self._terms = frozenset(terms)
        return self._terms

    def snippet(self, text: str, width: int, passage: tuple[int, int] | None = None) -> Snippet:
        """Return the part of a text that answers the question, of at most `width` characters. In a long text it is
        taken from the first of the stretches with most of the words; if the nearest `passage` is known, from that,
        unless it has none of the words and the text has some."""
        width = checked_width(width)
        if passage is not None and len(text) > width:
            first, last = passage
            inside = self._cut(text[first:last], width)
            if inside.highlights or not self._holds_any(text):
                return _shifted(inside, text, first, last)
        if len(text) <= _LONG_CHARS:
            return self._cut(text, width)
        first, last = self._stretch(text, width)
        return _shifted(self._cut(text[first:last], width), text, first, last)

    def _holds_any(self, text: str) -> bool:
        """Whether a text has any of the words."""
        terms = self._query_terms()
        return bool(terms) and bool(self._reading.language.terms([text], terms)[0].all)

    def _stretch(self, text: str, width: int) -> tuple[int, int]:
        """Return the stretch of a long text that holds its snippet, with a margin of `width` around it.

        Finding the words of a text costs many times as much as finding its terms: ten seconds for a megabyte with a
        match in each word.
        """
        terms, language = self._query_terms(), self._reading.language
        borders = [0]
        while borders[-1] < len(text):
            border = borders[-1] + _STRETCH_CHARS
            space = _SPACE.search(text, border, border + _WORD_CHARS)
            borders.append(min(len(text), border if space is None else space.start()))
        held = language.terms([text[i:j] for i, j in pairwise(borders)], terms) if terms else []
        n_held = [len(stretch.all) for stretch in held]
        if not any(n_held):
            return 0, _LONG_CHARS
        best = n_held.index(max(n_held))
        return max(0, borders[best] - width), min(len(text), borders[best + 1] + width)

    def _cut(self, text: str, width: int) -> Snippet:
        marks = self.marks(text)
        about = None
        if not marks and self._text and len(text) > width and self._reading.semantics is not None:
            native = self._reading.semantics.native
            if native is not None:
                if (
                    self._vector is None or self._vector[0] is not native
                ):  # a collection may get another embedder
                    self._vector = native, native.embed_query(self._text)
                about = nearest_sentence(text, self._vector[1], native)
        return cut_snippet(text, marks, width, about)


def _shifted(snippet: Snippet, text: str, first: int, last: int) -> Snippet:
    """Return the snippet of a part of a text as a snippet of the whole text."""
    return replace(
        snippet,
        start=first + snippet.start,
        end=first + snippet.end,
        before=snippet.before or not _is_blank(text[:first]),
        after=snippet.after or not _is_blank(text[last:]),
    )


def _is_blank(text: str) -> bool:
    return not text or text.isspace()
