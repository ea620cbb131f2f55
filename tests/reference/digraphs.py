"""Alternative spellings of words with marked letters. The twin of `cpp/src/text/digraphs.hpp`."""

from __future__ import annotations

import re

from tests.reference.analyzer import Oracle, stem_english, stem_of_language

LETTERS = re.compile("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff]+")
WRITTEN = {"\u00e4": "ae", "\u00f6": "oe", "\u00fc": "ue", "\u00e5": "aa", "\u00f8": "oe"}
MARKED = {"aa": "\u00e5", "oe": "\u00f8"}
OF_NAMES = {"ae": "\u00e4", "oe": "\u00f6", "ue": "\u00fc"}
SCANDINAVIAN = ("danish", "norwegian", "swedish")
MOST_BYTES = 64


def digraphs(text: str, analyzer: str) -> dict[str, set[tuple[str, bool]]]:
    """Return, for each term of a word, the terms of its other spellings; True: used only if no document has the
    term."""
    stem = {"english": stem_english, "plain": lambda word: word}.get(analyzer) or stem_of_language(analyzer)
    term_of = Oracle(stem).word
    found: dict[str, set[tuple[str, bool]]] = {}
    for word in LETTERS.findall(text):
        if len(word.encode()) > MOST_BYTES:
            continue
        other, is_name = "".join(WRITTEN.get(letter.lower(), letter) for letter in word), False
        if other == word and analyzer in SCANDINAVIAN:
            other = re.sub("aa|oe", lambda found: MARKED[found[0].lower()], word, flags=re.I)
        elif other == word and re.fullmatch("[A-Z][a-z]{4,}", word):
            other = re.sub("[aou]e", lambda found: OF_NAMES[found[0].lower()], word, flags=re.I)
            is_name = True
        if term_of(other) != term_of(word):
            found.setdefault(term_of(word), set()).add((term_of(other), is_name))
    return found
