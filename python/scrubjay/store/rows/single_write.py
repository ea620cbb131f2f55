"""Writes and deletions of single documents on their way through a store that commits several of them together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.store.rows.values import NewRow, RowId, Written

Glances = tuple[object, object, object]
"""A store's `glance` before and after a commit, with no other commit in between, and its `mark` after it."""


class ScopeChange(NamedTuple):
    """The change that a transaction makes to one scope, and that the native engine then applies."""

    written: Written
    rows: Sequence[NewRow] = ()
    prepared: Sequence[Any] = ()
    """The same rows in the same order, analysed by the native engine before the write lock was taken."""


class OwnCommit:
    """A commit of this process in progress, which lets searches distinguish it from commits of other processes:
    its writes are applied to the engine before they are acknowledged, so searches need not read them from the
    rows.

    Args:
        before: the glance before the commit, while the write lock excludes other commits.
        follows: whether exactly one transaction was committed between two glances.
    """

    __slots__ = ("_before", "_follows", "_gates", "is_done")

    def __init__(self, before: Any, follows: Callable[[Any, Any], bool]) -> None:
        self._before = before
        self._follows = follows
        self._gates: list[threading.Lock] = []  # each is held until the outcome is known
        self.is_done: bool | None = None
        """True: committed; False: failed; None: undecided."""

    def decide(self, is_done: bool) -> None:
        """Set the outcome."""
        # Before the gates are opened: a thread that adds one later reads the outcome again before it waits.
        self.is_done = is_done
        while self._gates:
            self._gates.pop().release()

    def outcome(self, wait_seconds: float) -> bool | None:
        """Return whether it was committed; None: undecided even after waiting."""
        if self.is_done is None:
            gate = threading.Lock()
            gate.acquire()
            self._gates.append(gate)
            if self.is_done is None:
                gate.acquire(timeout=wait_seconds)
        return self.is_done

    def explains(self, known: object, seen: object) -> bool:
        """Whether this commit, unless it failed, is the only one between the known glance and the current one."""
        return self.is_done is not False and known == self._before and self._follows(known, seen)


class SingleWrite:
    """One document to write, and the result. Its fields change under the write lock.

    Args:
        row: the document.
        now: the time of the write, in microseconds since 1970.
        model: the embedder of its vector; None: the caller supplied the vector.
        generation: of the model whose vectors this process has in memory.
        prepared: the document as the native engine takes it.
        checksum: of the row (:class:`scrubjay.store.rows.decoding.Checksum`).
    """

    __slots__ = (
        "checksum",
        "error",
        "generation",
        "is_done",
        "is_unusual",
        "model",
        "now",
        "prepared",
        "row",
        "version",
    )

    def __init__(
        self, row: NewRow, now: int, model: str | None, generation: int, prepared: Any, checksum: bytearray
    ) -> None:
        self.row = row
        self.now = now
        self.model = model
        self.generation = generation
        self.prepared = prepared
        self.checksum = checksum
        self.version = 0
        """The version of the document, once it is written."""
        self.error: Exception | None = None
        """The error if it was rejected."""
        self.is_unusual = False
        """Whether it needs its own transaction."""
        self.is_done = False
        """Committed, rejected or unusual: waiting threads may proceed."""


class SingleDelete:
    """One document to delete, and the result. Its fields change under the write lock.

    Args:
        id, scope: of the document.
        reason: for the event that is recorded.
        now: the time of the deletion, in microseconds since 1970.
    """

    __slots__ = ("error", "id", "is_done", "is_unusual", "now", "reason", "scope", "version")

    def __init__(self, id: RowId, scope: Scope, reason: str, now: int) -> None:
        self.id = id
        self.scope = scope
        self.reason = reason
        self.now = now
        self.version = 0
        """The version of the deletion, once it is written; 0: there was no such document."""
        self.error: Exception | None = None
        """The error if it was rejected."""
        self.is_unusual = False
        """Whether it needs its own transaction."""
        self.is_done = False
        """Committed, rejected or unusual: waiting threads may proceed."""
