"""What is the state of what a scope sees, and which hits turned out to be of use? For caches and for tuning.

A third of :class:`scrubjay.Index`, apart so that each can be read in one sitting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from scrubjay._native import Engine, Scope
from scrubjay.expiry import Expiry
from scrubjay.fusion import Query
from scrubjay.results import Hit, Hits
from scrubjay.semantic import Semantics, as_text
from scrubjay.store.engine import DurableEngine
from scrubjay.store.feedback import Feedback, FeedbackLog
from scrubjay.store.writing import checked_id

__all__ = ["Feedback", "StatefulIndex", "has_document"]

_MAX_QUERY = 32_768


class StatefulIndex:
    """The part of an index that knows of states and of feedback."""

    _engine: Engine | DurableEngine
    _expiry: Expiry
    _notes: FeedbackLog
    _semantics: Semantics
    _check_open: Callable[[], None]

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

    def shared_generation(self, scope: Scope) -> tuple[Hashable, ...] | None:
        """The same for comparison between processes that have one file open; None without a file.

        Its first element tells this collection of this file from all others, the rest changes with writes and expiry.
        None also if the file, never asked before, could not be named because somebody was writing.
        """
        self._check_open()
        if not isinstance(self._engine, DurableEngine):
            return None
        return self._engine.shared_generation(scope)

    def query_cache_stats(self) -> dict[str, int]:
        """Return hits, misses, entries and size of the cache of query vectors (a native embedder needs none)."""
        return self._semantics.cache.stats()

    def hits_of(self, keys: Sequence[tuple[Scope, str | int]], scope: Scope) -> Hits | None:
        """Return the memories with these keys, pairs of exact scope and id, as hits, in this order; None if one of
        them is not there or not visible from `scope`."""
        self._check_open()
        if not keys:
            return None
        result = self._engine.search(
            "", scope=scope, k=len(keys), query=Query("rrf", candidates=len(keys), rankings=[keys])
        )
        return Hits(result) if len(result) == len(keys) else None

    def feedback(
        self,
        hit: Hit | str | int,
        used: bool = True,
        query: str | None = None,
        *,
        scope: Scope | None = None,
    ) -> bool:
        """Note that a hit was of use (or was not), for :mod:`scrubjay.retrieval.tuning`; see :meth:`feedbacks`.

        Args:
            hit: the hit, or the id of its memory as `scope` sees it.
            used: whether it was of use.
            query: the question; without one a note says nothing to `scrubjay tune`. At most 32,768 characters.
            scope: who asked; with a hit None stands for the memory's own scope.

        Returns:
            False, and nothing is noted, if there is no such memory (any more) or `scope` does not see it.

        In a file this is a write: durable when it returns, seen by all processes. No search waits for it, and no cached
        result becomes stale; call it after the answer was given. A note goes with its memory (deleted or erased) and
        with the scope that asked, when that is erased. Of each tenant the last 100,000 are kept.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
            StoreError, StoreBusyError: the file could not be written.

        >>> from scrubjay import Index
        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> index.upsert("m1", "Prefers trains to planes.", scope=jane)
        >>> index.feedback("m1", query="How does she travel?", scope=jane)
        True
        >>> index.feedback("m1", scope=Scope("acme", user="joe")), index.feedback("m2", scope=jane)
        (False, False)
        >>> n = index.erase(jane)
        >>> index.feedbacks()
        []
        """
        if not isinstance(used, bool):
            raise TypeError(f"used: expected a bool, got {type(used).__name__} {used!r}")
        if scope is not None and not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        if query is not None and not isinstance(query, str):
            raise TypeError(f"query: expected a str, got {type(query).__name__}")
        if query is not None and len(query) > _MAX_QUERY:
            raise ValueError(f"query: expected at most {_MAX_QUERY:,} characters, got {len(query):,}")
        self._check_open()
        engine: Any = self._engine
        self._expiry.remove_due()
        if isinstance(hit, Hit):
            id, own = hit.id, hit.scope
            ranks: tuple[int | None, int | None, float | None] = (
                hit.lexical_rank,
                hit.vector_rank,
                hit.score,
            )
        else:
            id = checked_id(hit, engine.identity.id_kind if isinstance(engine, DurableEngine) else None)
            if scope is None:
                raise TypeError("scope: expected a scrubjay.Scope with an id, got None")
            document = engine.get(id, scope=scope)
            if document is None:
                return False
            own, ranks = document.scope, (None, None, None)
        asker = own if scope is None else scope
        question = None if query is None else as_text(query)
        note = Feedback(id, used, question, *ranks, time.time(), asker, own)
        if isinstance(engine, DurableEngine):
            return engine.note(note)
        return self._notes.add(note, lambda: own in asker.visible() and has_document(engine, note))

    def feedbacks(self, scope: Scope | None = None) -> list[Feedback]:
        """Return what :meth:`feedback` noted, oldest first, of memories that are still there.

        Args:
            scope: only what was asked from this scope and those within it (of a tenant: from all its users);
                None: everything.
        """
        if scope is not None and not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        self._check_open()
        engine = self._engine
        if isinstance(engine, DurableEngine):
            return engine.notes(scope)
        if self._expiry.pending:
            self._expiry.remove_due()
        self._notes.forget(lambda note: not has_document(engine, note))
        return [note for note in self._notes.all() if scope is None or scope.contains(note.scope)]


def has_document(engine: Any, note: Feedback) -> bool:
    """Whether the document that was noted is there."""
    document = engine.get(note.id, scope=note.document_scope)
    return document is not None and document.scope == note.document_scope
