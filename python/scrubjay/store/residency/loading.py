"""Loads a partition into the native engine: as a whole, from its images or rows, or only the changes since."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, Protocol

import numpy as np

from scrubjay._native import Engine, Filter, PreparedDocuments, Scope
from scrubjay.base.errors import CorruptIndexError, StoreUnavailableError
from scrubjay.documents.passage_vectors import PassageVectors
from scrubjay.store.keys.digest import ScopeDigest
from scrubjay.store.keys.encryption import Box
from scrubjay.store.residency.budget import Budget
from scrubjay.store.residency.housekeeping import Housekeeper
from scrubjay.store.residency.loads import Loads
from scrubjay.store.residency.partition import NEVER, Partition
from scrubjay.store.rows.values import NewRow, RowId, ScopeState, StoredRow
from scrubjay.store.rows.vectors import decode, decode_many, has_passages
from scrubjay.store.seam import ImagePart, Store

Digest = tuple[Box, ScopeDigest] | None  # of a scope of an encrypted tenant, just read

_SLICE = 2000  # rows passed to the engine at a time
FEW = 32  # changes that are replayed quickly
_ASK_AGAIN_US = 200_000
UNFINISHED = ("coming", "growing")  # states of graphs that are being built or extended


class _Arriving(Protocol):
    """The fields of a row that the engine needs."""

    @property
    def id(self) -> RowId: ...
    @property
    def text(self) -> str: ...
    @property
    def payload(self) -> bytes | None: ...
    @property
    def vector(self) -> bytes | None: ...


class PartitionLoading:
    """The loading half of a residency. Every method requires the partition's lock."""

    engine: Engine
    budget: Budget
    housekeeper: Housekeeper
    loads: Loads
    drop: Callable[[Partition], None]
    partition: Callable[[Scope], Partition]
    disturb: Callable[[Partition], None]
    _store: Store
    _clock: Callable[[], int]
    _lock: threading.Lock
    _changed: dict[Partition, None]
    n_damaged = 0  # total of damaged rows; 0 saves examining each partition

    def _read(self, partition: Partition) -> None:
        now, begun = self._clock(), time.monotonic()
        version, source = partition.version, "changes"
        with self._store.snapshot():
            state, expired, next_expiry = self._store.look(partition.scope, now=now)
            is_known = state is not None
            if state is None:
                state = ScopeState(0, 0, 0, 0)
            digest = None
            is_erased = self._is_erased(partition.scope)
            if partition.erased and not is_erased:  # the user has a new key
                self.drop(partition)
            if is_erased:
                self._put_nothing(partition, state)
            elif not partition.resident or partition.applied < state.horizon:
                digest = self._store.digest(partition.scope, state)
                source = self._read_whole(partition, state, digest, now)
            if partition.applied < state.version:
                try:
                    self._catch_up(partition, state, digest, now)
                except CorruptIndexError:
                    if digest is None:
                        raise
                    # the rows may agree with their digest even though the image and its changes do not
                    self._read_rows(partition, state, now)
                    source = "rows"
            self._forget(partition, expired)
            partition.next_expiry = next_expiry or NEVER
        self.measure(partition)
        self.loads.add(source, time.monotonic() - begun)
        with self._lock:
            if not is_known and partition.version == version:
                partition.version = partition.applied  # the name of the scope was erased
            if state.version < version == partition.version and partition.in_flight < version:
                # The version was known before the snapshot began, so every sound file has it; retrying would not
                # end.
                raise CorruptIndexError(
                    f"the scope's version went back from {version} to {state.version}", scope=partition.scope
                )
            partition.version = max(partition.version, state.version)
            partition.ready = partition.is_current()

    def _is_erased(self, scope: Scope) -> bool:
        """Whether the key of the scope's user was destroyed."""
        cipher = self._store.cipher
        return (
            cipher.ring is not None and scope.user is not None and cipher.is_erased(scope.tenant, scope.user)
        )

    def _put_nothing(self, partition: Partition, state: ScopeState) -> None:
        self.drop(partition)
        self._put(partition, [])
        partition.resident, partition.erased, partition.applied = True, True, state.version

    def _read_whole(self, partition: Partition, state: ScopeState, digest: Digest, now: int) -> str:
        """Load a whole partition; return its source, "image" or "rows"."""
        self.drop(partition)
        if state.documents and self._read_image(partition, state, digest):
            return "image"
        self._read_rows(partition, state, now)
        return "rows"

    def _read_rows(self, partition: Partition, state: ScopeState, now: int) -> None:
        self.drop(partition)
        rows = self._usable(partition, self._store.rows(partition.scope, now=now))
        self._put(partition, rows)
        partition.resident, partition.applied = True, state.version
        self._count_changes(partition, len(rows))

    def _read_image(self, partition: Partition, state: ScopeState, digest: Digest) -> bool:
        try:
            with self._store.image_views(partition.scope, state.key) as image:
                partition.unreadable = image is None  # an image that exists and cannot be read is damaged
                if image is None or not state.horizon <= image[0] <= state.version:
                    return False
                if digest is not None and image[0] != digest[1].image:
                    raise CorruptIndexError("an image was rolled back in the file")
                self._load(partition.scope, image[1])
                partition.resident, partition.applied, partition.n_changed = True, image[0], 0
                self._await_graph(partition)
        except (CorruptIndexError, TypeError, ValueError):  # fall back to the rows
            partition.unreadable = True
            return False
        return True

    def _load(self, scope: Scope, parts: Sequence[ImagePart]) -> None:
        """Load an image, beside SQLite if the file has its bytes where they should be: that takes half the time."""
        stored = [None if isinstance(part, bytes | memoryview) else part.stored() for part in parts]
        known = [part for part in stored if part is not None]
        if len(known) == len(parts):
            try:
                self.engine.load_stored_partition(scope, known)
                return
            except CorruptIndexError:  # in the log, or the chunks end without a mark, or damaged
                pass
        self.engine.load_partition(scope, list(parts))

    def _usable(self, partition: Partition, rows: Iterable[StoredRow]) -> list[StoredRow]:
        """Count damaged rows, and return the usable ones."""
        usable = []
        for row in rows:
            if row.damage is not None:
                partition.n_damaged += 1
                self.n_damaged += 1
                partition.n_lost += not row.usable
            if row.usable:
                usable.append(row)
        return usable

    def _await_graph(self, partition: Partition) -> None:
        """Record whether the image brought a graph; one that is being built or extended is saved once it is
        complete."""
        state = self.engine.graph_state(partition.scope)
        partition.graph_saved = state == "built"
        if state in UNFINISHED:
            partition.changed_at = time.monotonic()
            self._changed[partition] = None
            self.housekeeper.note()

    def _catch_up(self, partition: Partition, state: ScopeState, digest: Digest, now: int) -> None:
        changes = self._store.changes(state.key, partition.applied, now=now, digest=digest)
        partition.resident = False  # while it is incomplete
        if changes.deleted and changes.rows:
            self.disturb(partition)
        self._forget(partition, changes.deleted)
        self._put(partition, self._usable(partition, changes.rows))
        partition.resident, partition.applied = True, state.version
        self._count_changes(partition, len(changes.deleted) + len(changes.rows))

    def _count_changes(self, partition: Partition, n_more: int) -> None:
        partition.n_changed += n_more
        if partition.n_changed > FEW:
            partition.changed_at = time.monotonic()
            self._changed[partition] = None
            self.housekeeper.note()

    def measure(self, partition: Partition) -> None:
        """Update the memory charged to a partition."""
        self.budget.charge(partition, self.engine.partition_bytes(partition.scope))

    def prepare(self, rows: Sequence[NewRow]) -> dict[Scope, PreparedDocuments]:
        """Analyse rows before they are written, for the resident partitions; see :meth:`Residency.apply`.

        Raises:
            TypeError, ValueError: a row is invalid for the engine.
        """
        by_scope: dict[Scope, list[NewRow]] = {}
        for row in rows:
            by_scope.setdefault(row.scope, []).append(row)
        return {
            scope: self._prepared(scope, part, decoded([row.vector for row in part], self.engine.dtype))
            for scope, part in by_scope.items()
            if self.partition(scope).resident
        }

    def _prepared(self, scope: Scope, rows: Sequence[_Arriving], vectors: Any) -> PreparedDocuments:
        return self.engine.prepare(
            [row.id for row in rows],
            [row.text for row in rows],
            scope=scope,
            vectors=vectors,
            payloads=[row.payload for row in rows],
        )

    def _put(
        self, partition: Partition, rows: Sequence[_Arriving], prepared: Sequence[PreparedDocuments] = ()
    ) -> int | None:
        """Add rows to the engine, as `prepared` if all are and it is still the same engine; return the
        partition's size in bytes, None if it was not measured.

        Unreadable vectors (of a damaged file) are skipped; the document stays searchable by text.
        """
        if prepared:
            n_bytes = self.engine.apply_all(prepared, scope=partition.scope, n_documents=len(rows))
            if n_bytes is not None:
                return n_bytes
        for start in range(0, len(rows), _SLICE):
            part = rows[start : start + _SLICE]
            data = [row.vector for row in part]
            try:
                self._give(partition, part, decoded(data, self.engine.dtype))
            except (TypeError, ValueError):
                vectors, damaged = readable(data, self.engine)
                partition.n_damaged += len(damaged)
                partition.n_without_vector += len(damaged)
                self.n_damaged += len(damaged)
                try:
                    self._give(partition, part, vectors)
                except (TypeError, ValueError):
                    if isinstance(part[0], NewRow):  # validated by the engine before the commit
                        raise
                    self._give_one_by_one(partition, part, vectors)
        return None

    def _give(self, partition: Partition, rows: Sequence[_Arriving], vectors: Any) -> None:
        """Add rows to the engine."""
        self.engine.apply(self._prepared(partition.scope, rows, vectors))

    def _give_one_by_one(
        self, partition: Partition, rows: Sequence[_Arriving], vectors: Sequence[Any]
    ) -> None:
        """Add rows one by one after the engine rejected a batch; a rejected row is damaged (an id of the other
        kind)."""
        for row, vector in zip(rows, vectors, strict=True):
            try:
                self._give(partition, [row], None if vector is None else [vector])
            except (TypeError, ValueError):
                partition.n_damaged += 1
                partition.n_lost += 1
                self.n_damaged += 1

    def _forget(self, partition: Partition, ids: Sequence[RowId]) -> None:
        """Delete ids from this partition; unknown ids are ignored."""
        if not ids:
            return
        try:
            self.engine.delete_many(ids, scope=partition.scope)
        except (TypeError, ValueError):
            for id in ids:  # an id of the other kind, which the engine cannot have: the file was damaged
                with suppress(TypeError, ValueError):
                    self.engine.delete(id, scope=partition.scope)

    def _expire(self, partition: Partition) -> None:
        with partition.lock:
            now = self._clock()
            try:
                state, expired, next_expiry = self._store.look(partition.scope, now=now)
            except StoreUnavailableError:
                self._expire_alone(partition, now)
                return
            if state is not None and partition.resident and partition.next_expiry <= now:
                self._forget(partition, expired)
                self._count_changes(partition, len(expired))
                partition.next_expiry = next_expiry or NEVER

    def _expire_alone(self, partition: Partition, now: int) -> None:
        """Remove expired documents by the engine's own records, because the rows cannot be read now."""
        until = datetime.fromtimestamp(now / 1e6, timezone.utc)
        expired = self.engine.scroll(
            partition.scope, filter=Filter({"expires_at": {"$lte": until}}), exact=True
        )
        ids = expired.ids.tolist()
        self._forget(partition, ids)
        self._count_changes(partition, len(ids))
        partition.next_expiry = now + _ASK_AGAIN_US


