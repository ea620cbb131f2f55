"""The engine of an index without a file: the native engine holds all documents, and this adds listings of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay._native import Engine, Filter, Result, Scope
from scrubjay.base.errors import VersionConflictError
from scrubjay.filters import Ids
from scrubjay.store.rows.facets import Facet, facet_of
from scrubjay.store.rows.listing import Listing
from scrubjay.store.rows.patching import Keep, Patch
from scrubjay.store.rows.scrolling import Position, Scroll, first_of, sorted_keys
from scrubjay.store.rows.values import RowId, StoredDocument


class LocalEngine(Engine):
    """A native engine with the listings of a durable engine.

    >>> from scrubjay.store.rows.listing import listing_of
    >>> engine = LocalEngine()
    >>> engine.upsert_many([1, 2, 3], ["one", "two", "three"], scope=Scope("acme"))
    3
    >>> engine.upsert(1, "uno", scope=Scope("acme"))
    >>> [document.id for document in engine.listed(listing_of(Scope("acme")))]
    [1, 3, 2]
    """

    search_ready = Engine.search
    """A durable engine's search of what is in memory: all documents are, here."""

    def listed(self, wanted: Listing, ids: Ids | None = None) -> list[StoredDocument]:
        """Return the documents of a listing, restricted to `ids` if given, without vectors, in order of their
        last write. Each exact scope is read in one state."""
        result = self.scroll(
            wanted.scope,
            filter=wanted.filter,
            ids=ids,
            exact=wanted.exact,
            newest=wanted.newest,
            skip=wanted.start,
            limit=None if wanted.stop is None else wanted.stop - wanted.start,
        )
        return list(_documents(result))

    def admitted(self, scope: Scope, **options: Any) -> Result:
        """Return the documents visible to `scope`, unranked, in order of writing. The options are those of the
        native scroll."""
        return self.scroll(scope, newest=False, **options)

    @property
    def lineage(self) -> str:
        """A random name of this engine, used to reject cursors of other engines."""
        name: str = self.__dict__.setdefault("_lineage", secrets.token_hex(16))
        return name

    def page(self, wanted: Scroll, after: Position | None) -> tuple[list[StoredDocument], Position | None]:
        """Return the documents of a page that begins after a position, and the position of the next page (None:
        no more).

        In order of writing the cost is proportional to the documents returned, in any other order to the size of
        the scope.
        """
        listed: dict[str, Any] = {"filter": wanted.filter, "exact": wanted.exact}
        if wanted.by_writes:
            start = 0 if after is None else after.version
            result = self.scroll(
                wanted.scope, newest=wanted.descending, after=start, limit=wanted.limit + 1, **listed
            )
            chosen = list(range(min(len(result), wanted.limit)))
            last = Position(None, result.version(chosen[-1])) if len(result) > wanted.limit else None
        else:
            result = self.scroll(wanted.scope, newest=False, **listed)
            each = ((result.payload(i), result.version(i), i) for i in range(len(result)))
            places = first_of(each, wanted, after)
            chosen = [i for _, i in places[: wanted.limit]]
            last = places[wanted.limit - 1][0] if len(places) > wanted.limit else None
        return [_document(result, i, wanted.vectors) for i in chosen], last

    def keys(self, wanted: Scroll) -> list[tuple[Scope, RowId]]:
        """Return the keys of all documents of a scroll in its order, which is that of a field."""
        result = self.scroll(wanted.scope, filter=wanted.filter, exact=wanted.exact)
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
            result = self.scroll(
                scroll.scope, filter=scroll.filter, exact=scroll.exact, newest=scroll.descending, **behind
            )
            versions.update(map(result.version, range(len(result))))
        ordered = sorted(versions, reverse=first.descending)[n if several else 0 :]
        return ordered[0] if ordered else None

    def values(self, field: str, wanted: Scroll) -> Facet:
        """Count the values of a field among the documents of a scroll."""
        result = self.scroll(wanted.scope, filter=wanted.filter, exact=wanted.exact)
        return facet_of((result.payload(i) for i in range(len(result))), field)

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

    def delete_matching(
        self, filter: Filter, *, scope: Scope, ids: list[RowId] | None, reason: str
    ) -> list[RowId]:
        """Delete the documents of exactly this scope that a filter admits, restricted to `ids` if given; return
        their ids.

        Documents written meanwhile are evaluated again, so only documents that the filter admits are deleted.
        """
        gone: list[RowId] = []
        while True:
            result = self.scroll(scope, filter=filter, ids=ids, exact=True)
            batch = [result.id(i) for i in range(len(result))]
            versions = [result.version(i) for i in range(len(result))]
            n_deleted = self.delete_many(batch, scope=scope, versions=versions)
            gone += batch
            if n_deleted == len(batch):
                return gone

    def found(self, id: Any, *, within: Scope) -> list[Any]:
        """Return the documents with this id in scopes that agree with `within`, in order of scope, without vectors."""
        self.get(id, scope=within)  # refuses an id of the other kind by its name
        scopes: list[Scope] = sorted(self.scopes(within))
        results = (self.scroll(scope, ids=[id], exact=True) for scope in scopes)
        return [document for result in results for document in _documents(result)]


def _documents(result: Any) -> Iterator[StoredDocument]:
    for i in range(len(result)):
        yield _document(result, i)


def _document(result: Any, i: int, vectors: bool = False) -> StoredDocument:
    vector = result.vector(i) if vectors else None
    return StoredDocument(
        result.id(i), result.text(i), result.scope(i), result.payload(i), vector, result.version(i)
    )
