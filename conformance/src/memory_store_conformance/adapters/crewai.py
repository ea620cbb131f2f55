"""CrewAI's StorageBackend (1.10 and later). The scope is the path /tenant/user, as its documentation shows.

Names with a slash are rejected, since paths have no escape for it. Record ids become UUIDs of scope and id, like
CrewAI's own, and reads by id have no scope, so checks of chosen ids and of ids in scopes are not offered.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from crewai.memory.types import MemoryRecord

from memory_store_conformance.contract import Hit, Item, Page, Scope, Setting

__all__ = ["CrewAIStore"]

_ID = "checked_id"


class CrewAIStore:
    """A StorageBackend as a store of the checks.

    Args:
        setting: of the factory.
        storage: the storage under test.
        durable: whether a storage over the same files has the same records.
        close: releases its resources; None: its own `close`, if any.
        ask: embeds a question, if the storage needs its own embedder; None: the setting's embedder.
    """

    operators = frozenset({"$eq", "$and"})

    def __init__(
        self, setting: Setting, storage: Any, *, durable: bool = True, close: Any = None, ask: Any = None
    ) -> None:
        self._embedder, self._storage, self._ask = setting.embedder, storage, ask
        self._close = close or getattr(storage, "close", lambda: None)
        self.offers = {"prefixes", "batch delete", "texts"} | ({"durable"} if durable else set())

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        self.put_vectors(scope, items, self._embedder.embed_documents([item.text for item in items]))

    def put_vectors(self, scope: Scope, items: Sequence[Item], vectors: Any) -> None:
        """Save as CrewAI does: one save for new records, one update for each existing one."""
        new = {}
        changed = []
        for item, vector in zip(items, vectors, strict=True):
            record = _record(scope, item, [float(x) for x in vector])
            if record.id in new or self._storage.get_record(record.id) is None:
                new[record.id] = record
            else:
                changed.append(record)
        if new:
            self._storage.save(list(new.values()))
        for record in changed:
            self._storage.update(record)

    def get(self, scope: Scope, id: str) -> Item | None:
        record = self._storage.get_record(_uuid(scope, id))
        return None if record is None else _item(record)

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        self._storage.delete(record_ids=[_uuid(scope, id) for id in ids])

    def delete_scope(self, scope: Scope) -> None:
        self._storage.reset(scope_prefix=_path(scope))

    def reset(self, tenant: str) -> None:
        self._storage.reset(scope_prefix=_path((tenant,)))

    def search(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        results = self._storage.search(self._vector(text), **_asked(scope, k, filter))
        return [Hit(_item(record), score) for record, score in results]

    def search_vector(self, scope: Scope, vector: Any, k: int) -> Sequence[Hit]:
        results = self._storage.search([float(x) for x in vector], **_asked(scope, k, None))
        return [Hit(_item(record), score) for record, score in results]

    def list(self, scope: Scope, limit: int) -> Sequence[Item]:
        return [_item(record) for record in self._storage.list_records(_path(scope), limit=limit)]

    def page(self, scope: Scope, limit: int, cursor: Any = None) -> Page:
        start = cursor or 0
        records = self._storage.list_records(_path(scope), limit=limit, offset=start)
        return Page([_item(record) for record in records], start + limit if len(records) == limit else None)

    def count(self, scope: Scope) -> int:
        return int(self._storage.count(_path(scope)))

    def scopes(self, prefix: Scope) -> Sequence[Scope]:
        return [tuple(path.strip("/").split("/")) for path in self._storage.list_scopes(_path(prefix))]

    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        vectors = self._embedder.embed_documents([item.text for item in items])
        records = [
            _record(scope, item, [float(x) for x in row]) for item, row in zip(items, vectors, strict=True)
        ]
        await self._storage.asave(records)

    async def asearch(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        results = await self._storage.asearch(self._vector(text), **_asked(scope, k, filter))
        return [Hit(_item(record), score) for record, score in results]

    def close(self) -> None:
        self._close()

    def _vector(self, text: str) -> Any:
        return self._ask(text) if self._ask else [float(x) for x in self._embedder.embed_query(text)]


def _asked(scope: Scope, k: int, filter: Mapping[str, Any] | None) -> dict[str, Any]:
    metadata = None if filter is None else dict(filter)
    return {"scope_prefix": _path(scope), "metadata_filter": metadata, "limit": k, "min_score": -1.0}


def _path(scope: Scope) -> str:
    if any("/" in name or not name for name in scope):
        raise ValueError(f"scope: expected names without '/', got {scope!r}")
    return "/" + "/".join(scope)


def _uuid(scope: Scope, id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, repr((scope, id))))


def _record(scope: Scope, item: Item, vector: list[float]) -> MemoryRecord:
    metadata = {**item.metadata, _ID: item.id}
    return MemoryRecord(
        id=_uuid(scope, item.id), content=item.text, scope=_path(scope), metadata=metadata, embedding=vector
    )


def _item(record: MemoryRecord) -> Item:
    metadata = dict(record.metadata)
    return Item(metadata.pop(_ID), record.content, metadata)
