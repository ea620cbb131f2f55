"""Compounds and their parts as related terms. The twin of `cpp/src/text/compounds.hpp` and of its use in a search."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from tests.reference.analyzer import stem_english

LANGUAGES = frozenset("danish dutch dutch_porter finnish german norwegian swedish".split())
LEAST_PART, LEAST_COMPOUND, MOST_COMPOUND = 4, 8, 48
LEAST_BESIDE = 3
LONG_PART, LONG_BESIDE = 6, 4
VERY_LONG_PART, VERY_LONG_COMPOUND = 8, 16
MOST_OTHERS = 32
"""Maximum number of compounds or parts for one term of a query."""
WORTH = 0.5
"""Factor of the smaller idf: that of the query's term or that of the related term."""

LINKS = ["", *"a e en ens er es i in n ns o s u ung ungs".split()]
PREFIXES = frozenset(
    """auf aus bei dar durch efter ein ent fore fram fur gegen her hin hinter med mit nach naar neben om onder over
    till uber uit under unter upp van ver voor vor wider zer zwischen""".split()
)
SIGNS = [
    {stem_english(word) for word in words.split()}
    for words in (
        "der und das nicht ist eine auf dem sich auch wird oder durch werden uber",
        "het een voor niet zijn ook maar wordt naar deze hebben",
        "och att det inte ett har som av jag fran mycket",
        "og det ikke som av af jeg har et pa fra",
        "ja etta mutta myos niin kuin ovat oli hanen joka tai",
    )
]
LEAST_SIGNS = 4


def is_part(part: str, whole: str, compounding: bool, known: Collection[str]) -> bool:
    """Whether a term is a part of another one, in a scope with these known terms."""
    beside = len(whole) - len(part)
    if len(part) < LEAST_PART or len(whole) < LEAST_COMPOUND or beside < LEAST_BESIDE:
        return False
    if len(part) >= VERY_LONG_PART and (compounding or len(whole) >= VERY_LONG_COMPOUND):
        heads = [match.start() for match in re.finditer(f"(?={part})", whole)]
        if any(all(n == 0 or n >= LEAST_BESIDE for n in (head, beside - head)) for head in heads):
            return True
    if not compounding:
        return False
    ends = []
    if whole.startswith(part):
        ends.append((whole[len(part) :], str.removeprefix, str.startswith))
    if whole.endswith(part) and whole[:beside] not in PREFIXES:
        ends.append((whole[:beside], str.removesuffix, str.endswith))
    if ends and len(part) >= LONG_PART and beside >= LONG_BESIDE:
        return True
    words = {
        without(rest, link) if link else rest
        for rest, without, has in ends
        for link in LINKS
        if has(rest, link)
    }
    return any(len(word) >= LEAST_BESIDE and word not in PREFIXES and word in known for word in words)


def may_be_in_compound(term: str) -> bool:
    return re.fullmatch("[a-z]+", term) is not None and LEAST_PART <= len(term) <= MOST_COMPOUND


def others(
    tokens: Sequence[tuple[str, str]],
    document_frequency: Mapping[str, int],
    analyzer: str,
    settled: Collection[str],
    words: Mapping[str, Collection[str]] | None = None,
) -> dict[str, tuple[str, int]]:
    """Return the compounds of the query's terms and the parts of its compounds: related term -> (term of the query, its
    count). Terms in `settled` already have related terms. `words`: words of the query that begin with their term and
    go on, by term; they are parts as well as their terms.

    With the analyzer for English only terms that are unknown in the scope get related terms.
    """
    if analyzer not in LANGUAGES | {"english"}:
        return {}
    known = {term for term, n in document_frequency.items() if n > 0}
    compounding = analyzer in LANGUAGES or any(len(signs & known) >= LEAST_SIGNS for signs in SIGNS)
    present = {term for term, _ in tokens}
    found: dict[str, tuple[str, int]] = {}
    for term, count in Counter(term for term, _ in tokens).items():
        if term in settled or not may_be_in_compound(term) or (analyzer == "english" and term in known):
            continue
        if any(kind != "word" for other, kind in tokens if other == term):
            continue
        related = [
            other
            for other in known
            if may_be_in_compound(other)
            and (
                is_part(other, term, compounding, known)
                or any(
                    is_part(part, other, compounding, known) for part in (term, *(words or {}).get(term, ()))
                )
            )
        ]
        related.sort(key=lambda other: (-document_frequency[other], other))
        for other in related[:MOST_OTHERS]:
            if other not in present:
                found.setdefault(other, (term, count))
    return found
