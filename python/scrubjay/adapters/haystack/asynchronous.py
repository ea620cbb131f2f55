"""The document store for an event loop, which must not wait: calls run on threads of the loop's own pool."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from scrubjay.fusion import Query

__all__ = ["AsyncDocumentStore"]


class AsyncDocumentStore:
    """The part of the document store whose methods end in `_async`. Each does what the one without that ending does."""

    async def _on_a_thread(self, name: str, *arguments: Any, **options: Any) -> Any:
        return await asyncio.to_thread(getattr(self, name), *arguments, **options)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents, all or none, and return how many were written."""
        return await self._on_a_thread("write_documents", documents, policy)

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Add `meta` to that of the scope's own documents that match; return how many."""
        return await self._on_a_thread("update_by_filter", filters, meta)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Delete the scope's own documents with these ids."""
        await self._on_a_thread("delete_documents", document_ids)

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Delete the scope's own documents that match; return how many."""
        return await self._on_a_thread("delete_by_filter", filters)

    async def delete_all_documents_async(self) -> None:
        """Delete all documents that are exactly the scope's own."""
        await self._on_a_thread("delete_all_documents")

    async def count_documents_async(self) -> int:
        """Return how many documents the scope sees."""
        return await self._on_a_thread("count_documents")

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match, in the order in which they were written."""
        return await self._on_a_thread("filter_documents", filters)

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Return how many documents match."""
        return await self._on_a_thread("count_documents_by_filter", filters)

    async def count_unique_metadata_by_filter_async(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Return how many different values each field has among the documents that match."""
        return await self._on_a_thread("count_unique_metadata_by_filter", filters, metadata_fields)

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """Return each field with its type."""
        return await self._on_a_thread("get_metadata_fields_info")

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """Return the least and the greatest value of a field."""
        return await self._on_a_thread("get_metadata_field_min_max", metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return different values of a field, and how many there are."""
        return await self._on_a_thread(
            "get_metadata_field_unique_values", metadata_field, search_term, from_, size, filters
        )

    async def bm25_retrieval_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool | None = False,
        scrubjay_query: Query | Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Return the documents whose words match best."""
        return await self._on_a_thread(
            "bm25_retrieval", query, filters, top_k, scale_score, return_embedding, scrubjay_query
        )

    async def embedding_retrieval_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool | None = False,
        scrubjay_query: Query | Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Return the documents that are nearest to the embedding."""
        return await self._on_a_thread(
            "embedding_retrieval",
            query_embedding,
            filters,
            top_k,
            scale_score,
            return_embedding,
            scrubjay_query,
        )

    async def hybrid_retrieval_async(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool | None = False,
        scrubjay_query: Query | Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Return the documents that words and embedding find together."""
        return await self._on_a_thread(
            "hybrid_retrieval", query, query_embedding, filters, top_k, return_embedding, scrubjay_query
        )
