"""Alternative forms of words within one script. The twin of `cpp/src/text/script_forms.hpp`."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

MOST_BYTES = 64

ARABIC = {
    "": 0,
    **dict.fromkeys(
        ["\u0627\u0644", *(f"{one}\u0627\u0644" for one in "\u0648\u0628\u0641\u0643"), "\u0644\u0644"], 2
    ),
    **dict.fromkeys("\u0648\u0628\u0641\u0643\u0644", 4),
}
ALEFS = "\u0627\u0623\u0625\u0622"
LAST = {"\u0629": "\u0647", "\u0647": "\u0629", "\u0649": "\u064a", "\u064a": "\u0649"}
"""Interchangeable letters of Arabic, at the beginning and at the end of a word."""
HEBREW = {"": 0, **dict.fromkeys("ה ו ב ל מ ש כ וה וב ול ומ שה מה כש שב של שמ וש ושה כשה".split(), 3)}
CYRILLIC = dict.fromkeys(
    [
        "",
        *"""а я ы и у ю е о ь ом ем ои еи ов ев ам ям ами ями ах ях ии ия ию ие ыи ая яя ое ее ые ого его ому ему
        ую юю ых их ым им ыми ими""".split(),
    ],
    3,
)
GREEK = dict.fromkeys(
    ["", *"α η ο ε ι οσ ου ον οι ων ουσ ασ εσ ησ εισ εωσ εων ια ιου ιων μα ματα ματοσ ματων".split()], 3
)
"""Affix -> minimum number of letters of its stem."""


def script_forms(term: str) -> set[str]:
    """Return the other forms of a folded term."""
    if not term or len(term.encode()) > MOST_BYTES:
        return set()
    for first, last, affixes, at_end in (
        (0x620, 0x6D3, ARABIC, False),
        (0x5D0, 0x5EA, HEBREW, False),
        (0x400, 0x4FF, CYRILLIC, True),
        (0x370, 0x3FF, GREEK, True),
    ):
        if all(first <= ord(c) <= last for c in term):
            return _with_affixes(term, affixes, at_end) - {term}
    if not any(_is("HIRAGANA", c) or _is("KATAKANA", c) for c in term):
        return set()
    hiragana = "".join(chr(ord(c) - 0x60) if _is("KATAKANA", c) else c for c in term)
    katakana = "".join(chr(ord(c) + 0x60) if _is("HIRAGANA", c) else c for c in term)
    return {hiragana, katakana} - {term}


def _with_affixes(term: str, affixes: Mapping[str, int], at_end: bool) -> set[str]:
    forms = set()
    for own, least in affixes.items():
        if not (term.endswith(own) if at_end else term.startswith(own)):
            continue
        stem = (term.removesuffix(own) if at_end else term.removeprefix(own)) if own else term
        if stem and len(stem) >= least:
            fitting = [other for other, least_too in affixes.items() if len(stem) >= least_too]
            ways = _ways_of_writing(stem) if affixes is ARABIC else {stem}
            forms |= {way + other if at_end else other + way for other in fitting for way in ways}
    return forms


def _ways_of_writing(stem: str) -> set[str]:
    """Return the spellings of an Arabic stem."""
    firsts = ALEFS if stem[0] in ALEFS else stem[0]
    lasts = {stem[-1], LAST.get(stem[-1], stem[-1])} if len(stem) > 1 else {stem[-1]}
    return {first + (stem[1:-1] + last if len(stem) > 1 else "") for first in firsts for last in lasts}


def _is(kana: str, c: str) -> bool:
    """Whether a letter belongs to this kana and has its counterpart 0x60 away."""
    apart = 0x60 if kana == "HIRAGANA" else -0x60
    other = {"HIRAGANA": "KATAKANA", "KATAKANA": "HIRAGANA"}[kana]
    name, counterpart = unicodedata.name(c, ""), unicodedata.name(chr(max(ord(c) + apart, 0)), "")
    return name.startswith(kana) and counterpart == name.replace(kana, other, 1)
