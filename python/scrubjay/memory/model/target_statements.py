"""Selection of the known statements that an end or a correction names.

It names a statement by its value, or else by words. Words are compared by their stems, so that "peanut" names
"peanuts"; the words of subject and predicate, which all statements of a slot share, and negations name nothing. If it
names none of several values it affects none, so that no uncontradicted statement is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scrubjay.memory.model.cardinality import synonyms_of
from scrubjay.memory.model.wording import stems


class NamedStatement(NamedTuple):
    """A statement, reduced to the fields by which it is named or names others."""

    text: str
    value: str = ""
    """Normalised, as statements of a slot are compared."""
    given: str = ""
    """The value as a text, if one was given."""
    single: bool | None = False
    subject: str = ""
    predicate: str = ""


def ended(statement: NamedStatement, known: Sequence[NamedStatement]) -> list[int]:
    """Return the positions of the statements that an end names.

    The first rule that matches any statement decides: statements with its value; statements whose value its text
    mentions; statements whose words all occur in its text; the statement that shares more words with it than any other;
    and, if it states no value, statements of a predicate with one value at a time (or the only statement, if its
    predicate has one value of a kind).

    >>> nuts, latex = NamedStatement("Noor is allergic to nuts"), NamedStatement("Noor is allergic to latex")
    >>> ended(NamedStatement("Noor's nut allergy is gone", subject="Noor", predicate="allergic to"), [nuts, latex])
    [0]
    >>> ended(NamedStatement("Noor has no allergies any more", subject="Noor", predicate="allergic to"), [nuts, latex])
    []
    """
    found = [place for place, other in enumerate(known) if statement.value and _is_value(statement, other)]
    found = found or _mentioned(statement, known) or _most_shared(statement, known)
    if not found and not statement.value:
        found = [
            place
            for place, other in enumerate(known)
            if other.single or (other.single is None and len(known) == 1)
        ]
    return found


def corrected(statement: NamedStatement, known: Sequence[NamedStatement]) -> list[int]:
    """Return the position of the statement that a correction corrects; `known` is in order, oldest first.

    It is the last statement whose value its text mentions, or the one that shares most words with it, or the last one
    that says the same, or, unless several values hold at once, the last one; a statement that is alone in its slot is
    always corrected.

    >>> known = [NamedStatement("I react to walnuts"), NamedStatement("I react to kiwi")]
    >>> corrected(NamedStatement("Sorry, not walnuts: I meant hazelnuts"), known)
    [0]
    """
    same = [place for place, other in enumerate(known) if statement.value and other.value == statement.value]
    others = [place for place in range(len(known)) if place not in same]
    rest = [known[place] for place in others]
    is_single = bool(rest) and bool(rest[-1].single)
    found = _mentioned(statement, rest) or ([] if same or is_single else _most_shared(statement, rest))
    if found:
        return [others[found[-1]]]
    if same:
        return same[-1:]
    return others[-1:] if is_single or len(others) == 1 else []


def _is_value(statement: NamedStatement, other: NamedStatement) -> bool:
    if other.value == statement.value:
        return True
    wanted = stems(statement.value)
    return bool(statement.given and other.given and wanted) and wanted == stems(other.value)


def _mentioned(statement: NamedStatement, known: Sequence[NamedStatement]) -> list[int]:
    """The statements whose value, or whose own words, all occur in the text of an end."""
    words = stems(statement.text, statement.given)
    beside = _beside(statement)
    found = []
    for place, other in enumerate(known):
        own = stems(other.given) if other.given else stems(other.text) - beside
        if own and own <= words:
            found.append(place)
    return found


def _most_shared(statement: NamedStatement, known: Sequence[NamedStatement]) -> list[int]:
    """The statement that shares most of its words with the text, if there is exactly one."""
    words = stems(statement.text, statement.given) - _beside(statement)
    shared = [len(words & stems(other.text, other.given)) for other in known]
    most = max(shared, default=0)
    return [shared.index(most)] if most and shared.count(most) == 1 else []


def _beside(statement: NamedStatement) -> frozenset[str]:
    return stems(
        statement.subject,
        statement.predicate,
        synonyms_of(statement.predicate) if statement.predicate else "",
    )
