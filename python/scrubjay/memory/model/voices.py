"""Voices: groups of statements with one value; statements whose texts say different things are different voices.

"Noor has a son, Ali" and "Noor has a son, Karim" are two voices of the value "son"; "Jane lives in Oslo" and "Oslo is
Jane's home" are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from scrubjay.memory.model.cardinality import says_besides, synonyms_of
from scrubjay.memory.model.content import normalised
from scrubjay.memory.model.wording import adds_to, stems

_Span = tuple[int, int | None]


class Voices(NamedTuple):
    """The voices of a slot's statements."""

    numbers: dict[str, int]
    """Statement id -> number of its voice, for values that have several voices."""
    richer: Sequence[tuple[str, str]] = ()
    """Pairs of statement ids with equal values; the second says everything that the first does, and more."""

    @property
    def are_several(self) -> bool:
        """Whether any value has several voices."""
        return bool(self.numbers)

    def of(self, statement: Any) -> tuple[str, int]:
        """Return the value and the voice of a statement."""
        return statement.value, self.numbers.get(statement.id, 0)


def voices_of(statements: Sequence[Any]) -> Voices:
    """Return the voices of a slot's statements (:class:`scrubjay.memory.model.projection.Statement`), given in the
    order in which they begin."""
    of_value: dict[str, list[Any]] = {}
    for statement in statements:
        of_value.setdefault(statement.value, []).append(statement)
    numbers: dict[str, int] = {}
    richer: list[tuple[str, str]] = []
    for some in of_value.values():
        if len(some) < 2 or len({normalised(statement.text) for statement in some}) < 2:
            continue
        groups: list[list[Any]] = []
        for statement in dict.fromkeys(some):
            home = next(
                (group for group in groups if any(_says(known, statement) is False for known in group)), None
            )
            if home is None:
                richer += [
                    (known.id, statement.id)
                    for group in groups
                    for known in group
                    if _says(known, statement) is True
                ]
                groups.append([statement])
            else:
                home.append(statement)
        if len(groups) > 1:
            numbers.update((statement.id, place) for place, group in enumerate(groups) for statement in group)
    return Voices(numbers, richer)


def says_more(known: str, said: str, *, value: str, subject: str, predicate: str) -> bool | None:
    """Whether a text says more about a value than a known one: False if it says no more, None if it says something
    else.

    Words of subject and predicate add nothing; a text that announces an addition ("a second dog") says something else.

    Args:
        known, said: the texts.
        value: the value in the form of :func:`scrubjay.memory.model.content.value_words`.
        subject, predicate: of both statements.
    """
    if normalised(known) == normalised(said):
        return False
    more = adds_to(known, said, stems(value, subject, predicate, synonyms_of(predicate)))
    return None if more and says_besides(said) and not says_besides(known) else more


def without(some: Sequence[_Span], others: Sequence[_Span]) -> tuple[_Span, ...]:
    """Return the parts of `some` that lie in none of `others`.

    >>> without([(1, None)], [(4, 6)])
    ((1, 4), (6, None))
    """
    remaining = list(some)
    for begin, end in others:
        cut: list[_Span] = []
        for since, until in remaining:
            if (end is not None and end <= since) or (until is not None and until <= begin):
                cut.append((since, until))
                continue
            if since < begin:
                cut.append((since, begin))
            if end is not None and (until is None or end < until):
                cut.append((end, until))
        remaining = cut
    return tuple(remaining)


def _says(known: Any, statement: Any) -> bool | None:
    if not statement.given and not known.given:  # the value of each is its text
        return False
    return says_more(
        known.text,
        statement.text,
        value=statement.value,
        subject=statement.subject,
        predicate=statement.predicate,
    )
