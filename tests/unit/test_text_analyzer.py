"""The analyzer's rules by example: the terms of each kind of text, native and oracle alike."""

from __future__ import annotations

import re

import pytest

from scrubjay import _native
from tests.reference import analyzer as oracle

# Text; its terms in order. The letter after the last slash is the kind: Word, Part, whOle, Joined.
EXAMPLES = [
    ("", ""),
    ("  ... -- ,;!? \u2014 \U0001f600 ", ""),
    ("sk-stg-0041", "sk-stg-0041/o sk/p stg/p 0041/p skstg0041/j"),
    ("TS-999", "ts-999/o ts/p 999/p ts999/j"),
    ("TS7032", "ts7032/o ts/p 7032/p ts7032/j"),
    ("E0308", "e0308/o e/p 0308/p e0308/j"),
    ("jane@acme.com", "jane@acme.com/o acme.com/o jane/p acm/p com/p janeacmecom/j acmecom/j"),
    ("see v2.1.3.", "see/w v2.1.3/o 2.1.3/o v2/o v/p 2/p 1/p 3/p v213/j v2/j"),
    ("10.0.0.1", "10.0.0.1/o 10/p 0/p 0/p 1/p"),
    ("10.245.58.181:14775", "10.245.58.181:14775/o 10.245.58.181/o 10/p 245/p 58/p 181/p 14775/p"),
    ("snake_case", "snake_case/o snake/p case/p snakecas/j"),
    ("camelCase", "camelcase/o camel/p case/p camelcas/j"),
    ("HTTPServer", "httpserver/o http/p server/p"),
    ("src/api/chat.ts", "src/api/chat.ts/o chat.ts/o src/p api/p chat/p ts/p srcapichatt/j chatt/j"),
    ("#4711", "#4711/o 4711/w"),
    ("#D-825", "#d-825/o d-825/o d/p 825/p d825/j"),
    ("@jane", "@jane/o jane/w"),
    ("C++", "c++/o c/w"),
    ("C#", "c#/o c/w"),
    ("C++/Java", "c++/o c/w java/w"),
    ("react==8.13.8", "react/w 8.13.8/o 8/p 13/p 8/p"),
    ("std::vector", "std::vector/o std/p vector/p stdvector/j"),
    ("__init__", "__init__/o init/w"),
    ("User's", "user/w"),
    ("User\u2019s", "user/w"),
    ("GPT-4's", "gpt-4/o gpt/p 4/p gpt4/j"),
    ("dogs'", "dog/w"),
    ("don't DON\u2019T dont", "dont/w dont/w dont/w"),
    ("we'll I'm they've", "we/w i/w they/w"),
    ("O'Brien", "o/p brien/p obrien/j"),
    ("well-known", "well/p known/p wellknown/j"),
    ("e-mails emails", "e/p mail/p email/j email/w"),
    ("and/or", "and/w or/w"),
    ("https://x.com/a?q=y", "https/w x.com/a/o x.com/o x/p com/p a/p xcoma/j xcom/j q/w y/w"),
    ("10:30", "10:30/o 10/p 30/p"),
    ("3.14", "3.14/o 3/p 14/p"),
    ("$5,850 and 1,2", "5850/w and/w 1/w 2/w"),
    ("555-1234", "555-1234/o 555/p 1234/p 5551234/j"),
    ("5-10", "5-10/o 5/p 10/p"),
    ("20th 1990s", "20th/o 20/w 20th/j 1990s/o 1990/w 1990s/j"),
    ("Caroline: Hey", "carolin/w hey/w"),
    ("speaker: text", "speaker/w text/w"),
    ("word.Next", "word.next/o word/p next/p wordnext/j"),
    ("e.g. U.S. USA", "e.g/o eg/w u.s/o us/w usa/w"),
    ("wait...what", "wait/w what/w"),
    ("TVs and LLMs", "tv/w and/w llm/w"),
    ("iPhones iphone", "iphones/o i/p phone/p iphon/j iphon/w"),
    ("GitHub github", "github/o git/p hub/p github/w"),
    ("Stra\u00dfe na\u00efve \u0141\u00f3d\u017a \u00d8rsted", "strass/w naiv/w lodz/w orst/w"),
    ("\u0395\u03bb\u03bb\u03ac\u03b4\u03b1", "\u03b5\u03bb\u03bb\u03b1\u03b4\u03b1/w"),
    ("\u03a3\u039f\u03a6\u039f\u03a3 \u0451\u0436", "\u03c3\u03bf\u03c6\u03bf\u03c3/w \u0435\u0436/w"),
    ("\uff34\uff33\uff0d\uff19\uff19\uff19", "ts-999/o ts/p 999/p ts999/j"),
    ("\u6771\u4eac\u30bf\u30ef\u30fc", "\u6771\u4eac/w \u4eac\u30bf/w \u30bf\u30ef/w \u30ef\u30fc/w"),
    ("2023\u5e74", "2023/w \u5e74/w"),
    ("iPhone\u7528", "iphone/o i/p phone/p iphon/j \u7528/w"),
    ("\ud55c\uad6d\uc5b4", "\ud55c\uad6d/w \uad6d\uc5b4/w"),
    ("\u304c\u304d", "\u304c\u304d/w"),
    ("\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32", "\u0e01\u0e34\u0e19/w \u0e19\u0e02\u0e49/w \u0e02\u0e49\u0e32/w"),
    ("\u0915\u093f\u0924\u093e\u092c", "\u0915\u093f\u0924\u093e\u092c/w"),
    ("Brand\u2122", "brand/w"),
    ("co\u00adoperate", "cooper/w"),
]  # fmt: skip

