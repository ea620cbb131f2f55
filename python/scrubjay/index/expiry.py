"""Expiry of the memories of an index without a file.

An index in a file takes expiry times from its rows (:mod:`scrubjay.store.residency.residency`); without a file they are
kept here, and expired documents are deleted before each read.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Iterable

from scrubjay._native import Engine, Scope
from scrubjay.base.locks import renew_in_children
from scrubjay.documents import payload
from scrubjay.documents.records import Row
from scrubjay.store.engine import DurableEngine


class Expiry:
    """The times at which documents of a native engine expire. Thread-safe."""

    def __init__(self, engine: Engine | DurableEngine) -> None:
        self._engine = engine if isinstance(engine, Engine) else None
        self._lock = (
            threading.RLock()
        )  # reentrant: deleting analyses a text, and its stemmer may call the index
        renew_in_children(self, "_lock")
        self._heap: list[tuple[int, int, Scope, str | int]] = []
        self._n_added = 0

    @property
    def pending(self) -> bool:
        """Whether any document will expire."""
        return bool(self._heap)

    def add(self, rows: Iterable[Row]) -> None:
        """Record the expiry times of rows that were just written."""
        for row in rows:
            if row.expires_at is not None:
                self.note(row.scope, row.id, row.expires_at)

    def note(self, scope: Scope, id: str | int, expires_at: int) -> None:
        """Record the expiry time of a document (microseconds since 1970)."""
        if self._engine is None:
            return
        with self._lock:
            self._n_added += 1  # tie-breaker: int and str ids do not compare
            heapq.heappush(self._heap, (expires_at, self._n_added, scope, id))

    def remove_due(self) -> int:
        """Delete expired documents; return how many."""
        if not self._heap or self._engine is None:
            return 0
        n_removed = 0
        with self._lock:
            now = time.time_ns() // 1000
            while self._heap and self._heap[0][0] <= now:
                _, _, scope, id = heapq.heappop(self._heap)
                document = self._engine.get(id, scope=scope)
                if document is None or document.scope != scope:
                    continue
                expires_at = payload.expiry(document.payload)  # it may have been rewritten since
                if expires_at is not None and payload.microseconds(expires_at) <= now:
                    n_removed += self._engine.delete(id, scope=scope)
        return n_removed
