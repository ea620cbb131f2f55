"""LangGraph's BaseStore. The namespace is the scope; text and metadata are fields of the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.store.base import BaseStore, GetOp, PutOp

from memory_store_conformance.contract import Hit, Item, Page, Scope, Setting

__all__ = ["LangGraphStore", "index_config"]

_OPERATORS = frozenset({"$eq", "$ne", "$gt", "$and", "unknown"})


def index_config(setting: Setting) -> dict[str, Any]:
    """Return the IndexConfig for a store under test: the setting's embedder over the field "text"."""
    embedder = setting.embedder

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[float(x) for x in row] for row in embedder.embed_documents(list(texts))]

    return {"dims": embedder.dim, "embed": embed, "fields": ["text"]}


class LangGraphStore:
    """A BaseStore as a store of the checks.

    Args:
        store: the store under test, made with :func:`index_config`.
        durable: whether a store over the same files has the same items.
        operators: of its filters; by default those that LangGraph documents, with "nested" if it documents paths.
        close: releases its resources; None: its own `close`, if any.
    """

    def __init__(
        self,
        store: BaseStore,
        *,
        durable: bool = False,
        operators: frozenset[str] = _OPERATORS,
        close: Any = None,
    ) -> None:
        self._store, self._close = store, close or getattr(store, "close", lambda: None)
        self.operators = operators
        offers = {"prefixes", "scoped ids", "caller ids", "batch delete"}
        self.offers = (
            offers | ({"durable"} if durable else set()) | ({"expiry"} if store.supports_ttl else set())
        )

    def put(self, scope: Scope, items: Sequence[Item], *, expires_in: float | None = None) -> None:
        puts = _puts(scope, items, expires_in)
        if len(puts) == 1:  # `put` checks the namespace, which `batch` does not
            lifetime = {} if expires_in is None else {"ttl": puts[0].ttl}
            self._store.put(scope, puts[0].key, puts[0].value, **lifetime)
        else:
            self._store.batch(puts)

    def get(self, scope: Scope, id: str) -> Item | None:
        item = self._store.get(scope, id)
        return None if item is None else _item(item)

    def get_many(self, scope: Scope, ids: Sequence[str]) -> Sequence[Item | None]:
        items = self._store.batch([GetOp(scope, id) for id in ids])
        return [None if item is None else _item(item) for item in items]

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        self._store.batch([PutOp(scope, id, None) for id in ids])

    def search(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        condition = None if filter is None else dict(filter)
        items = self._store.search(scope, query=text, filter=condition, limit=k)
        return [Hit(_item(item), item.score) for item in items]

    def list(self, scope: Scope, limit: int) -> Sequence[Item]:
        return [_item(item) for item in self._store.search(scope, limit=limit)]

    def page(self, scope: Scope, limit: int, cursor: Any = None) -> Page:
        start = cursor or 0
        items = [_item(item) for item in self._store.search(scope, limit=limit, offset=start)]
        return Page(items, start + limit if len(items) == limit else None)

    def scopes(self, prefix: Scope) -> Sequence[Scope]:
        return self._store.list_namespaces(prefix=prefix)

    def sweep(self) -> None:
        if hasattr(self._store, "sweep_ttl"):
            self._store.sweep_ttl()

    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        if len(items) == 1:
            await self._store.aput(scope, items[0].id, {**items[0].metadata, "text": items[0].text})
        else:
            await self._store.abatch(_puts(scope, items, None))

    async def aget(self, scope: Scope, id: str) -> Item | None:
        item = await self._store.aget(scope, id)
        return None if item is None else _item(item)

    async def asearch(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        condition = None if filter is None else dict(filter)
        items = await self._store.asearch(scope, query=text, filter=condition, limit=k)
        return [Hit(_item(item), item.score) for item in items]

    def close(self) -> None:
        self._close()


def _puts(scope: Scope, items: Sequence[Item], expires_in: float | None) -> list[PutOp]:
    lifetime = {} if expires_in is None else {"ttl": expires_in / 60}
    return [PutOp(scope, item.id, {**item.metadata, "text": item.text}, **lifetime) for item in items]


def _item(found: Any) -> Item:
    value = dict(found.value)
    return Item(found.key, value.pop("text"), value)
