"""The native analyzer equals the oracle for any text: ASCII-heavy, identifier-heavy and across Unicode.

Code points are those assigned in the Unicode version of this Python (`unicodedata.unidata_version`), the oldest of the
versions involved (the native tables are Unicode 17, `uniseg` is in between): the oracle cannot judge what a newer
version has added. Normalisation and case folding of assigned characters never change.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache

from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import _native
from tests.reference import analyzer as oracle

KINDS = {"word", "part", "whole", "joined"}

JOINERS = [*"-_.@/:+#',", "::", "://", "--", "..", "...", "__", "\u2019", "\u2010", "\uff0c"]
FRAGMENTS = [
    *(
        "TS",
        "999",
        "v2",
        "iPhone",
        "HTTPServer",
        "camelCase",
        "LLMs",
        "20th",
        "1990s",
        "sk",
        "0041",
        "a",
        "B",
        "Z",
    ),
    *(
        "n't",
        "'s",
        "'LL",
        "don",
        "www",
        "c0b3e757",
        "1,000",
        "12",
        "running",
        "caf\u00e9",
        "Stra\u00dfe",
        "\u0130",
    ),
    *("\u0441\u043b\u043e\u0432\u043e", "\uff21\uff11", "\u6771\u4eac", "\u30bf\u30fc", "\ud55c\uad6d"),
    *("\u0e01\u0e34", "\u0915\u093f", "\u05e6\u05f4\u05dc", "\u0628\u064e"),
]
SPOILERS = [*" \n=\u0301\u0338\u00ad\u200d\u200b\U0001f600\u2122\u00b7\u3099"]


@cache
def assigned() -> list[int]:
    unjudged = ("Cn", "Cs", "Co")
    return [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in unjudged]


def joined(*pieces: list[str]) -> st.SearchStrategy[str]:
    choice = st.one_of(*[st.sampled_from(piece) for piece in pieces])
    return st.lists(choice, max_size=16).map("".join)


any_character = st.deferred(lambda: st.sampled_from(assigned()).map(chr))
unicode_texts = st.lists(st.one_of(any_character, st.sampled_from(JOINERS + SPOILERS)), max_size=12).map(
    "".join
)
ascii_texts = st.text(st.characters(max_codepoint=127), max_size=80)
identifier_texts = joined(FRAGMENTS, FRAGMENTS, JOINERS, JOINERS, SPOILERS)
texts = st.one_of(ascii_texts, identifier_texts, unicode_texts)


@given(texts, st.sampled_from(["english", "plain"]))
@example("a\u200d\U0001f600b", "english")  # rule WB3c
@example("n't's't", "english")
@example("\u00e7\u0338=\u0338", "english")
@example("TM\u2122-1,000,00,1", "plain")
def test_native_is_the_oracle(text: str, name: str) -> None:
    assert _native.analyze(text, name) == oracle.analyze(text, name)


@given(texts)
def test_native_is_the_oracle_with_a_stemmer(text: str) -> None:
    def stemmer(word: str) -> str:
        return word[:-1].upper() + "\u00eb"

    assert _native.analyze(text, "mine", stemmer=stemmer) == oracle.analyze(text, stemmer=stemmer)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_python_reads_them(data: bytes) -> None:
    text = data.decode(errors="replace")
    assert _native.sanitize_utf8(data) == text
    assert _native.analyze(data) == _native.analyze(text)
    for term, kind in _native.analyze(data):
        assert 1 <= len(term.encode()) <= oracle.MAX_TERM_BYTES
        assert kind in KINDS


@given(texts, st.integers(0, 100_000))
def test_the_cache_changes_nothing(text: str, cache_bytes: int) -> None:
    again = text + " \n" + text
    assert _native.analyze(again, cache_bytes=cache_bytes) == _native.analyze(text, cache_bytes=0) * 2


@given(texts, texts)
def test_a_separator_separates(left: str, right: str) -> None:
    assert _native.analyze(left + " " + right) == _native.analyze(left) + _native.analyze(right)


@given(texts)
def test_compatibility_forms_do_not_matter(text: str) -> None:
    text = text.replace("\u2122", " ").replace("\u2120", " ")  # would become letters
    assert _native.analyze(unicodedata.normalize("NFKC", text)) == _native.analyze(text)


@given(st.from_regex(r"[a-z]{1,12}( [a-z]{1,12})*", fullmatch=True))
def test_case_of_plain_words_does_not_matter(text: str) -> None:
    assert _native.analyze(text.title()) == _native.analyze(text)


@given(st.from_regex(r"[a-z]{1,20}", fullmatch=True))
def test_a_plain_word_is_one_counting_term(word: str) -> None:
    assert _native.analyze(word) == [(_native.porter2(word), "word")]


@given(texts)
def test_folding_a_normal_text_twice_is_folding_it_once(text: str) -> None:
    once = oracle.fold(oracle.normalise(text))  # as for terms
    assert oracle.fold(once) == once
