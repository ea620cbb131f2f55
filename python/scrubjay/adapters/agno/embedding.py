"""A Scrubjay embedder as an Agno embedder."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from agno.knowledge.embedder import Embedder as AgnoEmbedder

from scrubjay.backend import awaited
from scrubjay.embedders import default
from scrubjay.embedders.protocol import Embedder


class LocalEmbedder(AgnoEmbedder):
    """An embedder for Agno that needs no network.

    Args:
        embedder: a Scrubjay embedder; None: ``scrubjay.embedders.default()``.

    >>> len(LocalEmbedder().get_embedding("trouble sleeping")) == LocalEmbedder().dimensions
    True
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self.embedder = default() if embedder is None else embedder
        super().__init__(dimensions=self.embedder.dim, enable_batch=True)

    def many(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of the documents `texts`, in one call of the model."""
        return [_numbers(vector) for vector in self.embedder.embed_documents(texts)] if texts else []

    def get_embedding(self, text: str) -> list[float]:
        """Return the vector of the question `text`."""
        return _numbers(self.embedder.embed_query(text))

    def get_embedding_and_usage(self, text: str) -> tuple[list[float], dict[str, Any] | None]:
        """Return the vector of the document `text`; a local model reports no usage."""
        return self.many([text])[0], None

    async_get_embedding = awaited(get_embedding, "async_get_embedding")
    async_get_embedding_and_usage = awaited(get_embedding_and_usage, "async_get_embedding_and_usage")

    async def async_get_embeddings_batch_and_usage(
        self, texts: list[str]
    ) -> tuple[list[list[float]], list[dict[str, Any] | None]]:
        """Return the vectors of the documents `texts`, and no usage."""
        return await asyncio.to_thread(self.many, texts), [None] * len(texts)


def as_agno(embedder: AgnoEmbedder | Embedder | None) -> AgnoEmbedder:
    """Return an Agno embedder: the argument itself, or a wrapped Scrubjay embedder.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(embedder, AgnoEmbedder):
        return embedder
    if embedder is None or isinstance(embedder, Embedder):
        return LocalEmbedder(embedder)
    raise TypeError(f"embedder: expected one of Agno's or Scrubjay's, got {type(embedder).__name__}")


def _numbers(vector: Any) -> list[float]:
    numbers: list[float] = np.asarray(vector, dtype=np.float32).tolist()
    return numbers
