"""The async twins of :class:`scrubjay.backend.Documents`, and of an adapter's own methods."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from scrubjay.backend.documents import Documents
from scrubjay.index import Index
from scrubjay.index.twins import OpenTwin, loose_twin, twin

R = TypeVar("R")


def awaited(method: Callable[..., R], name: str | None = None) -> Callable[..., Coroutine[Any, Any, R]]:
    """Return the async twin of a method, for classes that need both.

    It takes the arguments of the method, returns what it returns and raises what it raises, on a thread of the loop's
    default pool, so that the loop is not blocked. An override of the method in a subclass is respected. `name`: of the
    async method.

    >>> import asyncio
    >>> class Store:
    ...     def add(self, number):
    ...         return number + 1
    ...     aadd = awaited(add, "aadd")
    >>> asyncio.run(Store().aadd(1))
    2
    """

    @functools.wraps(method)
    async def run(self: Any, /, *args: Any, **kwargs: Any) -> R:
        import asyncio

        call: Callable[..., R] = getattr(self, method.__name__)
        return await asyncio.to_thread(call, *args, **kwargs)

    if name is not None:
        run.__name__, run.__qualname__ = name, f"{method.__qualname__.rpartition('.')[0]}.{name}"
    run.__doc__ = f"Await what :meth:`{method.__name__}` does."
    return run


class AsyncDocuments(OpenTwin[Documents]):
    """The verbs of :class:`Documents`, to be awaited without blocking the event loop.

    Each call runs on a thread of the loop's default pool. If the awaiting task is cancelled, the call still runs to its
    end: a write may have happened.

    >>> import asyncio
    >>> from scrubjay import Scope
    >>> async def main():
    ...     async with await AsyncDocuments.open(None, collection="notes") as documents:
    ...         await documents.upsert_many([{"id": "m1", "text": "Prefers trains."}], scope=Scope("acme"))
    ...         return [hit.id for hit in await documents.search("train", scope=Scope("acme"))]
    >>> asyncio.run(main())
    ['m1']
    """

    __slots__ = ()

    _of = Documents
    _name = "documents"
    _package = "scrubjay.backend"

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)

    @classmethod
    async def open(  # type: ignore[override] # Documents have no `open`
        cls, where: str | os.PathLike[str] | Index | None = None, **options: Any
    ) -> AsyncDocuments:
        """Create :class:`Documents` on a thread.

        Args:
            where, options: as for :class:`scrubjay.backend.Documents`.
        """
        import asyncio

        return cls(await asyncio.to_thread(Documents, where, **options))

    @property
    def documents(self) -> Documents:
        """The documents whose methods are awaited."""
        return self._sync

    upsert_many = twin(Documents.upsert_many)
    patch = loose_twin(Documents.patch)
    delete_many = twin(Documents.delete_many)
    erase = twin(Documents.erase)
    get_many = twin(Documents.get_many)
    search = twin(Documents.search)
    list = twin(Documents.list)
    scroll = twin(Documents.scroll)
    page = twin(Documents.page)
    count = twin(Documents.count)
    values = twin(Documents.values)
