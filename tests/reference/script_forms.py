"""Which forms of a word does the script of its language share? The twin of `cpp/src/text/script_forms.hpp`."""

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
HEBREW = {"": 0, **dict.fromkeys("ה ו ב ל מ ש כ וה וב ול ומ שה מה כש".split(), 3)}
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
"""Affix -> the least letters of a stem that has it."""


def script_forms(term: str) -> set[str]:
    """The other forms of a folded term."""
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
            forms |= {stem + other if at_end else other + stem for other in fitting}
    return forms


def _is(kana: str, c: str) -> bool:
    """Whether a letter of one kana has its counterpart 0x60 away."""
    apart = 0x60 if kana == "HIRAGANA" else -0x60
    other = {"HIRAGANA": "KATAKANA", "KATAKANA": "HIRAGANA"}[kana]
    name, counterpart = unicodedata.name(c, ""), unicodedata.name(chr(max(ord(c) + apart, 0)), "")
    return name.startswith(kana) and counterpart == name.replace(kana, other, 1)
