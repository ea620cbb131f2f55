"""Reading a collection without ranking: by id, page by page, by scope, by the values of a field."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, Literal

from scrubjay._native import Scope
from scrubjay.base.initialised import guarded
from scrubjay.documents.ids import checked_id, checked_ids, items_of
from scrubjay.documents.records import Cursor, Page, Record, as_scope, to_record
from scrubjay.filters import FilterLike, Ids, lasting
from scrubjay.index.filter_functions import has_functions, keys_of, meeting, split
from scrubjay.index.open_collection import OpenCollection
from scrubjay.store.rows.facets import Value
from scrubjay.store.rows.listing import checked_count, listing_of
from scrubjay.store.rows.scrolling import read_cursor, scroll_of, write_cursor


@guarded
class Reader:
    """Reads the documents of one collection. Thread-safe; never waits for a write."""

    __slots__ = ("_collection",)

    def __init__(self, collection: OpenCollection) -> None:
        self._collection = collection

    def get(self, id: str | int, scope: Scope) -> Record | None:
        """Return the memory with this id that `scope` sees, including its vector, or None.

        If several have this id, return the most specific: the scope's own before those shared with it (a user's before
        an agent's before the tenant's).

        >>> from scrubjay import Index
        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> index.upsert("m1", "Invoices go out on Mondays.", scope=Scope("acme"))
        >>> index.get("m1", scope=jane).text
        'Invoices go out on Mondays.'
        >>> index.upsert("m1", "Prefers trains to planes.", scope=jane)
        >>> index.get("m1", scope=jane).text, index.get("m1", scope=Scope("acme", user="joe")).text
        ('Prefers trains to planes.', 'Invoices go out on Mondays.')
        """
        scope = as_scope(scope)
        document = self._collection.engine.get(id, scope=scope)
        return None if document is None else to_record(document)

    def get_many(self, ids: Iterable[str | int], scope: Scope) -> builtins.list[Record | None]:
        """Return what :meth:`Index.get` returns for each id, in the order of `ids`."""
        wanted, scope = checked_ids(ids), as_scope(scope)
        documents = (self._collection.engine.get(id, scope=scope) for id in wanted)
        return [None if document is None else to_record(document) for document in documents]

    def find(self, id: str | int, within: Scope) -> builtins.list[Record]:
        """Return every memory with this id in any scope that agrees with `within`, in order of scope, without vectors.

        For operators, who administer all users of a tenant; :meth:`Index.get` returns what a user may see.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert("m1", "Prefers trains.", scope=Scope("acme", user="jane"))
        >>> index.upsert("m1", "Prefers planes.", scope=Scope("acme", user="joe"))
        >>> [record.scope.user for record in index.find("m1", within=Scope("acme"))]
        ['jane', 'joe']
        """
        id, within = checked_id(id, None), as_scope(within, "within")
        return [to_record(document) for document in self._collection.engine.found(id, within=within)]

    def list(
        self,
        scope: Scope,
        filter: FilterLike | None,
        ids: Ids | None,
        exact: bool,
        limit: int | None,
        offset: int,
        order: Literal["newest", "oldest"],
    ) -> builtins.list[Record]:
        """Return the memories visible to a search from `scope`, without ranking them.

        Args:
            scope: the scope of the reader; it sees what it sees in :meth:`Index.search`.
            filter: conditions on metadata, created_at and expires_at, or a function (see :mod:`scrubjay.filters`).
            ids: only memories with these ids, in any of the visible scopes, or with these exact keys (scope, id);
                unknown ones are ignored.
            exact: only memories of exactly this scope, not those shared with it.
            limit: the maximum number of memories; None: no limit.
            offset: the number of memories to skip.
            order: "newest" or "oldest" first, by the time of the last write (not by created_at).

        The records form one snapshot (in memory, one snapshot per exact scope), without vectors, which
        :meth:`Index.get` returns. From a file only rows are read. A listing blocks no other call.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.

        >>> from scrubjay import Index
        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> index.upsert("m1", "The staging key", scope=jane, metadata={"category": "keys"})
        >>> index.upsert("m2", "Invoices go out on Mondays.", scope=Scope("acme"))
        >>> index.upsert("m3", "Prefers trains.", scope=jane)
        >>> [record.id for record in index.list(jane)], [record.id for record in index.list(jane, exact=True)]
        (['m3', 'm2', 'm1'], ['m3', 'm1'])
        >>> index.list(jane, filter={"category": "keys"})[0].text
        'The staging key'
        """
        filter, functions = split(filter)
        listing = listing_of(
            as_scope(scope), filter=filter, exact=exact, limit=limit, offset=offset, order=order
        )
        ids = None if ids is None else items_of(ids, "ids")
        if functions or (ids is not None and any(isinstance(key, tuple) for key in ids)):
            records = meeting(
                self._collection, listing.scope, filter, functions, ids, exact=exact, order=order
            )
            return records[listing.start : listing.stop]
        documents = self._collection.engine.listed(listing, ids)
        return [to_record(document) for document in documents]

    def scroll(
        self,
        scope: Scope,
        limit: int,
        cursor: Cursor | str | None,
        filter: FilterLike | None,
        order_by: str | None,
        descending: bool,
        vectors: bool,
        exact: bool,
    ) -> Page:
        """Return one page of the memories that `scope` sees, and the cursor of the next page.

        Args:
            scope: the scope of the reader; it sees what it sees in :meth:`Index.search`.
            limit: the maximum number of memories of a page.
            cursor: the cursor of the previous page; None: the first page. It is valid for this index, `scope`, `exact`,
                `order_by` and `descending`, even after the file was closed; filter, limit and vectors may change. It
                contains the position, including the value of the field at which the page ended, so it is as
                confidential as the memories.
            filter: conditions on metadata, created_at and expires_at (see :mod:`scrubjay.filters`).
            order_by: a key of the metadata, "created_at", "expires_at", or "updated_at", which is the same as None: the
                order of the last writes. Numbers come before texts (by code point; the first 256 count), texts before
                booleans. Memories without such a value (lists and objects do not count) come last in both directions.
                Ties are in the order of writing.
            descending: the greatest value, or the last written, first.
            vectors: whether records include their vectors.
            exact: only memories of exactly this scope, not those shared with it.

        Pages are stable under concurrent writes: a memory that is not written in the meantime is returned exactly once;
        one that is rewritten moves to its new place. In ascending order of writing that is the end, so with a writer
        that is faster than the reader there is no last page (in descending order there is). A page is one snapshot (in
        memory, one per exact scope). In the order of writing a page costs what it returns and what the filter skips, in
        any other order what the scope holds. From a file only rows are read. The pages from `cursor` None to `cursor`
        None are complete.

        Raises:
            CursorError: the cursor is damaged, or belongs to another index, scope or order.
            TypeError, ValueError: the message names the argument, what was expected and what was given.

        >>> from scrubjay import Index
        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> for number in range(5):
        ...     index.upsert(number, f"Note {number}", scope=jane, metadata={"stars": number % 3})
        >>> page = index.scroll(scope=jane, limit=3)
        >>> [record.id for record in page], [record.id for record in index.scroll(scope=jane, cursor=page.cursor)]
        ([0, 1, 2], [3, 4])
        >>> best = index.scroll(scope=jane, order_by="stars", descending=True, limit=2)
        >>> [record.id for record in best]
        [2, 1]
        """
        request = scroll_of(
            as_scope(scope),
            exact=exact,
            filter=filter,
            order_by=order_by,
            descending=descending,
            limit=limit,
            vectors=vectors,
        )
        engine = self._collection.engine
        after = None if cursor is None else read_cursor(cursor, request, engine.lineage)
        documents, last = engine.page(request, after)
        following = None if last is None else write_cursor(request, last, engine.lineage)
        return Page([to_record(document) for document in documents], following)

    def values(
        self, field: str, scope: Scope, filter: FilterLike | None, limit: int | None, exact: bool
    ) -> dict[Value, int]:
        """Return the distinct values of a field, each with the number of memories that have it.

        Args:
            field: a key of the metadata, "created_at" or "expires_at". Each element of a list counts, once per memory;
                objects and missing values do not.
            scope: the scope of the reader; memories count that it sees in :meth:`Index.search`.
            filter: conditions on metadata, created_at and expires_at (see :mod:`scrubjay.filters`).
            limit: the maximum number of values; None: no limit.
            exact: only memories of exactly this scope, not those shared with it.

        The most frequent value comes first; ties are ordered by value, numbers before texts before booleans before
        times. 1 and 1.0 are one value. A dict cannot hold both 1 and True (or 0 and False): it holds the more frequent
        one, with the count of both. The cost grows with the memories of the scope.

        >>> from scrubjay import Index
        >>> index, jane = Index(), Scope("acme", user="jane")
        >>> for number, kind in enumerate(["keys", "trips", "trips", "bills"]):
        ...     index.upsert(number, "A note", scope=jane, metadata={"kind": kind})
        >>> index.values("kind", scope=jane)
        {'trips': 2, 'bills': 1, 'keys': 1}
        """
        if not isinstance(field, str):
            raise TypeError(f"field: expected a str, got {type(field).__name__}")
        if not field:
            raise ValueError("field: expected the name of a field, got ''")
        request = scroll_of(as_scope(scope), exact=exact, filter=filter)
        n = None if limit is None else checked_count(limit, "limit", at_least=1)
        return self._collection.engine.values(field, request).most_common(n)

    def count(
        self,
        scope: Scope | None,
        filter: FilterLike | None,
        ids: Ids | None,
        exclude: Ids | None,
    ) -> int:
        """Return the number of memories visible to a search from `scope`: those that match `filter`, if given; without
        a scope (and then without a filter) the number of all.

        Args:
            scope: the scope of the reader; memories shared with it count, too.
            filter: conditions on metadata, or a function (:mod:`scrubjay.filters`).
            ids, exclude: only memories with these ids; no memories with these.
        """
        scope = None if scope is None else as_scope(scope)
        if filter is None and ids is None and exclude is None:
            return self._collection.engine.count(scope)
        keys: Any = lasting(ids)
        if filter is not None and scope is not None and has_functions(filter):
            keys = keys_of(self._collection, [scope], filter, keys)
            filter, _ = split(filter)
        return self._collection.engine.count(scope, filter=filter, ids=keys, exclude=lasting(exclude))

    def scopes(self, within: Scope | None) -> builtins.list[Scope]:
        """Return the exact scopes that hold memories, sorted.

        Args:
            within: only scopes that agree with all components of this one, as for :meth:`Index.erase`; None: all.

        For operators, who administer all tenants: it lists the tenants and their users.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert("m1", "The staging key", scope=Scope("acme", user="jane"))
        >>> index.upsert("m2", "Invoices go out on Mondays.", scope=Scope("acme"))
        >>> index.upsert("m3", "Prefers trains.", scope=Scope("globex"))
        >>> index.scopes(Scope("acme"))
        [Scope('acme'), Scope('acme', user='jane')]
        """
        within = None if within is None else as_scope(within, "within")
        return sorted(self._collection.engine.scopes(within))
