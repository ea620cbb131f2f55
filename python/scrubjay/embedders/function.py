"""Any callable as an embedder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scrubjay.embedders.protocol import Vectors, as_list, as_vectors


class Function:
    """Wraps `documents(list of str) -> array-like (n, dim)`; `query` is used for queries if they differ.

    >>> def count_letters(texts):
    ...     return [[text.count("a") + 1, text.count("b") + 1] for text in texts]
    >>> embedder = Function(count_letters, dim=2, name="letters-ab")
    >>> embedder.embed_query("abba")
    array([3., 3.], dtype=float32)
    """

    def __init__(
        self,
        documents: Callable[[list[str]], Any],
        *,
        dim: int,
        name: str,
        query: Callable[[list[str]], Any] | None = None,
    ) -> None:
        for label, function in (("documents", documents), ("query", query)):
            if function is not None and not callable(function):
                raise TypeError(f"{label}: expected a callable, got {type(function).__name__}")
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise TypeError(f"dim: expected int, got {type(dim).__name__}")
        if dim < 1:
            raise ValueError(f"dim: expected 1 or more, got {dim}")
        if not isinstance(name, str):
            raise TypeError(f"name: expected str, got {type(name).__name__}")
        if not name:
            raise ValueError("name: expected a name, which identifies the model of stored vectors, got ''")
        self.name = name
        self.dim = dim
        self._documents = documents
        self._query = query or documents

    def embed_documents(self, texts: list[str]) -> Vectors:
        """Return the callable's vectors of `texts`, as float32 (n, dim)."""
        vectors: Vectors = as_vectors(self._documents(as_list(texts)))
        return vectors

    def embed_queries(self, texts: list[str]) -> Vectors:
        """Return the vectors of `texts` by the callable for queries, as float32 (n, dim)."""
        vectors: Vectors = as_vectors(self._query(as_list(texts)))
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of `text`, float32 (dim,)."""
        vectors = self.embed_queries([text])
        # a wrong shape is returned unchanged: the index reports it together with the expected one
        is_one = isinstance(vectors, np.ndarray) and vectors.ndim == 2 and len(vectors) == 1
        return vectors[0] if is_one else vectors

    def __repr__(self) -> str:
        return f"<scrubjay.embedders.Function {self.name!r}, dim {self.dim}>"
