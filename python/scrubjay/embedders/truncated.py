"""Shorter vectors of the same model: a quarter of the bytes to store and scan, for a slight loss of quality."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scrubjay.embedders.protocol import (
    Embedder,
    Vectors,
    as_list,
    checked_matrix,
    checked_vector,
    embed_queries,
)


class Truncated:
    """The first `dims` elements of another embedder's vectors, normalised again.

    For models trained so that a prefix of the vector is a vector (Matryoshka representation learning, Kusupati et al.
    2022): WordLlama (64, 128, 256), text-embedding-3, nomic-embed v1.5 and others; with other models quality drops
    sharply. The truncation is part of the model's name. A zero vector stays zero.

    Args:
        embedder: the embedder whose vectors are truncated.
        dims: the number of elements to keep, 1 to ``embedder.dim``.

    Raises:
        ValueError: `dims` is out of range.

    >>> import numpy as np
    >>> from scrubjay.embedders import Function, Truncated
    >>> four = Function(lambda texts: np.ones((len(texts), 4), np.float32), dim=4, name="four")
    >>> short = Truncated(four, 2)
    >>> short.name, short.dim, short.embed_query("x").round(3).tolist()
    ('four[:2]', 2, [0.7070000171661377, 0.7070000171661377])
    """

    def __init__(self, embedder: Embedder, dims: int) -> None:
        if isinstance(dims, bool) or not isinstance(dims, int) or not 1 <= dims <= embedder.dim:
            raise ValueError(f"dims: expected an int from 1 to {embedder.dim}, got {dims!r}")
        self.embedder = embedder
        self.name = f"{embedder.name}[:{dims}]"
        self.dim = dims
        self.passage_chars = getattr(embedder, "passage_chars", None)
        self.whole_chars = getattr(embedder, "whole_chars", self.passage_chars)
        self.parallel_batches = getattr(embedder, "parallel_batches", 1)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of `texts`, float32 of shape (n, dims), of length 1 or zero."""
        listed = as_list(texts)
        return self._cut(checked_matrix(self.embedder.embed_documents(listed), len(listed), self.embedder))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of `texts`, float32 of shape (n, dims), of length 1 or zero."""
        return self._cut(embed_queries(self.embedder, as_list(texts)))

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 of shape (dims,), of length 1 or zero."""
        vector: Vectors = self._cut(
            checked_vector(self.embedder.embed_query(text), self.embedder)[np.newaxis]
        )[0]
        return vector

    def __repr__(self) -> str:
        return f"Truncated({self.embedder!r}, dims={self.dim})"

    def _cut(self, vectors: Vectors) -> Vectors:
        rows = np.ascontiguousarray(vectors[:, : self.dim])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, lengths, out=rows, where=lengths > 0)
        return rows
