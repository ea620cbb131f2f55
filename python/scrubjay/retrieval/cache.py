"""Caches of results, invalidated by writes.

There are two levels. In process: whole results, bounded by age and bytes. In Redis, shared by processes: ids, scores
and ranks only, never texts or names of scopes; the documents are read from the index, so no cache holds deleted ones.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any

from scrubjay.base.extras import imported
from scrubjay.base.locks import renew_in_children
from scrubjay.fusion.methods import number


@dataclass(frozen=True)
class CacheStats:
    """`stale`: an entry was found, but there was a write since, or it was too old; a stale look-up also counts as a
    miss.

    Attributes:
        hits, misses: look-ups that returned a result, and that did not.
        entries, bytes: the current contents.

    >>> CacheStats(hits=3, misses=1).hit_rate, CacheStats().hit_rate
    (0.75, 0.0)
    """

    hits: int = 0
    misses: int = 0
    stale: int = 0
    entries: int = 0
    bytes: int = 0

    @property
    def hit_rate(self) -> float:
        """The fraction of look-ups that are hits; 0 before the first one."""
        n_asked = self.hits + self.misses
        return self.hits / n_asked if n_asked else 0.0


@dataclass
class _Entry:
    generation: Hashable
    expires: float
    n_bytes: int
    value: Any


class ResultCache:
    """A least-recently-used cache of results. Thread-safe.

    Args:
        max_bytes: of all entries, approximately.
        ttl_s: the maximum age of an entry; None: unlimited.
        clock: seconds, monotonic.
        max_entries: the maximum number of entries; None: as many as `max_bytes` allows.

    The least recently used entries are evicted first. A key holds everything that determines a result except the
    documents, which the generation represents. The next look-up drops an entry of another generation.

    >>> cache = ResultCache(1000)
    >>> cache.put("key", 1, "value", 5)
    >>> cache.get("key", 1), cache.get("key", 2), cache.get("key", 1)
    ('value', None, None)
    >>> cache.stats()
    CacheStats(hits=1, misses=2, stale=1, entries=0, bytes=0)
    """

    def __init__(
        self,
        max_bytes: int = 16 << 20,
        ttl_s: float | None = 300.0,
        clock: Callable[[], float] = time.monotonic,
        max_entries: int | None = None,
    ) -> None:
        if number(max_bytes, "max_bytes") < 0:
            raise ValueError(f"max_bytes: expected 0 or more, got {max_bytes}")
        if max_entries is not None and (isinstance(max_entries, bool) or not isinstance(max_entries, int)):
            raise TypeError(f"max_entries: expected an int or None, got {type(max_entries).__name__}")
        if max_entries is not None and max_entries < 1:
            raise ValueError(f"max_entries: expected 1 or more, or None, got {max_entries}")
        if ttl_s is not None and not number(ttl_s, "ttl_s", "a number or None") > 0:
            raise ValueError(f"ttl_s: expected a number > 0 or None, got {ttl_s}")
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._ttl_s = ttl_s
        self._clock = clock
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._n_bytes = self._hits = self._misses = self._stale = 0
        self._lock = Lock()
        renew_in_children(self, "_lock")

    def __repr__(self) -> str:
        with self._lock:
            return (
                f"<scrubjay.retrieval.ResultCache of {len(self._entries):,} entries, {self._n_bytes:,} bytes>"
            )

    def get(self, key: Hashable, generation: Hashable) -> Any | None:
        """Return the value, or None if it is absent or stale.

        Args:
            key: everything that determines a result except the documents.
            generation: represents the documents; an entry of another generation is stale.
        """
        now = self._clock()  # the caller's function: must not be called under the lock
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and (entry.generation != generation or now >= entry.expires):
                self._forget(key)
                self._stale += 1
                entry = None
            if entry is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            return entry.value

    def put(self, key: Hashable, generation: Hashable, value: Any, n_bytes: int) -> None:
        """Store a value that was made at `generation` or later, unless it is larger than the whole cache.

        Args:
            key, generation: as for :meth:`get`.
            value: the value.
            n_bytes: its size, approximately.
        """
        expires = float("inf") if self._ttl_s is None else self._clock() + self._ttl_s
        with self._lock:
            self._forget(key)
            if n_bytes > self._max_bytes:
                return
            self._entries[key] = _Entry(generation, expires, n_bytes, value)
            self._n_bytes += n_bytes
            while self._n_bytes > self._max_bytes or self._has_too_many():
                self._forget(next(iter(self._entries)))

    def clear(self) -> None:
        """Remove all entries; the counts remain."""
        with self._lock:
            self._entries.clear()
            self._n_bytes = 0

    def stats(self) -> CacheStats:
        """Return the counts since creation."""
        with self._lock:
            return CacheStats(self._hits, self._misses, self._stale, len(self._entries), self._n_bytes)

    def _has_too_many(self) -> bool:
        return self._max_entries is not None and len(self._entries) > self._max_entries

    def _forget(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._n_bytes -= entry.n_bytes


class RedisCache:
    """A cache shared by processes, in a Redis server (extra "redis"). A failure of the server is a miss.

    Args:
        url: such as "redis://localhost:6379/0"; or `client`, an object of redis-py.
        ttl_s: the lifetime of an entry in Redis.
        prefix: of the keys.
        retry_s: after a failure, the time during which the server is not called, so that not every search waits for it.
        clock: seconds, monotonic.

    A key names file, collection and question; the entry holds the versions of the visible scopes for which it was
    computed and is valid only for these: a write by any process invalidates it at once, for all processes.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        client: Any = None,
        ttl_s: float = 3600.0,
        prefix: str = "scrubjay:",
        retry_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if (url is None) == (client is None):
            raise ValueError("url, client: expected one of the two")
        if not number(ttl_s, "ttl_s") >= 0.001:
            raise ValueError(f"ttl_s: expected a number >= 0.001, got {ttl_s}")
        if not number(retry_s, "retry_s") >= 0:
            raise ValueError(f"retry_s: expected a number >= 0, got {retry_s}")
        if url is not None:
            redis = imported("redis", "RedisCache", "redis")
            client = redis.Redis.from_url(url, socket_timeout=0.25, socket_connect_timeout=0.25)
        self._client = client
        self._ttl_ms = int(ttl_s * 1000)
        self._prefix = prefix
        self._retry_s = retry_s
        self._clock = clock
        self._resting_until = float("-inf")
        self._lock = Lock()
        renew_in_children(self, "_lock")
        self._hits = self._misses = self._stale = 0
        self.last_error: str | None = None
        """The server's last error, or None if the last call succeeded."""

    def get(self, key: Hashable, generation: Hashable) -> Any | None:
        """Return the value; None if it is absent, of another generation, or the server is unavailable.

        Args:
            key: everything that determines a result except the documents.
            generation: represents the documents; an entry of another generation is stale.
        """
        content = self._call(lambda: self._client.get(self._name(key)))
        value, stale = None, False
        if content is not None:
            held, value = _read(content)
            stale = held != repr(generation)
            if stale:
                value = None
        with self._lock:
            self._hits += value is not None
            self._misses += value is None
            self._stale += stale
        return value

    def put(self, key: Hashable, generation: Hashable, value: Any) -> None:
        """Store a value that JSON can represent.

        Args:
            key, generation: as for :meth:`get`.
            value: the value.
        """
        text = json.dumps([repr(generation), value])
        entry = _checksum(text.encode()).decode() + text
        self._call(lambda: self._client.set(self._name(key), entry, px=self._ttl_ms))

    def stats(self) -> CacheStats:
        """Return the counts of this object; only the server knows its entries."""
        with self._lock:
            return CacheStats(self._hits, self._misses, self._stale)

    def _name(self, key: Hashable) -> str:
        return self._prefix + sha256(repr(key).encode("utf-8", "replace")).hexdigest()

    def _call(self, request: Callable[[], Any]) -> Any:
        if self._clock() < self._resting_until:
            return None
        try:
            answer = request()
        except Exception as error:  # noqa: BLE001 - an unavailable cache must not fail a search
            self.last_error = f"{type(error).__name__}: {error}"
            self._resting_until = self._clock() + self._retry_s
            return None
        self.last_error = None
        return answer


_MAX_BYTES = 16 << 20  # of an entry; ours take some hundred bytes per hit
_N_CHECKSUM = 16


def _checksum(text: bytes) -> bytes:
    """Return the prefix of an entry. It detects damage, which could pass for another score or id; it does not
    authenticate the entry, so its contents are checked all the same."""
    return sha256(text).hexdigest()[:_N_CHECKSUM].encode()


def _read(stored: Any) -> tuple[Any, Any]:
    """Return (generation, value) of an entry; (None, None) if it is damaged or not ours."""
    if not isinstance(stored, (bytes, str)) or len(stored) > _MAX_BYTES:
        return None, None
    try:
        entry = stored.encode() if isinstance(stored, str) else stored
        checksum, text = entry[:_N_CHECKSUM], entry[_N_CHECKSUM:]
        if checksum != _checksum(text):
            return None, None
        held, value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None, None
    return (held, value) if isinstance(held, str) else (None, None)
