"""The judge: whether a new fact contradicts a known one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol, runtime_checkable

from scrubjay.documents import payload
from scrubjay.memory.model.candidates import FactCandidate
from scrubjay.memory.model.cardinality import is_listed, is_single, words_of
from scrubjay.memory.model.content import checked_str, normalised, value_words
from scrubjay.memory.model.kinds import contradicts
from scrubjay.memory.model.records import Fact


@runtime_checkable
class Judge(Protocol):
    """Called for every active fact with the candidate's scope, subject and predicate, and another content.

    It is called before the file is locked; only for a fact that another writer adds in the meantime is it called inside
    the transaction. An exception is raised by the proposal, and nothing is written.
    """

    def contradicts(self, known: Fact, candidate: FactCandidate) -> bool:
        """Whether the two cannot both hold, so that `candidate` supersedes `known`."""
        ...


class DefaultJudge:
    """Facts coexist; a different content contradicts only where a predicate has one value at a time.

    Whether a predicate has one value is decided by the candidate (`single`), then by the caller's lists, then by the
    lists of :mod:`scrubjay.memory.model.cardinality`: "lives in", "works at", "age" and many more. Where words only
    resemble such a predicate ("born in", "appointment"), the two statements are compared
    (:mod:`scrubjay.memory.model.kinds`). A statement that adds to what is known ("also", "at weekends") or, without
    dates, speaks of the past ("as a child") contradicts nothing.

    Args:
        several: predicates that may have several values at once ("likes", "owns"); their statements never contradict.
        single: predicates that have one value at a time, in addition to the built-in list.

    >>> judge = DefaultJudge(single=["favourite bird"])
    >>> judge.is_single(FactCandidate("Jane favours jays", "Jane", "favourite_bird"))
    True
    >>> judge.is_single(FactCandidate("Jane is allergic to nuts", "Jane", "allergic to"))
    False
    """

    def __init__(self, several: Collection[str] = (), single: Collection[str] = ()) -> None:
        for name, predicates in (("several", several), ("single", single)):
            if isinstance(predicates, str):
                raise TypeError(f"{name}: expected a collection of str, got one str")
            for one in predicates:
                checked_str(one, f"{name}: a predicate")
        self.several = frozenset(words_of(predicate) for predicate in several)
        self.single = frozenset(words_of(predicate) for predicate in single)
        both = sorted(self.several & self.single)
        if both:
            raise ValueError(f"single: expected other predicates than in several, got {both[0]!r}")

    def is_single(self, candidate: FactCandidate) -> bool | None:
        """Whether the candidate's predicate has one value at a time; None: one value of a kind."""
        if candidate.single is not None:
            return candidate.single
        single = is_single(
            candidate.predicate,
            candidate.content,
            single=self.single,
            several=self.several,
            is_dated=candidate.valid_from is not None
            or candidate.valid_until is not None
            or (candidate.said_at is not None and _names_year(candidate)),
        )
        if single is False and _is_switch(candidate.value) and not is_listed(candidate.predicate):
            return True
        return single

    def contradicts(self, known: Fact, candidate: FactCandidate) -> bool:
        """Whether `known` and `candidate` differ in more than spelling, and cannot both hold."""
        if normalised(known.content) == normalised(candidate.content):
            return False
        single = self.is_single(candidate)
        if single is not None:
            return single
        return contradicts(
            known.content,
            candidate.content,
            candidate.predicate,
            subject=candidate.subject,
            known_value=_as_text(known.value),
            said_value=_as_text(candidate.value),
        )


def _names_year(candidate: FactCandidate) -> bool:
    """Whether a statement names the year in which it was said, which was not the past at that time."""
    said_at = payload.to_utc(candidate.said_at, "said_at")
    return said_at is not None and str(said_at.year) in candidate.content


_SWITCHES = frozenset(
    "yes no on off true false enabled disabled active inactive ja nein an aus oui non sí si no sì sim não nee".split()
)


def _is_switch(value: Any) -> bool:
    """Whether a value is one of two that exclude each other."""
    return isinstance(value, bool) or (isinstance(value, str) and normalised(value) in _SWITCHES)


def _as_text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else value_words(value)


def cardinality(judge: Judge, candidate: FactCandidate) -> int | None:
    """Return a candidate's `single` column: 1 if its predicate has one value at a time, 0 for several; None: that
    depends on the other statement, with which the judge or the projection compares it."""
    if candidate.single is not None:
        return int(candidate.single)
    ask = getattr(judge, "is_single", None)
    single = None if ask is None else ask(candidate)
    return None if single is None else int(bool(single))
