"""A cognee model that embeds by words. (conftest.py sets the folder of its files.)"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

from cognee.infrastructure.databases.vector.embeddings.EmbeddingEngine import EmbeddingResult

__all__ = ["DIM", "Letters"]

DIM = 32


class Letters:
    """A cognee embedding engine: texts with the same words are alike; it ignores numbers and identifiers."""

    def __init__(self, dim: int = DIM) -> None:
        self.dim = dim
        self.n_calls = 0

    async def embed_text(self, text: Sequence[str]) -> EmbeddingResult:
        self.n_calls += 1
        return EmbeddingResult([self._vector(one) for one in text], tokens=0)

    def get_vector_size(self) -> int:
        return self.dim

    max_completion_tokens = 8191
    model = "letters"
    provider = "tests"
    tokenizer = None

    def get_batch_size(self) -> int:
        return 100

    def _vector(self, text: str) -> list[float]:
        vector = [0.01] * self.dim
        for word in text.lower().split():
            if word.isalpha():
                vector[zlib.crc32(word.encode()) % self.dim] += 1.0
        length = math.sqrt(sum(one * one for one in vector))
        return [one / length for one in vector]
