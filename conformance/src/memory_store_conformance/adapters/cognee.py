"""cognee's VectorDBInterface. It has no users: a scope is a collection, whose name encodes the scope.

So the checks of isolation by names say little here. Ids are UUIDs of scope and id. Payloads have the form of cognee's
own data points, with the metadata of the checks as JSON, so filters are not offered.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from cognee.infrastructure.engine import DataPoint

from memory_store_conformance.adapters._loop import LoopThread
from memory_store_conformance.contract import Hit, Item, Scope, Setting

__all__ = ["CogneeStore", "EmbeddingEngine", "Note"]


class Note(DataPoint):
    """A data point embedded by its text."""

    text: str
    checked_id: str
    as_json: str = "{}"
    metadata: dict[str, Any] = {"index_fields": ["text"]}  # noqa: RUF012 - pydantic copies it


class EmbeddingEngine:
    """The setting's embedder as cognee's EmbeddingEngine."""

    def __init__(self, setting: Setting) -> None:
        self._embedder = setting.embedder

    async def embed_text(self, text: list[str]) -> list[list[float]]:
        return [[float(x) for x in row] for row in self._embedder.embed_documents(text)]

    def get_vector_size(self) -> int:
        return self._embedder.dim

    def get_batch_size(self) -> int:
        return 100


class CogneeStore:
    """A VectorDBInterface as a store of the checks.

    Args:
        open_engine: returns the interface under test; called in the loop of all its calls.
        durable: whether an engine over the same files has the same points.
    """

    operators: frozenset[str] = frozenset()

    def __init__(self, open_engine: Any, *, durable: bool = True) -> None:
        self._loop = LoopThread()
        self._engine = open_engine()
        self.offers = {"scoped ids", "caller ids", "batch delete", "texts"} | (
            {"durable"} if durable else set()
        )

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        self._loop.run(self.aput(scope, items))

    def get(self, scope: Scope, id: str) -> Item | None:
        return self._loop.run(self.aget(scope, id))

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        points = [_uuid(id) for id in ids]
        self._loop.run(self._engine.delete_data_points(_collection(scope), points))

    def search(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        return self._loop.run(self.asearch(scope, text, k))

    def search_vector(self, scope: Scope, vector: Any, k: int) -> Sequence[Hit]:
        return self._loop.run(self._search(scope, None, [float(x) for x in vector], k))

    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        points = [
            Note(
                id=_uuid(item.id), text=item.text, checked_id=item.id, as_json=json.dumps(dict(item.metadata))
            )
            for item in {item.id: item for item in items}.values()
        ]
        if points:
            # As in cognee's own pipelines; LanceDB's adapter waits forever for a missing collection.
            await self._engine.create_collection(_collection(scope), Note)
            await self._engine.create_data_points(_collection(scope), points)

    async def aget(self, scope: Scope, id: str) -> Item | None:
        if not await self._engine.has_collection(_collection(scope)):
            return None
        points = await self._engine.retrieve(_collection(scope), [str(_uuid(id))])
        return _item(points[0]) if points else None

    async def asearch(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        return await self._search(scope, text, None, k)

    async def _search(self, scope: Scope, text: str | None, vector: Any, k: int) -> Sequence[Hit]:
        name = _collection(scope)
        if not await self._engine.has_collection(name):
            return []
        results = await self._engine.search(name, text, vector, k, include_payload=True)
        return [Hit(_item(result), -result.score) for result in results]

    def close(self) -> None:
        if self._engine is not None:
            engine, self._engine = self._engine, None
            if hasattr(engine, "close"):
                self._loop.run(engine.close())
            self._loop.close()


def _collection(scope: Scope) -> str:
    return "c" + "_".join(name.encode().hex() for name in scope)


def _uuid(id: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, id)


def _item(found: Any) -> Item:
    payload = found.payload
    return Item(payload["checked_id"], payload["text"], json.loads(payload["as_json"]))
