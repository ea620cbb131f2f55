"""Transactions of one collection: how they begin and end, and the work before and after them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import Error, StoreError
from scrubjay.base.locks import renew_in_children
from scrubjay.store.postgres import user_keys
from scrubjay.store.postgres.cold import fetched
from scrubjay.store.postgres.cold_reading import ColdRows
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.errors import is_away, translated
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.freshness import Freshness
from scrubjay.store.postgres.holds import HoldTable
from scrubjay.store.postgres.keys import Key
from scrubjay.store.postgres.layer_connection import LayerConnection
from scrubjay.store.postgres.row_security import NO_HOME
from scrubjay.store.postgres.transaction import PostgresTransaction
from scrubjay.store.postgres.write_order import SETTLED
from scrubjay.store.rows.values import RowId

_MOST_AHEAD_US = 1_000_000  # of the clock; the most that `settled` waits for
_WITH_ROWS = frozenset(("writing", "patching", "deleting", "recording feedback", "bringing back"))
"""Writes to rows of existing documents: the rows of a frozen scope are fetched before anything is locked."""


class Writer:
    """Runs the transactions of a collection. Thread-safe.

    Args:
        collection: that is written to.
        cold: reads frozen scopes.
        freshness: notified of commits.
        feed: distributes to other processes which of their partitions are stale.
        is_held: whether legal holds apply to the documents of the collection.
    """

    def __init__(
        self, collection: Collection, cold: ColdRows, freshness: Freshness, feed: Feed, *, is_held: bool
    ) -> None:
        self.beside: LayerConnection | None = None
        """The connection object of a layer above."""
        self._collection = collection
        self._sessions = collection.sessions
        self._server = collection.sessions.server
        self._cold = cold
        self._freshness = freshness
        self._feed = feed
        self._is_held = is_held
        self._holds = HoldTable()
        self._keyed: set[str] = set()  # tenants that have, or had, a data key
        self._lock = threading.Lock()  # guards the one below
        renew_in_children(self, "_lock")
        self._numbered = 0  # the newest number of a layer's row that this process wrote

    @contextmanager
    def writing(
        self,
        doing: str,
        *,
        scopes: Iterable[Scope] | None = None,
        wait: bool = True,
        in_background: bool = False,
        is_log: bool = False,
        ids: Sequence[RowId] = (),
    ) -> Iterator[PostgresTransaction]:
        """Begin a transaction and lock the homes of the scopes; see :meth:`scrubjay.store.seam.Store.writing`.

        Raises:
            StoreBusyError: another process held the lock of a home for longer than the busy timeout.
            StoreUnavailableError: the database does not answer. The message says if it is unknown whether the
                transaction was committed.
        """
        self._sessions.check_open()
        if self._server.read_only:
            raise StoreError(f"{doing}: the index was opened for reading only: {self._collection.place}")
        if self._sessions.current is not None:
            raise StoreError(
                f"{doing}: this thread is in the middle of another write: {self._collection.place}"
            )
        scopes = list(scopes or ())
        if self._collection.homes.user_homes and scopes and self._collection.cipher.ring is not None:
            with suppress(Error):  # the write itself raises the error
                self._make_keys({scope.tenant for scope in scopes if scope.user is not None})
        with translated(self._collection.place, doing):
            connection, transaction = self._begin_writing(doing, scopes, wait, ids)
            try:
                with self._sessions.using(transaction):
                    yield transaction
                    if not transaction.committed:
                        transaction.commit()
                    self._feed.tell(transaction.elsewhere, transaction.generations)
                    self._feed.hints.add(transaction.hints)
                    self._freshness.wrote()
                    with self._lock:
                        self._numbered = max(self._numbered, transaction.numbered)
            finally:
                if not transaction.committed:
                    transaction.roll_back()
                self._server.give(connection)
                if transaction.committed and self._collection.objects is not None:
                    self._collection.objects.discard(transaction.dropped)
        self._keyed.difference_update(transaction.released)
        if (
            transaction.released and self._collection.cipher.ring is not None
        ):  # after the connection was returned: this may take long
            self._collection.cipher.ring.destroy(transaction.released)
        if transaction.buries:
            self.destroy_user_keys()

    def settled(self) -> tuple[int, int | None, int | None]:
        """Return the current number of writes, and the smallest number that a transaction in progress may still
        write: of any transaction, and of those that write for all tenants (None: no such transaction). Call
        before taking a snapshot; see :mod:`scrubjay.store.postgres.write_order`."""
        now, anybody, everybody = self._sessions.ask(SETTLED, home=NO_HOME)[0]
        if self._collection.homes.user_homes:
            # A home uses numbers of one remainder only, so they may be ahead of the clock.
            ahead = self._numbered - now
            if 0 <= ahead < _MOST_AHEAD_US:
                time.sleep((ahead + 1) / 1e6)
                now, anybody, everybody = self._sessions.ask(SETTLED, home=NO_HOME)[0]
            # Users of a tenant do not wait for each other, so their numbers do not follow the order of commits.
            everybody = min((one for one in (anybody, everybody) if one is not None), default=None)
        return now, anybody, everybody

    def _begin_writing(
        self, doing: str, scopes: Sequence[Scope], wait: bool, ids: Sequence[RowId]
    ) -> tuple[Any, PostgresTransaction]:
        ahead: dict[bytes, bytes] = {}
        fresh = False
        while True:
            connection = self._server.take(fresh=fresh)
            transaction = PostgresTransaction(
                connection,
                self._collection.number,
                self._collection.place,
                self._server.lineage,
                self._collection.id_of,
                self._collection.cipher,
                self._holds,
                self._collection.homes,
                is_held=self._is_held,
            )
            transaction.images_belong = self._freshness.history == self._server.lineage
            transaction.beside, transaction.objects = self.beside, self._collection.objects
            transaction.ahead.update(ahead)
            try:
                transaction.start(scopes, wait=wait, ids=ids)
                frozen = transaction.cold if doing in _WITH_ROWS else []
                if not frozen or ahead or self._collection.objects is None:
                    return connection, transaction
                transaction.roll_back()  # so that other writers do not wait for the object store
                self._server.give(connection)
            except BaseException as error:
                transaction.roll_back()
                self._server.give(connection)
                if fresh or not is_away(error):
                    raise
                # it may have been idle since before a restart; nothing was sent yet
                self._server.forget_resting()
                fresh = True
                continue
            ahead = {digest: self._ahead(key) for key, digest in frozen}

    def _ahead(self, key: Key) -> bytes:
        """Return the object of a frozen scope; empty if that fails, which the transaction will notice, too."""
        with suppress(Error):
            cold = self._cold.of(key.home, [key.number]).get(key.number)
            if cold is not None:
                return fetched(self._collection.objects, key.scope, cold, self._collection.place)
        return b""

    def _make_keys(self, tenants: set[str]) -> None:
        """Create the data keys of tenants before a transaction locks one of their buckets: creating a key
        requires the locks of all homes, the tenant's own first."""
        ring = self._collection.cipher.ring
        if ring is None:
            return
        for tenant in tenants - self._keyed:
            access = ring.access(tenant)
            if access.erased or access.master is None:
                continue
            if self._collection.data_key(tenant) is None:
                with self.writing("making a key", scopes=()) as transaction:
                    transaction.lock_tenant(tenant)
                    transaction.sealer.current(tenant)
            self._keyed.add(tenant)

    def destroy_user_keys(self) -> None:
        """Destroy the halves of dead keys in the key store, and record that they were destroyed.

        Raises:
            EncryptionError: the key store is not available; the next erasure or opening retries.
        """
        ring = self._collection.cipher.ring
        if ring is None or ring.users is None or not (keys := user_keys.dying(self._collection.ask)):
            return
        ring.destroy_users([id for _, id in keys])
        with self.writing("noting destroyed keys", scopes=()) as transaction:
            user_keys.settle(transaction.batch, keys)
