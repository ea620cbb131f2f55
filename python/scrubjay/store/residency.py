"""Which partitions are in the native engine, and how do they stay equal to the rows?

A partition is resident when the engine holds its documents as of version `applied` of its scope. A search asks for the
partitions that it sees; what is not resident is read from its images or rows, what is behind is caught up from the rows
that came and the ids that went since. `generation` changes whenever documents leave the engine other than by being
deleted, so a search that overlapped can see that it must run again. Time that passes is a change, too: expired
documents are taken out before a search looks.

One lock a partition: one thread reads it in, others that need it wait for just that. The writer applies its own commits
directly when it finds the partition where it left it; in every other case the partition is marked as behind.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from scrubjay._native import Engine, Scope
from scrubjay.errors import ConflictError, CorruptIndexError, StoreError
from scrubjay.store.partition import NEVER, Partition, visible_from
from scrubjay.store.protocol import NewRow, RowId, ScopeState, Written
from scrubjay.store.sqlite import SqliteStore
from scrubjay.store.vectors import decode_many

__all__ = ["Residency", "decoded"]

_MAX_KNOWN = 100_000  # partitions that are remembered without being resident
_SLICE = 2000  # rows given to the engine at a time
_FEW, _STALE_SHARE = 32, 0.02  # of a partition that may have changed before its image is worth writing again
_GUESSED_BYTES = 2048
_MAX_BLOB_BYTES = 900_000_000  # SQLite takes a little more


class Arriving(Protocol):
    """What the engine needs of a row."""

    @property
    def id(self) -> RowId: ...
    @property
    def text(self) -> str: ...
    @property
    def payload(self) -> bytes | None: ...
    @property
    def vector(self) -> bytes | None: ...


class Residency:
    """The partitions of one native engine over one store."""

    def __init__(
        self,
        store: SqliteStore,
        engine: Engine,
        *,
        budget_bytes: int | None,
        clock: Callable[[], int],
        generation: int = 0,
        on_new_model: Callable[[], None] = lambda: None,
    ) -> None:
        self.generation = generation  # of the model whose vectors the engine holds
        self._on_new_model = on_new_model
        self.engine = engine
        self._store = store
        self._clock = clock
        self._budget_bytes = budget_bytes
        self._lock = threading.Lock()  # the tables below, `seen`, and versions
        self._ids = threading.RLock()  # an id may leave one partition and come to another: one step at a time
        self._evicting = threading.Lock()
        self._partitions: dict[Scope, Partition] = {}
        self._views: dict[Scope, tuple[Partition, ...]] = {}
        self._seen = store.last_version()  # every scope written to up to this version has been marked
        self._tick = itertools.count(1)

    # ------------------------------------------------------------------ before a search

    def view(self, scope: Scope) -> tuple[tuple[Partition, ...], int]:
        """Return the partitions that `scope` sees, resident and current, and a stamp for :meth:`held`."""
        if self._store.changed():
            self.mark_changed()
        view = self._views.get(scope)
        if view is None:
            view = self._make_view(scope)
        stamp = 0
        brought = False
        tick = next(self._tick)
        for partition in view:
            partition.last_used = tick
            stamp += partition.generation
            if not partition.ready:
                self.bring(partition)
                brought = True
            elif partition.next_expiry != NEVER and partition.next_expiry <= self._clock():
                self._expire(partition)
        if brought:
            self.evict(keep=view)
            return self.view(scope)
        return view, stamp

    @staticmethod
    def held(view: tuple[Partition, ...], stamp: int) -> bool:
        """Whether no partition of the view left the engine since it was taken."""
        for partition in view:
            stamp -= partition.generation
        return stamp == 0

    def without_eviction(self) -> AbstractContextManager[bool]:
        """While this is held nothing is evicted: for a search that was disturbed again and again."""
        return self._evicting

    def mark_changed(self) -> None:
        """Find the scopes that were written to since the last time, and mark their partitions as behind."""
        with self._lock:
            changed = self._store.scopes_since(self._seen)
            for scope, version in changed:
                self._seen = max(self._seen, version)
                partition = self._partitions.get(scope)
                if partition is None or version <= partition.version:
                    continue
                partition.version = version
                if version > partition.in_flight:
                    partition.ready = False
        if changed and self._store.generation() != self.generation:
            self._on_new_model()

    def partition(self, scope: Scope) -> Partition:
        """Return the partition of exactly this scope."""
        with self._lock:
            return self._partition(scope)

    def _partition(self, scope: Scope) -> Partition:
        partition = self._partitions.get(scope)
        if partition is None:
            # Read under the lock: a change is either in what is read here, or marked on what is entered here.
            state = self._store.scope_state(scope)
            empty = state is None or state.documents == 0
            partition = Partition(scope, 0 if state is None else state.version, empty=empty)
            self._partitions[scope] = partition
        return partition

    def _make_view(self, scope: Scope) -> tuple[Partition, ...]:
        with self._lock:
            if len(self._partitions) > _MAX_KNOWN:
                self._forget_partitions()
            view = tuple(self._partition(seen) for seen in visible_from(scope))
            self._views[scope] = view
            return view

    def _forget_partitions(self) -> None:
        """Drop the objects of partitions that occupy nothing."""
        self._views.clear()
        kept = {}
        for scope, partition in self._partitions.items():
            if partition.memory_bytes or partition.in_flight or not partition.lock.acquire(blocking=False):
                kept[scope] = partition
                continue
            partition.retired = True
            partition.ready = False
            partition.lock.release()
        self._partitions = kept

    # ------------------------------------------------------------------ reading a partition in

    def bring(self, partition: Partition) -> None:
        """Make a partition resident and current."""
        with partition.lock:
            while not partition.ready and not partition.retired:
                self._read_or_drop(partition)

    def _read_or_drop(self, partition: Partition) -> None:
        try:
            self._read(partition)
        except BaseException:
            self.drop(partition)
            raise

    def _read(self, partition: Partition) -> None:
        now = self._clock()
        with self._store.snapshot():
            state = self._store.scope_state(partition.scope)
            if state is None:
                state = ScopeState(0, 0, 0, 0)
            if not partition.resident or partition.applied < state.horizon:
                self._read_whole(partition, state, now)
            if partition.applied < state.version:
                self._catch_up(partition, state, now)
            self._forget(partition, self._store.expired_ids(state.key, now=now))
            partition.next_expiry = self._store.next_expiry(state.key, now=now) or NEVER
        partition.memory_bytes = self.engine.partition_bytes(partition.scope)
        with self._lock:
            partition.version = max(partition.version, state.version)
            # What this process is committing it will apply itself.
            partition.ready = partition.version <= max(partition.applied, partition.in_flight)

    def _read_whole(self, partition: Partition, state: ScopeState, now: int) -> None:
        self.drop(partition)
        image = self._store.image(state.key) if state.documents else None
        if image is not None and state.horizon <= image[0] <= state.version:
            try:
                with self._ids:
                    self.engine.load_partition(partition.scope, image[1])
            except CorruptIndexError:  # the rows are the truth
                pass
            else:
                partition.resident, partition.applied, partition.n_changed = True, image[0], 0
                return
        rows = list(self._store.rows(partition.scope, now=now))
        self._put(partition, rows)
        partition.resident, partition.applied, partition.n_changed = True, state.version, len(rows)

    def _catch_up(self, partition: Partition, state: ScopeState, now: int) -> None:
        changes = self._store.changes(state.key, partition.applied, now=now)
        partition.resident = False  # until it is whole again
        self._forget(partition, changes.deleted)
        self._put(partition, changes.rows)
        partition.resident, partition.applied = True, state.version
        partition.n_changed += len(changes.deleted) + len(changes.rows)

    def _put(self, partition: Partition, rows: Sequence[Arriving]) -> None:
        """Give rows to the engine. An id that another partition still holds has left that one: it is behind."""
        for start in range(0, len(rows), _SLICE):
            part = rows[start : start + _SLICE]
            arguments = {
                "scope": partition.scope,
                "vectors": decoded([row.vector for row in part], self.engine.dtype),
                "payloads": [row.payload for row in part],
            }
            ids = [row.id for row in part]
            texts = [row.text for row in part]
            with self._ids:
                try:
                    self.engine.upsert_many(ids, texts, **arguments)
                except ConflictError:
                    for id in ids:
                        found = self.engine.get(id)
                        if found is not None and found.scope != partition.scope:
                            self.engine.delete(id)
                    self.engine.upsert_many(ids, texts, **arguments)

    def _forget(self, partition: Partition, ids: Sequence[RowId]) -> None:
        """Take ids out of this partition, if it has them."""
        with self._ids:
            gone = []
            for id in ids:
                found = self.engine.get(id)
                if found is not None and found.scope == partition.scope:
                    gone.append(id)
            if gone:
                self.engine.delete_many(gone)

    def _expire(self, partition: Partition) -> None:
        with partition.lock:
            now = self._clock()
            state = self._store.scope_state(partition.scope)
            if state is not None and partition.resident and partition.next_expiry <= now:
                expired = self._store.expired_ids(state.key, now=now)
                self._forget(partition, expired)
                partition.n_changed += len(expired)
                partition.next_expiry = self._store.next_expiry(state.key, now=now) or NEVER

    # ------------------------------------------------------------------ around a commit of this process

    def announce(self, written: Sequence[Written]) -> None:
        """Say, before the commit, which versions this process is about to commit and will apply itself."""
        for one in written:
            self.partition(one.scope).in_flight = one.after

    def abandon(self, written: Sequence[Written]) -> None:
        """The commit failed, or could not be applied: let the next search look at what is stored."""
        for one in written:
            partition = self.partition(one.scope)
            with self._lock:
                partition.in_flight = 0
                partition.ready = False

    def apply(self, one: Written, rows: Sequence[NewRow] = ()) -> None:
        """Bring what was just committed to one scope into the engine, if the partition stands where that began."""
        partition = self.partition(one.scope)
        with partition.lock:
            if partition.applied < one.after:
                if one.documents_before == 0 and not (partition.resident and partition.applied == one.before):
                    self.drop(partition)
                    partition.resident, partition.applied = True, one.before
                if partition.resident and partition.applied == one.before:
                    partition.resident = False  # until it is whole again
                    if one.erased:
                        self.drop(partition)
                    self._forget(partition, one.deleted)
                    self._put(partition, rows)
                    partition.resident, partition.applied = True, one.after
                    partition.n_changed += len(one.deleted) + len(rows)
                    partition.memory_bytes += _GUESSED_BYTES * len(rows)  # until it is measured
                    for row in rows:
                        if row.expires_at is not None:
                            partition.next_expiry = min(partition.next_expiry, row.expires_at)
            with self._lock:
                partition.in_flight = 0
                partition.version = max(partition.version, one.after)
                partition.ready = partition.resident and partition.applied >= partition.version

    def drop(self, partition: Partition) -> None:
        """Take a partition out of the engine; the caller holds its lock. Searches that overlap run again."""
        partition.generation += 1
        partition.ready = partition.resident = False
        partition.applied = partition.memory_bytes = partition.n_changed = 0
        partition.next_expiry = NEVER
        self.engine.erase(partition.scope, exact=True)

    def restart(self, engine: Engine, generation: int) -> None:
        """Go on with an empty engine, for vectors of another model."""
        with self._lock:
            known = list(self._partitions.values())
            if generation == self.generation:
                return
            for partition in known:  # a search that overlaps must not take an empty engine for an answer
                partition.generation += 1
                partition.ready = False
            self.generation = generation
            self.engine = engine
        for partition in known:
            with partition.lock:
                self.drop(partition)

    # ------------------------------------------------------------------ memory

    def resident(self) -> list[Partition]:
        """Return the partitions that occupy memory."""
        with self._lock:
            return [p for p in self._partitions.values() if p.resident and p.memory_bytes]

    def evict(self, keep: Sequence[Partition] = ()) -> None:
        """Drop the least recently used partitions until the rest fits the budget.

        Pinned ones and those in `keep` stay, and so do dirty ones whose images cannot be written right now.
        """
        if self._budget_bytes is None:
            return
        budget = self._budget_bytes * 3 // 4  # the rest is the allocator's, SQLite's, and images on their way
        if not self._evicting.acquire(blocking=False):
            return
        try:
            resident = self.resident()
            if sum(p.memory_bytes for p in resident) <= budget:
                return
            for partition in resident:  # what was written is only guessed: measure before judging
                if partition.n_changed:
                    partition.memory_bytes = self.engine.partition_bytes(partition.scope)
            total = sum(p.memory_bytes for p in resident)
            for partition in sorted(resident, key=lambda p: p.last_used):
                if total <= budget * 97 // 100:
                    break
                if partition.pinned or partition in keep:
                    continue
                total -= self._evict_one(partition)
        finally:
            self._evicting.release()

    def _evict_one(self, partition: Partition) -> int:
        # Only the writer may wait for a partition, never the other way round: that would be a deadlock.
        if self.is_dirty(partition) and not self.save([partition]):
            return 0
        if not partition.lock.acquire(blocking=False):
            return 0
        try:
            n_bytes = partition.memory_bytes
            self.drop(partition)
            return n_bytes
        finally:
            partition.lock.release()

    def is_dirty(self, partition: Partition) -> bool:
        """Whether so much changed since its image that catching up would take long."""
        if partition.n_changed <= _FEW:
            return False
        state = self._store.scope_state(partition.scope)
        return state is not None and partition.n_changed > _STALE_SHARE * state.documents

    def save(self, partitions: Sequence[Partition], *, wait: bool = False) -> bool:
        """Write images of resident partitions; False if the writer's turn could not be had, or the write failed."""
        try:
            with self._store.writing("writing images", wait=wait) as transaction:
                for partition in partitions:
                    with partition.lock:
                        if not partition.resident or partition.applied == 0:
                            continue
                        chunks = self.engine.save_partition(partition.scope)
                        if max(map(len, chunks), default=0) < _MAX_BLOB_BYTES:
                            transaction.write_image(partition.scope, partition.applied, chunks)
                        partition.n_changed = 0
        except StoreError:
            return False
        return True


def decoded(data: Sequence[bytes | None], dtype: str) -> Any:
    """Decode the vectors of several rows as the engine takes them."""
    present = [one for one in data if one is not None]
    if not present:
        return None
    matrix = decode_many(present, dtype)
    if len(present) == len(data):
        return matrix
    rows = iter(matrix)
    return [None if one is None else next(rows) for one in data]
