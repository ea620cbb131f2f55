"""Writes of one document each on their way through a store that commits several of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scrubjay.store.rows.stored import NewRow, Written

Glances = tuple[object, object, object]
"""What a store's `glance` was before a commit, what it was after it, with no other commit in between, and the store's
`mark` then."""


class ScopeChange(NamedTuple):
    """What a transaction does to one scope, and what the native engine is to do then."""

    written: Written
    rows: Sequence[NewRow] = ()
    prepared: Sequence[Any] = ()
    """The same rows in the same order from the native engine, so that they are not analysed in the writer's turn."""


class OwnCommit:
    """A commit of this process that is under way, by which searches tell it from those of others: what it writes will
    be brought into the engine before it is acknowledged, so they need not read it from the rows.

    Args:
        before: what a glance is while nobody else can commit.
        follows: whether exactly one transaction was committed between two glances.
    """

    __slots__ = ("_before", "_follows", "is_done")

    def __init__(self, before: Any, follows: Callable[[Any, Any], bool]) -> None:
        self._before = before
        self._follows = follows
        self.is_done: bool | None = None
        """True: it was committed; False: it failed; None: not decided."""

    def explains(self, known: object, seen: object) -> bool:
        """Whether this alone, if it does not fail, lies between what is known and what a glance saw."""
        return self.is_done is not False and known == self._before and self._follows(known, seen)


class SingleWrite:
    """One document to be written, and what became of it. Its fields change in the writer's turn.

    Args:
        row: the document.
        now: the time of the write, in microseconds since 1970.
        model: whose vector it has; None: the caller's.
        generation: of the model whose vectors this process has in memory.
        prepared: the document as the native engine takes it.
    """

    __slots__ = ("error", "generation", "is_done", "is_unusual", "model", "now", "prepared", "row", "version")

    def __init__(self, row: NewRow, now: int, model: str | None, generation: int, prepared: Any) -> None:
        self.row = row
        self.now = now
        self.model = model
        self.generation = generation
        self.prepared = prepared
        self.version = 0
        """Of the document, once it is written."""
        self.error: Exception | None = None
        """Why it was refused."""
        self.is_unusual = False
        """It needs a transaction of its own."""
        self.is_done = False
        """Committed, refused or unusual: whoever waits for it need not wait any more."""