def graph_lost(engine: Engine, scope: Scope, chunks: Sequence[bytes]) -> bool:
    """Whether images that the engine just loaded had a graph that it could not use."""
    return any(map(engine.is_graph_image, chunks)) and engine.graph_state(scope) in ("none", "coming")


def readable(data: Sequence[bytes | None], engine: Engine) -> tuple[list[Any], list[int]]:
    """Decode vectors one by one; return them, None where invalid, and the positions of the invalid ones."""
    rows: list[Any] = []
    damaged: list[int] = []
    for place, encoded in enumerate(data):
        try:
            with np.errstate(over="ignore"):
                row = None if encoded is None else decode(encoded, engine.dtype)
        except (TypeError, ValueError):  # not bytes, or an odd length
            row = None
        numbers = row.rows if isinstance(row, PassageVectors) else row
        if numbers is not None and not (
            engine.dim in (None, numbers.shape[-1])
            and np.isfinite(numbers).all()
            and (engine.metric != "cosine" or numbers.any(axis=-1).all())
        ):
            row = None
        rows.append(row)
        if row is None and encoded is not None:
            damaged.append(place)
    return rows, damaged


def decoded(data: Sequence[bytes | None], dtype: str) -> Any:
    """Decode the vectors of several rows into the form that the engine takes."""
    present = [vector for vector in data if vector is not None]
    if not present:
        return None
    if any(map(has_passages, present)):
        return [None if vector is None else decode(vector, dtype) for vector in data]
    if any(len(vector) != len(present[0]) for vector in present):  # joined, they would be misaligned
        raise ValueError(f"vectors: expected {len(present[0])} bytes each, got others")
    matrix = decode_many(present, dtype)
    if len(present) == len(data):
        return matrix
    rows = iter(matrix)
    return [None if vector is None else next(rows) for vector in data]
