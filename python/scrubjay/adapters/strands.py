"""A memory store for Strands agents over a Scrubjay index.

>>> import asyncio
>>> from scrubjay import Scope
>>> store = ScrubjayMemoryStore("notes", scope=Scope("acme", user="jane"))
>>> id = asyncio.run(store.add("The staging key prefix is sk-stg-0041.", {"category": "keys"}))
>>> found = asyncio.run(store.search("sk-stg-0041"))
>>> found[0].content, found[0].metadata["category"]
('The staging key prefix is sk-stg-0041.', 'keys')
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from scrubjay._native import Scope
from scrubjay.backend import AsyncDocuments, Documents
from scrubjay.base.errors import MissingExtraError, VersionConflictError
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Query
from scrubjay.index import Index

try:
    from strands.memory.types import MemoryEntry
except ImportError:
    raise MissingExtraError("scrubjay.adapters.strands", "strands", "strands-agents") from None

__all__ = ["SCORE", "ScrubjayMemoryStore"]

SCORE = "_relevanceScore"
"""The metadata key of an entry's score, as in Strands' own store."""


class ScrubjayMemoryStore:
    """The memories of one scope, for Strands' `MemoryManager`.

    Args:
        name: the name by which tools refer to this store.
        where: the path of a file; an open :class:`Index`; None: in memory, for this process.
        scope: the scope of the memories, out of the model's reach. Searches also see what is shared with it.
        embedder: enables search by meaning; without one searches go by keywords.
        description, max_search_results, writable, extraction: as in Strands' MemoryStoreConfig.
        query: how searches rank; None: ``scrubjay.Query()``.
        collection: the collection of the file.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.
    """

    def __init__(
        self,
        name: str,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        scope: Scope,
        embedder: Embedder | None = None,
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: Any = None,
        query: Query | None = None,
        collection: str | None = "strands",
        **options: Any,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"name: expected a str that is not empty, got {name!r}")
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        self.name = name
        self.description = description
        self.max_search_results = _checked_limit(max_search_results)
        self.writable = writable
        self.extraction = extraction
        self._scope = scope
        self._documents = Documents(where, collection=collection, embedder=embedder, query=query, **options)
        self._awaited = AsyncDocuments(self._documents)

    async def search(self, query: str, options: Mapping[str, Any] | None = None) -> list[Any]:
        """Return the memories that fit a question, best first, each with its score in the metadata.

        Args:
            query: the question.
            options: Strands' options; `max_search_results` is the maximum number of memories.
        """
        limit = _checked_limit((options or {}).get("max_search_results"))
        k = limit or self.max_search_results or 10
        if not query.strip():
            return []
        hits = await self._awaited.search(query, scope=self._scope, k=k)
        return [
            MemoryEntry(content=hit.text, metadata={**hit.metadata, SCORE: float(hit.score)}) for hit in hits
        ]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Store a text and return its id. The same text again is the same memory, so writes may be retried.

        Args:
            content: the text.
            metadata: JSON values stored with it.

        Raises:
            ValueError: the store is not writable, or the text is blank.
        """
        if not self.writable:
            raise ValueError(f"add: expected a writable store, got {self.name!r}, which is not")
        if not content.strip():
            raise ValueError("content: expected a text that is not empty")
        id = hashlib.sha256(content.strip().encode("utf-8", "surrogatepass")).hexdigest()
        row = {"id": id, "text": content, "metadata": metadata, "version": 0}
        with suppress(VersionConflictError):  # it is stored already
            await self._awaited.upsert_many([row], scope=self._scope)
        return id

    def close(self) -> None:
        """Release the file; it closes with the last adapter that uses it."""
        self._documents.close()

    def __repr__(self) -> str:
        whose = f"{self.name!r} of {self._scope}"
        return f"<scrubjay.adapters.strands.ScrubjayMemoryStore {whose}: {self._documents.place}>"


def _checked_limit(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError(f"max_search_results: expected 1 or more, got {value!r}")
    return value
