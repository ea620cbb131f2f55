"""The embedder of all stores: words and their trigrams, hashed into a vector. NumPy only, no model."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["HashingEmbedder"]

_WORD = re.compile(r"\w+")
_TRIGRAM_WEIGHT = 0.4


class HashingEmbedder:
    """Maps texts to unit vectors: the sum of the hashed features of their words.

    The features of a word are the word itself and, with less weight, its character trigrams, so that "invoices" is near
    "invoice", as in the subword embeddings of fastText (Bojanowski et al. 2017). Vectors are the same on every machine.

    >>> embedder = HashingEmbedder()
    >>> invoice, invoices, train = embedder.embed_documents(["an invoice", "the invoices", "night train"])
    >>> bool(invoice @ invoices > invoice @ train)
    True
    """

    def __init__(self, dim: int = 256) -> None:
        if dim < 8:
            raise ValueError(f"dim: expected at least 8, got {dim}")
        self.dim = dim
        self.name = f"hashing-{dim}"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        return (
            np.stack([self._embed(text) for text in texts])
            if len(texts)
            else np.empty((0, self.dim), np.float32)
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question; the same as for a document."""
        return self._embed(text)

    def _embed(self, text: str) -> NDArray[np.float32]:
        if not isinstance(text, str):
            raise TypeError(f"text: expected str, got {type(text).__name__}")
        vector = np.zeros(self.dim, np.float32)
        vector[0] = 1e-3  # so that a text without words has a direction
        for word in _WORD.findall(text.casefold()):
            for hashed, weight in _features(word):
                vector[hashed % self.dim] += weight if hashed & 0x80000000 else -weight
        return vector / np.linalg.norm(vector)


@lru_cache(maxsize=100_000)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    padded = f"<{word}>"
    trigrams = [padded[start : start + 3] for start in range(len(padded) - 2)]
    share = _TRIGRAM_WEIGHT / max(1, len(trigrams)) ** 0.5
    weighted = [(word, 1.0), *((f"3:{trigram}", share) for trigram in trigrams)]
    return tuple(
        (zlib.crc32(feature.encode("utf-8", "surrogatepass")), weight) for feature, weight in weighted
    )
