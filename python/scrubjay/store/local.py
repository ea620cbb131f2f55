"""The engine of an index without a file: the native engine, which keeps everything, and listings of what it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrubjay._native import Engine, Scope
from scrubjay.filters import FilterLike, Ids
from scrubjay.store.listing import asked
from scrubjay.store.protocol import StoredDocument

__all__ = ["LocalEngine"]


class LocalEngine(Engine):
    """A native engine with the listings of an engine over a file.

    >>> engine = LocalEngine()
    >>> engine.upsert_many([1, 2, 3], ["one", "two", "three"], scope=Scope("acme"))
    3
    >>> engine.upsert(1, "uno", scope=Scope("acme"))
    >>> [document.id for document in engine.listed(Scope("acme"))]
    [1, 3, 2]
    """

    def listed(
        self,
        scope: Scope,
        *,
        filter: FilterLike | None = None,
        ids: Ids | None = None,
        exact: bool = False,
        limit: int | None = None,
        offset: int = 0,
        order: str = "newest",
    ) -> list[StoredDocument]:
        """Return documents that `scope` sees, without their vectors, by when they were last written.

        See :meth:`scrubjay.Index.list` for the arguments. All of one state of each exact scope.
        """
        request = asked(scope, filter=filter, exact=exact, limit=limit, offset=offset, order=order)
        limit = None if request.stop is None else request.stop - request.start
        result = self.scroll(
            scope,
            filter=request.filter,
            ids=ids,
            exact=exact,
            newest=request.newest,
            skip=request.start,
            limit=limit,
        )
        return list(_documents(result))

    def found(self, id: Any, *, within: Scope) -> list[Any]:
        """Return the documents with this id in scopes that agree with `within`, in order of scope, without vectors."""
        scopes: list[Scope] = sorted(self.scopes(within))
        found = (self.scroll(scope, ids=[id], exact=True) for scope in scopes)
        return [document for result in found for document in _documents(result)]


def _documents(result: Any) -> Iterator[StoredDocument]:
    for i in range(len(result)):
        yield StoredDocument(result.id(i), result.text(i), result.scope(i), result.payload(i), None)
