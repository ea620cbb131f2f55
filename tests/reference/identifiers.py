"""Identifiers in a query, and the documents that contain them. The twin of `cpp/src/engine/identifier_tier.hpp`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

ALWAYS_RARE, RARE_SHARE = 5, 0.005
MOSTLY = 2 / 3
MOST_READ = 65536
"""Bytes of a text in which longer identifiers are looked for."""
MOST_VISITED = 1000
"""If at most this many documents contain the rarest of several identifiers, all of them are visited."""

UNITS = (
    "st nd rd th k m b x d h hr hrs min s sec ms us μs ns w wk wks mo y yr yrs am pm g kg mg ug μg ng pg lb lbs oz"
    " l dl ml ul μl mm cm km um μm nm in ft mi mph kmh hz khz mhz ghz v mv kv kw mw kb mb gb tb kib mib gib tib"
    " px pt em rem c f kcal cal kj j pa kpa mol mmol μmol usd eur"
).split()
LETTERS = r"[a-z\x80-\U0010ffff]"
QUANTITIES = [
    re.compile(rule)
    for rule in (
        r"[0-9]{1,2}|(19|20)[0-9][0-9]",  # a number, a year
        rf"[0-9]+([.,][0-9]+)*-?({'|'.join(UNITS)})",  # a measure, an ordinal
        rf"[0-9]{{1,3}}-?{LETTERS}{{3,}}",  # 30-day
        rf"{LETTERS}{{5,}}-?([1-9][0-9]?|0)",  # interleukin-2
        r"[0-9]{1,3}[-/][0-9]{1,3}|(19|20)[0-9][0-9][-/](19|20)[0-9][0-9]",  # a fraction, a range
    )
]


DATE = re.compile(r"[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{4}")


@dataclass(frozen=True)
class Identifiers:
    """The identifiers of a query, as the tier uses them."""

    members: Sequence[str]
    """Terms: a document with one of them is in the tier."""
    named: Sequence[frozenset[str]]
    """The identifiers as written, each with the forms that a document may contain, for the order in the tier."""

    def held(self, terms: Collection[str]) -> int:
        """Return the number of identifiers in a document with these terms."""
        return sum(any(form in terms for form in forms) for forms in self.named)


def has_digit(term: str) -> bool:
    return any("0" <= character <= "9" for character in term)


def is_quantity(term: str) -> bool:
    return any(rule.fullmatch(term) for rule in QUANTITIES)


def stripped(term: str) -> str:
    """Return a term without joiners."""
    return re.sub(r"[-_.@/:+#]", "", term)


def rare_limit(n_documents: int) -> float:
    return max(ALWAYS_RARE, RARE_SHARE * n_documents)


def identifiers(
    tokens: Sequence[tuple[str, str]],
    frequency: Mapping[str, int],
    mass: Mapping[str, float],
    n_documents: int,
) -> Identifiers:
    """Return the identifiers of a query. `mass`: count times idf of each distinct term."""
    known = [
        term
        for term, kind in dict.fromkeys(tokens)
        if (kind == "whole" or (kind in ("word", "joined") and has_digit(term))) and frequency[term] > 0
    ]
    known = list(dict.fromkeys(known))
    total = sum_in_order(mass.values())
    inside = sum_in_order(weight for term, weight in mass.items() if any(term in one for one in known))
    mostly = total > 0 and inside / total >= MOSTLY

    as_written = [term for term, kind in tokens if kind == "whole" or (kind == "word" and has_digit(term))]

    def exact(term: str) -> bool:
        """Whether the identifier to which the term belongs is, as written, not merely a quantity."""
        forms = [one for one in as_written if stripped(one) == stripped(term)]
        return mostly or not all(is_quantity(one) for one in forms)

    rare = [term for term in known if frequency[term] <= rare_limit(n_documents)]
    members = [
        term
        for term in mass
        if term in rare
        and not any(term != other and term in other for other in rare)
        and (mostly or has_digit(term))
        and exact(term)
    ]
    named = [
        frozenset(one for one in known if stripped(one) == stripped(term))
        for term in written(tokens, frequency)
        if exact(term)
    ]
    return Identifiers(members, list(dict.fromkeys(named)))


def written(tokens: Sequence[tuple[str, str]], frequency: Mapping[str, int]) -> list[str]:
    """Return, for each identifier in the text, its longest form that a document contains."""
    found, before, wanted = [], "", False
    for term, kind in tokens:
        if kind == "whole":
            wanted = wanted if before == "whole" else True
            if wanted and frequency[term] > 0:
                found.append(term)
                wanted = False
        elif kind == "word" and has_digit(term) and frequency[term] > 0:
            found.append(term)
        before = kind
    return found


def is_of_another(
    tokens: Sequence[tuple[str, str]], terms: Collection[str], wholes: Iterable[str] = ()
) -> bool:
    """Whether the text names identifiers with a digit, and a document contains none in any form or as a part of a
    longer one.

    Args:
        tokens: of the text.
        terms: of the document.
        wholes: the whole forms of the document.
    """
    named = [
        term
        for term, kind in dict.fromkeys(tokens)  # each once: a query may repeat one a thousand times
        if kind in ("word", "whole")
        and has_digit(term)
        and not is_quantity(term)
        and not DATE.fullmatch(term)
    ]
    wanted = {stripped(term) for term in named}
    forms = {term for term, kind in tokens if kind != "part" and stripped(term) in wanted}
    is_held = any(form in terms for form in forms)
    longest = [term for term in named if not any(term != one and is_part_of(term, one) for one in named)]
    return (
        bool(named) and not is_held and not any(is_part_of(term, one) for one in wholes for term in longest)
    )


def is_part_of(term: str, whole: str) -> bool:
    """Whether an identifier is one of the stretches between two joiners of a longer one."""
    return re.search(rf"(?<![^-_.@/:+#]){re.escape(term)}(?![^-_.@/:+#])", whole) is not None


def rarest(named: Sequence[frozenset[str]], frequency: Mapping[str, int]) -> frozenset[str]:
    """Return the identifier in the fewest documents, counting each form; the first of equals."""
    return min(named, key=lambda forms: sum(frequency[form] for form in forms))


def sum_in_order(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:  # sum() compensates rounding; the definition does not
        total += value
    return total
