"""What does a document store find? Retrieval by words, by embedding and by both."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from haystack import Document, logging

from scrubjay._native import Scope
from scrubjay.adapters._ids import ScopedIds
from scrubjay.adapters.haystack.documents import to_document
from scrubjay.adapters.haystack.filters import translate
from scrubjay.index import Index

__all__ = ["Retrieval"]

logger = logging.getLogger(__name__)

_OPTIONS = {
    *("candidates", "rrf_k", "weights", "recall", "fusion", "identifier_tier"),
    *("coverage", "recency", "entities", "prior", "mmr", "min_score", "relevance"),
}
# How Haystack's in-memory store scales scores to 0..1.
_BM25_SCALE, _DOT_PRODUCT_SCALE = 8.0, 100.0


class Retrieval:
    """The part of the document store that its retrievers call."""

    scope: Scope
    return_embedding: bool
    _ids: ScopedIds
    _matching: Callable[..., Any]

    @property
    def index(self) -> Index:
        """The collection's index."""
        raise NotImplementedError

    def bm25_retrieval(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool | None = False,
    ) -> list[Document]:
        """Return the documents whose words match best, with BM25 scores.

        Args:
            query: the question. Identifiers in it are found verbatim.
            filters: which documents may be found.
            top_k: how many at most.
            scale_score: between 0 and 1, as Haystack's in-memory store scales them.
            return_embedding: None: as the store was made.

        Raises:
            ValueError: the query is empty, or top_k negative.
            FilterError: the filter is malformed.
        """
        if not isinstance(query, str) or not query:
            raise ValueError(f"query: expected a non-empty str, got {query!r:.80}")
        found = self._search(query, None, "lexical", filters, top_k, return_embedding)
        return _scaled(found, lambda score: _expit(score / _BM25_SCALE)) if scale_score else found

    def embedding_retrieval(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool | None = False,
    ) -> list[Document]:
        """Return the documents that are nearest to the embedding, with their similarities as scores.

        Args:
            query_embedding: as long as those of the documents. The zero vector is near to nothing.
            scale_score: between 0 and 1, as Haystack's in-memory store scales scores; an l2 distance d becomes
                1 / (1 + d * d).
            return_embedding: None: as the store was made.
        """
        vector = _checked_embedding(query_embedding)
        if not vector.any():
            translate(filters)  # a malformed filter is an error all the same
            logger.warning("The query's embedding is all zeros, so it is near to nothing.")
            return []
        found = self._search(None, vector, "vector", filters, top_k, return_embedding)
        if not scale_score:
            return found
        metric = self.index.engine.metric
        scale = {
            "cosine": lambda score: (score + 1.0) / 2.0,
            "ip": lambda score: _expit(score / _DOT_PRODUCT_SCALE),
            "l2": lambda score: 1.0 / (1.0 - score),
        }[metric]
        return _scaled(found, scale)

    def hybrid_retrieval(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool | None = False,
        options: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Return the documents that words and embedding find together, fused natively; scores are comparable within
        one answer only.

        Args:
            query: the question. Identifiers in it are found verbatim.
            query_embedding: None: the store's embedder makes it; without one the words alone are asked.
            options: how to rank: arguments of :meth:`scrubjay.Index.search` such as ``{"mmr": 0.7}``.

        Raises:
            ValueError: the query is empty, top_k negative, or an option is none.
            FilterError: the filter is malformed.
        """
        if not isinstance(query, str) or not query:
            raise ValueError(f"query: expected a non-empty str, got {query!r:.80}")
        vector = None if query_embedding is None else _checked_embedding(query_embedding)
        if vector is not None and not vector.any():
            return self._search(query, None, "lexical", filters, top_k, return_embedding, options)
        return self._search(query, vector, "hybrid", filters, top_k, return_embedding, options)

    def _search(
        self,
        text: str | None,
        vector: Any,
        mode: str,
        filters: dict[str, Any] | None,
        top_k: int,
        return_embedding: bool | None = False,
        options: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 0:
            raise ValueError(f"top_k: expected an int, 0 or more, got {top_k!r}")
        options = dict(options or {})
        if unknown := sorted(set(options) - _OPTIONS):
            raise ValueError(f"options: expected some of {', '.join(sorted(_OPTIONS))}, got {unknown}")
        filter = translate(filters)
        ids = None
        if filter.judge is not None:
            ids = [record.id for record, _ in self._matching(filter)]
        if top_k == 0 or ids == []:
            return []
        hits = self.index.search(
            text,
            vector=vector,
            scope=self.scope,
            k=top_k,
            mode=mode,
            filter=filter.native,
            ids=ids,
            **options,
        )
        with_embedding = self.return_embedding if return_embedding is None else return_embedding
        found = []
        for hit in hits:
            stored = self.index.get(hit.id) if with_embedding else None
            found.append(
                to_document(
                    self._ids.given(hit.id, hit.scope),
                    hit.text,
                    hit.metadata,
                    vector=None if stored is None or stored.vector is None else np.asarray(stored.vector),
                    score=hit.score,
                    with_embedding=with_embedding,
                )
            )
        return found


def _checked_embedding(embedding: Any) -> Any:
    if isinstance(embedding, (str, bytes)) or not hasattr(embedding, "__len__") or len(embedding) == 0:
        raise ValueError("query_embedding: expected a non-empty list of floats")
    try:
        vector = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"query_embedding: expected a list of floats, got {error}") from None
    if vector.ndim != 1:
        raise ValueError(f"query_embedding: expected a list of floats, got shape {vector.shape}")
    return vector


def _scaled(documents: list[Document], scale: Callable[[float], float]) -> list[Document]:
    return [replace(document, score=scale(document.score)) for document in documents]


def _expit(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))
