"""Looking at a collection without ranking: by id, in order of writing, by scope."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Literal

from scrubjay._native import Scope
from scrubjay.filters import FilterLike, Ids, lasting
from scrubjay.index.open_collection import OpenCollection
from scrubjay.initialised import guarded
from scrubjay.records import Record, checked_ids, checked_scope, to_record
from scrubjay.store.writing import checked_id

__all__ = ["Reader"]


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
        self._collection.expiry.remove_due()
        document = self._collection.engine.get(id, scope=scope)
        return None if document is None else to_record(document)

    def get_many(self, ids: Iterable[str | int], scope: Scope) -> builtins.list[Record | None]:
        """Return what :meth:`Index.get` returns for each id, in the order of `ids`."""
        wanted, scope = checked_ids(ids), checked_scope(scope)
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
        id, within = checked_id(id, None), checked_scope(within, "within")
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
            filter: conditions on metadata, created_at and expires_at (see :mod:`scrubjay.filters`).
            ids: only memories with these ids, in whichever of the scopes; those that do not exist are passed over.
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
        self._collection.expiry.remove_due()
        found = self._collection.engine.listed(
            scope, filter=filter, ids=ids, exact=exact, limit=limit, offset=offset, order=order
        )
        return [to_record(document) for document in found]

    def count(
        self,
        scope: Scope | None,
        filter: FilterLike | None,
        ids: Ids | None,
        exclude: Ids | None,
    ) -> int:
        """Return how many memories a search from `scope` would look at, with a filter as in :meth:`Index.search`
        how many it admits; without a scope (and then without a filter) how many there are.
        """
        self._collection.expiry.remove_due()
        if filter is None and ids is None and exclude is None:
            return self._collection.engine.count(scope)
        return self._collection.engine.count(scope, filter=filter, ids=lasting(ids), exclude=lasting(exclude))

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
        if within is not None and not isinstance(within, Scope):
            raise TypeError(f"within: expected a scrubjay.Scope, got {type(within).__name__}")
        self._collection.expiry.remove_due()
        return sorted(self._collection.engine.scopes(within))
