"""The retrievers under the name that Haystack's integrations have: pipelines are read without `allowed_modules`."""

from __future__ import annotations

from scrubjay.adapters.haystack import (
    ScrubjayBM25Retriever,
    ScrubjayEmbeddingRetriever,
    ScrubjayHybridRetriever,
)

__all__ = ["ScrubjayBM25Retriever", "ScrubjayEmbeddingRetriever", "ScrubjayHybridRetriever"]
