"""Expiry of the documents of an index in memory.

An index in a file takes expiry times from its rows (:mod:`scrubjay.store.residency.residency`); without a file they are
kept here, and expired documents are deleted before each read.
"""

from __future__ import annotations

import heapq
import threading
import time

from scrubjay._native import Engine, Scope
from scrubjay.base.locks import renew_in_children
from scrubjay.documents import payload


class Expiry:
    """The times at which documents of a native engine expire. Thread-safe."""

    def __init__(self) -> None:
        self._lock = (
            threading.RLock()
        )  # reentrant: deleting analyses a text, and its stemmer may call the index
        renew_in_children(self, "_lock")
        self.heap: list[tuple[int, int, Scope, str | int]] = []
        """The documents that will expire, the next one first; empty in most indexes. The list is never replaced."""
        self._n_added = 0

    def add(self, scope: Scope, id: str | int, expires_at: int) -> None:
        """Record the expiry time of a document (microseconds since 1970)."""
        with self._lock:
            self._n_added += 1  # tie-breaker: int and str ids do not compare
            heapq.heappush(self.heap, (expires_at, self._n_added, scope, id))

    def remove_due(self, engine: Engine) -> int:
        """Delete the expired documents from the engine; return how many."""
        if not self.heap:
            return 0
        n_removed = 0
        with self._lock:
            now = time.time_ns() // 1000
            while self.heap and self.heap[0][0] <= now:
                _, _, scope, id = heapq.heappop(self.heap)
                document = engine.get(id, scope=scope)
                if document is None or document.scope != scope:
                    continue
                expires_at = payload.expiry(document.payload)  # it may have been rewritten since
                if expires_at is not None and payload.microseconds(expires_at) <= now:
                    n_removed += engine.delete(id, scope=scope)
        return n_removed
