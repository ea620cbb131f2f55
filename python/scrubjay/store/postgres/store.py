"""One collection of an index in PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import EncryptionError, Error, StoreError, UnsupportedError
from scrubjay.store.keys.encryption import KeyRing
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres import schema
from scrubjay.store.postgres.batch import Parameters
from scrubjay.store.postgres.cold import purge
from scrubjay.store.postgres.cold_reading import ColdRows
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.dialect import Layer
from scrubjay.store.postgres.document_reading import DocumentReader
from scrubjay.store.postgres.document_walk import DocumentWalk
from scrubjay.store.postgres.embedding_queue import PendingReader
from scrubjay.store.postgres.erasure_search import search_rows
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.feedback_reading import read_notes
from scrubjay.store.postgres.freshness import Freshness
from scrubjay.store.postgres.image_reading import ImageReader
from scrubjay.store.postgres.images import named_of
from scrubjay.store.postgres.inspection import inspect_rows
from scrubjay.store.postgres.keys import Homes, can_hold
from scrubjay.store.postgres.layer_connection import LayerConnection
from scrubjay.store.postgres.list_reading import ListReader
from scrubjay.store.postgres.maintenance import vacuum
from scrubjay.store.postgres.row_homes import MOVED, move_rows
from scrubjay.store.postgres.row_security import EVERY_HOME, NO_HOME, Home
from scrubjay.store.postgres.scope_reading import ScopeReader
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.sessions import Sessions
from scrubjay.store.postgres.staging import behind
from scrubjay.store.postgres.thawing import Thawing
from scrubjay.store.postgres.transaction import PostgresTransaction
from scrubjay.store.postgres.writer import Writer
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.erasure_search import ErasureReport
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.holds import OWNED
from scrubjay.store.rows.report import CheckReport
from scrubjay.store.rows.values import Identity, RowId


class PostgresStore:
    """One collection of a database. Thread-safe. The methods are those of :class:`scrubjay.store.seam.Store`.

    The store is composed of parts; each answers the questions about one subject, and their methods are exposed
    here.

    Args:
        server: the database, may be shared with other collections.
        feed: reports writes of other processes; shared likewise.
        identity: of a collection that is created.
        collection: its name; "" for the unnamed collection of every index.
        max_stale: seconds for which a search may rely on the last message of the feed; 0: it asks the server each
            time.
        ring: the keys of encrypted tenants; None: nothing is sealed or opened.
        objects: the random name of the index -> the object store of its large images; None: images are kept in
            rows.
        user_homes: the number of homes over which the users of a tenant are distributed, see
            :class:`scrubjay.store.postgres.keys.Homes`; None: as the database was created, for a new one no
            distribution.
    """

    def __init__(
        self,
        server: Server,
        feed: Feed,
        identity: Identity,
        *,
        collection: str = "",
        max_stale: float = 1.0,
        ring: KeyRing | None = None,
        objects: Callable[[str], ObjectStore | None] = lambda name: None,
        user_homes: int | None = None,
    ) -> None:
        self._sessions = sessions = Sessions(server)
        with sessions.connection("opening") as connection:
            name, n_homes = schema.prepare(
                connection, read_only=server.read_only, place=server.place, user_homes=user_homes
            )
            number = schema.find_or_create(
                connection, collection, identity, read_only=server.read_only, place=server.place
            )
            stored = schema.read_identity(connection, number)
        self.server = server
        self.number = number
        self.homes = homes = Homes(n_homes)
        self.collection = collection
        self.objects = objects(name)
        self._name = name
        self._feed = feed
        server.use()
        self._freshness = freshness = Freshness(
            sessions, feed, homes, generation=stored.generation, max_stale=max_stale
        )
        self._collection = rows = Collection(
            sessions, number, homes, ring, self.objects, stored.id_kind, freshness.saw_generation
        )
        self._cold = cold = ColdRows(rows)
        self._writer = Writer(rows, cold, freshness, feed, is_held=collection != OWNED)
        self._care = care = Thawing(rows, self.writing)
        self._walk = DocumentWalk(rows, cold)
        scopes = ScopeReader(rows, cold, care, freshness)
        documents = DocumentReader(rows, scopes, cold, care)
        lists, images, pending = ListReader(rows, cold, care), ImageReader(rows), PendingReader(rows)

        self.cipher = rows.cipher
        self.ask_each, self.snapshot = sessions.ask_each, sessions.snapshot
        self.check_open, self.is_writing_here = sessions.check_open, sessions.is_writing_here
        self.identity, self.id_in = rows.identity, rows.id_in
        self.sound, self.digest = rows.sound, rows.digest
        self.encrypted_tenants, self.tenants_without_key = rows.encrypted_tenants, rows.tenants_without_key
        self.note, self.concerns = freshness.note, freshness.concerns
        self.glance = self.rows_version = freshness.glance  # logs are not distinguished from other commits
        self.freshness, self.generation = freshness.freshness, freshness.generation
        self.mark, self.noticed = freshness.mark, freshness.noticed
        self.look, self.scope_state, self.scope_states = scopes.look, scopes.scope_state, scopes.scope_states
        self.scopes, self.living_scopes = scopes.scopes, scopes.living_scopes
        self.stale_scopes, self.events = scopes.stale_scopes, scopes.events
        self.count, self.vector_count = scopes.count, scopes.vector_count
        self.get, self.find = documents.get, documents.find
        self.rows, self.changes = documents.rows, documents.changes
        self.rows_in, self.numbers_in = lists.rows_in, lists.numbers_in
        self.walk = self._walk.walk
        self.image, self.image_views = images.image, images.image_views
        self.pending_count, self.pending_pages = pending.pending_count, pending.pending_pages
        self.watch, self.note_uses, self.thaw = care.watch, care.note_uses, care.thaw
        self.settled = self._writer.settled

        feed.add(self, name)
        if not server.read_only:
            # Finish erasures that a crash interrupted; what fails now is retried at the next opening.
            with suppress(EncryptionError, StoreError):
                self._writer.destroy_user_keys()

    path = None

    def files(self) -> list[Path]:
        """Return []: the rows are on a server."""
        return []

    @property
    def place(self) -> str:
        """The address, without user and password."""
        return self.server.place

    def lineage(self) -> str:
        """Return the name of this collection, used to reject cursors of other indexes."""
        return f"{self._name}_{self.number}"

    def shared_name(self) -> str:
        """Return a name that is equal in all processes that see this history of this collection."""
        return f"{self._name}_{self.number}:{self._freshness.history}"

    @property
    def asks_each_time(self) -> bool:
        """Whether `max_stale` is 0."""
        return self._freshness.max_stale == 0

    # ------------------------------------------------------------------ queries

    def ask(
        self,
        query: str,
        parameters: Parameters = (),
        *,
        home: Home = NO_HOME,
        doing: str = "reading",
    ) -> list[tuple[Any, ...]]:
        """Return the rows of one statement; within a transaction it sees the transaction's writes."""
        return self._sessions.ask(query, parameters, home=home, doing=doing)

    @property
    def transaction(self) -> PostgresTransaction | None:
        """This thread's transaction; None: it has none."""
        return self._sessions.transaction

    def writing(
        self,
        doing: str,
        *,
        scopes: Iterable[Scope] | None = None,
        wait: bool = True,
        in_background: bool = False,
        is_log: bool = False,
        ids: Sequence[RowId] = (),
    ) -> AbstractContextManager[PostgresTransaction]:
        """Begin a transaction and acquire the locks of the scopes' homes; see
        :meth:`scrubjay.store.seam.Store.writing`."""
        return self._writer.writing(doing, scopes=scopes, wait=wait, ids=ids)

    @property
    def group(self) -> None:
        """None: each write makes its own round trip."""
        return None

    # ------------------------------------------------------------------ a layer above

    def make_layer(
        self, layer: Layer, statements: Sequence[str], format: int, upgrades: Mapping[int, Sequence[str]]
    ) -> int:
        """Create the tables of a layer above, or migrate older ones; afterwards :meth:`reading_connection` is
        available.

        Args:
            layer: the description of its tables.
            statements: create them here.
            format: of the tables that these create.
            upgrades: format -> the statements that migrate to it from the format before.

        Returns:
            The format of the tables in the database.
        """
        self._writer.beside = LayerConnection(self._collection, layer, statements)

        def make(to: int) -> int:
            with self._sessions.connection("opening") as connection:
                return schema.make_layer(
                    connection,
                    layer.name,
                    statements,
                    to,
                    upgrades,
                    read_only=self.server.read_only,
                    place=self.place,
                )

        with self._sessions.connection("opening") as connection:
            found = schema.layer_format(connection, layer.name)
        if found is not None and found < MOVED and not self.server.read_only:
            make(MOVED - 1)
            move_rows(self, layer)
        return make(format)

    def reading_connection(self) -> LayerConnection:
        """Return the object through which the layer above reads its rows.

        Raises:
            UnsupportedError: the layer has no tables in this collection's database yet.
        """
        if self._writer.beside is None:
            raise UnsupportedError("tables beside the documents", self.place)
        return self._writer.beside

    def has_layer(self, table: str) -> bool:
        return self.ask("SELECT to_regclass(%s)::text", (f"sj_{table}",))[0][0] is not None

    # ------------------------------------------------------------------ beside the documents

    def write_note(self, note: Feedback, *, now: int) -> bool:
        """Write a feedback note on a document; see :mod:`scrubjay.store.sqlite.feedback`."""
        if note.document_scope not in note.scope.visible() or not can_hold(note.scope):
            return False
        if not self.cipher.readable(note.scope.tenant, note.scope.user):  # checked before the transaction
            return False
        with self.writing("recording feedback", scopes=[note.document_scope]) as transaction:
            return transaction.write_note(note, now=now)

    def read_notes(self, scope: Scope | None, *, now: int) -> list[Feedback]:
        return read_notes(self._collection, self._cold, scope, now=now)

    def inspect(self, report: CheckReport) -> None:
        """Check the rows; see :func:`scrubjay.store.postgres.inspection.inspect_rows`."""
        inspect_rows(self._collection, self._walk, report)

    def search(self, needles: Sequence[bytes], names: Sequence[str]) -> ErasureReport:
        """Search the rows; see :func:`scrubjay.store.postgres.erasure_search.search_rows`."""
        return search_rows(self._collection, needles, names)

    def collection_names(self) -> list[str]:
        with self._sessions.connection("reading") as connection:
            return schema.collection_names(connection)

    def drop_collection(self, name: str, *, now: int) -> int:
        with self.writing("dropping a collection") as transaction:
            return transaction.drop_collection(name, now=now)

    # ------------------------------------------------------------------ maintenance

    def settle(self) -> None:
        """Move staged vectors into place in every scope that was not written to since the model changed; see
        :mod:`scrubjay.store.postgres.staging`."""
        while found := self.ask(*behind(self.number), home=EVERY_HOME):
            for names in found:
                with self.writing("reembedding", scopes=[scope_of(*names)]):
                    pass  # acquiring the lock of the scope moves them

    def image_in_pieces(
        self, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool = False
    ) -> AbstractContextManager[Sequence[bytes]]:
        """Provide the chunks: a server has many writers, and an image keeps none of them waiting."""
        return nullcontext(chunks)

    def forget_deleted(self) -> None:
        with self.writing("compacting") as transaction:
            transaction.forget_deleted()

    def rewrite(self) -> None:
        """Vacuum the tables that this role may vacuum (autovacuum handles the others in time), and delete objects
        that no row refers to.

        Raises:
            StoreUnavailableError: the object store does not answer; the rest is done.
        """
        self.settle()
        if self.objects is not None and not self.server.read_only:
            purge(self.ask, self.writing, self.objects.keep_seconds)
        with self._sessions.connection("compacting") as connection:
            vacuum(connection)
        if self.objects is not None and not self.server.read_only:
            self.objects.sweep(named_of(self.ask))

    def tidy(self) -> None:
        """Start maintenance that is due: delete local copies of images that no longer exist, bring back rows of
        frozen scopes that were read, and record the use of scopes."""
        if self._sessions.is_closed:
            return
        self._care.begin()
        if self.objects is not None and self.objects.is_due():
            threading.Thread(target=self._tidy, name="scrubjay-objects", daemon=True).start()

    def _tidy(self) -> None:
        if self.objects is not None:
            with suppress(Error):  # the database is unavailable or was closed; the next call retries
                self.objects.tidy(named_of(self.ask))

    def stats(self) -> dict[str, int | str]:
        """Return counters of this process, over all collections, and its role in the machine's shared feed."""
        objects = {} if self.objects is None else self.objects.stats()
        return {"feed_role": self._feed.sharing.role, "feed_polls": self._feed.n_polls, **objects}

    def size_bytes(self) -> int:
        """Return the size of the tables and their indexes, of all collections, in bytes."""
        sizes = ", ".join(
            f"pg_total_relation_size('{table}')" for table in (*schema.TABLES, "sj_home", "sj_user_key")
        )
        return sum(int(n) for n in self.ask(f"SELECT {sizes}")[0])

    # ------------------------------------------------------------------ closing

    def close(self) -> None:
        """Close the store; the last collection of a database closes the connections. Idempotent."""
        if self._sessions.is_closed:
            return
        self._sessions.close()
        if self.server.leave():
            self._feed.stop()

    def abandon(self) -> None:
        self._sessions.close()
        self.server.abandon()
