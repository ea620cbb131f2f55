"""A thread-safe LRU cache of query vectors."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np

from scrubjay.base.locks import renew_in_children
from scrubjay.embedders.protocol import Vectors


class QueryCache:
    """Maps query texts to vectors; evicts the least recently used ones beyond `size`. Size 0 caches nothing.

    Vectors are stored and returned without copying, read-only. All methods may be called from any thread; two threads
    that
    miss the same text at once both embed it.

    >>> cache = QueryCache(2)
    >>> cache.get("staging key") is None
    True
    >>> cache.put("staging key", np.ones(3, dtype=np.float32))
    >>> cache.get("staging key")
    array([1., 1., 1.], dtype=float32)
    >>> cache.stats()
    {'hits': 1, 'misses': 1, 'entries': 1, 'size': 2}
    """

    __slots__ = ("__weakref__", "_entries", "_hits", "_lock", "_misses", "_size")

    def __init__(self, size: int = 1024) -> None:
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"size: expected int, got {type(size).__name__}")
        if size < 0:
            raise ValueError(f"size: expected 0 or more, got {size}")
        self._entries: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = Lock()
        renew_in_children(self, "_lock")
        self._size = size
        self._hits = 0
        self._misses = 0

    def get(self, text: str) -> Vectors | None:
        """Return the vector of `text`, or None."""
        with self._lock:
            vector = self._entries.get(text)
            if vector is None:
                self._misses += 1
            else:
                self._hits += 1
                self._entries.move_to_end(text)
            return vector

    def put(self, text: str, vector: Vectors) -> None:
        """Cache the vector of `text`, which becomes read-only."""
        if not isinstance(vector, np.ndarray):
            raise TypeError(f"vector: expected an array, got {type(vector).__name__}")
        if self._size == 0:
            return
        vector.setflags(write=False)
        with self._lock:
            self._entries[text] = vector
            self._entries.move_to_end(text)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Remove all vectors; the counts of hits and misses remain."""
        with self._lock:
            self._entries.clear()

    def stats(self) -> dict[str, int]:
        """Return hits, misses, entries and size."""
        with self._lock:
            return {
                "hits": self._hits,
                "misses": self._misses,
                "entries": len(self._entries),
                "size": self._size,
            }

    def __len__(self) -> int:
        return len(self._entries)
