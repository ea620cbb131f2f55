"""A durable engine: the interface of the native engine over stored rows.

Writing is in :mod:`scrubjay.store.writing`; this module adds searching, reading and maintenance.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

from scrubjay._native import Engine, Filter, Result, Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError, Error, StoreError, UnsupportedError
from scrubjay.base.progress import Progress
from scrubjay.documents.ids import checked_id, checked_many
from scrubjay.filters import Ids
from scrubjay.store.opened import remember
from scrubjay.store.pending import PendingRows
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
from scrubjay.store.rows.values import RowId, StoredDocument, StoredRow
from scrubjay.store.seam import Store
from scrubjay.store.sqlite.store import SqliteStore
from scrubjay.store.writing.write_batches import Change, changing
from scrubjay.store.writing.write_path import WritingEngine

_T = TypeVar("_T")
_View = tuple[Partition, ...]

_ERASED = -1  # takes the place of a version if the user's key was destroyed
_MAX_SIGHTS = 2_000  # cached
_MOST_DAYS = 100_000  # bound of `days` in `freeze`: since 1970 and beyond, within a server's intervals
_PATIENCE = 8  # attempts of a disturbed search before it suspends eviction


class DurableEngine(WritingEngine):
    """The engine of an index with a store, a :class:`~scrubjay.store.document_engine.DocumentEngine`. Thread-safe; see
    the native Engine for the arguments.

    Args:
        store: the rows.
        make_engine: dimension or None -> an empty native engine of the store's kind.
        budget: the memory budget of partitions, may be shared with other collections; None: no limit.
        model: returns the name of the current embedder, or None; called at each write.
        clock: returns microseconds since 1970.
    """

    is_durable = True

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
        self._place: str | None = None  # read when first needed
        self._lineage: str | None = None  # read when first needed
        self._closed = False
        self._listings = RowListings(store, self.now, self.document)
        self.pending = PendingRows(store, self.now, self.document)
        remember(self)

    def now(self) -> int:
        """Return the engine's time, in microseconds since 1970."""
        return self.clock()

    def use_clock(self, clock: Callable[[], int]) -> None:
        """Use another clock (microseconds since 1970) from now on."""
        self.clock = clock
        self.residency.use_clock(clock)

    def durable(self, doing: str) -> DurableEngine:
        """Return the engine itself, for verbs that an engine in memory refuses."""
        self.check_open()
        return self

    # ------------------------------------------------------------------ identity

    @property
    def path(self) -> Path | None:
        """The file; None over a database."""
        return self.store.path

    @property
    def dim(self) -> int | None:
        """The dimension of the vectors; None until the first vector is written."""
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
        """BM25's k1; None: chosen by the average length of the visible documents."""
        return self.native.k1

    @property
    def b(self) -> float | None:
        """BM25's b; None: chosen by the average length of the visible documents."""
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
        """Search the documents visible to `scope`; partitions that are not in memory are loaded first.

        Args:
            scope: one scope, or a list of several.
            seen: what :meth:`Residency.view_now` just returned; used instead of a new view unless one of its
                partitions has left memory.
        """
        residency = self.residency
        if not isinstance(scope, Scope) or self._closed:
            self.check_open()
            options |= {"vector": vector, "k": k, "embedder": embedder}
            if isinstance(scope, (list, tuple)) and all(isinstance(item, Scope) for item in scope):
                return self._search_together(text, scope, options)
            return residency.engine.search(text, scope=scope, **options)
        for _ in range(_PATIENCE):
            view, stamp = residency.view(scope) if seen is None else seen
            seen = None
            engine = residency.engine  # read after the view, which may have replaced the engine
            if not view:
                # the tenant's key was destroyed; its documents may still be in memory
                engine = self.empty_native()
            if options:
                result = engine.search(text, vector=vector, scope=scope, k=k, embedder=embedder, **options)
            else:  # the common case avoids unpacking and repacking a dictionary
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

    def search_ready(
        self, text: str | bytes, *, vector: Any, scope: Scope | Sequence[Scope], k: int, embedder: Any
    ) -> Result | None:
        """Return what :meth:`search` returns, or None if that could take more than the native search: unless all that
        `scope` sees is in memory and current, and stays there. Cheaper, because it has fewer calls and options."""
        residency = self.residency
        if type(scope) is not Scope or self._closed:
            return None
        seen = residency.view_now(scope)
        if seen is None:
            return None
        result = residency.engine.search(text, vector=vector, scope=scope, k=k, embedder=embedder)
        return result if residency.held(*seen) else None

    def _search_together(
        self, text: str | bytes | None, scopes: Sequence[Scope], options: dict[str, Any]
    ) -> Result:
        residency = self.residency

        def ask() -> tuple[View, Result]:
            readable, view = residency.view_together(scopes)
            # Without readable scopes (keys destroyed) search nothing, even if documents are still in memory.
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
        """Evaluate `ask` with eviction suspended, and repeat until no partition left the engine meanwhile:
        partitions also leave when they are replaced or become unreadable. Return the partitions visible to each
        scope, and the answer."""
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
        """Answer several searches; all their partitions are in memory at once."""
        self.check_open()
        scopes = [scope] if isinstance(scope, Scope) else list(dict.fromkeys(scope))
        residency = self.residency
        for _ in range(_PATIENCE):
            views = [residency.view(each_scope) for each_scope in scopes if isinstance(each_scope, Scope)]
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
        erased = {result_scope for result_scope, view in zip(scopes, seen, strict=True) if not view}
        result_scopes = [scope] * len(results) if isinstance(scope, Scope) else scope
        return [
            none if result_scope in erased else result
            for result_scope, result, none in zip(result_scopes, results, nothing, strict=True)
        ]

    def generation(self, scope: Scope) -> tuple[int, ...]:
        """Return a value that changes with every write of any process that a search from `scope` could see."""
        self._check_scope(scope)
        view, _ = self.residency.view(scope)
        native = self.residency.engine.generation(scope)
        return (native, self.residency.generation, *(partition.applied for partition in view))

    def shared_generation(self, scope: Scope) -> tuple[Hashable, ...] | None:
        """Return the same for comparison between processes; None if the file has no identity yet and cannot get
        one now.

        The first element identifies the file and collection. The others are the generation of the model, the
        options of opening that affect scores, and the versions and next expiry of the visible scopes.
        """
        self._check_scope(scope)
        if self._place is None:
            self._place = self.store.shared_name()
            if self._place is None:
                return None
        view, _ = self.residency.view(scope)
        states = tuple(
            (_ERASED if partition.erased else partition.applied, partition.next_expiry) for partition in view
        )
        return (self._place, self.residency.generation, self.analyzer, self.k1, self.b, *states)

    def find_substring(self, text: str | bytes, *, scope: Scope, k: int = 10) -> Result:
        """Find a text in the texts visible to `scope`; partitions that are not in memory are loaded first."""
        self._check_scope(scope)
        (seen,), result = self._settled(
            [scope], lambda: self.residency.engine.find_substring(text, scope=scope, k=k)
        )
        return result if seen else self.empty_native().find_substring(text, scope=scope, k=k)

    def admitted(self, scope: Scope, **options: Any) -> Result:
        """Return the documents visible to `scope`, unranked, in order of writing; partitions that are not in
        memory are loaded first. The options are those of the native scroll."""
        self._check_scope(scope)
        (seen,), result = self._settled(
            [scope], lambda: self.residency.engine.scroll(scope, newest=False, **options)
        )
        return result if seen else self.empty_native().scroll(scope, **options)

    def holds(self, scope: Scope) -> bool:
        """Whether a search from `scope` would look at any document, or would have to report damage."""
        self._check_scope(scope)
        residency = self.residency
        try:
            view, stamp = residency.view(scope)
        except Error:  # the search reports it
            return True
        return bool(view) and (
            residency.engine.count(scope) > 0
            or not residency.held(view, stamp)
            or any(partition.n_lost for partition in view)
        )

    def warm(self, scope: Scope, *, pin: bool = False) -> None:
        """Load the documents visible to `scope` into memory; with `pin` they are never evicted."""
        self._check_scope(scope)
        view, _ = self.residency.view(scope)
        for partition in view:
            partition.pinned = partition.pinned or pin

    # ------------------------------------------------------------------ reading

    def get(self, id: RowId, *, scope: Scope) -> StoredDocument | None:
        """Return the document with this id visible to `scope`, the most specific one of several; None: not
        visible.

        Raises:
            CorruptIndexError: the document is damaged. Damage of the metadata alone is reported when they are
                decoded.
        """
        if not isinstance(scope, Scope) or self._closed:
            self._check_scope(scope)
        sight = self._sights.get(scope) or self._sight(scope)
        row_and_scope = self.store.get(checked_id(id, self.identity.id_kind), sight, now=self.clock())
        return None if row_and_scope is None else self.document(*row_and_scope)

    def found(self, id: RowId, *, within: Scope) -> list[StoredDocument]:
        """Return the documents with this id in all scopes that agree with `within`, in order of scope, without
        vectors.

        Raises:
            CorruptIndexError: one of them is damaged.
        """
        self._check_scope(within, "within")
        rows = self.store.find(checked_id(id, self.identity.id_kind), within, now=self.clock())
        return [without_vector(row, scope) for row, scope in rows]

    def document(self, row: StoredRow, scope: Scope) -> StoredDocument:
        """Return a row as a document, with its vector.

        Raises:
            CorruptIndexError: the vector is damaged.
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
        """Return the number of documents visible to a search from `scope`; without a scope, of all documents.

        With a filter (see the native engine) the partitions are loaded and the documents that it admits are
        counted.
        """
        self.check_open()
        if scope is not None and not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        if scope is None or all(filter_value is None for filter_value in filters.values()):
            if any(filter_value is not None for filter_value in filters.values()):
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
        """The random name of the store and collection, used to reject cursors of other indexes; None if it has
        none yet and one cannot be assigned now."""
        if self._lineage is None:
            self._lineage = self.store.lineage()
        return self._lineage

    def listed(self, wanted: Listing, ids: Ids | None = None) -> list[StoredDocument]:
        """Return the documents of a listing, restricted to `ids` if given; see :meth:`RowListings.listed`."""
        self.check_open()
        return self._listings.listed(wanted, None if ids is None else self._checked_ids(ids))

    def page(self, wanted: Scroll, after: Position | None) -> tuple[list[StoredDocument], Position | None]:
        """Return a page of documents, and the position of the next one; see :meth:`RowListings.page`."""
        self.check_open()
        return self._listings.page(wanted, after)

    def keys(self, wanted: Scroll) -> list[tuple[Scope, RowId]]:
        """Return the keys of all documents of a scroll in its order, which is that of a field."""
        self.check_open()
        return self._listings.keys(wanted)

    def values(self, field: str, wanted: Scroll) -> Facet:
        """Count the values of a field among the documents of a scroll, in one state of the rows."""
        self.check_open()
        return self._listings.values(field, wanted)

    def version_at(self, wanted: Sequence[Scroll], n: int) -> int | None:
        """Return the version of the document after the first `n` that any of the scrolls has, in order of
        writing; None: no more documents; UNKNOWN: the documents have to be walked, or the document was just
        deleted.

        Within one partition the native engine skips documents, so the partition is loaded. Only the rows order
        documents of several partitions (:meth:`RowListings.version_at`).
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
        row = self.store.get(result.id(0), exactly([result.scope(0)]), now=self.clock())
        return UNKNOWN if row is None else row[0].seq

    def delete_matching(
        self, filter: Filter, *, scope: Scope, ids: Sequence[RowId] | None, reason: str
    ) -> list[RowId]:
        """Delete the documents of exactly this scope that a filter admits, restricted to `ids` if given, in one
        transaction; return their ids.

        Damaged documents stay, and are named in a CorruptDataWarning. Other writers wait until every document has
        been examined.
        """
        self._check_scope(scope)
        checked = None if ids is None else self._checked_ids(ids)
        if self.store.cipher.ring is not None:  # request the key before the write lock is taken
            self.store.cipher.readable(scope.tenant)
        with self.store.writing("deleting", scopes=[scope]) as transaction:
            # Read under the write lock, so the transaction changes what is read here.
            matching_ids, damaged = self._listings.matching(filter, scope, checked)
            written = self._delete(transaction, {scope: matching_ids}, reason, now=self.clock())
            if written:
                self._commit(transaction.commit, written)
        warn_of(damaged, self.store.path)
        return [id for one in written for id in one.deleted]

    def _checked_ids(self, ids: Ids) -> set[RowId]:
        kind = self.identity.id_kind  # read from the store until it is settled
        return set(checked_many(ids, kind))

    def first_scopes(self, within: Scope | None, after: Scope | None, limit: int) -> list[Scope]:
        """Return the first `limit` of :meth:`scopes` after a given one, in their order; the cost is proportional
        to `limit`."""
        self.check_open()
        return self.store.living_scopes(within, now=self.clock(), after=after, limit=limit)

    def scopes(self, within: Scope | None = None, users: tuple[str, str] | None = None) -> list[Scope]:
        """Return every scope that has unexpired documents; see `erase` for `within`, and `living_scopes` for
        `users`."""
        self.check_open()
        if users is None:
            return self.store.living_scopes(within, now=self.clock())
        return self.store.living_scopes(within, now=self.clock(), users=users)

    def stats(self, scope: Scope | None = None) -> dict[str, int | float | str]:
        """Return the counts of the native engine (of what is in memory) and of the store.

        `documents`, `vectors` and `partitions` count what the store holds, `resident_...` what of it is in
        memory. Further: how partitions were loaded, evictions, and over a database `feed_lag_seconds`, the time
        since the feed was last heard.
        """
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

    def file(self, doing: str) -> SqliteStore:
        """Return the store, for features that only a file has.

        Raises:
            UnsupportedError: the rows are not in a file.
        """
        store = self.store
        if not isinstance(store, SqliteStore):
            raise UnsupportedError(doing, store.place)
        return store

    def changing(self, doing: str) -> AbstractContextManager[Change]:
        """Combine several writes into one; see :func:`scrubjay.store.writing.write_batches.changing`."""
        return changing(self, doing)

    # ------------------------------------------------------------------ feedback

    def note(self, note: Feedback) -> bool:
        """Write a feedback note on a document; False if the document is not visible to the note's scope."""
        self.check_open()
        return self.store.write_note(note, now=self.clock())

    def notes(self, scope: Scope | None) -> list[Feedback]:
        """Return the notes on existing documents, oldest first; with `scope` only those written from within it."""
        self.check_open()
        return self.store.read_notes(scope, now=self.clock())

    def __len__(self) -> int:
        return self.count()

    # ------------------------------------------------------------------ collections

    def has_layer(self, table: str) -> bool:
        """Whether the layer above that owns this table keeps its rows beside the documents."""
        self.check_open()
        return self.store.has_layer(table)

    def collection_names(self) -> list[str]:
        """Return the names of the named collections, in alphabetical order."""
        return self.store.collection_names()

    def drop_collection(self, name: str) -> int:
        """Drop a collection, leaving events; return the number of its documents."""
        return self.store.drop_collection(name, now=self.clock())

    # ------------------------------------------------------------------ maintenance

    def stale_scopes(self) -> list[Scope]:
        """Return the scopes whose image is missing or older than the last write."""
        return self.store.stale_scopes()

    def empty_native(self) -> Engine:
        """Return an empty native engine of the same kind."""
        return self._make_engine(self.dim)

    def compact(self, progress: Progress | None = None) -> int:
        """Purge deleted documents from memory and images, write fresh images, and shrink the file; return how
        many documents were purged from memory."""
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
        """Move the rows of scopes not used for `days` into the object store, one object per scope.

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
        """Evict a tenant's partitions from memory (None: all), and request keys again when they are needed."""
        self.check_open()
        if self.store.cipher.ring is not None:
            self.store.cipher.ring.forget(tenant)
        self.residency.forget_tenant(tenant, wait=True)

    def readable(self, scope: Scope) -> bool:
        """Whether the scope's memories can be read now: they are not encrypted, or the key is available."""
        try:
            return self.store.cipher.openable(scope.tenant, scope.user)
        except (EncryptionError, CorruptIndexError):
            return False

    def adopt_model(self) -> None:
        """Start with an empty native engine of the new dimension, because all vectors were replaced by those of
        another model."""
        self._identity = self.store.identity()
        self.residency.restart(self._make_engine(self._identity.dim), self._identity.generation)
        self.on_new_model(self._identity.model)

    # ------------------------------------------------------------------ closing

    def close(self) -> None:
        """Write the images of changed partitions and close the store.

        Idempotent, and safe from several threads and from a callback of this thread inside another call (then no
        images are written).
        """
        if self._closed:
            return
        residency = self.residency
        nested = self._is_inside()
        residency.housekeeper.stop(wait=not nested)
        for partition in () if nested or sys.is_finalizing() else residency.resident():
            with suppress(Error):  # without an image the next opening takes longer
                if residency.is_dirty(partition):
                    residency.save(partition, wait=True)
            residency.budget.charge(partition, 0)  # the budget is shared with other collections
        self._closed = True
        self.store.close()

    def _check_scope(self, scope: Any, name: str = "scope") -> None:
        self.check_open()
        if not isinstance(scope, Scope):
            raise TypeError(f"{name}: expected a scrubjay.Scope, got {type(scope).__name__}")

    def _is_inside(self) -> bool:
        """Whether this thread is inside a write or a load, from which a callback called this method."""
        return self.store.is_writing_here() or self.residency.is_bringing()

    def abandon(self) -> None:
        """In the child after a fork: SQLite's connections must not be used or closed here."""
        self._closed = True
        self.store.abandon()
