"""One collection of an index in PostgreSQL."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import ClosedError, EncryptionError, Error, StoreError, UnsupportedError
from scrubjay.locks import renew_in_children
from scrubjay.store.keys.encryption import KeyRing
from scrubjay.store.objects.objects import ObjectStore
from scrubjay.store.postgres import schema, user_keys
from scrubjay.store.postgres.batch import Parameters
from scrubjay.store.postgres.beside import Beside
from scrubjay.store.postgres.care import vacuum
from scrubjay.store.postgres.cold import fetched, purge
from scrubjay.store.postgres.dialect import Layer
from scrubjay.store.postgres.errors import is_away, translated
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.holds import HoldTable
from scrubjay.store.postgres.images import named_of
from scrubjay.store.postgres.inspection import inspect_rows
from scrubjay.store.postgres.keys import Homes, Key, can_hold, id_of
from scrubjay.store.postgres.notes import read_notes
from scrubjay.store.postgres.order import SETTLED
from scrubjay.store.postgres.reading import PostgresReader
from scrubjay.store.postgres.sealing import Sealer
from scrubjay.store.postgres.searching import search_rows
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.staging import behind
from scrubjay.store.postgres.transaction import PostgresTransaction
from scrubjay.store.postgres.used import Uses, today
from scrubjay.store.postgres.walls import EVERY_HOME, NO_HOME, Home
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.erased import ErasureReport
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.holds import OWNED
from scrubjay.store.rows.report import CheckReport
from scrubjay.store.rows.stored import Identity, Look, Noticed, RowId, ScopeState

__all__ = ["PostgresStore"]

_MOST_AHEAD_US = 1_000_000  # of the clock, that a question about the order of commits waits for
_MOST_MET = 200_000  # scopes; beyond that every hint is about one of them
_WITH_ROWS = frozenset(("writing", "patching", "deleting", "recording feedback", "bringing back"))
"""What is done to rows of documents that are there: those of a frozen scope are read before anything is locked."""
_MOST_READ = 10_000  # frozen scopes of which it is remembered
_PATIENCE_SECONDS = 0.05  # for another thread's look at the feed, before a search answers from what is there


class PostgresStore(PostgresReader):
    """One collection of a database. Any thread may use it; see :mod:`scrubjay.store.seam` for the questions.

    Args:
        server: of the database, perhaps shared with other collections.
        feed: that tells what others write, shared as well.
        identity: of a collection that is made.
        collection: its name; "" for the collection that every index has.
        max_stale: seconds for which a search may rely on what the feed said last; 0: it asks each time.
        ring: the keys of encrypted tenants; None: nothing is sealed or opened.
        objects: the random name of the index -> where it keeps large images; None: in its rows.
        user_homes: in how many homes the users of a tenant are to be, see :class:`scrubjay.store.postgres.keys.Homes`;
            None: as the database was made, a new one without.
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
        connection = server.take()
        try:
            with translated(server.place, "opening"):
                name, n_homes = schema.prepare(
                    connection, read_only=server.read_only, place=server.place, user_homes=user_homes
                )
                number = schema.find_or_create(
                    connection, collection, identity, read_only=server.read_only, place=server.place
                )
                stored = schema.read_identity(connection, number)
        finally:
            server.give(connection)
        super().__init__(server, number, stored, ring, homes=Homes(n_homes))
        self.objects = objects(name)
        self.collection = collection
        self.max_stale = max_stale
        self._name = name
        self._feed = feed
        self._closed = False
        self._beside: Beside | None = None
        self._marks = threading.Lock()  # the three below
        renew_in_children(self, "_marks")
        self._epoch = 0
        self._numbered = 0  # the newest number of a layer's row that this process wrote
        self._behind: dict[Scope, int] = {}
        self._is_other_history = False
        self._generation, self._is_renewed = stored.generation, False
        self._history = server.lineage  # of what this process has in memory
        server.use()
        server.listen(self._on_other_history)
        self._met: set[int] = set()
        self._keyed: set[str] = set()  # tenants that have a data key, or had one
        self._holds = HoldTable()
        self._uses = Uses()
        self._read_cold: dict[Scope, None] = {}  # whose rows were read from an object
        self._to_thaw: dict[Scope, None] = {}  # since that was so again
        self._is_caring = False
        feed.add(self, name)
        if not server.read_only:
            # Of erasures that a crash cut short; what cannot be done now the next opening does.
            with suppress(EncryptionError, StoreError):
                self._destroy_user_keys()

    # ------------------------------------------------------------------ what changed

    def note(self, changed: Sequence[tuple[Scope, int]], generation: int | None = None) -> None:
        """The feed says that scopes have these versions now, and the collection this generation."""
        with self._marks:
            if generation is not None and generation > self._generation:
                self._generation, self._is_renewed = generation, True
            self._behind.update(changed)
            self._epoch += 1

    def look(self, scope: Scope, *, now: int) -> Look:
        """Return the state of a scope, of which hints are heard from now on."""
        self._meet([scope])
        return super().look(scope, now=now)

    def scope_state(self, scope: Scope) -> ScopeState | None:
        """Return the state of a scope, of which hints are heard from now on."""
        self._meet([scope])
        return super().scope_state(scope)

    def scope_states(self, scopes: Sequence[Scope]) -> list[ScopeState | None]:
        """Return the states of scopes of one tenant, of which hints are heard from now on."""
        self._meet(scopes)
        return super().scope_states(scopes)

    def _meet(self, scopes: Sequence[Scope]) -> None:
        if len(self._met) < _MOST_MET:
            for scope in scopes:
                key = self.homes.key(scope)
                if key.number not in self._met:
                    self._met.add(key.number)
                    self._feed.hints.meet(key.home)

    def concerns(self, key: int) -> bool:
        """Whether the scope with this key may be in memory."""
        return key in self._met or len(self._met) >= _MOST_MET

    def _on_other_history(self) -> None:
        with self._marks:
            self._is_other_history = True
            self._epoch += 1

    def glance(self) -> object:
        """Return what differs whenever anything may have been committed: a look at local memory, and at the database if
        the feed has not been heard for `max_stale` seconds."""
        feed = self._feed
        oldest = monotonic() - self.max_stale
        if feed.fresh_at < oldest:
            self._look()
        # As of this look, for `freshness`: the feed may be told more while the search is under way.
        self._local.looked = feed.fresh_at, oldest
        return self._epoch

    def rows_version(self) -> object:
        """The same: commits are not told apart."""
        return self.glance()

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
        """Return for how many seconds what others wrote may be unknown to this thread's last glance, and whether that
        is longer than promised."""
        feed = self._feed
        try:
            fresh_at, oldest = self._local.looked
        except AttributeError:  # this thread has not looked yet
            fresh_at = oldest = feed.fresh_at
        seconds = monotonic() - fresh_at
        return seconds, feed.is_away or fresh_at < oldest or 0 < self.max_stale < seconds

    def mark(self) -> object:
        """There is one who asks, so what was noticed is kept here."""
        return None

    def noticed(self, mark: Any) -> Noticed:
        """Return the scopes that were written to since the last call."""
        with self._marks:
            behind, self._behind = self._behind, {}
            is_other, self._is_other_history = self._is_other_history, False
            is_renewed, self._is_renewed = self._is_renewed, False
            if is_other:
                self._history = self.server.lineage
        return Noticed(None, None if is_other else list(behind.items()), is_renewed)

    def generation(self) -> int:
        """Return the generation of the collection as far as is known here; another one means that everything is to be
        read anew."""
        return self._generation

    def identity(self) -> Identity:
        """Return what the collection is made of, as of now."""
        found = super().identity()
        with self._marks:
            if found.generation > self._generation:
                self._generation, self._is_renewed = found.generation, True
        return found

    def _saw_generation(self, generation: int | None) -> None:
        if generation is not None and generation > self._generation:
            self.note((), generation)

    def lineage(self) -> str:
        """Return a name of this collection, by which a cursor of another is told."""
        return f"{self._name}_{self.number}"

    def shared_name(self) -> str:
        """Return what is equal in all processes that see this history of this collection."""
        return f"{self._name}_{self.number}:{self._history}"

    # ------------------------------------------------------------------ the cold tier

    def watch(self, used: Callable[[], Iterable[Scope]]) -> None:
        """Ask this method now and then which scopes were searched since it was asked last."""
        self._uses.watch(weakref.WeakMethod(used))

    def _used(self, scope: Scope) -> None:
        self._uses.note(scope)

    def _wanted(self, scope: Scope) -> None:
        if self.server.read_only:
            return
        if scope in self._read_cold:  # the second time: who looks at everything once does not bring it back
            self._to_thaw[scope] = None
            return
        if len(self._read_cold) >= _MOST_READ:
            self._read_cold.clear()
        self._read_cold[scope] = None

    def note_uses(self) -> None:
        """Let the rows of scopes that this process used say so: a day each, once a day."""
        if self.server.read_only:
            return
        by_home: dict[str, list[int]] = {}
        for scope in self._uses.take():
            key = self.homes.key(scope)
            by_home.setdefault(key.home, []).append(key.number)
        for home, numbers in by_home.items():
            with self.writing("noting what was used", scopes=()) as transaction:
                transaction.lock_homes([home])
                transaction.batch.add(
                    "UPDATE sj_scope SET used = %s WHERE home = %s AND collection = %s AND key = ANY(%s) AND used < %s",
                    (today(), home, self.number, numbers, today()),
                    home=home,
                )

    def thaw(self, scopes: Iterable[Scope]) -> None:
        """Bring the rows of scopes back that are frozen."""
        for scope in scopes:
            with self.writing("bringing back", scopes=[scope]) as transaction:
                transaction.in_collection(self.number).thawed(scope)

    # ------------------------------------------------------------------ writing

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
        """Take a transaction and the turns of the scopes' homes; see :meth:`scrubjay.store.seam.Store.writing`.

        Raises:
            StoreBusyError: another process wrote to the home for longer than the index waits.
            StoreUnavailableError: the database does not answer. The message says if it is not known whether the
                transaction was committed.
        """
        self.check_open()
        if self.server.read_only:
            raise StoreError(f"{doing}: the index was opened for reading only: {self.place}")
        if getattr(self._local, "batch", None) is not None:
            raise StoreError(f"{doing}: this thread is in the middle of another write: {self.place}")
        scopes = list(scopes or ())
        if self.homes.user_homes and scopes and self.cipher.ring is not None:
            with suppress(Error):  # what is written says what is wrong
                self._make_keys({scope.tenant for scope in scopes if scope.user is not None})
        with translated(self.place, doing):
            connection, transaction = self._begin_writing(doing, scopes, wait, ids)
            self._local.batch, self._local.is_begun = transaction.batch, True
            self._local.transaction = transaction
            try:
                yield transaction
                if not transaction.committed:
                    transaction.commit()
                self._feed.tell(transaction.elsewhere, transaction.generations)
                self._feed.hints.add(transaction.hints)
                with self._marks:
                    self._epoch += 1  # what is kept by a glance was true before
                    self._numbered = max(self._numbered, transaction.numbered)
            finally:
                self._local.batch = self._local.transaction = None
                if not transaction.committed:
                    transaction.roll_back()
                self.server.give(connection)
                if transaction.committed and self.objects is not None:
                    self.objects.discard(transaction.dropped)
        self._keyed.difference_update(transaction.released)
        if transaction.released and self.cipher.ring is not None:  # without a connection: it may take long
            self.cipher.ring.destroy(transaction.released)
        if transaction.buries:
            self._destroy_user_keys()

    def _make_keys(self, tenants: set[str]) -> None:
        """Have tenants get their data keys before a transaction has the turn of one of their buckets: who makes a key
        needs those of all, its own home's first."""
        ring = self.cipher.ring
        if ring is None:
            return
        for tenant in tenants - self._keyed:
            access = ring.access(tenant)
            if access.erased or access.master is None:
                continue
            if self._data_key(tenant) is None:
                with self.writing("making a key", scopes=()) as transaction:
                    transaction.lock_tenant(tenant)
                    transaction.sealer.current(tenant)
            self._keyed.add(tenant)

    def _destroy_user_keys(self) -> None:
        """Destroy the halves of dead keys that are in the key store, and note that it was done.

        Raises:
            EncryptionError: the key store is not available; the next erasure or opening does it.
        """
        ring = self.cipher.ring
        if ring is None or ring.users is None or not (keys := user_keys.dying(self.ask)):
            return
        ring.destroy_users([id for _, id in keys])
        with self.writing("noting destroyed keys", scopes=()) as transaction:
            user_keys.settle(transaction.batch, keys)

    def _begin_writing(
        self, doing: str, scopes: Sequence[Scope], wait: bool, ids: Sequence[RowId]
    ) -> tuple[Any, PostgresTransaction]:
        ahead: dict[bytes, bytes] = {}
        fresh = False
        while True:
            connection = self.server.take(fresh=fresh)
            transaction = PostgresTransaction(
                connection,
                self.number,
                self.place,
                self.server.lineage,
                self._stored_id,
                self.cipher,
                self._holds,
                self.homes,
                is_held=self.collection != OWNED,
            )
            transaction.images_belong = self._history == self.server.lineage
            transaction.beside, transaction.objects = self._beside, self.objects
            transaction.ahead.update(ahead)
            try:
                transaction.start(scopes, wait=wait, ids=ids)
                frozen = transaction.cold if doing in _WITH_ROWS else []
                if not frozen or ahead or self.objects is None:
                    return connection, transaction
                transaction.roll_back()  # others need not wait for the object store
                self.server.give(connection)
            except BaseException as error:
                transaction.roll_back()
                self.server.give(connection)
                if fresh or not is_away(error):
                    raise
                self.server.forget_resting()  # it may have rested since before a restart: nothing was sent yet
                fresh = True
                continue
            ahead = {digest: self._ahead(key) for key, digest in frozen}

    def _ahead(self, key: Key) -> bytes:
        """Return the object of a frozen scope; nothing if that fails, which the transaction finds, too."""
        with suppress(Error):
            cold = self.cold.of(key.home, [key.number]).get(key.number)
            if cold is not None:
                return fetched(self.objects, key.scope, cold, self.place)
        return b""

    def _sealer(self) -> Sealer | None:
        found = self.transaction
        return None if found is None else found.sealer

    def id_in(self, collection: int, data: bytes) -> Any:
        """Return the id of stored bytes of a row of any collection."""
        if collection == self.number:
            return self._stored_id(data)
        return id_of(data, schema.identity_of(self.ask(schema.IDENTITY, (collection,))).id_kind)

    def _stored_id(self, data: bytes) -> Any:
        return id_of(data, self._kind())

    def ask(
        self,
        query: str,
        parameters: Parameters = (),
        *,
        home: Home = NO_HOME,
        doing: str = "reading",
    ) -> list[tuple[Any, ...]]:
        """Return the rows of one statement; within a transaction after what it wrote."""
        self.check_open()
        return super().ask(query, parameters, home=home, doing=doing)

    @property
    def group(self) -> None:
        """What commits writes together: nothing, each asks the server."""
        return None

    def is_writing_here(self) -> bool:
        """Whether this thread has a transaction."""
        return getattr(self._local, "transaction", None) is not None

    # ------------------------------------------------------------------ a layer above

    def make_layer(
        self, layer: Layer, statements: Sequence[str], format: int, upgrades: Mapping[int, Sequence[str]]
    ) -> int:
        """Make the tables of a layer above if there are none, or bring older ones up to date; from then on it has
        :meth:`reading_connection`.

        Args:
            layer: what is known of its tables.
            statements: that make them here.
            format: of the tables that these make.
            upgrades: format -> the statements that lead to it from the one before.

        Returns:
            The format of the tables in the database.
        """
        self.check_open()
        connection = self.server.take()
        try:
            with translated(self.place, "opening"):
                found = schema.make_layer(
                    connection,
                    layer.name,
                    statements,
                    format,
                    upgrades,
                    read_only=self.server.read_only,
                    place=self.place,
                )
        finally:
            self.server.give(connection)
        self._beside = Beside(self, layer, statements)
        return found

    def reading_connection(self) -> Beside:
        """Return what the layer above reads its rows by.

        Raises:
            UnsupportedError: it has none beside the documents of this collection.
        """
        if self._beside is None:
            raise UnsupportedError("tables beside the documents", self.place)
        return self._beside

    @property
    def transaction(self) -> PostgresTransaction | None:
        """This thread's transaction."""
        found: PostgresTransaction | None = getattr(self._local, "transaction", None)
        return None if found is None or found.committed else found

    def settled(self) -> tuple[int, int | None, int | None]:
        """Return the number that writes have now, and the smallest that a transaction under way may still write: of
        any, of those that write for all tenants (None: there is none). To be asked before a snapshot is taken; see
        :mod:`scrubjay.store.postgres.order`."""
        self.check_open()
        now, anybody, everybody = PostgresReader.ask(self, SETTLED, home=NO_HOME)[0]
        if self.homes.user_homes:
            ahead = (
                self._numbered - now
            )  # of numbers that a home has only some are taken, so they may be ahead
            if 0 <= ahead < _MOST_AHEAD_US:
                time.sleep((ahead + 1) / 1e6)
                now, anybody, everybody = PostgresReader.ask(self, SETTLED, home=NO_HOME)[0]
            # Users of a tenant do not wait for each other, so their numbers are in no order of commits.
            everybody = min((one for one in (anybody, everybody) if one is not None), default=None)
        return now, anybody, everybody

    # ------------------------------------------------------------------ beside the documents

    def write_note(self, note: Feedback, *, now: int) -> bool:
        """Write a note on a document; see :mod:`scrubjay.store.sqlite.feedback`."""
        if note.document_scope not in note.scope.visible() or not can_hold(note.scope):
            return False
        if not self.cipher.readable(note.scope.tenant, note.scope.user):  # asked before the transaction
            return False
        with self.writing("recording feedback", scopes=[note.document_scope]) as transaction:
            return transaction.write_note(note, now=now)

    def read_notes(self, scope: Scope | None, *, now: int) -> list[Feedback]:
        """Return the notes on documents that are there, oldest first."""
        return read_notes(self, scope, now=now)

    def has_layer(self, table: str) -> bool:
        """Whether the layer above that this table belongs to keeps its rows beside the documents."""
        return self.ask("SELECT to_regclass(%s)::text", (f"sj_{table}",))[0][0] is not None

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

    def search(self, needles: Sequence[bytes], names: Sequence[str]) -> ErasureReport:
        """Search the rows; see :func:`scrubjay.store.postgres.searching.search_rows`."""
        return search_rows(self, needles, names)

    def settle(self) -> None:
        """Put staged vectors in place, of every scope that nobody has written to since the model was changed; see
        :mod:`scrubjay.store.postgres.staging`."""
        while found := self.ask(*behind(self.number), home=EVERY_HOME):
            for names in found:
                with self.writing("reembedding", scopes=[scope_of(*names)]):
                    pass  # the turn of the scope is what does it

    def forget_deleted(self) -> None:
        """Drop the ids of deleted documents of all collections, and every image that needs them."""
        with self.writing("compacting") as transaction:
            transaction.forget_deleted()

    def rewrite(self) -> None:
        """Have dead versions of rows removed now from those tables that this role may vacuum; the server does the
        others by itself in time (autovacuum). Remove objects that no row names.

        Raises:
            StoreUnavailableError: the object store does not answer; the rest is done.
        """
        self.settle()
        if self.objects is not None and not self.server.read_only:
            purge(self.ask, self.writing, self.objects.keep_seconds)
        connection = self.server.take()
        try:
            with translated(self.place, "compacting"):
                vacuum(connection)
        finally:
            self.server.give(connection)
        if self.objects is not None and not self.server.read_only:
            self.objects.sweep(named_of(self.ask))

    def tidy(self) -> None:
        """Begin what is due: copies on this machine of images that are gone, whoever erased them, go as well; rows
        of frozen scopes that were read come back; rows of scopes that were used say so."""
        if not self._closed and not self._is_caring and (self._to_thaw or self._uses.is_due()):
            self._is_caring = True
            threading.Thread(target=self._care, name="scrubjay-cold", daemon=True).start()
        if self.objects is not None and not self._closed and self.objects.is_due():
            threading.Thread(target=self._tidy, name="scrubjay-objects", daemon=True).start()

    def _care(self) -> None:
        try:
            while self._to_thaw:
                scope, _ = self._to_thaw.popitem()
                self._read_cold.pop(scope, None)
                with suppress(Error):  # it stays readable where it is, and is asked for again
                    self.thaw([scope])
            with suppress(Error):
                self.note_uses()
        finally:
            self._is_caring = False

    def _tidy(self) -> None:
        if self.objects is not None:
            with suppress(Error):  # the database is away, or was closed: the next time is soon enough
                self.objects.tidy(named_of(self.ask))

    def stats(self) -> dict[str, int | str]:
        """Return counts of this process, of all collections together, and its part in the machine's feed."""
        objects = {} if self.objects is None else self.objects.stats()
        return {"feed_role": self._feed.sharing.role, "feed_polls": self._feed.n_polls, **objects}

    def size_bytes(self) -> int:
        """Return how many bytes the tables and their indexes take, of all collections together."""
        sizes = ", ".join(
            f"pg_total_relation_size('{table}')" for table in (*schema.TABLES, "sj_home", "sj_user_key")
        )
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
