"""Write batches: documents, and rows of a layer above beside them, in one transaction.

The batch holds the write lock. Nothing is visible before the commit; then each partition changes from its old to
its new state in a single step, so no search sees half of a batch.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import StoreError
from scrubjay.documents.payload import Times, is_pending
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.rows.values import NewRow, RowId, Written
from scrubjay.store.seam import Transaction
from scrubjay.store.writing.write_path import WritingEngine


class Change:
    """A transaction in progress. Not thread-safe, and unusable after its block.

    A step that raises makes the whole change fail, even if the exception is caught inside the block.
    """

    def __init__(self, engine: WritingEngine, transaction: Transaction) -> None:
        self.now = engine.clock()
        """Microseconds since 1970: the time of every write of the change."""
        self.embedded = False
        """Whether a vector was written."""
        self.pending = False
        """Whether a text was written whose embedding is pending."""
        self.layer: Any = None
        """State that the layer above attaches to the change."""
        self.known: dict[Any, Any] = {}
        """Cache of lookups by the layer above, valid for this change."""
        self._engine = engine
        self._transaction = transaction
        self._net: dict[Scope, _Net] = {}
        self._failed = False
        self._has_turn = False
        self._over = False

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of the transaction, for rows of other tables. Do not commit or roll back through it.

        Over PostgreSQL it is an object that takes statements as a connection of SQLite does.

        Raises:
            UnsupportedError: the store has no such tables.
        """
        connection: sqlite3.Connection = self._transaction.connection
        return connection

    def lock(self, whose: Iterable[str | Scope]) -> None:
        """Acquire the locks of rows in other tables that will be read and written; must be the first step of a
        change.

        In a file, which has one writer, the write lock is held already. The time of the change is set after the
        wait, so the times of changes to one user's rows ascend in their order.

        Args:
            whose: a tenant locks all its rows ("": the rows that belong to all tenants); a scope locks the rows
                of its user (without a user: the rows of the tenant that have no user).
        """
        whose = list(whose)
        self._transaction.lock(whose)
        if whose and not self._has_turn:
            self._has_turn, self.now = True, self._engine.clock()

    def upsert(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        *,
        scopes: Sequence[Scope],
        vectors: Sequence[Any],
        payloads: Sequence[bytes | None],
        times: Sequence[Times] | None = None,
    ) -> None:
        """Write documents; a document replaces the one with its id in its scope.

        Args:
            ids, texts, scopes, vectors, payloads: one per document.
            times: of each payload, as :func:`scrubjay.documents.payload.times_of` reads them; None: they are read from
                the payloads.

        Raises:
            TypeError, ValueError: a document is invalid for the rows or the engine.
        """
        engine = self._engine
        with self._step():
            engine.native.validate(ids, texts, scope=scopes, vectors=vectors, payloads=payloads)
            rows = engine._rows(ids, texts, scopes, vectors, payloads, times=times)
            if not rows:
                return
            engine._settle(self._transaction, rows, many=True)
            for change in self._transaction.upsert(rows, now=self.now):
                self._of(change).follow(change)
            for row in rows:
                self._net[row.scope].put(row)
            self.embedded = self.embedded or any(row.vector is not None for row in rows)
            self.pending = self.pending or any(is_pending(row.payload) for row in rows)

    def delete(self, ids: Sequence[RowId], *, scope: Scope | Sequence[Scope], reason: str) -> int:
        """Delete documents of exactly this scope, or of a scope for each id, with an event for each scope; return
        how many existed."""
        engine = self._engine
        with self._step():
            written = engine._delete(self._transaction, engine._by_scope(ids, scope), reason, now=self.now)
            for change in written:
                net = self._of(change)
                net.follow(change)
                net.forget(change.deleted)
        return sum(len(change.deleted) for change in written)

    def erase(
        self,
        scope: Scope,
        *,
        exact: bool = False,
        reason: str,
        everywhere: bool = False,
        words: Pseudonyms | None = None,
    ) -> int:
        """Erase every document whose scope agrees with `scope`; with `everywhere` in all collections. Return
        their number.

        With `words` the names of the scopes are replaced by these pseudonyms.
        """
        with self._step():
            if not isinstance(scope, Scope):
                raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
            n_elsewhere, written = self._engine._erase(
                self._transaction,
                scope,
                exact=exact,
                reason=reason,
                everywhere=everywhere,
                now=self.now,
                words=words,
            )
            for change in written:
                net = self._of(change)
                net.follow(change)
                net.empty()
        return n_elsewhere + sum(change.documents_before for change in written)

    @contextmanager
    def _step(self) -> Iterator[None]:
        if self._over:
            raise StoreError("changing: the change was used outside of its `with` block")
        try:
            yield
        except BaseException:
            self._failed = True
            raise

    def _of(self, one: Written) -> _Net:
        net = self._net.get(one.scope)
        if net is None:
            net = self._net[one.scope] = _Net(one)
        return net

    def _settled(self) -> tuple[list[Written], dict[Scope, list[NewRow]]]:
        """Return the net effect of the change on each scope, and the rows to add."""
        self._over = True
        if self._failed:
            raise StoreError("changing: a step of the change failed, so nothing is written")
        written = [net.written() for net in self._net.values()]
        return written, {scope: list(net.rows.values()) for scope, net in self._net.items()}


class _Net:
    """The net effect of all steps on one scope: whether it is emptied, the deleted ids, the new rows in order of
    writing."""

    def __init__(self, first: Written) -> None:
        self._first = first
        self._after = first.after
        self._erased = False
        self._deleted: dict[RowId, None] = {}
        self.rows: dict[RowId, NewRow] = {}

    def follow(self, one: Written) -> None:
        self._after = one.after

    def put(self, row: NewRow) -> None:
        self._deleted.pop(row.id, None)
        self.rows.pop(row.id, None)  # the last write decides the order
        self.rows[row.id] = row

    def forget(self, ids: Sequence[RowId]) -> None:
        for id in ids:
            self.rows.pop(id, None)
            self._deleted[id] = None

    def empty(self) -> None:
        self._erased = True
        self._deleted.clear()
        self.rows.clear()

    def written(self) -> Written:
        return self._first._replace(after=self._after, deleted=list(self._deleted), erased=self._erased)


@contextmanager
def changing(engine: WritingEngine, doing: str) -> Iterator[Change]:
    """Acquire the write lock and begin a transaction; at the end of the block everything is committed and
    visible.

    If the block or the commit raises, nothing is changed. Other writers wait meanwhile, so embed texts before the
    block.

    Raises:
        StoreBusyError: another thread or process held the write lock for longer than the busy timeout.
        StoreError: the transaction could not be written; nothing of it was.
    """
    engine.check_open()
    with engine.store.writing(doing) as transaction:
        change = Change(engine, transaction)
        try:
            yield change
        finally:
            change._over = True
        written, rows = change._settled()
        engine._commit(transaction.commit, written, rows)
    if rows:
        engine.residency.evict()