KINDS = {"w": "word", "p": "part", "o": "whole", "j": "joined"}


def tokens(shown: str) -> list[tuple[str, str]]:
    return [(term, KINDS[kind]) for term, _, kind in (token.rpartition("/") for token in shown.split())]


@pytest.mark.parametrize(("text", "shown"), EXAMPLES)
def test_examples(text: str, shown: str) -> None:
    assert oracle.analyze(text) == tokens(shown)
    assert _native.analyze(text) == tokens(shown)


def terms(text: str) -> set[str]:
    return {term for term, _ in _native.analyze(text)}


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("TS-7032", "TS7032"),
        ("TS7032", "ts-7032"),
        ("sk-stg-0041", "SKSTG0041"),
        ("iPhone", "iphones"),
        ("/etc/app/prod_routes_01.yaml", "prod_routes_01.yaml"),
        ("/etc/app/prod_routes_01.yaml", "prod_routes_01"),
        ("10.0.0.1:8080", "10.0.0.1"),
        ("v2.1.3", "2.1.3"),
        ("8c8b0df5-b49a-cb6d-0435-30e7147a472c", "8c8b0df5"),
        ("jane@acme.com", "acme.com"),
        ("well-being", "wellbeing"),
        ("U.S.A.", "USA"),
        ("1,000", "1000"),
    ],
)
def test_other_spellings_share_a_form_that_says_it_all(written: str, asked: str) -> None:
    squeezed = re.sub("[^a-z0-9]", "", asked.lower())
    shared = {re.sub("[^a-z0-9]", "", term) for term in terms(written) & terms(asked)}
    assert squeezed in shared or _native.porter2(squeezed) in shared


@pytest.mark.parametrize(
    "identifier", ["sk-stg-0041", "TS-999", "v2.1.3", "src/api/chat.ts", "snake_case", "jane@acme.com"]
)
def test_the_whole_form_is_not_among_the_parts(identifier: str) -> None:
    apart = identifier.translate(str.maketrans("-_./@", "     "))
    only_whole = terms(identifier) - terms(apart)
    assert identifier.lower() in only_whole


def test_bytes_are_accepted_and_repaired() -> None:
    assert _native.analyze(b"caf\xc3\xa9 \xff\xfe ok") == [("cafe", "word"), ("ok", "word")]
    assert _native.analyze("\ufffd") == []


def test_terms_are_at_most_255_bytes() -> None:
    for text in ["a" * 1000, "\u0436" * 1000, "a1-" * 31 + "b" * 500]:
        found = _native.analyze(text, "plain")
        assert found == oracle.analyze(text, "plain")
        assert max(len(term.encode()) for term, _ in found) <= 255


def test_plain_does_not_stem() -> None:
    assert _native.analyze("running dogs", "plain") == [("running", "word"), ("dogs", "word")]


def test_a_stemmer_gets_case_folded_words_with_their_accents() -> None:
    seen: list[str] = []

    def stemmer(word: str) -> str:
        seen.append(word)
        return word[:4]

    found = _native.analyze("Gr\u00fc\u00dfe gr\u00fc\u00dfe TS-99", "german", stemmer=stemmer)
    assert found == tokens("grus/w grus/w ts-99/o ts/p 99/p ts99/j")
    assert seen == ["gr\u00fcsse", "ts"]


def test_wrong_names_and_stemmers_raise() -> None:
    with pytest.raises(ValueError, match=r"a language \(arabic, .*german.*yiddish\).*got 'klingon'"):
        _native.analyze("x", "klingon")
    with pytest.raises(ValueError, match="surrogates"):
        _native.analyze("\ud800")
    with pytest.raises(TypeError, match="int"):
        _native.analyze(1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="english"):
        _native.analyze("x", "english", stemmer=str)

    def broken(word: str) -> str:
        raise KeyError(word)

    with pytest.raises(KeyError):
        _native.analyze("word", "mine", stemmer=broken)
