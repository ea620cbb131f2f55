"""Function words among the terms of a query. The twin of `cpp/src/text/function_words.hpp`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tests.reference.analyzer import stem_english
from tests.reference.foreign_function_words import foreign_function_words
from tests.reference.japanese_function_words import japanese_function_words

WORDS = frozenset(
    """i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
    it its itself they them their theirs themselves what which who whom this that these those am is are was were be been
    being have has had having do does did doing a an the and but if or because as until while of at by for with about
    against between into through during before after above below to from up down in out on off over under again further
    then once here there when where why how all any both each few more most other some such no nor not only own same so
    than too very s t can will just don should now
    dont doesnt didnt isnt wasnt arent werent hasnt havent hadnt wont wouldnt couldnt shouldnt cant""".split()
)
STEMS = frozenset(map(stem_english, WORDS))
ASKING = {
    "how": re.compile(r" +(many|much)(?![A-Za-z0-9_'\x80-\U0010ffff-])"),
    "what": re.compile(r" +(kinds?|types?|sorts?)(?= +of(?![A-Za-z0-9_'\x80-\U0010ffff-]))"),
}
ASKING["which"] = ASKING["what"]
"""Continuations that form a question phrase with the word before."""
LONGEST_PIECE = 24
MOST_IDF = 0.5
"""Maximum idf of a function word: that of a term in three of five documents."""
MOST_FOREIGN_IDF = 0.1
"""Maximum idf of a function word of another language: that of a term in nine of ten documents."""


def function_words(text: str) -> set[str]:
    """Return the stems of the text's function words, except for those that look like a name somewhere in it, and of the
    continuations of question phrases that occur nowhere else; and the pairs of characters of Japanese ones."""
    text = text.replace("\u2019", "'")
    written = list(re.finditer(r"[A-Za-z0-9_'\x80-\U0010ffff]+", text))
    any_small = any("a" <= word[0][0] <= "z" for word in written)
    found, names = set(), set()
    asking: Counter[str] = Counter()
    for place, word in enumerate(written):
        parts = re.fullmatch("([A-Za-z]+)(?:'([A-Za-z]+))?", word[0])
        if parts is None:
            continue
        left, right = parts[1], parts[2]
        negation = right is not None and right in "tT" and left[-1] in "nN"
        lower = (left + right if negation else left).lower()
        if lower not in WORDS:
            continue
        starts = place == 0 or re.search(r"[.?!:][\")\s]*\Z", text[: word.start()]) is not None
        shouted = len(left) > 1 and left.isupper()
        is_name = any_small and lower != "i" and left[0].isupper() and (shouted or not starts)
        (names if is_name else found).add(stem_english(lower))
        if lower in ASKING and right is None and not is_name and text[: word.start()][-1:] != "-":
            behind = ASKING[lower].match(text, word.end())
            asking.update([] if behind is None else [stem_english(behind[1])])
    pieces = [piece.lower() for piece in re.findall("[A-Za-z]+", text) if len(piece) <= LONGEST_PIECE]
    everywhere = Counter(map(stem_english, pieces))
    asked = {term for term, n in asking.items() if everywhere[term] == n}
    return (found - names) | asked | japanese_function_words(text)


def marked(text: str, terms: Iterable[str], meant: Iterable[str] = ()) -> dict[str, float]:
    """Return the query's terms that weigh little, including corrections `meant`, with the maximum idf of each; empty if
    the query has no other terms."""
    terms = set(terms)
    english = terms & (function_words(text) | set(meant))
    foreign = foreign_function_words(text, terms, STEMS)
    foreign |= terms & japanese_function_words(text)
    most = dict.fromkeys(english, MOST_IDF) | dict.fromkeys(foreign, MOST_FOREIGN_IDF)
    return most if terms - most.keys() else {}
