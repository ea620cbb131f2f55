"""Which known statements a retraction or a correction speaks of.

By what is named: the value, or else the words. Words are compared by their stems, so that "peanut" names "peanuts";
those of subject and predicate, which all statements of a slot share, and those that deny name nothing. What names none
of several values touches none: what nobody contradicted is not lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scrubjay.memory.model.cardinality import synonyms_of
from scrubjay.memory.model.wording import stems


class Named(NamedTuple):
    """A statement, as far as it is named or names others."""

    text: str
    value: str = ""
    """Normalised, as statements of a slot are compared."""
    given: str = ""
    """The value as a text, if one was given."""
    single: bool | None = False
    subject: str = ""
    predicate: str = ""


def ended(said: Named, known: Sequence[Named]) -> list[int]:
    """Return the places of those statements that an end names.

    They are, the first that there are any of: those of its value; those whose value its text mentions; those all of
    whose words it has; the one that shares more words with it than the others do; and, if it states no value, those of
    a predicate with one value at a time (or one of a kind, if there is no other).

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
    """Return the place of the statement that a correction speaks of, oldest first given: the last of those whose value
    its text mentions, or the one that shares most words with it, or the last that says the same, or, unless several
    values hold at once, the last; of one that is alone in its slot, that one.

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
    """Those whose value, or all of whose own words, stand in the text of an end."""
    words = stems(said.text, said.given)
    beside = _beside(said)
    found = []
    for place, one in enumerate(known):
        own = stems(one.given) if one.given else stems(one.text) - beside
        if own and own <= words:
            found.append(place)
    return found


def _most_shared(said: Named, known: Sequence[Named]) -> list[int]:
    """The one that shares most words of its own, if it is one."""
    words = stems(said.text, said.given) - _beside(said)
    shared = [len(words & stems(one.text, one.given)) for one in known]
    most = max(shared, default=0)
    return [shared.index(most)] if most and shared.count(most) == 1 else []


def _beside(said: Named) -> frozenset[str]:
    return stems(said.subject, said.predicate, synonyms_of(said.predicate) if said.predicate else "")
