"""The engine of an index in memory: a native engine with everything else that an engine over rows has."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol, cast

from scrubjay._native import Engine, Filter, Result, Scope
from scrubjay.base.errors import ClosedError, StoreError, VersionConflictError
from scrubjay.base.initialised import Unusable
from scrubjay.base.progress import Progress
from scrubjay.documents.payload import expiry, is_pending, microseconds
from scrubjay.filters import Ids
from scrubjay.store.expiry import Expiry
from scrubjay.store.pending import PendingKeys
from scrubjay.store.residency.null_residency import NullResidency
from scrubjay.store.rows.facets import Facet, facet_of
from scrubjay.store.rows.feedback import Feedback, FeedbackLog
from scrubjay.store.rows.listing import Listing
from scrubjay.store.rows.patching import Keep, Patch
from scrubjay.store.rows.scrolling import Position, Scroll, first_of, sorted_keys
from scrubjay.store.rows.values import Identity, RowId, StoredDocument


class Member(Protocol):
    """The engine of a collection of the same index."""

    def __len__(self) -> int:
        """Return the number of all documents."""
        ...

    def erase(self, scope: Scope, *, exact: bool = False, reason: str = "erase") -> int:
        """Erase the documents whose scopes agree with `scope`."""
        ...

    def close(self) -> None:
        """Discard the documents."""
        ...


class LocalEngine:
    """A :class:`~scrubjay.store.document_engine.DocumentEngine` whose documents are in memory alone. Thread-safe; see
    the native Engine for the arguments.

    Args:
        native: holds the documents, and is written to only through this engine.
        family: returns the engines of all open collections of the same index, by name ("": the default one).

    >>> from scrubjay.store.rows.listing import listing_of
    >>> engine = LocalEngine(Engine(), dict)
    >>> engine.upsert_many([1, 2, 3], ["one", "two", "three"], scope=Scope("acme"))
    3
    >>> engine.upsert(1, "uno", scope=Scope("acme"))
    >>> [document.id for document in engine.listed(listing_of(Scope("acme")))]
    [1, 3, 2]
    """

    is_durable = False
    path = None

    def __init__(self, native: Engine, family: Callable[[], Mapping[str, Member]]) -> None:
        self.lineage = secrets.token_hex(16)
        self.dim = native.dim
        """None until the first vector is written. Read before each write: a property would cost a hundredth of it."""
        self.metric, self.dtype, self.analyzer = native.metric, native.dtype, native.analyzer
        self.pending = PendingKeys(native)
        self.is_closed = False
        self._native = native
        self._family = family
        self._notes = FeedbackLog()
        self._expiry = Expiry()
        self._expiring = self._expiry.heap  # read before each call
        self.residency = NullResidency(self._expiring)

    @property
    def native(self) -> Engine:
        """The native engine, without expired documents."""
        if self._expiring:
            self._expiry.remove_due(self._native)
        return self._native

    @property
    def identity(self) -> Identity:
        """The current properties of the collection, without the kind of its ids."""
        return Identity(self.dim, self.metric, self.dtype, self.analyzer.rpartition("-")[0])

    def durable(self, doing: str) -> NoReturn:
        """Raise StoreError: the index has no file."""
        self.check_open()
        raise StoreError(
            f"{doing}: this index is in memory and has no file; make one with Index.open(path) and upsert_many the "
            "records of this one (get, scroll) into it"
        )

    # ------------------------------------------------------------------ searching

    @property
    def search(self) -> Callable[..., Result]:
        """The native search. A method with its arguments would cost a microsecond more."""
        return self.native.search

    def search_ready(
        self, text: str | bytes, *, vector: Any, scope: Scope | Sequence[Scope], k: int, embedder: Any
    ) -> Result | None:
        """Return what :meth:`search` returns, or None if expired documents may have to be deleted first."""
        if self._expiring:
            return None
        return self._native.search(text, vector=vector, scope=scope, k=k, embedder=embedder)

    def search_batch(
        self,
        texts: Sequence[str | bytes | None] | None = None,
        *,
        scope: Scope | Sequence[Scope],
        **options: Any,
    ) -> list[Result]:
        """Answer several searches."""
        return self.native.search_batch(texts, scope=scope, **options)

    def find_substring(self, text: str | bytes, *, scope: Scope, k: int = 10) -> Result:
        """Find a text in the texts visible to `scope`."""
        return self.native.find_substring(text, scope=scope, k=k)

    def admitted(self, scope: Scope, **options: Any) -> Result:
        """Return the documents visible to `scope`, unranked, in order of writing. The options are those of the
        native scroll."""
        return self.native.scroll(scope, newest=False, **options)

    def generation(self, scope: Scope) -> int:
        """Return a value that changes with every write that a search from `scope` could see."""
        return self.native.generation(scope)

    def shared_generation(self, scope: Scope) -> None:
        """Return None: no other process has the documents."""
        self.check_open()

    def holds(self, scope: Scope) -> bool:
        """Whether a search from `scope` would look at any document."""
        return self.native.count(scope) > 0

    def warm(self, scope: Scope, *, pin: bool = False) -> None:
        """Do nothing: every document is in memory."""

    # ------------------------------------------------------------------ reading

    def __len__(self) -> int:
        return len(self.native)

    def get(self, id: RowId, *, scope: Scope) -> Any:
        """Return the document with this id visible to `scope`, the most specific one of several; None: not
        visible."""
        if self._expiring:
            self._expiry.remove_due(self._native)
        return self._native.get(id, scope=scope)

    def count(self, scope: Scope | None = None, **filters: Any) -> int:
        """Return the number of documents visible to `scope` that the filters admit; without a scope, of all."""
        return self.native.count(scope, **filters)

    def scopes(self, within: Scope | None = None, users: tuple[str, str] | None = None) -> list[Scope]:
        """Return the scopes that have documents and agree with `within`, in no order; with `users` those whose
        user is at or after the first text and before the second, by code point."""
        found = self.native.scopes(within)
        return found if users is None else [one for one in found if users[0] <= (one.user or "") < users[1]]

    def first_scopes(self, within: Scope | None, after: Scope | None, limit: int) -> list[Scope]:
        """Return the first `limit` of :meth:`scopes` behind `after`, in order; the cost grows with all scopes."""
        return [scope for scope in sorted(self.scopes(within)) if after is None or after < scope][:limit]

    def stats(self, scope: Scope | None = None) -> dict[str, Any]:
        """Return the counts of the native engine."""
        return self.native.stats(scope)

    def listed(self, wanted: Listing, ids: Ids | None = None) -> list[StoredDocument]:
        """Return the documents of a listing, restricted to `ids` if given, without vectors, in order of their
        last write. Each exact scope is read in one state."""
        result = self.native.scroll(
            wanted.scope,
            filter=wanted.filter,
            ids=ids,
            exact=wanted.exact,
            newest=wanted.newest,
            skip=wanted.start,
            limit=None if wanted.stop is None else wanted.stop - wanted.start,
        )
        return list(_documents(result))

    def page(self, wanted: Scroll, after: Position | None) -> tuple[list[StoredDocument], Position | None]:
        """Return the documents of a page that begins after a position, and the position of the next page (None:
        no more).

        In order of writing the cost is proportional to the documents returned, in any other order to the size of
        the scope.
        """
        listed: dict[str, Any] = {"filter": wanted.filter, "exact": wanted.exact}
        if wanted.by_writes:
            start = 0 if after is None else after.version
            result = self.native.scroll(
                wanted.scope, newest=wanted.descending, after=start, limit=wanted.limit + 1, **listed
            )
            chosen = list(range(min(len(result), wanted.limit)))
            last = Position(None, result.version(chosen[-1])) if len(result) > wanted.limit else None
        else:
            result = self.native.scroll(wanted.scope, newest=False, **listed)
            each = ((result.payload(i), result.version(i), i) for i in range(len(result)))
            places = first_of(each, wanted, after)
            chosen = [i for _, i in places[: wanted.limit]]
            last = places[wanted.limit - 1][0] if len(places) > wanted.limit else None
        return [_document(result, i, wanted.vectors) for i in chosen], last

    def keys(self, wanted: Scroll) -> list[tuple[Scope, RowId]]:
        """Return the keys of all documents of a scroll in its order, which is that of a field."""
        result = self.native.scroll(wanted.scope, filter=wanted.filter, exact=wanted.exact)
        each = ((result.payload(i), result.version(i), i) for i in range(len(result)))
        return [(result.scope(i), result.id(i)) for i in sorted_keys(each, wanted)]

    def version_at(self, wanted: Sequence[Scroll], n: int) -> int | None:
        """Return the version of the document after the first `n` that any of the scrolls has, in order of
        writing; None: no more documents.

        A single scroll skips documents natively; several scrolls are merged by version.
        """
        first, several = wanted[0], len(wanted) > 1
        behind: dict[str, Any] = {"limit": n + 1} if several else {"skip": n, "limit": 1}
        versions: set[int] = set()  # a set, because a document may be visible from several scopes
        for scroll in wanted:
            result = self.native.scroll(
                scroll.scope, filter=scroll.filter, exact=scroll.exact, newest=scroll.descending, **behind
            )
            versions.update(map(result.version, range(len(result))))
        ordered = sorted(versions, reverse=first.descending)[n if several else 0 :]
        return ordered[0] if ordered else None

    def values(self, field: str, wanted: Scroll) -> Facet:
        """Count the values of a field among the documents of a scroll."""
        result = self.native.scroll(wanted.scope, filter=wanted.filter, exact=wanted.exact)
        return facet_of((result.payload(i) for i in range(len(result))), field)

    def found(self, id: Any, *, within: Scope) -> list[Any]:
        """Return the documents with this id in scopes that agree with `within`, in order of scope, without vectors."""
        self.get(id, scope=within)  # refuses an id of the other kind by its name
        scopes: list[Scope] = sorted(self.scopes(within))
        results = (self.native.scroll(scope, ids=[id], exact=True) for scope in scopes)
        return [document for result in results for document in _documents(result)]

    # ------------------------------------------------------------------ writing

    def upsert(
        self, id: RowId, text: str | bytes, *, scope: Scope, vector: Any = None, payload: bytes | None = None
    ) -> None:
        """Write one document, or replace the one with its id in this scope."""
        self._native.upsert(id, text, scope=scope, vector=vector, payload=payload)
        if self.dim is None:
            self.dim = self._native.dim
        if payload is not None:
            self._note(scope, id, payload)

    def upsert_many(
        self,
        ids: Sequence[RowId],
        texts: Sequence[str | bytes],
        *,
        scope: Scope | Sequence[Scope],
        vectors: Any = None,
        payloads: Sequence[bytes | None] | None = None,
    ) -> int:
        """Write documents, all or none; return the number of distinct documents."""
        written = self._native.upsert_many(ids, texts, scope=scope, vectors=vectors, payloads=payloads)
        self._note_each(ids, scope, payloads)
        return written

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
        """Write documents under conditions on their versions; return the versions of the distinct documents
        written. An expired document counts as absent. `fills` is for engines with legal holds."""
        written = self.native.upsert_versioned(
            ids, texts, scope=scope, versions=versions, vectors=vectors, payloads=payloads
        )
        self._note_each(ids, scope, payloads)
        return written

    def _note_each(
        self, ids: Sequence[RowId], scope: Scope | Sequence[Scope], payloads: Sequence[bytes | None] | None
    ) -> None:
        """Record what the documents that were just written change."""
        self.dim = self._native.dim
        scopes = [scope] * len(ids) if isinstance(scope, Scope) else scope
        for own, id, payload in zip(scopes, ids, payloads or (), strict=False):
            if payload is not None:
                self._note(own, id, payload)

    def _note(self, scope: Scope, id: RowId, payload: bytes) -> None:
        """Record whether a document that was just written will expire, and whether it is pending."""
        expires_at = expiry(payload)
        if expires_at is not None:
            self._expiry.add(scope, id, microseconds(expires_at))
        if is_pending(payload):
            self.pending.add(scope, id)

    def patch(self, id: RowId, change: Patch, *, scope: Scope, version: int | None = None) -> int | None:
        """Change a document of exactly this scope; return its new version, None if it does not exist.

        Raises:
            VersionConflictError: the document does not have the given `version`.
        """
        while True:
            document = self.get(id, scope=scope)
            if document is None or document.scope != scope:
                if version is not None:
                    raise VersionConflictError(id, version, 0)
                return None
            vector = (
                document.vector if isinstance(change.vector, Keep) else change.vector_of(document.payload)
            )
            try:
                written = self.upsert_versioned(
                    [id],
                    [document.text],
                    scope=scope,
                    versions=[document.version if version is None else version],
                    vectors=[vector],
                    payloads=[change.applied(document.payload)],
                )
            except VersionConflictError:
                if version is not None:
                    raise
            else:
                return int(written[0])

    def delete(self, id: RowId, *, scope: Scope, reason: str = "delete") -> bool:
        """Delete one document of exactly this scope; return whether it existed. No event records the reason."""
        deleted = self._native.delete(id, scope=scope)
        self._notes.forget(lambda note: note.id == id and note.document_scope == scope)
        return deleted

    def delete_many(
        self, ids: Sequence[RowId], *, scope: Scope | Sequence[Scope], reason: str = "delete"
    ) -> int:
        """Delete documents of exactly this scope, or of a scope for each id; return how many existed."""
        n_deleted = self._native.delete_many(ids, scope=scope)
        self._forget(zip([scope] * len(ids) if isinstance(scope, Scope) else scope, ids, strict=True))
        return n_deleted

    def delete_matching(
        self, filter: Filter, *, scope: Scope, ids: list[RowId] | None, reason: str
    ) -> list[RowId]:
        """Delete the documents of exactly this scope that a filter admits, restricted to `ids` if given; return
        their ids.

        Documents written meanwhile are evaluated again, so only documents that the filter admits are deleted.
        """
        gone: list[RowId] = []
        while True:
            result = self.native.scroll(scope, filter=filter, ids=ids, exact=True)
            batch = [result.id(i) for i in range(len(result))]
            versions = [result.version(i) for i in range(len(result))]
            n_deleted = self._native.delete_many(batch, scope=scope, versions=versions)
            gone += batch
            if n_deleted == len(batch):
                self._forget((scope, id) for id in gone)
                return gone

    def erase(
        self,
        scope: Scope,
        *,
        exact: bool = False,
        reason: str = "erase",
        everywhere: bool = False,
        names: bool = False,
    ) -> int:
        """Erase every document whose scope agrees with `scope`, and the questions asked from there; with
        `everywhere` or `names` in all collections. Return the number of documents."""
        self.check_open()
        if names and exact:
            raise ValueError(
                "exact: expected False with names=True, which are those of the users, too; got True"
            )
        if everywhere or names:
            return sum(engine.erase(scope, exact=exact, reason=reason) for engine in self._family().values())
        n_erased = self._native.erase(scope, exact=exact)
        self._notes.forget(
            lambda note: (note.scope == scope if exact else scope.contains(note.scope)) or not self._has(note)
        )
        return n_erased

    def sweep(self, within: Scope | None = None) -> int:
        """Delete expired documents, wherever they are; return how many."""
        self.check_open()
        return self._expiry.remove_due(self._native)

    def _forget(self, keys: Iterable[tuple[Scope, RowId]]) -> None:
        """Delete the feedback on deleted documents."""
        gone = set(keys)
        self._notes.forget(lambda note: (note.document_scope, note.id) in gone)

    # ------------------------------------------------------------------ feedback

    def note(self, note: Feedback) -> bool:
        """Write a note on a document; False if it does not exist or is not visible to the note's scope."""
        self._expiry.remove_due(self._native)
        return self._notes.add(note, lambda: note.document_scope in note.scope.visible() and self._has(note))

    def notes(self, scope: Scope | None) -> list[Feedback]:
        """Return the notes on existing documents, oldest first; with `scope` only those written from within it."""
        self.check_open()
        self._expiry.remove_due(self._native)
        self._notes.forget(lambda note: not self._has(note))
        return [note for note in self._notes.all() if scope is None or scope.contains(note.scope)]

    def _has(self, note: Feedback) -> bool:
        document = self._native.get(note.id, scope=note.document_scope)  # `get` may call the caller's stemmer
        return document is not None and document.scope == note.document_scope

    # ------------------------------------------------------------------ collections

    def has_layer(self, table: str) -> bool:
        """Return False: a layer above keeps its rows in a file or a database."""
        return False

    def collection_names(self) -> list[str]:
        """Return the names of the other collections, in alphabetical order."""
        return sorted(name for name in self._family() if name)

    def drop_collection(self, name: str) -> int:
        """Discard a collection; return the number of its documents."""
        engine = self._family()[name]
        n_dropped = len(engine)
        engine.close()
        return n_dropped

    # ------------------------------------------------------------------ maintenance and closing

    def stale_scopes(self) -> list[Scope]:
        """Return []: there are no images."""
        return []

    def compact(self, progress: Progress | None = None) -> int:
        """Release the memory of deleted documents; return how many were purged."""
        return self._native.compact()

    def check_open(self) -> None:
        """Raise ClosedError if the engine is closed."""
        if self.is_closed:
            raise ClosedError("the index is closed")

    def close(self) -> None:
        """Discard the documents. Idempotent; later calls raise ClosedError, calls in progress finish."""
        self.is_closed = True
        self._native = cast(Engine, Unusable(ClosedError("the index is closed")))
        self.pending = PendingKeys(self._native)


def _documents(result: Any) -> Iterator[StoredDocument]:
    for i in range(len(result)):
        yield _document(result, i)


def _document(result: Any, i: int, vectors: bool = False) -> StoredDocument:
    vector = result.vector(i) if vectors else None
    return StoredDocument(
        result.id(i), result.text(i), result.scope(i), result.payload(i), vector, result.version(i)
    )
