"""CrewAI's memory `Storage` (before 1.10) over a Scrubjay index, for `ExternalMemory` and its siblings.

>>> from scrubjay import Scope
>>> storage = ScrubjayStorage(scope=Scope("acme", user="jane"))
>>> storage.save("The staging key prefix is sk-stg-0041.", {"category": "keys"})
>>> storage.search("sk-stg-0041")[0]["content"]
'The staging key prefix is sk-stg-0041.'
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from typing import Any

from scrubjay._native import Scope
from scrubjay.backend import as_query, lease
from scrubjay.embedders.protocol import Embedder
from scrubjay.errors import MissingExtraError
from scrubjay.fusion import Query
from scrubjay.index import Index

try:
    from crewai.memory.storage.interface import Storage
except ImportError:
    # CrewAI 1.10 has one memory with another kind of storage.
    raise MissingExtraError("scrubjay.adapters.crewai", "crewai", "crewai before 1.10") from None

__all__ = ["ScrubjayStorage"]


class ScrubjayStorage(Storage):
    """What a crew remembers, in one scope. Give each kind of memory a collection of its own.

    Args:
        where: the path of a file; an :class:`Index` that is open already; None: in this process's memory.
        scope: whose memories.
        embedder: for finding by meaning; without one searches go by keywords.
        query: how searches rank; None: ``scrubjay.Query()``.
        collection: of the file.
        options: further arguments of :meth:`Index.open` and :meth:`Index.collection`.
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | Index | None = None,
        *,
        scope: Scope,
        embedder: Embedder | None = None,
        query: Query | None = None,
        collection: str | None = "crewai",
        **options: Any,
    ) -> None:
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        self._scope = scope
        self._query = as_query(query)
        self._lease = lease(where, collection=collection, embedder=embedder, **options)
        self._index = self._lease.index

    def save(self, value: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Store a value; other types than str as JSON, and what JSON cannot express as its `str`."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        plain = json.loads(json.dumps(dict(metadata or {}), default=str))
        self._index.upsert(uuid.uuid4().hex, text, scope=self._scope, metadata=plain)

    def search(
        self,
        query: str,
        limit: int = 5,
        filter: Mapping[str, Any] | None = None,
        score_threshold: float = 0.6,
    ) -> list[dict[str, Any]]:
        """Return what fits a question, best first, as mappings of id, content, metadata and score.

        The score that the threshold is held against is in [0, 1]: the cosine, or the share of the question's words that
        the memory holds, whichever is greater. So a verbatim identifier passes even if the model does not know it.
        """
        if not query.strip():
            return []
        hits = self._index.search(
            query, scope=self._scope, k=limit, filter=filter, query=self._query, explain=True
        )
        found = []
        for hit in hits:
            score = min(1.0, max(hit.cosine or 0.0, hit.coverage or 0.0))
            if score >= score_threshold:
                found.append({"id": hit.id, "content": hit.text, "metadata": hit.metadata, "score": score})
        return found

    def reset(self) -> None:
        """Delete everything of this scope."""
        self._index.erase(self._scope, exact=True, reason="reset")

    def close(self) -> None:
        """Give the file back; the last adapter that uses it closes it."""
        self._lease.close()

    def __repr__(self) -> str:
        return f"<scrubjay.adapters.crewai.ScrubjayStorage {self._scope}: {self._lease.place(self._index)}>"
