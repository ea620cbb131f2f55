"""Feedback on hits, and its log in an index in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple

from scrubjay._native import Scope
from scrubjay.base.locks import renew_in_children

MAX_NOTES = 100_000
"""The number of notes kept per tenant, the newest first (a file may hold a few more)."""


class Feedback(NamedTuple):
    """Feedback on one hit: whether it was used."""

    id: str | int
    used: bool
    query: str | None
    lexical_rank: int | None
    vector_rank: int | None
    score: float | None
    at: float
    """Seconds since 1970."""
    scope: Scope
    """The scope that asked."""
    document_scope: Scope
    """The scope of the memory, which with its id is its key."""


class FeedbackLog:
    """The notes of an index in memory. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        renew_in_children(self, "_lock")
        self._notes: dict[str, deque[tuple[int, Feedback]]] = {}  # by the tenant that asked
        self._n_noted = 0

    def add(self, note: Feedback, is_there: Callable[[], bool]) -> bool:
        """Add a note if its memory exists, checked under the same lock so that no erasure comes between."""
        with self._lock:
            if not is_there():
                return False
            self._n_noted += 1
            own = self._notes.setdefault(note.scope.tenant, deque(maxlen=MAX_NOTES))
            own.append((self._n_noted, note))
            return True

    def forget(self, is_gone: Callable[[Feedback], bool]) -> None:
        """Delete the notes that match."""
        if not self._notes:
            return
        with self._lock:
            for tenant, own in list(self._notes.items()):
                remaining = [entry for entry in own if not is_gone(entry[1])]
                if not remaining:
                    del self._notes[tenant]
                elif len(remaining) < len(own):
                    self._notes[tenant] = deque(remaining, maxlen=MAX_NOTES)

    def all(self) -> Sequence[Feedback]:
        """Return all notes, oldest first."""
        with self._lock:
            return [
                note
                for _, note in sorted((entry for own in self._notes.values() for entry in own), key=_number)
            ]


def _number(one: tuple[int, Feedback]) -> int:
    return one[0]
