"""Feedback: which hits were useful; recorded for tuning."""

from __future__ import annotations

import time

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag
from scrubjay.base.initialised import guarded
from scrubjay.documents.ids import checked_id
from scrubjay.documents.records import as_scope, as_text
from scrubjay.index.open_collection import OpenCollection
from scrubjay.index.results import Hit
from scrubjay.store.rows.feedback import Feedback

_MAX_QUERY = 32_768


@guarded
class FeedbackBook:
    """The feedback on hits of one collection. Thread-safe."""

    __slots__ = ("_collection",)

    def __init__(self, collection: OpenCollection) -> None:
        self._collection = collection

    def note(self, hit: Hit | str | int, used: bool, query: str | None, scope: Scope | None) -> bool:
        """Record that a hit was useful (or was not), for :mod:`scrubjay.retrieval.tuning`; see :meth:`Admin.feedbacks`.

        Args:
            hit: the hit, or the id of its memory as `scope` sees it.
            used: whether it was useful.
            query: the question; `scrubjay tune` ignores feedback without one. At most 32,768 characters.
            scope: the scope that searched; None with a hit: the memory's own scope.

        Returns:
            False, and nothing is recorded, if the memory does not exist or `scope` does not see it.

        In a file this is a write: durable when it returns, seen by all processes. Searches do not wait for it, and it
        invalidates no cached result; call it after returning the answer. Feedback is deleted with its memory, and with
        the scope that searched when that is erased. The last 100,000 of each tenant are kept.

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
        >>> index.admin.feedbacks()
        []
        """
        used = checked_flag(used, "used")
        scope = None if scope is None else as_scope(scope)
        if query is not None and not isinstance(query, str):
            raise TypeError(f"query: expected a str, got {type(query).__name__}")
        if query is not None and len(query) > _MAX_QUERY:
            raise ValueError(f"query: expected at most {_MAX_QUERY:,} characters, got {len(query):,}")
        engine = self._collection.engine
        engine.check_open()
        if isinstance(hit, Hit):
            id, own = hit.id, hit.scope
            ranks: tuple[int | None, int | None, float | None] = (
                hit.lexical_rank,
                hit.vector_rank,
                hit.score,
            )
        else:
            id = checked_id(hit, engine.identity.id_kind)
            if scope is None:
                raise TypeError("scope: expected a scrubjay.Scope with an id, got None")
            document = engine.get(id, scope=scope)
            if document is None:
                return False
            own, ranks = document.scope, (None, None, None)
        asker = own if scope is None else scope
        question = None if query is None else as_text(query)
        return engine.note(Feedback(id, used, question, *ranks, time.time(), asker, own))

    def notes(self, scope: Scope | None) -> list[Feedback]:
        """Return the feedback on memories that still exist, oldest first; see :meth:`Admin.feedbacks`."""
        return self._collection.engine.notes(None if scope is None else as_scope(scope))
