"""An embedder of an index as LangChain's embeddings. (`scrubjay.backend.FrameworkEmbedder` is the inverse.)"""

from __future__ import annotations

import numpy as np
from langchain_core.embeddings import Embeddings

from scrubjay.backend import model_of
from scrubjay.embedders.protocol import Embedder
from scrubjay.embedders.wordllama import default


class ScrubjayEmbeddings(Embeddings):
    """An embedder of Scrubjay as LangChain's embeddings.

    Args:
        embedder: None: :func:`scrubjay.embedders.default`, which needs no network.

    A :class:`ScrubjayVectorStore` that is given one uses the embedder itself; if that is native code, a search embeds
    its text within the native call.

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


def model_name(embeddings: Embeddings) -> str:
    """Return the identity of a model: the class name and, if it has one, the model name.

    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> model_name(DeterministicFakeEmbedding(size=6))
    'DeterministicFakeEmbedding'
    """
    kind, model = type(embeddings).__name__, model_of(embeddings)
    return kind if model is None else f"{kind}:{model}"
