"""LangChain's VectorStore as a memory: one collection for each tenant, with the user in the metadata.

A store that isolates users itself is opened once for each scope. Otherwise reads and deletions by id have no user, so
the checks of that are not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from memory_store_conformance.contract import Hit, Item, Scope, Setting

__all__ = ["HashingEmbeddings", "LangChainStore", "chroma_filter", "function_filter", "own_filter"]

USER = "user_of_memory"


class HashingEmbeddings(Embeddings):
    """The setting's embedder as LangChain's Embeddings."""

    def __init__(self, setting: Setting) -> None:
        self._embedder = setting.embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(x) for x in row] for row in self._embedder.embed_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        return [float(x) for x in self._embedder.embed_query(text)]


def chroma_filter(user: str, condition: Mapping[str, Any] | None) -> Any:
    """Return a filter in Chroma's syntax."""
    clauses = [{USER: user}, *_chroma_clauses(condition or {})]
    return clauses[0] if len(clauses) == 1 else {"$and": clauses}


def _chroma_clauses(condition: Mapping[str, Any]) -> list[dict[str, Any]]:
    clauses: list[dict[str, Any]] = []
    for field, operand in condition.items():
        if field == "$or":
            sides = [_chroma_clauses(side) for side in operand]
            clauses.append({"$or": [side[0] if len(side) == 1 else {"$and": side} for side in sides]})
        else:
            clauses.append({field: operand})
    return clauses


def function_filter(user: str, condition: Mapping[str, Any] | None) -> Any:
    """Return a predicate on documents for InMemoryVectorStore; only equality, since the predicate is our code."""

    def admits(document: Document) -> bool:
        fields = {USER: user, **(condition or {})}
        return all(
            field in document.metadata and document.metadata[field] == value
            for field, value in fields.items()
        )

    return admits


def own_filter(user: str, condition: Mapping[str, Any] | None) -> Any:
    """Return the filter unchanged, for a store that isolates users itself."""
    return None if condition is None else dict(condition)


class LangChainStore:
    """VectorStores as a store of the checks.

    Args:
        open_store: returns the VectorStore of a scope; called once for each key.
        key: the part of a scope that has a separate store: the tenant, or the whole scope.
        filter_of: maps (user, condition) to the store's filter; see the functions of this module.
        durable, operators, scoped_ids: properties of the store.
        sign: -1 if the store's scores are distances.
        close: releases a store.
    """

    def __init__(
        self,
        open_store: Callable[[Scope], Any],
        *,
        key: Callable[[Scope], Any] = lambda scope: scope[0],
        filter_of: Callable[[str, Mapping[str, Any] | None], Any] = function_filter,
        durable: bool = False,
        scoped_ids: bool = False,
        operators: frozenset[str] = frozenset({"$eq"}),
        sign: int = 1,
        close: Callable[[Any], None] = lambda store: None,
    ) -> None:
        self._open_store, self._key, self._filter_of = open_store, key, filter_of
        self._sign, self._close = sign, close
        self._stores: dict[Any, Any] = {}
        self.operators = operators
        self.offers = {"caller ids", "batch delete", "texts"} | ({"durable"} if durable else set())
        self.offers |= {"scoped ids"} if scoped_ids else set()

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        self._store(scope).add_documents(_documents(scope, items), ids=[item.id for item in items])

    def get(self, scope: Scope, id: str) -> Item | None:
        documents = self._store(scope).get_by_ids([id])
        return _item(documents[0]) if documents else None

    def delete(self, scope: Scope, ids: Sequence[str]) -> None:
        self._store(scope).delete(list(ids))

    def search(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        results = self._store(scope).similarity_search_with_score(
            text, k=k, filter=self._filter_of(scope[1], filter)
        )
        return [Hit(_item(document), self._sign * score) for document, score in results]

    def search_vector(self, scope: Scope, vector: Any, k: int) -> Sequence[Hit]:
        numbers, condition = [float(x) for x in vector], self._filter_of(scope[1], None)
        documents = self._store(scope).similarity_search_by_vector(numbers, k=k, filter=condition)
        return [Hit(_item(document)) for document in documents]

    async def aput(self, scope: Scope, items: Sequence[Item]) -> None:
        await self._store(scope).aadd_documents(_documents(scope, items), ids=[item.id for item in items])

    async def aget(self, scope: Scope, id: str) -> Item | None:
        documents = await self._store(scope).aget_by_ids([id])
        return _item(documents[0]) if documents else None

    async def asearch(
        self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None
    ) -> Sequence[Hit]:
        store, condition = self._store(scope), self._filter_of(scope[1], filter)
        results = await store.asimilarity_search_with_score(text, k=k, filter=condition)
        return [Hit(_item(document), self._sign * score) for document, score in results]

    def close(self) -> None:
        while self._stores:
            self._close(self._stores.popitem()[1])

    def _store(self, scope: Scope) -> Any:
        key = self._key(scope)
        if key not in self._stores:
            self._stores[key] = self._open_store(scope)
        return self._stores[key]


def _documents(scope: Scope, items: Sequence[Item]) -> list[Document]:
    return [
        Document(id=item.id, page_content=item.text, metadata={**item.metadata, USER: scope[1]})
        for item in items
    ]


def _item(document: Document) -> Item:
    return Item(
        str(document.id), document.page_content, {k: v for k, v in document.metadata.items() if k != USER}
    )
