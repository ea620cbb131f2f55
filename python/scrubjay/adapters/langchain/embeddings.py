"""LangChain's embeddings as an embedder of an index, and an embedder of an index as LangChain's embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from scrubjay.embedders.protocol import Embedder, as_vectors
from scrubjay.embedders.wordllama import default
from scrubjay.records import as_text

__all__ = ["FromLangChain", "ScrubjayEmbeddings", "already_made", "model_name"]


class ScrubjayEmbeddings(Embeddings):
    """An embedder of Scrubjay for whatever takes LangChain's embeddings.

    Args:
        embedder: None: :func:`scrubjay.embedders.default`, which needs no network.

    A :class:`ScrubjayVectorStore` that is given one uses the embedder itself; where that is native code, a search
    embeds its text within the native call.

    >>> len(ScrubjayEmbeddings().embed_query("trains"))
    256
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self.embedder = default() if embedder is None else embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each of `texts`."""
        return np.asarray(self.embedder.embed_documents(texts), dtype=np.float64).tolist()

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of the question `text`."""
        return np.asarray(self.embedder.embed_query(text), dtype=np.float64).tolist()


class FromLangChain:
    """LangChain's embeddings as an embedder. What was :func:`already_made` is not embedded again.

    Args:
        embeddings: LangChain's.
        dim: of their vectors.
        name: of the model.
        passage_chars, whole_chars: of longer texts than `whole_chars` characters passages of at most `passage_chars`
            are embedded, as of :class:`scrubjay.embedders.WordLlama`; None: all texts are embedded whole.

    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> embedder = FromLangChain(DeterministicFakeEmbedding(size=6), 6, "fake")
    >>> embedder.embed_query("trains").shape
    (6,)
    """

    def __init__(
        self,
        embeddings: Embeddings,
        dim: int,
        name: str,
        passage_chars: int | None = None,
        whole_chars: int | None = None,
    ) -> None:
        self.name = name
        self.dim = dim
        self.passage_chars = passage_chars
        self.whole_chars = whole_chars
        self._embeddings = embeddings

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Return float32 (n, dim)."""
        made = _made.get()
        if made is None or any(text not in made for text in texts):
            return as_vectors(self._embeddings.embed_documents(list(texts)))
        return as_vectors([made[text] for text in texts])

    def embed_query(self, text: str) -> Any:
        """Return float32 (dim,)."""
        made = _made.get()
        vector = self._embeddings.embed_query(text) if made is None or text not in made else made[text]
        if isinstance(vector, Exception):
            raise vector
        return np.asarray(vector, dtype=np.float32)


@contextmanager
def already_made(vectors: Mapping[str, Any]) -> Iterator[None]:
    """Within this, an index that embeds one of these texts gets this vector, or this exception.

    So the vectors may come from an event loop, and the index still knows their model, and degrades a search whose text
    could not be embedded.
    """
    token = _made.set({as_text(text): vector for text, vector in vectors.items()})
    try:
        yield
    finally:
        _made.reset(token)


def model_name(embeddings: Embeddings) -> str:
    """Return what identifies a model: the class and, where it says so, the model.

    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> model_name(DeterministicFakeEmbedding(size=6))
    'DeterministicFakeEmbedding'
    """
    for attribute in ("model", "model_name", "model_id", "deployment"):
        value = getattr(embeddings, attribute, None)
        if isinstance(value, str) and value:
            return f"{type(embeddings).__name__}:{value}"
    return type(embeddings).__name__


_made: ContextVar[Mapping[str, Any] | None] = ContextVar("scrubjay_langchain_vectors", default=None)
