"""One collection of an index in PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import ClosedError, StoreError
from scrubjay.locks import renew_in_children
from scrubjay.store.feedback import Feedback
from scrubjay.store.inspection import CheckReport
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.errors import is_away, translated
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.inspection import inspect_rows
from scrubjay.store.postgres.keys import can_hold, id_of
from scrubjay.store.postgres.notes import read_notes
from scrubjay.store.postgres.reading import PostgresReader
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.transaction import PostgresTransaction
from scrubjay.store.protocol import Identity, Noticed

__all__ = ["PostgresStore"]

_PATIENCE_SECONDS = 0.05  # for another thread's look at the feed, before a search answers from what is there


class PostgresStore(PostgresReader):
    """One collection of a database. Any thread may use it; see :mod:`scrubjay.store.seam` for the questions.

    Args:
        server: of the database, perhaps shared with other collections.
        feed: that tells what others write, shared as well.
        identity: of a collection that is made.
        collection: its name; "" for the collection that every index has.
        max_stale: seconds for which a search may rely on what the feed said last; 0: it asks each time.
    """

    def __init__(
        self, server: Server, feed: Feed, identity: Identity, *, collection: str = "", max_stale: float = 1.0
    ) -> None:
        connection = server.take()
        try:
            with translated(server.place, "opening"):
                name = schema.prepare(connection, read_only=server.read_only, place=server.place)
                number = schema.find_or_create(
                    connection, collection, identity, read_only=server.read_only, place=server.place
                )
                stored = schema.read_identity(connection, number)
        finally:
            server.give(connection)
        super().__init__(server, number, stored)
        self.collection = collection
        self.max_stale = max_stale
        self._name = name
        self._feed = feed
        self._closed = False
        self._marks = threading.Lock()  # the three below
        renew_in_children(self, "_marks")
        self._epoch = 0
        self._behind: dict[Scope, int] = {}
        self._is_other_history = False
        self._history = server.lineage  # of what this process has in memory
        server.use()
        server.listen(self._on_other_history)
        feed.add(self)

    # ------------------------------------------------------------------ what changed

    def note(self, changed: Sequence[tuple[Scope, int]]) -> None:
        """The feed says that scopes have these versions now."""
        with self._marks:
            self._behind.update(changed)
            self._epoch += 1

    def _on_other_history(self) -> None:
        with self._marks:
            self._is_other_history = True
            self._epoch += 1

    def glance(self) -> object:
        """Return what differs whenever anything may have been committed: a look at local memory, and at the database if
        the feed has not been heard for `max_stale` seconds."""
        if monotonic() - self._feed.fresh_at > self.max_stale:
            self._look()
        return self._epoch

    def _look(self) -> None:
        self.check_open()
        if self._feed.is_away:
            return  # the feed's own thread finds out when it is back
        with suppress(StoreError):
            self._feed.poll(wait=_PATIENCE_SECONDS if self.max_stale else self.server.busy_seconds)

    @property
    def asks_each_time(self) -> bool:
        """Whether `max_stale` is 0."""
        return self.max_stale == 0

    def freshness(self) -> tuple[float, bool]:
        """Return for how many seconds what others wrote may be unknown, and whether that is longer than promised."""
        feed = self._feed
        seconds = monotonic() - feed.fresh_at
        return seconds, feed.is_away or 0 < self.max_stale < seconds

    def mark(self) -> object:
        """There is one who asks, so what was noticed is kept here."""
        return None

    def noticed(self, mark: Any) -> Noticed:
        """Return the scopes that were written to since the last call."""
        with self._marks:
            behind, self._behind = self._behind, {}
            is_other, self._is_other_history = self._is_other_history, False
            if is_other:
                self._history = self.server.lineage
        return Noticed(None, None if is_other else list(behind.items()))

    def generation(self) -> int:
        """Nothing changes the model over PostgreSQL yet."""
        return 0

    def lineage(self) -> str:
        """Return a name of this collection, by which a cursor of another is told."""
        return f"{self._name}_{self.number}"

    def shared_name(self) -> str:
        """Return what is equal in all processes that see this history of this collection."""
        return f"{self._name}_{self.number}:{self._history}"

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(
        self,
        doing: str,
        *,
        scopes: Iterable[Scope] | None = None,
        wait: bool = True,
        in_background: bool = False,
    ) -> Iterator[PostgresTransaction]:
        """Take a transaction and the turns of the scopes' homes; see :meth:`scrubjay.store.seam.Store.writing`.

        Raises:
            StoreBusyError: another process wrote to the home for longer than the index waits.
            StoreUnavailableError: the database does not answer. The message says if it is not known whether the
                transaction was committed.
        """
        self.check_open()
        if self.server.read_only:
            raise StoreError(f"{doing}: the index was opened for reading only: {self.place}")
        if getattr(self._local, "connection", None) is not None:
            raise StoreError(f"{doing}: this thread is in the middle of another write: {self.place}")
        with translated(self.place, doing):
            connection, transaction = self._begin_writing(scopes or (), wait)
            self._local.connection, self._local.is_begun = connection, True
            self._local.transaction = transaction
            try:
                yield transaction
                if not transaction.committed:
                    transaction.commit()
                self._feed.tell(transaction.elsewhere)
            finally:
                self._local.connection = self._local.transaction = None
                if not transaction.committed:
                    transaction.roll_back()
                self.server.give(connection)

    def _begin_writing(self, scopes: Iterable[Scope], wait: bool) -> tuple[Any, PostgresTransaction]:
        scopes = list(scopes)
        for fresh in (False, True):
            connection = self.server.take(fresh=fresh)
            transaction = PostgresTransaction(
                connection, self.number, self.place, self.server.lineage, self._stored_id
            )
            transaction.images_belong = self._history == self.server.lineage
            try:
                transaction.start(scopes, wait=wait)
                return connection, transaction
            except BaseException as error:
                transaction.roll_back()
                self.server.give(connection)
                if fresh or not is_away(error):
                    raise
                self.server.forget_resting()  # it may have rested since before a restart: nothing was sent yet
        raise AssertionError("unreachable")

    def _stored_id(self, data: bytes) -> Any:
        return id_of(data, self._kind())

    def snapshot(self) -> Any:
        """Let every read of this thread inside see one state; inside of :meth:`writing`, that of the transaction."""
        transaction = getattr(self._local, "transaction", None)
        if transaction is not None:
            with translated(self.place, "reading"):
                transaction.flush()
        return super().snapshot()

    def ask(
        self, query: str, parameters: Sequence[Any] = (), *, doing: str = "reading"
    ) -> list[tuple[Any, ...]]:
        """Return the rows of one statement; within a transaction after what it wrote."""
        self.check_open()
        transaction = getattr(self._local, "transaction", None)
        if transaction is not None and not transaction.committed:
            with translated(self.place, doing):
                transaction.flush()
        return super().ask(query, parameters, doing=doing)

    def is_writing_here(self) -> bool:
        """Whether this thread has a transaction."""
        return getattr(self._local, "transaction", None) is not None

    # ------------------------------------------------------------------ beside the documents

    def write_note(self, note: Feedback, *, now: int) -> bool:
        """Write a note on a document; see :mod:`scrubjay.store.feedback`."""
        if note.document_scope not in note.scope.visible() or not can_hold(note.scope):
            return False
        with self.writing("recording feedback", scopes=[note.document_scope]) as transaction:
            return transaction.write_note(note, now=now)

    def read_notes(self, scope: Scope | None, *, now: int) -> list[Feedback]:
        """Return the notes on documents that are there, oldest first."""
        return read_notes(self, scope, now=now)

    def has_layer(self, table: str) -> bool:
        """No layer above keeps rows here yet."""
        return False

    def inspect(self, report: CheckReport) -> None:
        """Check the rows; see :func:`scrubjay.store.postgres.inspection.inspect_rows`."""
        inspect_rows(self, report)

    def collection_names(self) -> list[str]:
        """Return the names of the collections that have one, in alphabetical order."""
        self.check_open()
        with translated(self.place, "reading"):
            connection = self.server.take()
            try:
                return schema.collection_names(connection)
            finally:
                self.server.give(connection)

    def drop_collection(self, name: str, *, now: int) -> int:
        """Drop a collection, and leave an event for each scope that had documents; how many those were."""
        with self.writing("dropping a collection") as transaction:
            return transaction.drop_collection(name, now=now)

    def rewrite(self) -> None:
        """The server gives space back by itself (autovacuum)."""

    def size_bytes(self) -> int:
        """Return how many bytes the tables and their indexes take, of all collections together."""
        sizes = ", ".join(f"pg_total_relation_size('{table}')" for table in (*schema.TABLES, "sj_home"))
        return sum(int(n) for n in self.ask(f"SELECT {sizes}")[0])

    # ------------------------------------------------------------------ the end

    def check_open(self) -> None:
        """Raise ClosedError if the store was closed, or belongs to the process that this one was forked from."""
        if self._closed:
            raise ClosedError(f"the index is closed, or was opened before this process forked: {self.place}")

    def close(self) -> None:
        """Close it; the last collection of a database closes the connections. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self.server.leave():
            self._feed.stop()

    def abandon(self) -> None:
        """After a fork, in the child: the connections are the parent's, and are neither used nor closed here."""
        self._closed = True
        self.server.abandon()
