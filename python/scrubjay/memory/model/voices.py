"""Who says the same of a value: statements with one value whose texts say different things are several voices.

"Noor has a son, Ali" and "Noor has a son, Karim" are two statements of the value "son"; "Jane lives in Oslo" and "Oslo
is Jane's home" are one.
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
    """Of the statements of values of which several voices speak, by their ids."""
    richer: Sequence[tuple[str, str]] = ()
    """Ids of two statements of a value each, of which the second says all that the first does, and more."""

    @property
    def are_several(self) -> bool:
        """Whether several voices speak of any value."""
        return bool(self.numbers)

    def of(self, statement: Any) -> tuple[str, int]:
        """A statement's value and voice."""
        return statement.value, self.numbers.get(statement.id, 0)


def voices_of(statements: Sequence[Any]) -> Voices:
    """Return the voices of the statements of a slot (:class:`scrubjay.memory.model.projection.Statement`), in the order
    in which they begin."""
    of_value: dict[str, list[Any]] = {}
    for one in statements:
        of_value.setdefault(one.value, []).append(one)
    numbers: dict[str, int] = {}
    richer: list[tuple[str, str]] = []
    for some in of_value.values():
        if len(some) < 2 or len({normalised(one.text) for one in some}) < 2:
            continue
        groups: list[list[Any]] = []
        for one in dict.fromkeys(some):
            home = next(
                (group for group in groups if any(_says(known, one) is False for known in group)), None
            )
            if home is None:
                richer += [
                    (known.id, one.id) for group in groups for known in group if _says(known, one) is True
                ]
                groups.append([one])
            else:
                home.append(one)
        if len(groups) > 1:
            numbers.update((one.id, place) for place, group in enumerate(groups) for one in group)
    return Voices(numbers, richer)


def says_more(known: str, said: str, *, value: str, subject: str, predicate: str) -> bool | None:
    """Whether a text says more of a value than a known one does: False if it says no more, None if it says something
    else. Words of subject and predicate say nothing besides; what says that it adds ("a second dog") says something
    else.

    Args:
        known, said: the texts.
        value: as :func:`scrubjay.memory.model.content.value_words` has it.
        subject, predicate: of both.
    """
    if normalised(known) == normalised(said):
        return False
    more = adds_to(known, said, stems(value, subject, predicate, synonyms_of(predicate)))
    return None if more and says_besides(said) and not says_besides(known) else more


def without(some: Sequence[_Span], others: Sequence[_Span]) -> tuple[_Span, ...]:
    """Return the spans of time that are in `some` and in none of `others`.

    >>> without([(1, None)], [(4, 6)])
    ((1, 4), (6, None))
    """
    left = list(some)
    for begin, end in others:
        cut: list[_Span] = []
        for since, until in left:
            if (end is not None and end <= since) or (until is not None and until <= begin):
                cut.append((since, until))
                continue
            if since < begin:
                cut.append((since, begin))
            if end is not None and (until is None or end < until):
                cut.append((end, until))
        left = cut
    return tuple(left)


def _says(known: Any, one: Any) -> bool | None:
    if not one.given and not known.given:  # its value is its text
        return False
    return says_more(known.text, one.text, value=one.value, subject=one.subject, predicate=one.predicate)
