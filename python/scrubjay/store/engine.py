"""An engine whose documents survive: the native engine's surface, over rows in a file.

Writing is in :mod:`scrubjay.store.writing` and :mod:`scrubjay.store.together`; this adds searching, looking and care.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

from scrubjay._native import Engine, Filter, Result, Scope
from scrubjay.errors import CorruptIndexError, EncryptionError, Error, StoreError, UnsupportedError
from scrubjay.filters import Ids
from scrubjay.progress import Progress
from scrubjay.store.opened import remember
from scrubjay.store.residency.budget import Budget
from scrubjay.store.residency.compacting import compact_rows
from scrubjay.store.residency.partition import Partition
from scrubjay.store.residency.residency import Residency, View
from scrubjay.store.row_listings import RowListings, without_vector
from scrubjay.store.rows.decoding import vector_of
from scrubjay.store.rows.facets import Facet
from scrubjay.store.rows.feedback import Feedback
from scrubjay.store.rows.listing import Listing, warn_of
from scrubjay.store.rows.report import FreezeReport
from scrubjay.store.rows.scopes import Sight, exactly, sight_of
from scrubjay.store.rows.scrolling import UNKNOWN, Position, Scroll
from scrubjay.store.rows.stored import RowId, StoredDocument, StoredRow
from scrubjay.store.seam import Store
from scrubjay.store.sqlite.store import SqliteStore
from scrubjay.store.together import Change, changing
from scrubjay.store.writing import WritingEngine, checked_id

_T = TypeVar("_T")
_View = tuple[Partition, ...]

_ERASED = -1  # in the place of the version of a user whose key was destroyed
_MAX_SIGHTS = 2_000  # that are remembered
_MOST_DAYS = 100_000  # since 1970, and more than a server's intervals need to have
_PATIENCE = 8  # disturbed searches before eviction is held off


class DurableEngine(WritingEngine):
    """What an index does its work with when it has a file. Thread-safe; see the native Engine for the arguments.

    Args:
        store: the rows.
        make_engine: dimension or None -> an empty native engine of the store's kind.
        budget: of memory for partitions, perhaps shared with other collections; None: no limit.
        model: the name of the embedder in use, or None; asked at each write.
        clock: microseconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        make_engine: Callable[[int | None], Engine],
        *,
        budget: Budget | None = None,
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
            budget=budget or Budget(None),
            clock=clock,
            generation=self._identity.generation,
            on_new_model=self.adopt_model,
        )
        self.on_new_model: Callable[[str | None], None] = lambda model: None
        self._sights: dict[Scope, Sight] = {}
        self._place: str | None = None  # asked for when it is first needed
        self._lineage: str | None = None  # the same
        self._closed = False
        self._listings = RowListings(store, self.now, self.document)
        remember(self)

    def now(self) -> int:
        """Return the time of the engine's clock, in microseconds since 1970."""
        return self.clock()

    def use_clock(self, clock: Callable[[], int]) -> None:
        """Go by another clock (microseconds since 1970) from now on."""
        self.clock = clock
        self.residency.use_clock(clock)

    # ------------------------------------------------------------------ what it is

    @property
    def dim(self) -> int | None:
        """The dimension of the vectors; None until the first one decides."""
        dim = self._identity.dim
        return self.identity.dim if dim is None else dim

    @property
    def metric(self) -> str:
        """ "cosine", "ip" or "l2"."""
        return self._identity.metric

    @property
    def analyzer(self) -> str:
        """The versioned name of the analyzer."""
        return self.native.analyzer

    @property
    def k1(self) -> float | None:
        """BM25's k1; None: by the average length of what a search sees."""
        return self.native.k1

    @property
    def b(self) -> float | None:
        """BM25's b; None: by the average length of what a search sees."""
        return self.native.b

    # ------------------------------------------------------------------ searching

    def search(
        self,
        text: str | bytes | None = None,
        *,
        scope: Scope | Sequence[Scope],
        vector: Any = None,
        k: Any = 10,
        embedder: Any = None,
        seen: View | None = None,
        **options: Any,
    ) -> Result:
        """Search what `scope` sees; its partitions are read in first if they are not in memory.

        Args:
            scope: one, or a list of several.
            seen: what :meth:`Residency.view_now` just returned; unless these partitions leave meanwhile, nothing waits.
        """
        residency = self.residency
        if not isinstance(scope, Scope) or self._closed:
            self.check_open()
            options |= {"vector": vector, "k": k, "embedder": embedder}
            if isinstance(scope, (list, tuple)) and all(isinstance(one, Scope) for one in scope):
                return self._search_together(text, scope, options)
            return residency.engine.search(text, scope=scope, **options)
        for _ in range(_PATIENCE):
            view, stamp = residency.view(scope) if seen is None else seen
            seen = None
            engine = residency.engine  # only now: looking may have replaced it
            if not view:
                engine = self.empty_native()  # the tenant's key was destroyed, whatever is still in memory
            if options:
                result = engine.search(text, vector=vector, scope=scope, k=k, embedder=embedder, **options)
            else:  # the usual case, without a dictionary that is unpacked and packed again
                result = engine.search(text, vector=vector, scope=scope, k=k, embedder=embedder)
            if residency.held(view, stamp):
                return result
        (partitions,), result = self._settled(
            [scope],
            lambda: residency.engine.search(
                text, vector=vector, scope=scope, k=k, embedder=embedder, **options
            ),
        )
        if not partitions:
            return self.empty_native().search(
                text, vector=vector, scope=scope, k=k, embedder=embedder, **options
            )
        return result

    def _search_together(
        self, text: str | bytes | None, scopes: Sequence[Scope], options: dict[str, Any]
    ) -> Result:
        residency = self.residency

        def ask() -> tuple[View, Result]:
            readable, view = residency.view_together(scopes)
            # If the tenants' keys were destroyed, nothing is left, whatever is still in memory.
            engine = residency.engine if readable else self.empty_native()
            return view, engine.search(text, scope=readable or list(scopes), **options)

        for _ in range(_PATIENCE):
            view, result = ask()
            if residency.held(*view):
                return result
        with residency.without_eviction():
            while True:
                view, result = ask()
                if residency.held(*view):
                    return result

    def _settled(self, scopes: Sequence[Scope], ask: Callable[[], _T]) -> tuple[list[_View], _T]:
        """Ask, while nothing is evicted, until nothing left the engine meanwhile: a scope's partitions also leave when
        they are replaced, or cannot be read any more. Returns as well which partitions each scope sees."""
        residency = self.residency
        with residency.without_eviction():
            while True:
                views = [residency.view(scope) for scope in scopes]
                answer = ask()
                if all(residency.held(view, stamp) for view, stamp in views):
                    return [view for view, _ in views], answer

    def search_batch(
        self,
        texts: Sequence[str | bytes | None] | None = None,
        *,
        scope: Scope | Sequence[Scope],
        **options: Any,
    ) -> list[Result]:
        """Answer several searches; all their partitions are in memory together."""
        self.check_open()
        scopes = [scope] if isinstance(scope, Scope) else list(dict.fromkeys(scope))
        residency = self.residency
        for _ in range(_PATIENCE):
            views = [residency.view(one) for one in scopes if isinstance(one, Scope)]
            results = residency.engine.search_batch(texts, scope=scope, **options)
            if all(residency.held(view, stamp) for view, stamp in views):
                seen = [view for view, _ in views]
                break
        else:
            seen, results = self._settled(
                scopes, lambda: residency.engine.search_batch(texts, scope=scope, **options)
            )
        if all(seen):
            return results
        nothing = self.empty_native().search_batch(texts, scope=scope, **options)
        erased = {one for one, view in zip(scopes, seen, strict=True) if not view}
        asked = [scope] * len(results) if isinstance(scope, Scope) else scope
        return [
            none if one in erased else found for one, found, none in zip(asked, results, nothing, strict=True)
        ]

    def generation(self, scope: Scope) -> tuple[int, ...]:
        """Change with every write, of any process, that a search from `scope` could notice."""
        self._check_scope(scope)
        view, _ = self.residency.view(scope)
        native = self.residency.engine.generation(scope)
        return (native, self.residency.generation, *(partition.applied for partition in view))

    def shared_generation(self, scope: Scope) -> tuple[Hashable, ...] | None:
        """The same for comparison between processes; None if the file has no identity yet and cannot get one now.

        The first element says which file and collection; the others are the versions of the visible scopes there, when
        something of them expires next, and what of the opening decides scores.
        """
        self._check_scope(scope)
        if self._place is None:
            self._place = self.store.shared_name()
            if self._place is None:
                return None
        view, _ = self.residency.view(scope)
        states = tuple((_ERASED if one.erased else one.applied, one.next_expiry) for one in view)
        return (self._place, self.residency.generation, self.analyzer, self.k1, self.b, *states)

    def find_substring(self, text: str | bytes, *, scope: Scope, k: int = 10) -> Result:
        """Look for a text in the texts of what `scope` sees; its partitions are read in first."""
        self._check_scope(scope)
        (seen,), found = self._settled(
            [scope], lambda: self.residency.engine.find_substring(text, scope=scope, k=k)
        )
        return found if seen else self.empty_native().find_substring(text, scope=scope, k=k)

    def warm(self, scope: Scope, *, pin: bool = False) -> None:
        """Read what `scope` sees into memory; with `pin` it stays there."""
        self._check_scope(scope)
        view, _ = self.residency.view(scope)
        for partition in view:
            partition.pinned = partition.pinned or pin

    # ------------------------------------------------------------------ looking

    def get(self, id: RowId, *, scope: Scope) -> StoredDocument | None:
        """Return the document with this id that `scope` sees, of several the most specific one; None: it sees none.

        Raises:
            CorruptIndexError: it is not what was written (its metadata alone: only who decodes them is told).
        """
        if not isinstance(scope, Scope) or self._closed:
            self._check_scope(scope)
        sight = self._sights.get(scope) or self._sight(scope)
        found = self.store.get(checked_id(id, self.identity.id_kind), sight, now=self.clock())
        return None if found is None else self.document(*found)

    def found(self, id: RowId, *, within: Scope) -> list[StoredDocument]:
        """Return the documents with this id in any scope that agrees with `within`, in order of scope, without vectors.

        Raises:
            CorruptIndexError: one of them is not what was written.
        """
        self._check_scope(within, "within")
        found = self.store.find(checked_id(id, self.identity.id_kind), within, now=self.clock())
        return [without_vector(row, scope) for row, scope in found]

    def document(self, row: StoredRow, scope: Scope) -> StoredDocument:
        """Return a row as a document, with its vector.

        Raises:
            CorruptIndexError: the vector is not what was written.
        """
        try:
            vector = None if row.vector is None else vector_of(row.vector, self.dim, self.dtype)
        except CorruptIndexError as error:
            raise error.located(path=self.store.path, id=row.id, scope=scope) from None
        return StoredDocument(row.id, row.text, scope, row.payload, vector, row.seq)

    def _sight(self, scope: Scope) -> Sight:
        if len(self._sights) >= _MAX_SIGHTS:
            self._sights.clear()
        sight = self._sights[scope] = sight_of(scope)
        return sight

    def count(self, scope: Scope | None = None, **filters: Any) -> int:
        """Return how many documents a search from `scope` would see; without one, how many there are.

        With a filter (see the native engine) the partitions are read in, and those that it admits are counted.
        """
        self.check_open()
        if scope is not None and not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        if scope is None or all(given is None for given in filters.values()):
            if any(given is not None for given in filters.values()):
                raise TypeError("scope: expected a scrubjay.Scope with a filter, got None")
            own = None if scope is None else self.store.cipher.readable_of(scope.visible())
            return self.store.count(own, now=self.clock()) if own is None or own else 0
        residency = self.residency
        for _ in range(_PATIENCE):
            view, stamp = residency.view(scope)
            if not view:
                return 0
            counted = residency.engine.count(scope, **filters)
            if residency.held(view, stamp):
                return counted
        (seen,), counted = self._settled([scope], lambda: residency.engine.count(scope, **filters))
        return counted if seen else 0

    @property
    def lineage(self) -> str | None:
        """The random name of the file and collection, by which a cursor of another is told; None if it has none yet and
        cannot get one now."""
        if self._lineage is None:
            self._lineage = self.store.lineage()
        return self._lineage

    def listed(self, wanted: Listing, ids: Ids | None = None) -> list[StoredDocument]:
        """Return documents of a listing, of `ids` if they are given; see :meth:`RowListings.listed`."""
        self.check_open()
        return self._listings.listed(wanted, None if ids is None else self._checked_ids(ids))

    def page(self, wanted: Scroll, after: Position | None) -> tuple[list[StoredDocument], Position | None]:
        """Return a page of documents, and where the next one begins; see :meth:`RowListings.page`."""
        self.check_open()
        return self._listings.page(wanted, after)

    def keys(self, wanted: Scroll) -> list[tuple[Scope, RowId]]:
        """Return the keys of all documents of a scroll in its order, which is that of a field."""
        self.check_open()
        return self._listings.keys(wanted)

    def values(self, field: str, wanted: Scroll) -> Facet:
        """Count the values of a field of the documents that a scroll goes through, of one state of the rows."""
        self.check_open()
        return self._listings.values(field, wanted)

    def version_at(self, wanted: Sequence[Scroll], n: int) -> int | None:
        """Return the version of the document behind the first `n` that any of the scrolls has, in the order of writing;
        None: there are no more.

        The native engine passes over them, so the partition is read in, if all are of one; documents of several
        partitions only the rows have in one order (:meth:`RowListings.version_at`). UNKNOWN if a walk must tell, or the
        document was deleted just now.
        """
        self.check_open()
        scopes = list(dict.fromkeys(scope for scroll in wanted for scope in scroll.scopes))
        states = self.store.scope_states(scopes)
        there = [scope for scope, state in zip(scopes, states, strict=True) if state and state.documents]
        if not there:
            return None
        if len(there) > 1:
            return self._listings.version_at(wanted, n)
        residency, scroll = self.residency, wanted[0]

        def ask() -> Result:
            return residency.engine.scroll(
                there[0], filter=scroll.filter, exact=True, newest=scroll.descending, skip=n, limit=1
            )

        (view,), result = self._settled([there[0]], ask)
        if not view or len(result) == 0:
            return None
        found = self.store.get(result.id(0), exactly([result.scope(0)]), now=self.clock())
        return UNKNOWN if found is None else found[0].seq

    def delete_matching(
        self, filter: Filter, *, scope: Scope, ids: Sequence[RowId] | None, reason: str
    ) -> list[RowId]:
        """Delete what a filter admits of exactly this scope, of `ids` if they are given, in one transaction; return the
        ids that are gone.

        Damaged documents stay, and are named in a CorruptDataWarning. Other writers wait until every document was
        looked at.
        """
        self._check_scope(scope)
        checked = None if ids is None else self._checked_ids(ids)
        if self.store.cipher.ring is not None:  # asked before the writer's turn
            self.store.cipher.readable(scope.tenant)
        with self.store.writing("deleting", scopes=[scope]) as transaction:
            # In the writer's turn: what is read is what the transaction changes.
            found, damaged = self._listings.matching(filter, scope, checked)
            written = self._delete(transaction, {scope: found}, reason, now=self.clock())
            if written:
                self._commit(transaction.commit, written)
        warn_of(damaged, self.store.path)
        return [id for one in written for id in one.deleted]

    def _checked_ids(self, ids: Ids) -> set[RowId]:
        kind = self.identity.id_kind  # read from the file as long as it is not settled
        return {checked_id(id, kind) for id in ids}

    def first_scopes(self, within: Scope | None, after: Scope | None, limit: int) -> list[Scope]:
        """Return the first of :meth:`scopes` behind one of them, in their order, at the cost of those."""
        self.check_open()
        return self.store.living_scopes(within, now=self.clock(), after=after, limit=limit)

    def scopes(self, within: Scope | None = None, users: tuple[str, str] | None = None) -> list[Scope]:
        """Return every scope that has documents which have not expired; see `erase` for `within`, and
        `living_scopes` for `users`."""
        self.check_open()
        if users is None:
            return self.store.living_scopes(within, now=self.clock())
        return self.store.living_scopes(within, now=self.clock(), users=users)

    def stats(self, scope: Scope | None = None) -> dict[str, int | float | str]:
        """Return the native engine's counts (of what is in memory) and the store's: of documents, vectors and
        partitions what the store holds, `resident_...` what of it is in memory; how partitions were read into
        memory, how many were evicted; over a database for how long the feed was not heard."""
        self.check_open()
        stats: dict[str, int | float | str] = dict(self.native.stats(scope))
        stats["resident_documents"] = stats["documents"]
        stats["resident_vectors"] = stats["vectors"]
        stats["resident_partitions"] = stats["partitions"]
        stats["documents"] = self.count(scope)
        stats["vectors"] = self.store.vector_count(now=self.clock())
        stats["partitions"] = len(self.store.scopes())
        stats["file_bytes"] = self.store.size_bytes()
        stats |= self.residency.loads.stats()
        stats |= self.store.stats()
        stats["evictions"] = self.residency.budget.n_evictions
        if self.residency.may_be_stale:
            stats["feed_lag_seconds"], _ = self.residency.freshness()
        return stats

    def files(self) -> list[Path]:
        """Return the files that the index consists of (not all of them need exist); none if its rows are elsewhere."""
        store = self.store
        return store.files() if isinstance(store, SqliteStore) else []

    def file(self, doing: str) -> SqliteStore:
        """Return the store, for what only a file has.

        Raises:
            UnsupportedError: the rows are elsewhere.
        """
        store = self.store
        if not isinstance(store, SqliteStore):
            raise UnsupportedError(doing, store.place)
        return store

    def changing(self, doing: str) -> AbstractContextManager[Change]:
        """Make one write of several; see :func:`scrubjay.store.together.changing`."""
        return changing(self, doing)

    # ------------------------------------------------------------------ feedback

    def note(self, note: Feedback) -> bool:
        """Write a note on a document; False if its asker sees no such document."""
        self.check_open()
        return self.store.write_note(note, now=self.clock())

    def notes(self, scope: Scope | None) -> list[Feedback]:
        """Return the notes on documents that are there, oldest first; with `scope` those asked from within it."""
        self.check_open()
        return self.store.read_notes(scope, now=self.clock())

    def __len__(self) -> int:
        return self.count()

    # ------------------------------------------------------------------ care

    def empty_native(self) -> Engine:
        """Return a native engine of the same kind without documents."""
        return self._make_engine(self.dim)

    def compact(self, progress: Progress | None = None) -> int:
        """Forget deleted documents everywhere, write fresh images, and rewrite the file; how many went from memory."""
        self.check_open()
        n_dropped = self.native.compact()
        compact_rows(
            self.store,
            self.residency,
            readable=self.readable,
            empty_native=self.empty_native,
            progress=progress,
        )
        return n_dropped

    def freeze(self, within: Scope | None, days: int, progress: Progress) -> FreezeReport:
        """Put the rows of scopes that were not used for so many days into the object store, each scope's as one object.

        Raises:
            StoreError: the rows are in a file, or there is no object store.
        """
        self.check_open()
        if isinstance(self.store, SqliteStore):
            raise StoreError(
                f"freeze: expected an index in PostgreSQL with objects=..., got one in a file: {self.store.place}"
            )
        from scrubjay.store.postgres.freezing import freeze

        return freeze(self.store, within, min(days, _MOST_DAYS), progress)

    def forget_keys(self, tenant: str | None) -> None:
        """Take a tenant's partitions out of memory (None: all), and ask for keys anew."""
        self.check_open()
        if self.store.cipher.ring is not None:
            self.store.cipher.ring.forget(tenant)
        self.residency.forget_tenant(tenant, wait=True)

    def readable(self, scope: Scope) -> bool:
        """Whether the tenant's memories can be read now: they are in the clear, or the key is available."""
        try:
            return self.store.cipher.openable(scope.tenant, scope.user)
        except (EncryptionError, CorruptIndexError):
            return False

    def adopt_model(self) -> None:
        """The vectors were changed for those of another model: start with an empty native engine of its dimension."""
        self._identity = self.store.identity()
        self.residency.restart(self._make_engine(self._identity.dim), self._identity.generation)
        self.on_new_model(self._identity.model)

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Write the images of what changed and close the file. Safe to call twice, by several threads, and from what
        this thread runs inside of another call (then no images are written)."""
        if self._closed:
            return
        residency = self.residency
        nested = self._is_inside()
        residency.housekeeper.stop(wait=not nested)
        for partition in () if nested or sys.is_finalizing() else residency.resident():
            with suppress(Error):  # without an image the next opening takes longer, that is all
                if residency.is_dirty(partition):
                    residency.save(partition, wait=True)
            residency.budget.charge(partition, 0)  # which other collections share
        self._closed = True
        self.store.close()

    def _check_scope(self, scope: Any, name: str = "scope") -> None:
        self.check_open()
        if not isinstance(scope, Scope):
            raise TypeError(f"{name}: expected a scrubjay.Scope, got {type(scope).__name__}")

    def _is_inside(self) -> bool:
        """Whether this thread is in the middle of a write or of reading a partition, from which a callback led here."""
        return self.store.is_writing_here() or self.residency.is_bringing()

    def abandon(self) -> None:
        """After a fork, in the child: SQLite's connections must not be used or closed here."""
        self._closed = True
        self.store.abandon()
