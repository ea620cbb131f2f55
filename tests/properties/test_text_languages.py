"""Snowball's stemmers, translated to C++, compared with the C library in the PyStemmer wheel, for all languages.

The letters of a stemmer are taken from its own affixes, so words consist of what it looks for.
"""

from __future__ import annotations

import random
import unicodedata
from functools import cache

import pytest
import Stemmer
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay import _native, languages
from tests.reference import analyzer as oracle

# Snowball's languages change over the years: this version is the reference.
JUDGE = "3.1.0"
pytestmark = pytest.mark.skipif(
    Stemmer.version() != JUDGE, reason=f"PyStemmer {Stemmer.version()} is installed, the judge is {JUDGE}"
)

ALPHABETS = {
    "latin": "abcdefghijklmnopqrstuvwxyz'’ßàáâãäåæçèéêëìíîïñòóôõöøùúûüýćčďđěęńőřśşšťůűźżžāąėīłşţűșțğı",
    "arabic": "".join(map(chr, range(0x0620, 0x0650))) + "پچژکگی‌",
    "armenian": "".join(map(chr, range(0x0561, 0x0588))),
    "cyrillic": "".join(map(chr, range(0x0430, 0x0460))),
    "devanagari": "".join(map(chr, range(0x0901, 0x0950))),
    "greek": "".join(map(chr, range(0x0390, 0x03CF))),
    "hebrew": "".join(map(chr, range(0x05D0, 0x05F3))) + "ִַָֹּ",
    "tamil": "".join(map(chr, range(0x0B83, 0x0BCE))),
}
SCRIPTS = {
    "arabic": "arabic", "persian": "arabic", "armenian": "armenian", "russian": "cyrillic", "greek": "greek",
    "hindi": "devanagari", "nepali": "devanagari", "tamil": "tamil", "yiddish": "hebrew",
}  # fmt: skip
# Of stemmers that random words rarely reach.
KNOWN_AFFIXES = {
    "indonesian": "me mem men meng meny di ber bel ter pe per pen ke an kan i nya lah kah pun ku mu".split(),
    "irish": """bh mh gc gf nd bp mb dt fh ch dh gh ph sh th ts b'  d' m' h- n- t- h n t na an se acht ach aigh íonn
    amhail ainn óir eog aíochta áil íodóir arcacht chan charc áin íd each igh adh eadh te ta idh imh""".split(),
    "basque": "aren arekin koak tasun garri eria etako ago tzaile pen keta kuntza".split(),
}


@cache
def judge(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)


def alphabet(language: str) -> str:
    letters = ALPHABETS[SCRIPTS.get(language, "latin")]
    return letters + ALPHABETS["cyrillic"] if language == "serbian" else letters


@cache
def affixes(language: str) -> list[str]:
    """Return the affixes that the C library removes, found by testing the ends and beginnings of short words."""
    random_letters = random.Random(language)
    letters, found = alphabet(language), set()
    for _ in range(3000):
        word = "".join(random_letters.choices(letters, k=random_letters.randint(4, 9)))
        stem = judge(language).stemWord(word)
        if stem == word:
            continue
        shared = next((i for i, (a, b) in enumerate(zip(word, stem, strict=False)) if a != b), len(stem))
        found.add(word[shared:][:6])
    return [*sorted(found - {""}), *KNOWN_AFFIXES.get(language, [])]


def test_the_languages_are_those_of_the_c_library_without_english() -> None:
    assert languages() == [language for language in Stemmer.algorithms() if language != "english"]


@pytest.mark.parametrize("language", languages())
def test_stems_of_made_words_are_those_of_the_c_library(language: str) -> None:
    """Return 400 words of the language's letters, most of them with affixes, in one text."""
    choose = random.Random(f"words of {language}")
    letters, ends = alphabet(language), affixes(language)
    words = []
    for _ in range(400):
        middle = "".join(choose.choices(letters, k=choose.randint(1, 8)))
        head, tail = ("".join(choose.choices(ends, k=choose.randint(0, n))) for n in (1, 3))
        words.append(unicodedata.normalize("NFKC", (head + middle + tail).casefold()))
    text = "\n".join(words)
    assert _native.analyze(text, language) == oracle.analyze(text, language)
    n_changed = sum(judge(language).stemWord(word) != word for word in words)
    assert n_changed > 40, "hardly a word has a stem: the test would say nothing"


@st.composite
def words_of_a_language(draw: st.DrawFn) -> tuple[str, str]:
    language = draw(st.sampled_from(languages()))
    pieces = st.one_of(st.sampled_from(list(alphabet(language))), st.sampled_from(affixes(language)))
    words = st.lists(st.lists(pieces, max_size=10).map("".join), max_size=6)
    return " ".join(draw(words)), language


@given(words_of_a_language())
@example(("Häuser Bücher Krankenversicherungsbeiträge Straße STRASSE", "german"))
@example(("eau-de-vie l'été d’abord aujourd'hui", "french"))
@example(("книгами её Ёлка", "russian"))
@example(("kitabının İstanbul'da ışık", "turkish"))
@example(("yyyyy 'y'y y’s", "porter"))
@example(("TS-4711 IDs v2.1.3 Häuser-Preis haeuserUndGarten", "german"))
@example(("ue" * 513 + " " + "ß" * 300 + " " + "ue" * 512, "german"))
def test_native_is_the_oracle_in_every_language(drawn: tuple[str, str]) -> None:
    text, language = drawn
    assert _native.analyze(text, language) == oracle.analyze(text, language)


@given(st.text(max_size=60), st.sampled_from(languages()))
def test_any_text_is_read_as_by_the_oracle(text: str, language: str) -> None:
    if any(unicodedata.category(c) in ("Cn", "Co", "Cs") for c in text):
        return  # another version of the Unicode tables
    assert _native.analyze(text, language) == oracle.analyze(text, language)


@given(words_of_a_language())
def test_native_stemmers_equal_pystemmer_as_a_callback(drawn: tuple[str, str]) -> None:
    """Files that were written with PyStemmer as the stemmer are read with the same terms."""
    text, language = drawn
    through_python = _native.analyze(text, language, stemmer=oracle.stem_of_language(language))
    assert _native.analyze(text, language) == through_python
