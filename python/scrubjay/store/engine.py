"""An engine whose documents survive: the native engine's surface, over rows in a file.

A write is committed first and then brought into the native engine while the writer's turn is still held, so what is
acknowledged is durable and visible. Whatever happens in between, the partition is at worst marked as behind and read
again from the rows by the next search.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import Engine, Result, Scope
from scrubjay.errors import ClosedError, ConflictError, CorruptIndexError, EmbedderMismatchError
from scrubjay.payload import times_of
from scrubjay.progress import Progress
from scrubjay.semantic import as_text
from scrubjay.store.files import rewrite_file
from scrubjay.store.protocol import Identity, NewRow, RowId, Written
from scrubjay.store.residency import Residency, visible_from
from scrubjay.store.sqlite import SqliteStore, Transaction
from scrubjay.store.vectors import decode, encode_many

__all__ = ["DurableEngine", "StoredDocument"]

_PATIENCE = 8  # disturbed searches before eviction is held off


class StoredDocument(NamedTuple):
    """A document as it is stored."""

    id: RowId
    text: str
    scope: Scope
    payload: bytes | None
    vector: NDArray[np.float32] | None


class DurableEngine:
    """What an index does its work with when it has a file. Thread-safe; see the native Engine for the arguments.

    Args:
        store: the rows.
        make_engine: dimension or None -> an empty native engine of the store's kind.
        budget_bytes: of memory for partitions; None: no limit.
        model: the name of the embedder in use, or None; asked at each write.
        clock: microseconds since 1970.
    """

    def __init__(
        self,
        store: SqliteStore,
        make_engine: Callable[[int | None], Engine],
        *,
        budget_bytes: int | None = None,
        model: Callable[[], str | None] = lambda: None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.store = store
        self.model = model
        self.clock = clock
        self._make_engine = make_engine
        self._identity = store.identity()
        self.residency = Residency(
            store,
            make_engine(self._identity.dim),
            budget_bytes=budget_bytes,
            clock=clock,
            generation=self._identity.generation,
            on_new_model=self.adopt_model,
        )
        self.on_new_model: Callable[[str | None], None] = lambda model: None
        self._closed = False
        _opened.add(self)

    # ------------------------------------------------------------------ what it is

    @property
    def native(self) -> Engine:
        """The native engine, which holds the resident partitions."""
        return self.residency.engine

    @property
    def identity(self) -> Identity:
        """What the index is made of; read again as long as something is not settled."""
        if self._identity.dim is None or self._identity.id_kind is None:
            self._identity = self.store.identity()
        return self._identity

    @property
    def dim(self) -> int | None:
        """The dimension of the vectors; None until the first one decides."""
        return self.identity.dim

    @property
    def metric(self) -> str:
        """ "cosine", "ip" or "l2"."""
        return self._identity.metric

    @property
    def dtype(self) -> str:
        """ "f16" or "f32"."""
        return self._identity.dtype

    @property
    def analyzer(self) -> str:
        """The versioned name of the analyzer."""
        return self.native.analyzer

    @property
    def k1(self) -> float:
        """BM25's k1."""
        return self.native.k1

    @property
    def b(self) -> float:
        """BM25's b."""
        return self.native.b

    # ------------------------------------------------------------------ writing

    def upsert(
        self,
        id: RowId,
        text: str | bytes,
        *,
        scope: Scope,
        vector: Any = None,
        payload: bytes | None = None,
    ) -> None:
        """Write one document, or replace the one with its id."""
        self._write([id], [text], [scope], [vector], [payload])

    def upsert_many(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        *,
        scope: Scope | Sequence[Scope],
        vectors: Any = None,
        payloads: Sequence[bytes | None] | None = None,
    ) -> int:
        """Write documents, all or none; of equal ids the last counts. Return how many distinct ids were written."""
        n = len(ids)
        scopes = [scope] * n if isinstance(scope, Scope) else list(scope)
        nothing: list[None] = [None] * n
        return self._write(
            ids, texts, scopes, nothing if vectors is None else vectors, payloads or nothing, many=True
        )

    def _write(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        scopes: Sequence[Scope],
        vectors: Any,
        payloads: Sequence[bytes | None],
        many: bool = False,
    ) -> int:
        self._check_open()
        # From here on the documents cannot be refused for what they are, neither by the rows nor by the engine.
        self.native.validate(ids, texts, scope=scopes, vectors=vectors, payloads=payloads)
        rows = self._rows(ids, texts, scopes, vectors, payloads)
        if not rows:
            return 0
        now = self.clock()
        with self.store.writing("writing") as transaction:
            self._settle(transaction, rows, many)
            written = transaction.upsert(rows, now=now)
            by_scope: dict[Scope, list[NewRow]] = {}
            for row in rows:
                by_scope.setdefault(row.scope, []).append(row)
            self._commit(transaction, written, by_scope)
        self.residency.evict()
        return len(rows)

    def _rows(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        scopes: Sequence[Scope],
        vectors: Any,
        payloads: Sequence[bytes | None],
    ) -> list[NewRow]:
        """Return the rows to write, the last of those with one id, where that one stands."""
        last = {id: i for i, id in enumerate(ids)}
        if len(last) < len(ids):
            for i, id in enumerate(ids):
                if scopes[i] != scopes[last[id]]:
                    raise ConflictError(f"id: {id!r} is given for two scopes; expected one scope for an id")
        kept = [i for i, id in enumerate(ids) if last[id] == i]
        given = [i for i in kept if vectors[i] is not None]
        encoded: dict[int, bytes] = {}
        if given:
            matrix = np.stack([np.asarray(vectors[i], dtype=np.float32) for i in given])
            encoded = dict(zip(given, encode_many(matrix, self.dtype), strict=True))
        rows = []
        for i in kept:
            id = ids[i]
            payload = payloads[i]
            created_at, expires_at = times_of(payload)
            rows.append(
                NewRow(
                    id if isinstance(id, str) else int(id),
                    scopes[i],
                    as_text(texts[i]),
                    payload,
                    encoded.get(i),
                    created_at,
                    expires_at,
                )
            )
        return rows

    def _settle(self, transaction: Transaction, rows: Sequence[NewRow], many: bool) -> None:
        """Hold rows to what the index is made of, and settle what the first write settles."""
        identity = self._identity
        if None in (identity.dim, identity.id_kind, identity.model) or self._model_changed(identity):
            identity = transaction.identity()
        settled: dict[str, object] = {}
        kind = identity.id_kind
        for i, row in enumerate(rows):
            own = "str" if isinstance(row.id, str) else "int"
            kind = kind or own
            if own != kind:
                place = f"ids[{i}]" if many else "id"
                raise TypeError(f"{place}: expected {kind} like the ids of this index, got {own} {row.id!r}")
        if identity.id_kind is None:
            settled["id_kind"] = kind
        sizes = {len(row.vector) for row in rows if row.vector is not None}
        if sizes:
            dim = (sizes.pop() - 2) // 2 if self.dtype == "f16" else sizes.pop() // 4
            if identity.dim is None:
                settled["dim"] = dim
            elif dim != identity.dim:
                raise ValueError(f"vector: expected {identity.dim} dimensions, got {dim}")
            model = self.model()
            if model is not None and model != identity.model:
                if identity.model is not None and transaction.has_vectors():
                    raise EmbedderMismatchError(
                        f"embedder: the index holds vectors of {identity.model!r}, which {model!r} cannot be compared "
                        "with; use that embedder again, or change it with reembed()"
                    )
                settled["model"] = model
        if settled:
            transaction.settle(**settled)
        self._identity = identity

    def _model_changed(self, identity: Identity) -> bool:
        model = self.model()
        return model is not None and model != identity.model

    def _commit(
        self,
        transaction: Transaction,
        written: Sequence[Written],
        rows: dict[Scope, list[NewRow]] | None = None,
    ) -> None:
        """Commit, and bring what was committed into the native engine."""
        self.residency.announce(written)
        try:
            transaction.commit()
        except BaseException:
            self.residency.abandon(written)
            raise
        try:
            for one in written:
                self.residency.apply(one, () if rows is None else rows.get(one.scope, ()))
        except Exception:  # noqa: BLE001 - it is committed: the next search reads it from the rows
            self.residency.abandon(written)
        except BaseException:
            self.residency.abandon(written)
            raise

    def delete(self, id: RowId, *, reason: str = "delete") -> bool:
        """Delete one document; whether it existed."""
        return self.delete_many([id], reason=reason) == 1

    def delete_many(self, ids: Sequence[RowId], *, reason: str = "delete") -> int:
        """Delete documents; how many existed."""
        self._check_open()
        ids = [_checked_id(id, self.identity.id_kind) for id in ids]
        with self.store.writing("deleting") as transaction:
            written = transaction.delete(ids, reason, now=self.clock())
            if written:
                self._commit(transaction, written)
        return sum(len(one.deleted) for one in written)

    def erase(self, scope: Scope, *, exact: bool = False) -> int:
        """Erase every document whose scope agrees with `scope`; how many."""
        self._check_open()
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        with self.store.writing("erasing") as transaction:
            written = transaction.erase(scope, exact=exact, now=self.clock())
            if written:
                self._commit(transaction, written)
        return sum(one.documents_before for one in written)

    def sweep(self) -> int:
        """Delete the rows of expired documents, which no search sees any more; how many."""
        self._check_open()
        with self.store.writing("sweeping") as transaction:
            now = self.clock()
            found = transaction.connection.execute(
                "SELECT id FROM document WHERE expires_at <= ?", (now,)
            ).fetchall()
            written = transaction.delete([id for (id,) in found], "sweep", now=now)
            if written:
                self._commit(transaction, written)
        return sum(len(one.deleted) for one in written)

    # ------------------------------------------------------------------ searching

    def search(self, text: str | bytes | None = None, *, scope: Scope, **options: Any) -> Result:
        """Search what `scope` sees; its partitions are read in first if they are not in memory."""
        residency = self.residency
        if not isinstance(scope, Scope) or self._closed:
            self._check_open()
            return residency.engine.search(text, scope=scope, **options)  # says what is wrong
        for _ in range(_PATIENCE):
            view, stamp = residency.view(scope)
            result = residency.engine.search(text, scope=scope, **options)
            if residency.held(view, stamp):
                return result
        with residency.without_eviction():
            residency.view(scope)
            return residency.engine.search(text, scope=scope, **options)

    def search_batch(
        self,
        texts: Sequence[str | bytes | None] | None = None,
        *,
        scope: Scope | Sequence[Scope],
        **options: Any,
    ) -> list[Result]:
        """Answer several searches; all their partitions are in memory together."""
        self._check_open()
        scopes = [scope] if isinstance(scope, Scope) else list(dict.fromkeys(scope))
        residency = self.residency
        for _ in range(_PATIENCE):
            views = [residency.view(one) for one in scopes if isinstance(one, Scope)]
            results = residency.engine.search_batch(texts, scope=scope, **options)
            if all(residency.held(view, stamp) for view, stamp in views):
                return results
        with residency.without_eviction():
            for one in scopes:
                residency.view(one)
            return residency.engine.search_batch(texts, scope=scope, **options)

    def warm(self, scope: Scope, *, pin: bool = False) -> None:
        """Read what `scope` sees into memory; with `pin` it stays there."""
        self._check_open()
        view, _ = self.residency.view(scope)
        for partition in view:
            partition.pinned = partition.pinned or pin

    # ------------------------------------------------------------------ looking

    def get(self, id: RowId) -> StoredDocument | None:
        """Return the document with this id, or None."""
        self._check_open()
        found = self.store.get(_checked_id(id, self.identity.id_kind), now=self.clock())
        if found is None:
            return None
        row, scope = found
        vector = None if row.vector is None else decode(row.vector, self.dtype)
        return StoredDocument(row.id, row.text, scope, row.payload, vector)

    def count(self, scope: Scope | None = None) -> int:
        """Return how many documents a search from `scope` would see; without one, how many there are."""
        self._check_open()
        if scope is not None and not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        return self.store.count(None if scope is None else visible_from(scope), now=self.clock())

    def stats(self, scope: Scope | None = None) -> dict[str, int | float | str]:
        """Return the native engine's counts (of what is in memory) and the store's."""
        self._check_open()
        stats: dict[str, int | float | str] = dict(self.native.stats(scope))
        stats["resident_documents"] = stats["documents"]
        stats["resident_partitions"] = stats["partitions"]
        stats["documents"] = self.count(scope)
        stats["partitions"] = len(self.store.scopes())
        stats["file_bytes"] = sum(path.stat().st_size for path in self.files() if path.exists())
        return stats

    def files(self) -> list[Path]:
        """Return the files that the index consists of (not all of them need exist)."""
        return [
            self.store.path.with_name(self.store.path.name + end) for end in ("", "-wal", "-shm", "-journal")
        ]

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, id: object) -> bool:
        kind = self.identity.id_kind
        right = isinstance(id, str) if kind == "str" else isinstance(id, (int, np.integer))
        return right and kind is not None and self.get(id) is not None  # type: ignore[arg-type]

    # ------------------------------------------------------------------ care

    def empty_native(self) -> Engine:
        """Return a native engine of the same kind without documents."""
        return self._make_engine(self.dim)

    def compact(self, progress: Progress | None = None) -> int:
        """Forget deleted documents everywhere, write fresh images, and rewrite the file; how many went from memory."""
        self._check_open()
        n_dropped = self.native.compact()
        with self.store.writing("compacting") as transaction:
            transaction.forget_tombstones()
        self._drop_damaged_images()
        for scope in self.store.stale_scopes():
            partition = self.residency.partition(scope)
            self.residency.bring(partition)
            self.residency.save([partition], wait=True)
            self.residency.evict()
            if progress is not None:
                progress.update(1)
        rewrite_file(self.store)
        return n_dropped

    def _drop_damaged_images(self) -> None:
        for scope, state in self.store.scopes():
            image = self.store.image(state.key)
            try:
                if image is not None:
                    self.empty_native().load_partition(scope, image[1])
            except CorruptIndexError:
                with self.store.writing("compacting") as transaction:
                    transaction.drop_image(state.key)

    def adopt_model(self) -> None:
        """The vectors were changed for those of another model: start with an empty native engine of its dimension."""
        self._identity = self.store.identity()
        self.residency.restart(self._make_engine(self._identity.dim), self._identity.generation)
        self.on_new_model(self._identity.model)

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Write the images of what changed and close the file. Safe to call twice."""
        if self._closed:
            return
        residency = self.residency
        for partition in residency.resident():
            if residency.is_dirty(partition):
                residency.save([partition], wait=True)
        self._closed = True
        self.store.close()

    def abandon(self) -> None:
        """After a fork, in the child: SQLite's connections must not be used or closed here."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(
                f"the index is closed, or was opened before this process forked: {self.store.path}"
            )


def _checked_id(id: Any, kind: str | None) -> RowId:
    if isinstance(id, (bool, np.bool_)) or not isinstance(id, (str, int, np.integer)):
        raise TypeError(f"id: expected str or int, got {type(id).__name__}")
    own = "str" if isinstance(id, str) else "int"
    if kind is not None and own != kind:
        raise TypeError(f"id: expected {kind} like the ids of this index, got {own} {id!r}")
    if isinstance(id, str):
        return id
    if not -(2**63) <= int(id) < 2**63:
        raise ValueError(f"id: expected a 64-bit integer, got {int(id)}")
    return int(id)


# Indexes of this process, for its children: a connection that two processes share would corrupt the file.
_opened: weakref.WeakSet[DurableEngine] = weakref.WeakSet()
_inherited: list[DurableEngine] = []  # kept, so that nothing of them is ever closed in a child


def _after_fork() -> None:
    for engine in list(_opened):
        _inherited.append(engine)
        engine.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
