"""A view of an index for one scope, which is given once and cannot be forgotten."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol

from numpy.typing import ArrayLike

from scrubjay._native import Scope
from scrubjay.base.errors import Error
from scrubjay.documents.payload import CreatedAt
from scrubjay.documents.records import Cursor, Page, Record, Stamp, as_scope
from scrubjay.documents.tables import is_table, rows_of
from scrubjay.filters import FilterLike, Ids
from scrubjay.fusion import Query
from scrubjay.index.results import Hit, Hits
from scrubjay.store.rows.facets import Value
from scrubjay.store.rows.patching import KEEP, Keep


class _Viewed(Protocol):
    """The methods of an index that a view calls."""

    @property
    def search(self) -> Callable[..., Hits]: ...
    @property
    def asearch(self) -> Callable[..., Awaitable[Hits]]: ...
    @property
    def search_batch(self) -> Callable[..., builtins.list[Hits]]: ...
    @property
    def get(self) -> Callable[..., Record | None]: ...
    @property
    def get_many(self) -> Callable[..., builtins.list[Record | None]]: ...
    @property
    def list(self) -> Callable[..., builtins.list[Record]]: ...
    @property
    def count(self) -> Callable[..., int]: ...
    @property
    def scroll(self) -> Callable[..., Page]: ...
    @property
    def values(self) -> Callable[..., dict[Value, int]]: ...
    @property
    def patch(self) -> Callable[..., int | None]: ...
    @property
    def upsert(self) -> Callable[..., None]: ...
    @property
    def upsert_many(self) -> Callable[..., int]: ...
    @property
    def delete(self) -> Callable[..., bool]: ...
    @property
    def delete_many(self) -> Callable[..., int]: ...
    @property
    def erase(self) -> Callable[..., int]: ...
    @property
    def feedback(self) -> Callable[..., bool]: ...


class ScopeView:
    """The verbs of an index for one scope; created by :meth:`scrubjay.Index.scope`. As cheap as a tuple.

    Reads see what a search from the scope sees; writes act on exactly this scope. Each method does what the method of
    the same name of :class:`scrubjay.Index` does, and takes its other arguments.

    >>> from scrubjay import Index
    >>> index = Index()
    >>> jane, joe = index.scope("acme", user="jane"), index.scope("acme", user="joe")
    >>> jane.upsert("m1", "Prefers trains to planes.")
    >>> len(jane.search("trains")), len(joe.search("trains")), joe.get("m1")
    (1, 0, None)
    >>> jane
    <scrubjay.ScopeView of Scope('acme', user='jane'), 1 memory visible>
    """

    __slots__ = ("_index", "_scope")

    def __init__(self, index: _Viewed, scope: Scope) -> None:
        self._index = index
        self._scope = scope

    @property
    def exact_scope(self) -> Scope:
        """The scope of the view."""
        return self._scope

    @property
    def index(self) -> Any:
        """The index of the view."""
        return self._index

    # ------------------------------------------------------------------ reading

    def search(
        self, text: str | bytes | None = None, *, k: int = 10, filter: FilterLike | None = None,
        vector: ArrayLike | None = None, query: Query | None = None, explain: bool = False,
        after: Stamp | None = None,
    ) -> Hits:  # fmt: skip
        """Search; see :meth:`scrubjay.Index.search`."""
        hits: Hits = self._index.search(
            text,
            scope=self._scope,
            k=k,
            filter=filter,
            vector=vector,
            query=query,
            explain=explain,
            after=after,
        )
        return hits

    async def asearch(
        self, text: str | bytes | None = None, *, k: int = 10, filter: FilterLike | None = None,
        vector: ArrayLike | None = None, query: Query | None = None, explain: bool = False,
        after: Stamp | None = None,
    ) -> Hits:  # fmt: skip
        """Search; see :meth:`scrubjay.Index.asearch`, and :meth:`scrubjay.Index.search` for the arguments."""
        hits: Hits = await self._index.asearch(
            text,
            scope=self._scope,
            k=k,
            filter=filter,
            vector=vector,
            query=query,
            explain=explain,
            after=after,
        )
        return hits

    def search_batch(
        self, texts: Sequence[str | bytes | None] | None = None, *, k: int = 10, filter: FilterLike | None = None,
        vectors: ArrayLike | Sequence[ArrayLike | None] | None = None,
        query: Query | Sequence[Query | None] | None = None, explain: bool = False, threads: int | None = None,
    ) -> builtins.list[Hits]:  # fmt: skip
        """Run several searches at once; see :meth:`scrubjay.Index.search_batch`, and :meth:`scrubjay.Index.search` for
        the arguments of each."""
        return self._index.search_batch(
            texts,
            scope=self._scope,
            k=k,
            filter=filter,
            vectors=vectors,
            query=query,
            explain=explain,
            threads=threads,
        )

    def get(self, id: str | int) -> Record | None:
        """Return one memory; see :meth:`scrubjay.Index.get`."""
        return self._index.get(id, scope=self._scope)

    def get_many(self, ids: Iterable[str | int]) -> builtins.list[Record | None]:
        """Return memories in the order of their ids; see :meth:`scrubjay.Index.get_many`."""
        return self._index.get_many(ids, scope=self._scope)

    def list(
        self, *, filter: FilterLike | None = None, ids: Ids | None = None, exact: bool = False,
        limit: int | None = None, offset: int = 0, order: Literal["newest", "oldest"] = "newest",
    ) -> builtins.list[Record]:  # fmt: skip
        """List memories; see :meth:`scrubjay.Index.list`."""
        return self._index.list(
            self._scope, filter=filter, ids=ids, exact=exact, limit=limit, offset=offset, order=order
        )

    def scroll(
        self, *, limit: int = 100, cursor: Cursor | str | None = None, filter: FilterLike | None = None,
        order_by: str | None = None, descending: bool = False, vectors: bool = False, exact: bool = False,
    ) -> Page:  # fmt: skip
        """Return a page of memories; see :meth:`scrubjay.Index.scroll`."""
        return self._index.scroll(
            scope=self._scope,
            limit=limit,
            cursor=cursor,
            filter=filter,
            order_by=order_by,
            descending=descending,
            vectors=vectors,
            exact=exact,
        )

    def values(
        self, field: str, *, filter: FilterLike | None = None, limit: int | None = 100, exact: bool = False,
    ) -> dict[Value, int]:  # fmt: skip
        """Count the values of a field; see :meth:`scrubjay.Index.values`."""
        return self._index.values(field, scope=self._scope, filter=filter, limit=limit, exact=exact)

    def count(
        self, *, filter: FilterLike | None = None, ids: Ids | None = None, exclude: Ids | None = None,
    ) -> int:  # fmt: skip
        """Count the memories visible to a search; see :meth:`scrubjay.Index.count`."""
        return self._index.count(self._scope, filter=filter, ids=ids, exclude=exclude)

    # ------------------------------------------------------------------ writing

    def upsert(
        self, id: str | int, text: str | bytes, *, vector: ArrayLike | None = None,
        metadata: Mapping[str, Any] | None = None, created_at: CreatedAt | None = None,
        expires_at: CreatedAt | None = None, ttl: timedelta | float | None = None,
        entities: Sequence[str] | None = None, version: int | None = None, context: str | None = None,
        passages: Sequence[tuple[int, int]] | Literal[False] | None = None,
    ) -> None:  # fmt: skip
        """Write one memory; see :meth:`scrubjay.Index.upsert`."""
        self._index.upsert(
            id,
            text,
            scope=self._scope,
            vector=vector,
            metadata=metadata,
            created_at=created_at,
            expires_at=expires_at,
            ttl=ttl,
            entities=entities,
            version=version,
            context=context,
            passages=passages,
        )

    def upsert_many(
        self,
        records: Iterable[Mapping[str, Any] | Any],
        *,
        progress: bool | None = None,
        batch_size: int = 256,
    ) -> int:
        """Write many memories; see :meth:`scrubjay.Index.upsert_many`.

        Raises:
            ValueError: a record names another scope.
        """
        if isinstance(records, (Mapping, str, bytes)) or not (
            is_table(records) or isinstance(records, Iterable)
        ):  # the index raises the error
            return self._index.upsert_many(records, scope=self._scope)
        rows = builtins.list(rows_of(records) if is_table(records) else records)
        for i, record in enumerate(rows):
            own = record.get("scope") if isinstance(record, Mapping) else getattr(record, "scope", None)
            if isinstance(own, Mapping):
                try:
                    own = as_scope(own)
                except (TypeError, ValueError):
                    continue  # reported below, with all other errors
            if own is not None and own != self._scope:
                raise ValueError(f"records[{i}]: scope: expected {self._scope!r} or none, got {own!r}")
        return self._index.upsert_many(rows, scope=self._scope, progress=progress, batch_size=batch_size)

    def patch(
        self, id: str | int, *, metadata: Mapping[str, Any] | None = None,
        created_at: CreatedAt | Keep | None = KEEP, expires_at: CreatedAt | Keep | None = KEEP,
        vector: ArrayLike | Keep | None = KEEP, version: int | None = None, context: str | Keep | None = KEEP,
    ) -> int | None:  # fmt: skip
        """Change a memory of exactly this scope in part; see :meth:`scrubjay.Index.patch`."""
        return self._index.patch(
            id,
            scope=self._scope,
            metadata=metadata,
            created_at=created_at,
            expires_at=expires_at,
            vector=vector,
            version=version,
            context=context,
        )

    def delete(self, id: str | int, *, reason: str = "delete") -> bool:
        """Delete one memory of exactly this scope; see :meth:`scrubjay.Index.delete`."""
        return self._index.delete(id, scope=self._scope, reason=reason)

    def delete_many(
        self, ids: Iterable[str | int] | None = None, *, filter: FilterLike | None = None, reason: str = "delete",
    ) -> int:  # fmt: skip
        """Delete memories of exactly this scope at once; see :meth:`scrubjay.Index.delete_many`."""
        return self._index.delete_many(ids, scope=self._scope, filter=filter, reason=reason)

    def erase(
        self, *, exact: bool = False, reason: str = "erase", everywhere: bool = False, names: bool = False,
    ) -> int:  # fmt: skip
        """Erase everything whose scope agrees with this one; see :meth:`scrubjay.Index.erase`."""
        return self._index.erase(self._scope, exact=exact, reason=reason, everywhere=everywhere, names=names)

    def feedback(self, hit: Hit | str | int, used: bool = True, query: str | None = None) -> bool:
        """Record whether a hit was useful; see :meth:`scrubjay.Index.feedback`."""
        return self._index.feedback(hit, used, query, scope=self._scope)

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, id: object) -> bool:
        return isinstance(id, (str, int)) and self.get(id) is not None

    def __repr__(self) -> str:
        try:
            n = self.count()
        except Error as error:  # debuggers call repr, so it must not raise
            return f"<scrubjay.ScopeView of {self._scope!r}: {error}>"
        return f"<scrubjay.ScopeView of {self._scope!r}, {n:,} {'memory' if n == 1 else 'memories'} visible>"


def as_view_scope(tenant: str | Scope, user: str | None, agent: str | None) -> Scope:
    """Return the scope of a view: a given scope, or one made of names."""
    if not isinstance(tenant, Scope):
        return Scope(tenant, user, agent)
    if user is not None or agent is not None:
        raise TypeError("user, agent: expected none with a scrubjay.Scope")
    return tenant
