"""The memory budget: which partitions are evicted when memory is short.

One budget serves all collections of an index. Partitions are in a queue; the first one is evicted unless it was
used since it was queued, in which case it moves to the end (the CLOCK approximation of LRU). The cost does not
depend on the number of partitions.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from scrubjay.base.locks import is_mine
from scrubjay.store.residency.partition import Partition

# Reserved for memory outside of partitions: SQLite's caches, images being read or written, allocator
# fragmentation.
_OVERHEAD_SHARE, _MAX_OVERHEAD_BYTES = 4, 64 << 20
_BORROWED_SHARE = 4  # of the reserve: partitions may use it while eviction runs only within searches
_TRIM_SHARE = 16  # of the limit: freed bytes after which the allocator is asked to return memory


class Budget:
    """Memory for partitions; None: no limit. Thread-safe."""

    def __init__(self, n_bytes: int | None) -> None:
        self.n_bytes = n_bytes
        self._limit = (
            None if n_bytes is None else n_bytes - min(n_bytes // _OVERHEAD_SHARE, _MAX_OVERHEAD_BYTES)
        )
        self.is_limited = n_bytes is not None
        self.used_bytes = 0
        self.n_evictions = 0
        self._n_freed = 0
        self._queue: deque[tuple[int, Partition]] = deque()
        self._lock = threading.Lock()  # guards the fields above
        self.evicting = (
            threading.RLock()
        )  # held to suspend eviction; reentrant because a stemmer may call back into it
        self.tick: Callable[[], int] = itertools.count(1).__next__
        """Return a number greater than all before: the logical time of a use. Called by every search."""

    def charge(self, partition: Partition, n_bytes: int) -> None:
        """Set the memory that a partition occupies."""
        with self._lock:
            more = n_bytes - partition.memory_bytes
            self.used_bytes += more
            if more < 0:
                self._n_freed -= more
            partition.memory_bytes = n_bytes
            if n_bytes and not partition.queued:
                partition.queued = True
                self._queue.append((partition.last_used, partition))

    def evict(self, keep: Sequence[Partition] = (), *, seconds: float | None = None) -> bool:
        """Evict partitions until the rest fits, except pinned ones, those in `keep`, and those in use. False if
        more is to be evicted.

        With `seconds`, for a search that waits, stop after that time and skip partitions whose image must be
        written first; this applies until partitions use up their share of the reserve.
        """
        limit = self._limit
        if limit is None or self.n_bytes is None or self.used_bytes <= limit or is_mine(self.evicting):
            return True
        if not self.evicting.acquire(blocking=False):
            return True
        briefly = seconds is not None and self.used_bytes <= limit + (self.n_bytes - limit) // _BORROWED_SHARE
        end = time.monotonic() + (seconds or 0.0)
        try:
            enough = limit - limit // 32
            # one round for partitions used since they were queued, and a second one
            for _ in range(2 * len(self._queue)):
                if self.used_bytes <= enough or (briefly and time.monotonic() >= end):
                    break
                with self._lock:
                    if not self._queue:
                        break
                    used_when_queued, partition = self._queue.popleft()
                    if partition.memory_bytes == 0:
                        partition.queued = False
                        continue
                    if partition.pinned:
                        continue  # it is never queued again
                if partition.last_used != used_when_queued or partition in keep:
                    pass
                elif (
                    partition.home.let_go(partition, briefly=True)
                    if briefly
                    else partition.home.let_go(partition)
                ):
                    with self._lock:
                        self.n_evictions += 1
                        partition.queued = partition.memory_bytes != 0
                        if not partition.queued:
                            continue
                with self._lock:
                    self._queue.append((partition.last_used, partition))
        finally:
            self.evicting.release()
        return self.used_bytes <= limit

    def freed_much(self) -> bool:
        """Whether enough was freed since :meth:`take_freed` to ask the allocator to return memory."""
        return self._limit is not None and self._n_freed * _TRIM_SHARE >= self._limit

    def take_freed(self) -> bool:
        """Return `freed_much()`, and restart counting if it is true."""
        with self._lock:
            much = self.freed_much()
            if much:
                self._n_freed = 0
        return much
