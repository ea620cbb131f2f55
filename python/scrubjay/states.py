"""What is the state of what a scope sees, and which hits turned out to be of use? For caches and for tuning.

A third of :class:`scrubjay.Index`, apart so that each can be read in one sitting.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from scrubjay._native import Engine, Scope
from scrubjay.expiry import Expiry
from scrubjay.results import Hit, Hits
from scrubjay.store.engine import DurableEngine

__all__ = ["Feedback", "StatefulIndex"]

_MAX_FEEDBACK = 100_000


class Feedback(NamedTuple):
    """One hit that was of use, or was not."""

    id: str | int
    used: bool
    query: str | None
    lexical_rank: int | None
    vector_rank: int | None
    score: float
    at: float
    """Seconds since 1970."""


class StatefulIndex:
    """The part of an index that knows of states and of feedback."""

    _engine: Engine | DurableEngine
    _expiry: Expiry

    def generation(self, scope: Scope) -> Hashable:
        """Return a value that changes with every write, also by another process, that a search from `scope` could
        notice, expiry included. Equal values: the same search gives the same result.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> before = index.generation(Scope("acme", user="jane"))
        >>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
        >>> index.generation(Scope("acme", user="jane")) == before
        False
        >>> index.generation(Scope("globex")) == index.generation(Scope("globex"))
        True
        """
        if self._expiry.pending:
            self._expiry.remove_due()
        if isinstance(self._engine, DurableEngine):
            return self._engine.generation(scope)
        return self._engine.generation(scope)

    def shared_generation(self, scope: Scope) -> Hashable | None:
        """The same for comparison between processes that have one file open; None without a file."""
        if not isinstance(self._engine, DurableEngine):
            return None
        return self._engine.shared_generation(scope)

    def hits_of(self, ids: Sequence[str | int], scope: Scope) -> Hits | None:
        """Return these memories as hits, in this order; None if one of them is not there or not visible."""
        if not ids:
            return None
        result = self._engine.search(
            "", scope=scope, k=len(ids), candidates=len(ids), rankings=[ids], rrf_k=0.0
        )
        return Hits(result) if len(result) == len(ids) else None

    def feedback(self, hit: Hit, used: bool = True, query: str | None = None) -> None:
        """Note that a hit was of use (or was not), for later tuning; see :meth:`feedbacks`.

        The last 100,000 are kept, in this process. What was deleted from the index is in none of those returned.
        """
        note = Feedback(hit.id, used, query, hit.lexical_rank, hit.vector_rank, hit.score, time.time())
        self._notes().append(note)

    def feedbacks(self) -> list[Feedback]:
        """Return what :meth:`feedback` noted, oldest first, of memories that are still there."""
        engine: Any = self._engine
        return [note for note in list(self._notes()) if note.id in engine]

    def _notes(self) -> deque[Feedback]:
        notes: deque[Feedback] | None = self.__dict__.get("_feedback")
        if notes is None:
            with _MAKING:
                notes = self.__dict__.setdefault("_feedback", deque(maxlen=_MAX_FEEDBACK))
        return notes


_MAKING = threading.Lock()
