"""Which known statements an end or a correction names.

It names a statement by its value, or else by words. Words are compared by their stems, so that "peanut" names
"peanuts"; the words of subject and predicate, which all statements of a slot share, and negations name nothing. If it
names none of several values it affects none: what nobody contradicted is not lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scrubjay.memory.model.cardinality import synonyms_of
from scrubjay.memory.model.wording import stems


class Named(NamedTuple):
    """A statement, reduced to the fields by which it is named or names others."""

    text: str
    value: str = ""
    """Normalised, as statements of a slot are compared."""
    given: str = ""
    """The value as a text, if one was given."""
    single: bool | None = False
    subject: str = ""
    predicate: str = ""


def ended(said: Named, known: Sequence[Named]) -> list[int]:
    """Return the positions of the statements that an end names.

    The first rule that matches any statement decides: statements with its value; statements whose value its text
    mentions; statements whose words all occur in its text; the statement that shares more words with it than any other;
    and, if it states no value, statements of a predicate with one value at a time (or the only statement, if its
    predicate has one value of a kind).

    >>> nuts, latex = Named("Noor is allergic to nuts"), Named("Noor is allergic to latex")
    >>> ended(Named("Noor's nut allergy is gone", subject="Noor", predicate="allergic to"), [nuts, latex])
    [0]
    >>> ended(Named("Noor has no allergies any more", subject="Noor", predicate="allergic to"), [nuts, latex])
    []
    """
    found = [place for place, one in enumerate(known) if said.value and _is_value(said, one)]
    found = found or _mentioned(said, known) or _most_shared(said, known)
    if not found and not said.value:
        found = [
            place for place, one in enumerate(known) if one.single or (one.single is None and len(known) == 1)
        ]
    return found


def corrected(said: Named, known: Sequence[Named]) -> list[int]:
    """Return the position of the statement that a correction corrects; `known` is in order, oldest first.

    It is the last statement whose value its text mentions, or the one that shares most words with it, or the last one
    that says the same, or, unless several values hold at once, the last one; a statement that is alone in its slot is
    always corrected.

    >>> known = [Named("I react to walnuts"), Named("I react to kiwi")]
    >>> corrected(Named("Sorry, not walnuts: I meant hazelnuts"), known)
    [0]
    """
    same = [place for place, one in enumerate(known) if said.value and one.value == said.value]
    others = [place for place in range(len(known)) if place not in same]
    rest = [known[place] for place in others]
    is_single = bool(rest) and bool(rest[-1].single)
    found = _mentioned(said, rest) or ([] if same or is_single else _most_shared(said, rest))
    if found:
        return [others[found[-1]]]
    if same:
        return same[-1:]
    return others[-1:] if is_single or len(others) == 1 else []


def _is_value(said: Named, one: Named) -> bool:
    if one.value == said.value:
        return True
    wanted = stems(said.value)
    return bool(said.given and one.given and wanted) and wanted == stems(one.value)


def _mentioned(said: Named, known: Sequence[Named]) -> list[int]:
    """The statements whose value, or whose own words, all occur in the text of an end."""
    words = stems(said.text, said.given)
    beside = _beside(said)
    found = []
    for place, one in enumerate(known):
        own = stems(one.given) if one.given else stems(one.text) - beside
        if own and own <= words:
            found.append(place)
    return found


def _most_shared(said: Named, known: Sequence[Named]) -> list[int]:
    """The statement that shares most of its words with the text, if there is exactly one."""
    words = stems(said.text, said.given) - _beside(said)
    shared = [len(words & stems(one.text, one.given)) for one in known]
    most = max(shared, default=0)
    return [shared.index(most)] if most and shared.count(most) == 1 else []


def _beside(said: Named) -> frozenset[str]:
    return stems(said.subject, said.predicate, synonyms_of(said.predicate) if said.predicate else "")
