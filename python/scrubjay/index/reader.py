"""Looking at a collection without ranking: by id, page by page, by scope, by the values of a field."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, Literal

from scrubjay._native import Scope
from scrubjay.filters import FilterLike, Ids, lasting
from scrubjay.index.open_collection import OpenCollection
from scrubjay.index.residue import has_functions, keys_of, meeting, split
from scrubjay.initialised import guarded
from scrubjay.records import Cursor, Page, Record, as_scope, checked_ids, to_record
from scrubjay.store.rows.facets import Value
from scrubjay.store.rows.listing import checked_count, listing_of
from scrubjay.store.rows.scrolling import read_cursor, scroll_of, write_cursor
from scrubjay.store.writing import checked_id


@guarded
class Reader:
    """Reads what one collection holds. Thread-safe; never waits for a write."""

    __slots__ = ("_collection",)

    def __init__(self, collection: OpenCollection) -> None:
        self._collection = collection

    def get(self, id: str | int, scope: Scope) -> Record | None:
        """Return the memory with this id that `scope` sees, its vector included, or None.

        Of several the most specific: the scope's own before those that are shared with it (a user's before an agent's
        before the tenant's).

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
        self._collection.expiry.remove_due()
        document = self._collection.engine.get(id, scope=scope)
        return None if document is None else to_record(document)

    def get_many(self, ids: Iterable[str | int], scope: Scope) -> builtins.list[Record | None]:
        """Return what :meth:`Index.get` returns for each id, in the order of `ids`."""
        wanted, scope = checked_ids(ids), as_scope(scope)
        self._collection.expiry.remove_due()
        documents = (self._collection.engine.get(id, scope=scope) for id in wanted)
        return [None if document is None else to_record(document) for document in documents]

    def find(self, id: str | int, within: Scope) -> builtins.list[Record]:
        """Return every memory with this id in any scope that agrees with `within`, in order of scope, without vectors.

        For the operator, who looks after all users of a tenant; what a user may see is what :meth:`Index.get` returns.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert("m1", "Prefers trains.", scope=Scope("acme", user="jane"))
        >>> index.upsert("m1", "Prefers planes.", scope=Scope("acme", user="joe"))
        >>> [record.scope.user for record in index.find("m1", within=Scope("acme"))]
        ['jane', 'joe']
        """
        id, within = checked_id(id, None), as_scope(within, "within")
        self._collection.expiry.remove_due()
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
        """Return the memories that a search from `scope` would look at, without ranking them.

        Args:
            scope: who asks; sees what it sees in :meth:`Index.search`.
            filter: conditions on metadata, created_at and expires_at, or a function (see :mod:`scrubjay.filters`).
            ids: only memories with these ids, in whichever of the scopes, or with these exact keys (scope, id); those
                that do not exist are passed over.
            exact: only memories of precisely this scope, not those shared with it.
            limit: how many at most; None: all.
            offset: how many to leave out first.
            order: "newest" or "oldest" first, by when they were last written (not by created_at).

        The records are those of one moment (in memory of one for each exact scope), without vectors: :meth:`Index.get`
        has them. From a file only rows are read. Nothing waits for a listing.

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
        wanted = listing_of(
            as_scope(scope), filter=filter, exact=exact, limit=limit, offset=offset, order=order
        )
        self._collection.expiry.remove_due()
        ids = lasting(ids)
        if functions or (ids is not None and any(isinstance(one, tuple) for one in ids)):
            found = meeting(self._collection, wanted.scope, filter, functions, ids, exact=exact, order=order)
            return found[wanted.start : wanted.stop]
        documents = self._collection.engine.listed(wanted, ids)
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
            scope: who asks; sees what it sees in :meth:`Index.search`.
            limit: how many memories a page has at most.
            cursor: of the page before; None: the first page. It holds for this index, `scope`, `exact`, `order_by` and
                `descending`, also after the file was closed; filter, limit and vectors may change. It tells the
                position, with it the value of the field that the page ended at, so it is as secret as the memories.
            filter: conditions on metadata, created_at and expires_at (see :mod:`scrubjay.filters`).
            order_by: a key of the metadata, "created_at", "expires_at", or "updated_at", which is the same as None: the
                order in which memories were last written. Numbers come before texts (by code point, of which the first
                256 count), and those before booleans. Memories without such a value (lists and objects are none) come
                last, whatever the direction. Ties in the order of writing.
            descending: the greatest value, or the last written, first.
            vectors: whether records have their vectors.
            exact: only memories of precisely this scope, not those shared with it.

        Pages are stable beside writers: what nobody writes to meanwhile comes once, and a memory that is written anew
        stands where it belongs from then on. In the ascending order of writing that is at the end, so beside a writer
        who is faster than the reader there is no last page (descending there is). A page is of one moment (in memory of
        one for each exact scope). In the order of writing pages cost what they return and what the filter passes over,
        in another one what the scope holds. From a file only rows are read. The pages that begin with `cursor` None and
        go on to a `cursor` None are everything.

        Raises:
            CursorError: the cursor is damaged, or of another index, scope or order.
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
        wanted = scroll_of(
            as_scope(scope),
            exact=exact,
            filter=filter,
            order_by=order_by,
            descending=descending,
            limit=limit,
            vectors=vectors,
        )
        engine = self._collection.engine
        after = None if cursor is None else read_cursor(cursor, wanted, engine.lineage)
        self._collection.expiry.remove_due()
        documents, last = engine.page(wanted, after)
        following = None if last is None else write_cursor(wanted, last, engine.lineage)
        return Page([to_record(document) for document in documents], following)

    def values(
        self, field: str, scope: Scope, filter: FilterLike | None, limit: int | None, exact: bool
    ) -> dict[Value, int]:
        """Return the distinct values of a field, each with the number of memories that have it.

        Args:
            field: a key of the metadata, "created_at" or "expires_at". Of a list each element counts, once a memory;
                objects and missing values do not.
            scope: who asks; memories count that it sees in :meth:`Index.search`.
            filter: conditions on metadata, created_at and expires_at (see :mod:`scrubjay.filters`).
            limit: how many values at most; None: all.
            exact: only memories of precisely this scope, not those shared with it.

        The most frequent value comes first; ties by value, numbers before texts before booleans before times. 1 and 1.0
        are one value. A dict holds one of 1 and True (and of 0 and False): the more frequent one, with the count of
        both. Costs what the scope holds.

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
        wanted = scroll_of(as_scope(scope), exact=exact, filter=filter)
        n = None if limit is None else checked_count(limit, "limit", at_least=1)
        self._collection.expiry.remove_due()
        return self._collection.engine.values(field, wanted).most_common(n)

    def count(
        self,
        scope: Scope | None,
        filter: FilterLike | None,
        ids: Ids | None,
        exclude: Ids | None,
    ) -> int:
        """Return how many memories a search from `scope` would look at, with a filter as in :meth:`Index.search`
        how many it admits; without a scope (and then without a filter) how many there are.

        Args:
            scope: whose memories; what is shared with it counts, too.
            filter: conditions on metadata, or a function (:mod:`scrubjay.filters`).
            ids, exclude: only these ids, all but these.
        """
        scope = None if scope is None else as_scope(scope)
        self._collection.expiry.remove_due()
        if filter is None and ids is None and exclude is None:
            return self._collection.engine.count(scope)
        wanted: Any = lasting(ids)
        if filter is not None and scope is not None and has_functions(filter):
            wanted = keys_of(self._collection, [scope], filter, wanted)
            filter, _ = split(filter)
        return self._collection.engine.count(scope, filter=filter, ids=wanted, exclude=lasting(exclude))

    def scopes(self, within: Scope | None) -> builtins.list[Scope]:
        """Return the exact scopes that hold memories, sorted.

        Args:
            within: only scopes that agree with every component this one names, as for :meth:`Index.erase`; None: all.

        For the operator, who looks after every tenant: it says who is here.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert("m1", "The staging key", scope=Scope("acme", user="jane"))
        >>> index.upsert("m2", "Invoices go out on Mondays.", scope=Scope("acme"))
        >>> index.upsert("m3", "Prefers trains.", scope=Scope("globex"))
        >>> index.scopes(Scope("acme"))
        [Scope('acme'), Scope('acme', user='jane')]
        """
        within = None if within is None else as_scope(within, "within")
        self._collection.expiry.remove_due()
        return sorted(self._collection.engine.scopes(within))
