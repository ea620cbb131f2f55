"""The async twins of :class:`scrubjay.backend.Documents`."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from scrubjay.backend.documents import Documents
from scrubjay.index import Index
from scrubjay.index.twins import Twinned, loose_twin, twin

__all__ = ["AsyncDocuments"]


class AsyncDocuments(Twinned[Documents]):
    """The verbs of :class:`Documents`, to be awaited; the event loop goes on meanwhile.

    Each call runs on a thread of the loop's own pool. If the awaiting task is cancelled, the call runs to its end: a
    write may have happened.

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

    def __init__(self, documents: Documents) -> None:
        if not isinstance(documents, Documents):
            raise TypeError(f"documents: expected a Documents, got {type(documents).__name__}")
        super().__init__(documents)

    @classmethod
    async def open(
        cls, where: str | os.PathLike[str] | Index | None = None, **options: Any
    ) -> AsyncDocuments:
        """Await what :class:`Documents` does when it is made."""
        import asyncio

        return cls(await asyncio.to_thread(Documents, where, **options))

    @property
    def documents(self) -> Documents:
        """The documents."""
        return self._sync

    upsert_many = twin(Documents.upsert_many)
    patch = loose_twin(Documents.patch)
    delete_many = twin(Documents.delete_many)
    erase = twin(Documents.erase)
    get_many = twin(Documents.get_many)
    search = twin(Documents.search)
    scroll = twin(Documents.scroll)
    count = twin(Documents.count)
    values = twin(Documents.values)
    close = twin(Documents.close)

    async def __aenter__(self) -> AsyncDocuments:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<scrubjay.backend.AsyncDocuments of {self._sync!r}>"
