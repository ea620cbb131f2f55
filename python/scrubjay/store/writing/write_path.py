"""The write path: rows first, then the native engine.

A write is committed and then applied to the native engine while the write lock is still held, so an acknowledged
write is durable and visible. If applying fails, the partition is marked as stale, and the next search reads the
write from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scrubjay._native import Engine, PreparedDocuments, Scope
from scrubjay.base.arguments import has_lone_surrogate
from scrubjay.base.errors import ClosedError, CorruptIndexError, EmbedderMismatchError, VersionConflictError
from scrubjay.documents.ids import checked_id, checked_many
from scrubjay.documents.payload import Times, times_of
from scrubjay.documents.records import as_text
from scrubjay.store.residency.residency import Residency
from scrubjay.store.rows.patching import Keep, Patch
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.rows.scopes import exactly
from scrubjay.store.rows.single_write import Glances, OwnCommit, ScopeChange, SingleDelete, SingleWrite
from scrubjay.store.rows.values import Identity, NewRow, RowId, StoredDocument, StoredRow, Written
from scrubjay.store.rows.vectors import dim_of, encode, encode_many
from scrubjay.store.seam import Store, Transaction

_FEW = 16  # documents per write; for larger batches the store looks up existing rows itself


class WritingEngine:
    """The writing half of a durable engine. See the native Engine for the arguments."""

    store: Store
    residency: Residency
    model: Callable[[], str | None]
    clock: Callable[[], int]
    document: Callable[[StoredRow, Scope], StoredDocument]
    _identity: Identity
    _closed: bool

    @property
    def native(self) -> Engine:
        """The native engine, which holds the resident partitions."""
        return self.residency.engine

    @property
    def identity(self) -> Identity:
        """The identity of the index; read again until dimension and kind of ids are settled."""
        if self._identity.dim is None or self._identity.id_kind is None:
            self._identity = self.store.identity()
        return self._identity

    @property
    def dtype(self) -> str:
        """ "f16", "f32" or "i8"."""
        return self._identity.dtype

    def upsert(
        self,
        id: RowId,
        text: str | bytes,
        *,
        scope: Scope,
        vector: Any = None,
        payload: bytes | None = None,
    ) -> None:
        """Write one document, or replace the one with its id in this scope."""
        self._write_one(id, text, scope, vector, payload, None)

    def upsert_many(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        *,
        scope: Scope | Sequence[Scope],
        vectors: Any = None,
        payloads: Sequence[bytes | None] | None = None,
    ) -> int:
        """Write documents, all or none; of equal ids in a scope the last one counts. Return the number of
        distinct documents."""
        n = len(ids)
        scopes = [scope] * n if isinstance(scope, Scope) else list(scope)
        nothing: list[None] = [None] * n
        return len(
            self._write(
                ids, texts, scopes, nothing if vectors is None else vectors, payloads or nothing, many=True
            )
        )

    def upsert_versioned(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        *,
        scope: Scope | Sequence[Scope],
        versions: Sequence[int | None],
        vectors: Any = None,
        payloads: Sequence[bytes | None] | None = None,
        fills: bool = False,
    ) -> list[int]:
        """Write documents like :meth:`upsert_many`, under conditions on their versions; return the versions of
        the distinct documents written.

        Args:
            versions: for each document the version that it must have now; 0: it must not exist; None: no
                condition. Of equal ids in a scope the last one's condition counts.
            fills: the documents are unchanged and only receive their pending vectors, which legal holds permit.

        Raises:
            VersionConflictError: a condition does not hold; nothing is written.
            HeldError: a document that would be replaced is under a legal hold; nothing is written.
        """
        n = len(ids)
        scopes = [scope] * n if isinstance(scope, Scope) else list(scope)
        nothing: list[None] = [None] * n
        if len(versions) != n:
            raise ValueError(f"versions: expected {n} like the ids, got {len(versions)}")
        if n == 1 and not fills:
            vector, payload = nothing if vectors is None else vectors, payloads or nothing
            return [self._write_one(ids[0], texts[0], scopes[0], vector[0], payload[0], versions[0])]
        return list(
            self._write(
                ids,
                texts,
                scopes,
                nothing if vectors is None else vectors,
                payloads or nothing,
                many=n != 1,
                versions=versions,
                fills=fills,
            )
        )

    def patch(self, id: RowId, change: Patch, *, scope: Scope, version: int | None = None) -> int | None:
        """Change a document of exactly this scope; return its new version, None if it does not exist.

        The row is read and rewritten in one transaction, with its old text and, unless the change has another,
        its old vector.

        Raises:
            VersionConflictError: the document does not have the given `version`.
            CorruptIndexError: the stored document is damaged.
        """
        self.check_open()
        id = checked_id(id, self.identity.id_kind)
        if not isinstance(change.vector, Keep):
            self.native.validate([id], [""], scope=[scope], vectors=[change.vector], payloads=[None])
        if self.store.cipher.ring is not None:
            self.store.cipher.require({scope.tenant})
        with self.store.writing("patching", scopes=[scope]) as transaction:
            now = self.clock()
            row_and_scope = self.store.get(id, exactly([scope]), now=now)
            if row_and_scope is None or version not in (None, row_and_scope[0].seq):
                if version is not None:
                    raise VersionConflictError(
                        id, version, 0 if row_and_scope is None else row_and_scope[0].seq
                    )
                return None
            row = self._patched(row_and_scope[0], scope, change)
            if not isinstance(change.vector, Keep):
                self._settle(transaction, [row], many=False)
            written = transaction.upsert([row], now=now)
            self._commit(transaction.commit, written, {scope: [row]})
        self.residency.evict()
        return written[0].after

    def _patched(self, old: StoredRow, scope: Scope, change: Patch) -> NewRow:
        """Return the replacement of a row that was read under the write lock."""
        self.document(old, scope)  # raises if the stored vector is damaged
        try:
            payload = change.applied(old.payload)
        except CorruptIndexError as error:
            raise error.located(path=self.store.path, id=old.id, scope=scope) from None
        vector = old.vector
        if not isinstance(change.vector, Keep):
            new = change.vector_of(old.payload)
            vector = None if new is None else encode(new, self.dtype)
        created_at, expires_at = times_of(payload)
        return NewRow(old.id, scope, old.text, payload, vector, created_at, expires_at, expected=old.seq)

    def _write_one(
        self,
        id: RowId,
        text: str | bytes,
        scope: Scope,
        vector: Any,
        payload: bytes | None,
        version: int | None,
    ) -> int:
        """Write one document, in a group commit with other threads if the store can; return its version."""
        self.check_open()
        group, residency = self.store.group, self.residency
        if group is not None and not isinstance(vector, tuple):  # a tuple holds the vectors of passages
            # Validates the document, and analyses its text before the write lock is taken, so that other writers
            # do not wait.
            if text.__class__ is not str or not text.isascii():
                text = as_text(text)
            prepared, stored, checksum = residency.engine.prepare_row(
                id, text, scope=scope, vector=vector, payload=payload
            )
            row = self._row(id, text, scope, stored, payload, version)
            if group.takes(payload):
                model = None if row.vector is None else self.model()
                write = SingleWrite(row, self.clock(), model, residency.generation, prepared, checksum)
                if group.write(write, self._commit_changes):
                    if residency.budget.is_limited:
                        residency.evict()
                    return write.version
        versions = None if version is None else [version]
        return self._write([id], [text], [scope], [vector], [payload], versions=versions)[0]

    def _row(
        self,
        id: RowId,
        text: str,
        scope: Scope,
        vector: bytes | None,
        payload: bytes | None,
        version: int | None,
    ) -> NewRow:
        """Return the row of one document; its vector is encoded as by :meth:`_rows`."""
        created_at = expires_at = None
        if payload is not None:
            try:
                created_at, expires_at = times_of(payload)
            except CorruptIndexError as error:
                raise ValueError(f"payloads[0]: {error.what}") from None
        if id.__class__ is not str:
            id = _plain(id)
        # NewRow(...) would call a constructor in Python, a hundredth of a single write.
        return tuple.__new__(NewRow, (id, scope, text, payload, vector, created_at, expires_at, version))

    def _write(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        scopes: Sequence[Scope],
        vectors: Any,
        payloads: Sequence[bytes | None],
        many: bool = False,
        versions: Sequence[int | None] | None = None,
        fills: bool = False,
    ) -> range:
        """Write documents; return the versions of the distinct ones."""
        self.check_open()
        # Validates the documents for the rows and the engine: neither rejects them later.
        self.native.validate(ids, texts, scope=scopes, vectors=vectors, payloads=payloads)
        rows = self._rows(ids, texts, scopes, vectors, payloads, versions)
        if not rows:
            return range(0)
        # analyse texts before the write lock is taken, so that other writers do not wait
        prepared = self.residency.prepare(rows)
        now = self.clock()
        if self.store.cipher.ring is not None:
            self.store.cipher.require({row.scope.tenant for row in rows})
        at_once = dict.fromkeys(scopes)
        ids = [row.id for row in rows] if len(at_once) == 1 and len(rows) <= _FEW else []
        with self.store.writing("writing", scopes=at_once, ids=ids) as transaction:
            self._settle(transaction, rows, many)
            written = transaction.upsert(rows, now=now, fills=fills)
            by_scope: dict[Scope, list[NewRow]] = {}
            for row in rows:
                by_scope.setdefault(row.scope, []).append(row)
            self._commit(transaction.commit, written, by_scope, prepared)
        self.residency.evict()
        last = max(change.after for change in written)
        return range(last - len(rows) + 1, last + 1)

    def _rows(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        scopes: Sequence[Scope],
        vectors: Any,
        payloads: Sequence[bytes | None],
        versions: Sequence[int | None] | None = None,
        times: Sequence[Times] | None = None,
    ) -> list[NewRow]:
        """Return the rows to write. Of equal ids in a scope only the last is kept, at its own position."""
        last = {key: i for i, key in enumerate(zip(scopes, ids, strict=True))}
        positions = sorted(last.values())
        with_vector = [i for i in positions if vectors[i] is not None]
        # Vectors of passages, and a single vector, which need not be stacked, are encoded alone.
        alone = [i for i in with_vector if isinstance(vectors[i], tuple) or len(with_vector) == 1]
        encoded = {i: encode(vectors[i], self.dtype) for i in alone}
        with_vector = [i for i in with_vector if i not in encoded]
        if with_vector:
            matrix = np.stack([np.asarray(vectors[i], dtype=np.float32) for i in with_vector])
            encoded.update(zip(with_vector, encode_many(matrix, self.dtype), strict=True))
        rows = []
        for i in positions:
            id = ids[i]
            payload = payloads[i]
            try:
                created_at, expires_at = times_of(payload) if times is None else times[i]
            except CorruptIndexError as error:
                raise ValueError(f"payloads[{i}]: {error.what}") from None
            rows.append(
                NewRow(
                    _plain(id),
                    scopes[i],
                    as_text(texts[i]),
                    payload,
                    encoded.get(i),
                    created_at,
                    expires_at,
                    None if versions is None else versions[i],
                )
            )
        return rows

    def _settle(self, transaction: Transaction, rows: Sequence[NewRow], many: bool) -> None:
        """Check rows against the identity of the index, and settle the fields that the first write decides."""
        identity = self._identity
        # then the resident partitions hold vectors of the old model
        is_newer = transaction.is_newer(self.residency.generation)
        if (
            is_newer
            or None in (identity.dim, identity.id_kind, identity.model)
            or self._model_changed(identity)
        ):
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
        dims = {dim_of(row.vector, self.dtype) for row in rows if row.vector is not None}
        if dims:
            dim = dims.pop()
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
        if not is_newer:
            self._identity = identity

    def _model_changed(self, identity: Identity) -> bool:
        model = self.model()
        return model is not None and model != identity.model

    def _commit(
        self,
        commit: Callable[[], Glances | None],
        written: Sequence[Written],
        rows: Mapping[Scope, Sequence[NewRow]] | None = None,
        prepared: Mapping[Scope, PreparedDocuments] | None = None,
    ) -> None:
        """Commit, and apply what was committed to the native engine."""
        rows, prepared = rows or {}, prepared or {}
        changes = []
        for change in written:
            whole = prepared.get(change.scope)
            changes.append(ScopeChange(change, rows.get(change.scope, ()), () if whole is None else (whole,)))
        self._commit_changes(commit, changes)

    def _commit_changes(
        self,
        commit: Callable[[], Glances | None],
        changes: Sequence[ScopeChange],
        own: OwnCommit | None = None,
    ) -> None:
        """Commit, and apply what was committed to the native engine."""
        residency = self.residency
        announced = residency.announce(changes, own)
        try:
            glances = commit()
        except BaseException:
            if own is not None:
                own.decide(False)
            residency.abandon(changes)
            raise
        try:
            residency.confirm(announced)
            if own is not None:
                own.decide(True)
            for partition, change in announced:
                residency.apply(partition, change)
            residency.settle(glances)
        except Exception:  # noqa: BLE001 - it is committed: the next search reads it from the rows
            residency.abandon(changes)
        except BaseException:
            residency.abandon(changes)
            raise

    def delete(self, id: RowId, *, scope: Scope, reason: str = "delete") -> bool:
        """Delete one document of exactly this scope; return whether it existed."""
        self.check_open()
        checked = checked_id(id, self.identity.id_kind)
        group = self.store.group
        if group is not None and group.takes(None):
            write = SingleDelete(checked, scope, checked_reason(reason), self.clock())
            if group.write(write, self._commit_changes):
                return write.version != 0
        return self.delete_many([checked], scope=scope, reason=reason) == 1

    def delete_many(
        self, ids: Sequence[RowId], *, scope: Scope | Sequence[Scope], reason: str = "delete"
    ) -> int:
        """Delete documents of exactly this scope, or of a scope for each id; return how many existed."""
        self.check_open()
        by_scope = self._by_scope(ids, scope)
        if self.store.cipher.ring is not None:  # request keys before the write lock is taken
            for tenant in {each_scope.tenant for each_scope in by_scope}:
                self.store.cipher.readable(tenant)
        with self.store.writing("deleting", scopes=by_scope) as transaction:
            written = self._delete(transaction, by_scope, reason, now=self.clock())
            if written:
                self._commit(transaction.commit, written)
        return sum(len(change.deleted) for change in written)

    def _by_scope(self, ids: Sequence[RowId], scope: Scope | Sequence[Scope]) -> dict[Scope, list[RowId]]:
        """Validate the ids and group them by scope."""
        checked = checked_many(ids, self.identity.id_kind)
        if isinstance(scope, Scope):
            return {scope: checked}
        scopes = checked_scopes(scope, len(checked))
        by_scope: dict[Scope, list[RowId]] = {}
        for each_scope, id in zip(scopes, checked, strict=True):
            by_scope.setdefault(each_scope, []).append(id)
        return by_scope

    def _delete(
        self, transaction: Transaction, by_scope: Mapping[Scope, Sequence[RowId]], reason: str, *, now: int
    ) -> list[Written]:
        checked_reason(reason)
        done = [transaction.delete(scope, ids, reason, now=now) for scope, ids in by_scope.items()]
        return [change for change in done if change is not None]

    def erase(
        self,
        scope: Scope,
        *,
        exact: bool = False,
        reason: str = "erase",
        everywhere: bool = False,
        names: bool = False,
    ) -> int:
        """Erase every document whose scope agrees with `scope`; with `everywhere` in all collections. Return
        their number.

        With `names`, which implies `everywhere`, the names of the scopes are erased as well.
        """
        self.check_open()
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        if names and exact:
            raise ValueError(
                "exact: expected False with names=True, which are those of the users, too; got True"
            )
        words = Pseudonyms(scope) if names else None
        # The transaction acquires the locks that it needs in their order.
        with self.store.writing("erasing", scopes=()) as transaction:
            n_elsewhere, written = self._erase(
                transaction,
                scope,
                exact=exact,
                reason=reason,
                everywhere=everywhere or names,
                now=self.clock(),
                words=words,
            )
            if written:
                self._commit(transaction.commit, written)
        return n_elsewhere + sum(change.documents_before for change in written)

    def _erase(
        self,
        transaction: Transaction,
        scope: Scope,
        *,
        exact: bool,
        reason: str,
        everywhere: bool,
        now: int,
        words: Pseudonyms | None = None,
    ) -> tuple[int, list[Written]]:
        """Erase rows; return the number of documents in other collections, and the writes to this one."""
        checked_reason(reason)
        n_elsewhere = 0
        if everywhere:
            n_elsewhere = transaction.erase_elsewhere(scope, reason, exact=exact, now=now, words=words)
        written = transaction.erase(scope, reason, exact=exact, now=now)
        if words is not None:
            transaction.forget_names(scope, words)
        return n_elsewhere, written

    def sweep(self, within: Scope | None = None) -> int:
        """Delete the rows of expired documents, which are already invisible to searches; return their number. See
        `erase` for `within`.

        Documents of encrypted tenants whose keys are not available stay: their digests cannot be updated without
        the key.
        """
        self.check_open()
        away = self.store.tenants_without_key()
        with self.store.writing("sweeping") as transaction:
            written = transaction.sweep(within, leaving=away, now=self.clock())
            if written:
                self._commit(transaction.commit, written)
        return sum(len(change.deleted) for change in written)

    @property
    def is_closed(self) -> bool:
        """Whether the engine was closed, or was opened by the parent process of a fork."""
        return self._closed

    def check_open(self) -> None:
        """Raise ClosedError if the engine is closed."""
        if self._closed:
            raise ClosedError(
                f"the index is closed, or was opened before this process forked: {self.store.place}"
            )


def _plain(id: RowId) -> RowId:
    """Return a valid id as exactly a str or an int, not as a subclass (those of NumPy, an enumeration)."""
    return str.__str__(id) if isinstance(id, str) else int(id)


def checked_scopes(scope: Any, n: int) -> list[Scope]:
    """Return a scope for each of `n` documents, or raise TypeError or ValueError."""
    if isinstance(scope, (str, bytes)) or not isinstance(scope, Sequence):
        raise TypeError(
            f"scope: expected a scrubjay.Scope, or a sequence with one for each id, got {type(scope).__name__}"
        )
    for each_scope in scope:
        if not isinstance(each_scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope for each id, got {type(each_scope).__name__}")
    if len(scope) != n:
        raise ValueError(f"scope: expected {n} like the ids, got {len(scope)}")
    return list(scope)


def checked_reason(reason: str) -> str:
    """Return the reason for a deletion, or raise TypeError or ValueError."""
    if not isinstance(reason, str):
        raise TypeError(f"reason: expected a str, got {type(reason).__name__}")
    if not reason.strip() or len(reason) > 1000:
        raise ValueError(f"reason: expected 1 to 1,000 characters, got {len(reason)}")
    if has_lone_surrogate(reason):
        raise ValueError(f"reason: expected text that UTF-8 can encode, got {reason!r} with a lone surrogate")
    return reason
