"""Listings, pages and value counts that are read from rows alone, without loading partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from scrubjay._native import Filter, Scope
from scrubjay.store.rows.facets import Facet, facet_of
from scrubjay.store.rows.listing import Listing, admitted, slices, undamaged, warn_of
from scrubjay.store.rows.scopes import exactly
from scrubjay.store.rows.scrolling import UNKNOWN, Position, Scroll, first_of, sorted_keys
from scrubjay.store.rows.values import RowId, StoredDocument, StoredRow
from scrubjay.store.seam import Store


class RowListings:
    """Reads the documents of a store in order. Thread-safe.

    Each answer shows one state of the rows. Damaged documents are omitted and named in a CorruptDataWarning.

    Args:
        store: the rows.
        now: the current time in microseconds since 1970; expired documents are omitted.
        document: makes a document, with its vector, from a row.
    """

    def __init__(
        self, store: Store, now: Callable[[], int], document: Callable[[StoredRow, Scope], StoredDocument]
    ) -> None:
        self._store = store
        self._now = now
        self._document = document

    def listed(self, wanted: Listing, ids: set[RowId] | None = None) -> list[StoredDocument]:
        """Return the documents of a listing, restricted to `ids` if given, in order of their last write."""
        damaged: list[str] = []
        with self._store.snapshot():
            documents = list(islice(self._documents(wanted, ids, damaged), wanted.start, wanted.stop))
        warn_of(damaged, self._store.path)
        return documents

    def page(self, wanted: Scroll, after: Position | None) -> tuple[list[StoredDocument], Position | None]:
        """Return the documents of a page that begins after a position, and the position of the next page (None:
        no more).

        In order of writing the cost is proportional to the documents read, in any other order to the size of the
        scope.
        """
        damaged: list[str] = []
        newest = wanted.descending and wanted.by_writes
        rows = Listing(wanted.scope, wanted.exact, wanted.filter, newest, more=wanted.more)
        with self._store.snapshot():
            if wanted.by_writes:
                start, n = 0 if after is None else after.version, wanted.limit + 1
                listed = list(islice(self._documents(rows, None, damaged, after=start, first=n), n))
                documents = listed[: wanted.limit]
                last = Position(None, documents[-1].version) if len(listed) > wanted.limit else None
            else:
                every = self._documents(rows, None, damaged)
                places = first_of(
                    ((document.payload, document.version, document) for document in every), wanted, after
                )
                documents = [document for _, document in places[: wanted.limit]]
                last = places[wanted.limit - 1][0] if len(places) > wanted.limit else None
            if wanted.vectors:
                documents = [self._with_vector(document) for document in documents]
        warn_of(damaged, self._store.path)
        return documents, last

    def version_at(self, wanted: Sequence[Scroll], n: int) -> int | None:
        """Return the version of the document after the first `n` that any of the scrolls has, in order of
        writing; None: no more documents; UNKNOWN: the documents have to be walked.

        Without a filter only the numbers of the rows are read, so damaged documents are counted too.
        """
        first = wanted[0]
        if first.filter is None:
            scopes = list(dict.fromkeys(scope for scroll in wanted for scope in scroll.scopes))
            with self._store.snapshot():
                numbers = self._store.numbers_in(
                    scopes, now=self._now(), newest=first.descending, first=n + 1
                )
            return numbers[n] if len(numbers) > n else None
        if len(wanted) > 1:
            return UNKNOWN
        damaged: list[str] = []
        rows = Listing(first.scope, first.exact, first.filter, first.descending, more=first.more)
        with self._store.snapshot():
            document = next(islice(self._documents(rows, None, damaged, first=n + 1), n, None), None)
        return None if document is None else document.version

    def keys(self, wanted: Scroll) -> list[tuple[Scope, RowId]]:
        """Return the keys of all documents of a scroll in its order, which is that of a field."""
        damaged: list[str] = []
        rows = Listing(wanted.scope, wanted.exact, wanted.filter)
        with self._store.snapshot():
            listed = self._documents(rows, None, damaged)
            keys = sorted_keys(
                ((document.payload, document.version, (document.scope, document.id)) for document in listed),
                wanted,
            )
        warn_of(damaged, self._store.path)
        return keys

    def values(self, field: str, wanted: Scroll) -> Facet:
        """Count the values of a field among the documents of a scroll, in one state of the rows."""
        damaged: list[str] = []
        rows = Listing(wanted.scope, wanted.exact, wanted.filter)
        with self._store.snapshot():
            facet = facet_of((document.payload for document in self._documents(rows, None, damaged)), field)
        warn_of(damaged, self._store.path)
        return facet

    def matching(self, filter: Filter, scope: Scope, ids: set[RowId] | None) -> tuple[list[RowId], list[str]]:
        """Return the ids of exactly this scope that a filter admits, restricted to `ids` if given, and a message
        for each damaged document."""
        damaged: list[str] = []
        with self._store.snapshot():
            listed = self._documents(Listing(scope, True, filter), ids, damaged)
            return [document.id for document in listed], damaged

    def _documents(
        self,
        wanted: Listing,
        ids: set[RowId] | None,
        damaged: list[str],
        *,
        after: int = 0,
        first: int | None = None,
    ) -> Iterator[StoredDocument]:
        every = self._store.rows_in(
            wanted.scopes, now=self._now(), newest=wanted.newest, ids=ids, after=after, first=first
        )
        rows = undamaged(every, damaged)
        for part in slices(rows) if first is None else slices(rows, first):
            admitted_rows = part
            if wanted.filter is not None:
                admitted_rows = [part[i] for i in admitted(wanted.filter, [row.payload for row, _ in part])]
            for row, scope in admitted_rows:
                yield without_vector(row, scope)

    def _with_vector(self, document: StoredDocument) -> StoredDocument:
        # listed a moment ago, so it has not expired
        at = self._store.get(document.id, exactly([document.scope]), now=0)
        return document if at is None else self._document(*at)


def without_vector(row: StoredRow, scope: Scope) -> StoredDocument:
    """Return a row as a document, without its vector."""
    return StoredDocument(row.id, row.text, scope, row.payload, None, row.seq)
