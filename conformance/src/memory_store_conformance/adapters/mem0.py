"""mem0's VectorStoreBase, used as mem0's Memory uses it: its own ids, and `user_id` in the payload and every filter.

A tenant is a collection, or a store of one tenant. Ids chosen by the checks become UUIDs of scope and id, since mem0
issues ids itself; so checks of chosen ids are not offered, nor are those of reads by id in another scope, because the
interface has no scope there.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_store_conformance.contract import Hit, Item, Scope, Setting

__all__ = ["Mem0Store"]

_OPERATORS = frozenset({"$eq", "$ne", "$gt", "$in", "$and", "$or", "$not", "unknown"})


class Mem0Store:
    """Vector stores of mem0 as a store of the checks.

    Args:
        setting: of the factory.
        open_tenant: returns the VectorStoreBase of a tenant; called once for each.
        durable, operators: properties of the store; the operators of mem0's documentation by default.
        close: releases a tenant's store.
    """

    def __init__(
        self,
        setting: Setting,
        open_tenant: Callable[[str], Any],
        *,
        durable: bool = True,
        operators: frozenset[str] = _OPERATORS,
        close: Callable[[Any], None] = lambda store: None,
    ) -> None:
        self._embedder = setting.embedder
        self._open_tenant, self._close = open_tenant, close
        self._tenants: dict[str, Any] = {}
        self.operators = operators
        self.offers = {"durable"} if durable else set()

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        self.put_vectors(scope, items, self._embedder.embed_documents([item.text for item in items]))

    def put_vectors(self, scope: Scope, items: Sequence[Item], vectors: Any) -> None:
        """Write as Memory does: one insert for new memories, one update for each existing one."""
        store = self._tenant(scope[0])
        new: dict[str, tuple[list[float], dict[str, Any]]] = {}
        changed = []
        for item, vector in zip(items, vectors, strict=True):
            id, numbers = _uuid(scope, item.id), [float(x) for x in vector]
            payload = {**item.metadata, "data": item.text, "user_id": scope[1], "checked_id": item.id}
            if id in new or store.get(id) is None:
                new[id] = (numbers, payload)
            else:
                changed.append((id, numbers, payload))
        if new:
            store.insert([v for v, _ in new.values()], [p for _, p in new.values()], list(new))
        for id, numbers, payload in changed:
            store.update(id, vector=numbers, payload=payload)

    def get(self, scope: Scope, id: str) -> Item | None:
        memory = self._tenant(scope[0]).get(_uuid(scope, id))
        return None if memory is None or memory.payload is None else _item(memory)

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        for id in ids:
            self._tenant(scope[0]).delete(_uuid(scope, id))

    def reset(self, tenant: str) -> None:
        self._tenant(tenant).reset()

    def search(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        return self._search(scope, text, self._embedder.embed_query(text), k, filter)

    def search_vector(self, scope: Scope, vector: Any, k: int) -> Sequence[Hit]:
        return self._search(scope, "", vector, k, None)

    def _search(
        self, scope: Scope, text: str, vector: Any, k: int, filter: Mapping[str, Any] | None
    ) -> Sequence[Hit]:
        if filter is not None and "user_id" in filter:
            raise ValueError("filter: expected none on user_id, which says whose memories are searched")
        filters = {**({} if filter is None else _translated(filter)), "user_id": scope[1]}
        memories = self._tenant(scope[0]).search(text, [float(x) for x in vector], top_k=k, filters=filters)
        return [Hit(_item(memory), memory.score) for memory in memories]

    def list(self, scope: Scope, limit: int) -> Sequence[Item]:
        memories = self._tenant(scope[0]).list(filters={"user_id": scope[1]}, top_k=limit)
        if isinstance(memories, (tuple, list)) and memories and isinstance(memories[0], list):
            memories = memories[0]
        return [_item(memory) for memory in memories]

    def close(self) -> None:
        while self._tenants:
            self._close(self._tenants.popitem()[1])

    def _tenant(self, name: str) -> Any:
        if name not in self._tenants:
            self._tenants[name] = self._open_tenant(name)
        return self._tenants[name]


def _uuid(scope: Scope, id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, repr((scope, id))))


def _item(found: Any) -> Item:
    metadata = dict(found.payload)
    text, id = metadata.pop("data"), metadata.pop("checked_id")
    metadata.pop("user_id", None)
    return Item(id, text, metadata)


def _translated(condition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filter in mem0's syntax: {"n": {"gt": 1}}, OR and NOT with lists."""
    result: dict[str, Any] = {}
    for field, operand in condition.items():
        if field == "$or":
            result["OR"] = [_translated(side) for side in operand]
        elif field == "$not":
            result["NOT"] = [_translated(operand)]
        elif isinstance(operand, Mapping):
            result[field] = {name.removeprefix("$"): bound for name, bound in operand.items()}
        else:
            result[field] = operand
    return result
