"""The judge: whether a new fact contradicts a known one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from scrubjay.memory.content import normalised
from scrubjay.memory.records import Fact, FactCandidate

__all__ = ["DefaultJudge", "Judge"]


@runtime_checkable
class Judge(Protocol):
    """Asked about every active fact with the candidate's scope, subject and predicate, and another content.

    It is asked before the file is locked; only about a fact that another writer adds in that very moment it is asked
    inside the transaction. What it raises is raised by the proposal, and nothing is written then.
    """

    def contradicts(self, known: Fact, candidate: FactCandidate) -> bool:
        """Whether both cannot hold, so that the new one takes the place of the known one."""
        ...


class DefaultJudge:
    """What is known of a subject and a predicate is one thing: another content contradicts it.

    Args:
        several: predicates that may have several contents at once ("likes", "owns"), where nothing contradicts.

    >>> judge = DefaultJudge(several=["speaks"])
    >>> judge.several
    frozenset({'speaks'})
    """

    def __init__(self, several: Collection[str] = ()) -> None:
        if isinstance(several, str):
            raise TypeError("several: expected a collection of str, got one str")
        self.several = frozenset(normalised(predicate) for predicate in several)

    def contradicts(self, known: Fact, candidate: FactCandidate) -> bool:
        """Whether the contents differ, in more than spelling, and the predicate has one content at a time."""
        if normalised(candidate.predicate) in self.several:
            return False
        return normalised(known.content) != normalised(candidate.content)
