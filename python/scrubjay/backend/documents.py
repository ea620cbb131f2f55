"""The documents of an adapter: one collection of a shared file, with the verbs of an index.

Beyond the verbs of :class:`scrubjay.Index`, they take conditions that only Python can check, search several scopes at
once, ignore values that cannot be ids, and raise the framework's errors.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from scrubjay._native import Filter, Scope
from scrubjay.backend.conditions import Admitted, All, Ids, Node, admit, native_part, where_of
from scrubjay.backend.error_mapping import ErrorMap
from scrubjay.backend.ids import valid_ids
from scrubjay.backend.joint_ranking import search_together
from scrubjay.backend.leases import lease
from scrubjay.backend.offsets import Offsets
from scrubjay.backend.paging import every, page_of
from scrubjay.backend.queries import as_query
from scrubjay.backend.ranked_pages import RankedPages
from scrubjay.backend.writes import Writes, writing
from scrubjay.base.initialised import guarded
from scrubjay.documents.records import Cursor, Page, Record, as_scope
from scrubjay.embedders.protocol import Embedder
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index

Self = TypeVar("Self", bound="Documents")
Conditions: TypeAlias = "Node | FilterLike | None"


@guarded
class Documents:
    """One collection, with the interface for adapters. Thread-safe; a context manager. :class:`AsyncDocuments` awaits
    it.

    Args:
        where: the path of a file, which all adapters of this process that name it share; an open :class:`Index`, which
            stays open; None: in memory.
        collection: of the file; None: the default collection.
        embedder: for semantic search; without one searches use keywords, unless vectors are given.
        query: the default of searches, a :class:`Query` or its settings; None: ``Query()``.
        errors: the mapping of Scrubjay's errors to those that every method raises.
        options: dim, metric, dtype, analyzer of a new collection; durability, busy_timeout, memory_budget, keys and the
            other arguments of :meth:`Index.open`.

    `filter=` of a method is a filter of :mod:`scrubjay.filters` or a tree of conditions
    (:mod:`scrubjay.backend.conditions`); every call names its scope. Ids are str.

    >>> jane = Scope("acme", user="jane")
    >>> documents = Documents(None, collection="notes")
    >>> documents.upsert_many([{"id": "m1", "text": "The staging key is sk-stg-0041."}], scope=jane)
    1
    >>> documents.search("sk-stg-0041", scope=jane)[0].id
    'm1'
    >>> documents.get_many(["m1", None, "m2"], scope=Scope("acme", user="joe"))
    [None, None, None]
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        collection: str | None = None,
        embedder: Embedder | None = None,
        query: Query | Mapping[str, Any] | None = None,
        errors: ErrorMap | None = None,
        **options: Any,
    ) -> None:
        self.errors = ErrorMap() if errors is None else errors
        with self.errors:
            self.query = as_query(query)
            self._offsets, self._ranked = Offsets(), RankedPages()
            self.lease = lease(where, collection=collection, embedder=embedder, **options)

    @property
    def index(self) -> Index:
        """The collection's index. Created again if another holder of the file dropped the collection."""
        with self.errors:
            return self.lease.index

    @property
    def turn(self) -> AbstractContextManager[bool]:
        """A lock that all adapters of this process over this file share, for reading and then writing."""
        with self.errors:
            return self.lease.turn

    # ------------------------------------------------------------------ writing

    def upsert_many(self, records: Iterable[Mapping[str, Any] | Any], *, scope: Scope | None = None) -> int:
        """Write memories as :meth:`Index.upsert_many` does: all of them or none; return how many."""
        with self.errors:
            return self.index.upsert_many(records, scope=scope, progress=False)

    def patch(self, id: Any, *, scope: Scope, **changes: Any) -> int | None:
        """Change one memory of exactly this scope but not its text, as :meth:`Index.patch` does; None if it does not
        exist.

        Args:
            id: of the memory; a value that cannot be an id names no memory.
            scope: its exact scope.
            changes: as for :meth:`scrubjay.Index.patch`.
        """
        with self.errors:
            return self.index.patch(id, scope=scope, **changes) if valid_ids([id]) else None

    def delete_many(
        self,
        ids: Iterable[Any] | None = None,
        *,
        scope: Scope,
        filter: Conditions = None,
        reason: str = "delete",
    ) -> int:
        """Delete memories of exactly this scope in one commit; return how many existed.

        Args:
            ids: of the memories; unknown ones, and values that cannot be ids, are ignored.
            filter: conditions; memories that match are deleted, restricted to `ids` if these are given, too.
            scope: exactly this one.
            reason: for the deletion event.

        Raises:
            ValueError: neither is given; :meth:`erase` deletes everything.
        """
        with self.errors:
            wanted = None if ids is None else valid_ids(ids)
            node = where_of(filter)
            if wanted is None and node is None:
                raise ValueError("ids, filter: expected one of them at least; erase() deletes everything")
            index = self.index
            if node is None or wanted == []:
                return index.delete_many(wanted, scope=scope, reason=reason)
            with self.turn:
                native = native_part(node)
                if native is not None and (wanted is not None or not Filter(native).admits_everything):
                    return index.delete_many(wanted, scope=scope, filter=native, reason=reason)
                met = [record.id for record in every(index, scope, node, exact=True)]
                matching = met if wanted is None else list(set(met).intersection(wanted))
                return index.delete_many(matching, scope=scope, reason=reason)

    def erase(self, scope: Scope, *, exact: bool = True, reason: str = "erase") -> int:
        """Delete everything of exactly this scope (with exact=False also of the scopes below it); return how many.

        Args:
            scope: of the memories.
            exact: whether only memories of exactly this scope.
            reason: for the deletion event.
        """
        with self.errors:
            return self.index.erase(scope, exact=exact, reason=reason)

    @contextmanager
    def writing(self, doing: str) -> Iterator[Writes]:
        """Write and delete in one step at the end of the block: atomically, and in a file in one commit.

        No other writer can change what the block reads until then, in a file no other process either; so call a slow
        embedder before the block. In memory, a search may briefly see both the new memories and the deleted ones.

        Args:
            doing: the operation: the reason in deletion events, and for the message of an error.

        >>> from scrubjay.documents.records import Row
        >>> acme, documents = Scope("acme"), Documents(None)
        >>> documents.upsert_many([{"id": "old", "text": "Lives in Berlin."}], scope=acme)
        1
        >>> with documents.writing("moving") as writes:
        ...     writes.delete([(acme, "old")])
        ...     writes.put([Row("new", "Lives in Oslo.", acme, None, None)])
        >>> [record.id for record in documents.list(scope=acme)]
        ['new']
        """
        with self.errors, writing(self.lease, doing) as writes:
            yield writes

    # ------------------------------------------------------------------ reading

    def get_many(
        self, ids: Iterable[Any], *, scope: Scope, exact: bool = False
    ) -> builtins.list[Record | None]:
        """Return the memories with these ids in order, with their vectors; None for ids that the scope does not see.

        With `exact`, memories shared with the scope count as absent.
        """
        with self.errors:
            wanted = list(ids)
            known = valid_ids(wanted)
            by_id = dict(zip(known, self.index.get_many(known, scope=scope), strict=True))
            records = [by_id.get(id) if isinstance(id, str) else None for id in wanted]
            return [r if r is None or not exact or r.scope == scope else None for r in records]

    def search(
        self,
        text: str | bytes | None = None,
        *,
        scope: Scope | Sequence[Scope],
        k: int = 10,
        filter: Conditions = None,
        vector: ArrayLike | None = None,
        query: Query | None = None,
        offset: int = 0,
        explain: bool = False,
    ) -> builtins.list[Hit]:
        """Return the best `k` memories, best first, without the `offset` ones that the previous pages had.

        Several scopes are ranked together (:mod:`scrubjay.backend.joint_ranking`). Otherwise as :meth:`Index.search`.
        Consecutive pages within ten minutes return each memory once.
        """
        with self.errors:
            if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
                raise ValueError(f"offset: expected 0 or more, got {offset!r}")
            scopes = [as_scope(scope)] if isinstance(scope, Scope) else list(scope)
            where, search_query, index = where_of(filter), self.query if query is None else query, self.index

            def best(n: int) -> builtins.list[Hit]:
                return search_together(
                    index, scopes, text, k=n, where=where, vector=vector, query=search_query, explain=explain
                )

            if offset == 0:
                return best(k)

            def found(n: int) -> tuple[builtins.list[Hit], builtins.list[Hashable]]:
                hits = best(n)
                return hits, [(hit.scope, hit.id) for hit in hits]

            vector_bytes = None if vector is None else np.asarray(vector).tobytes()
            question = (tuple(scopes), text, vector_bytes, repr(where), repr(search_query))
            return self._ranked.page(question, offset, k, found)

    def list(
        self,
        *,
        scope: Scope,
        filter: Conditions = None,
        ids: Iterable[Any] | None = None,
        exact: bool = False,
        limit: int | None = None,
        order: Literal["newest", "oldest"] = "newest",
    ) -> builtins.list[Record]:
        """Return all memories at once, without vectors, as :meth:`Index.list` does, for frameworks without pages.

        Restricted to `ids`, if given; unknown ones, and values that cannot be ids, are ignored.
        """
        with self.errors:
            node, index = where_of(filter), self.index
            if ids is not None:
                named = Ids(frozenset(valid_ids(ids)))
                node = named if node is None else All([node, named])
            admitted = Admitted() if node is None else admit(index, scope, node, exact=exact)
            if admitted.ids == []:
                return []
            return index.list(scope, exact=exact, limit=limit, order=order, **admitted.options)

    def scroll(
        self,
        *,
        scope: Scope,
        limit: int = 100,
        cursor: Cursor | str | None = None,
        filter: Conditions = None,
        order_by: str | None = None,
        descending: bool = False,
        vectors: bool = False,
        exact: bool = False,
    ) -> Page:
        """Return one page and the cursor of the next, as :meth:`Index.scroll` does; late pages cost no more."""
        with self.errors:
            return page_of(
                self.index,
                scope,
                where_of(filter),
                limit=limit,
                cursor=cursor,
                order_by=order_by,
                descending=descending,
                vectors=vectors,
                exact=exact,
            )

    def page(
        self,
        *,
        scope: Scope | Sequence[Scope],
        offset: int = 0,
        limit: int = 100,
        filter: Conditions = None,
        order_by: str | None = None,
        descending: bool = False,
        exact: bool = False,
        kept: Callable[[Record], bool] | None = None,
        own: Callable[[Record], bool] | None = None,
        question: Hashable = None,
    ) -> builtins.list[Record]:
        """Return a page by its offset, for interfaces without cursors. Late pages cost no more, and for consecutive
        pages concurrent writes neither repeat nor hide memories.

        `scope` may be several scopes of one tenant, in the order of writing; `filter` is as in the other methods.
        `offset`, `limit`, `order_by`, `descending`, `exact`, `kept`, `own` and `question` are those of
        :meth:`Offsets.page`.
        """
        with self.errors:
            return self._offsets.page(
                self.index,
                [as_scope(scope)] if isinstance(scope, Scope) else list(scope),
                where_of(filter),
                offset=offset,
                limit=limit,
                order_by=order_by,
                descending=descending,
                exact=exact,
                kept=kept,
                own=own,
                question=question,
            )

    def every(self, *, scope: Scope, filter: Conditions = None, **options: Any) -> Iterator[Record]:
        """Yield all memories, page by page; `options` are those of :meth:`scroll`.

        Args:
            scope: of the reader; memories shared with it are included.
            filter: conditions, native or a tree.
            options: such as `order_by` and `exact`.
        """
        with self.errors:
            yield from every(self.index, scope, where_of(filter), **options)

    def count(self, scope: Scope, *, filter: Conditions = None) -> int:
        """Return the number of memories that the scope sees and that match the conditions.

        Args:
            scope: of the reader.
            filter: conditions, native or a tree.
        """
        with self.errors:
            node = where_of(filter)
            admitted = Admitted() if node is None else admit(self.index, scope, node)
            return self.index.count(scope, **admitted.options)

    def values(
        self, field: str, *, scope: Scope, filter: FilterLike | None = None, limit: int | None = None
    ) -> Any:
        """Return the distinct values of a field with their counts, as :meth:`Index.values` does."""
        with self.errors:
            return self.index.values(field, scope=scope, filter=filter, limit=limit)

    @contextmanager
    def changing(self) -> Iterator[Index]:
        """Hold the lock of all adapters of this process over this file while reading and writing; yields the index."""
        with self.errors, self.turn:
            yield self.index

    # ------------------------------------------------------------------ closing

    def close(self) -> None:
        """Return the file; the last adapter that uses it closes it."""
        self.lease.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<scrubjay.backend.Documents {self.place}>"

    @property
    def place(self) -> str:
        """The description for the `repr` of the adapter: collection, file, embedder."""
        try:
            return self.lease.place(self.lease.index)
        except Exception:  # noqa: BLE001 - a repr must not raise
            return "closed"
