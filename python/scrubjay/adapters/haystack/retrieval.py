"""Retrieval of a document store: by words, by embedding and by both."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from haystack import Document, logging

from scrubjay._native import Scope
from scrubjay.adapters.haystack.documents import to_document
from scrubjay.adapters.haystack.filters import translate
from scrubjay.backend import Backend, Documents, as_query, awaited
from scrubjay.documents.records import Record
from scrubjay.fusion import Query

logger = logging.getLogger(__name__)

# The scales of Haystack's in-memory store for scores in 0..1.
_BM25_SCALE, _DOT_PRODUCT_SCALE = 8.0, 100.0


class Retrieval:
    """The retrieval methods of the document store, called by its retrievers."""

    scope: Scope
    return_embedding: bool
    _documents: Documents

    def bm25_retrieval(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool | None = False,
        scrubjay_query: Query | Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Return the documents whose words match best, with BM25 scores.

        Args:
            query: the question. Identifiers in it are found verbatim.
            filters: which documents may be found.
            top_k: the maximum number of documents.
            scale_score: scale scores to 0..1 as Haystack's in-memory store does.
            return_embedding: None: the store's setting.
            scrubjay_query: further options except the mode: a :class:`scrubjay.Query`, or its settings.

        Raises:
            ValueError: the query is empty, top_k is negative, or a setting is invalid.
            FilterError: the filter is malformed.
        """
        if not isinstance(query, str) or not query:
            raise ValueError(f"query: expected a non-empty str, got {query!r:.80}")
        documents = self._search(query, None, "lexical", filters, top_k, return_embedding, scrubjay_query)
        return _scaled(documents, lambda score: _expit(score / _BM25_SCALE)) if scale_score else documents

    def embedding_retrieval(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool | None = False,
        scrubjay_query: Query | Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Return the documents nearest to the embedding, with their similarities as scores.

        Args:
            query_embedding: of the documents' dimension. Nothing is near to the zero vector.
            scale_score: scale scores to 0..1 as Haystack's in-memory store does; an l2 distance d becomes
                1 / (1 + d * d).
            return_embedding: None: the store's setting.
            scrubjay_query: further options except the mode: a :class:`scrubjay.Query`, or its settings.
        """
        vector = _checked_embedding(query_embedding)
        if not vector.any():
            translate(filters, self._document)  # still raises for a malformed filter
            logger.warning("The query's embedding is all zeros, so it is near to nothing.")
            return []
        documents = self._search(None, vector, "vector", filters, top_k, return_embedding, scrubjay_query)
        if not scale_score:
            return documents
        metric = Backend.of(self._documents.index).metric
        scale = {
            "cosine": lambda score: (score + 1.0) / 2.0,
            "ip": lambda score: _expit(score / _DOT_PRODUCT_SCALE),
            "l2": lambda score: 1.0 / (1.0 - score),
        }[metric]
        return _scaled(documents, scale)

    def hybrid_retrieval(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        return_embedding: bool | None = False,
        scrubjay_query: Query | Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Return the documents that words and embedding find together, fused natively; scores are comparable within one
        answer only.

        Args:
            query: the question. Identifiers in it are found verbatim.
            query_embedding: None: the store's embedder makes it; without an embedder only keywords are searched.
            scrubjay_query: how to rank: a :class:`scrubjay.Query`, or its settings such as ``{"mmr": 0.7}``.

        Raises:
            ValueError: the query is empty, top_k is negative, or a setting is invalid.
            FilterError: the filter is malformed.
        """
        if not isinstance(query, str) or not query:
            raise ValueError(f"query: expected a non-empty str, got {query!r:.80}")
        vector = None if query_embedding is None else _checked_embedding(query_embedding)
        settings = as_query(scrubjay_query, "scrubjay_query")
        if vector is not None and not vector.any():
            return self._search(query, None, "lexical", filters, top_k, return_embedding, settings)
        return self._search(query, vector, settings.mode, filters, top_k, return_embedding, settings)

    def _search(
        self,
        text: str | None,
        vector: Any,
        mode: str,
        filters: dict[str, Any] | None,
        top_k: int,
        return_embedding: bool | None = False,
        scrubjay_query: Query | Mapping[str, Any] | None = None,
    ) -> list[Document]:
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 0:
            raise ValueError(f"top_k: expected an int, 0 or more, got {top_k!r}")
        settings = as_query(scrubjay_query, "scrubjay_query").replace(mode=mode)
        where = translate(filters, self._document)
        if top_k == 0:
            return []
        hits = self._documents.search(
            text, vector=vector, scope=self.scope, k=top_k, filter=where, query=settings
        )
        with_embedding = self.return_embedding if return_embedding is None else return_embedding
        documents = []
        for hit in hits:
            record = (
                self._documents.get_many([hit.id], scope=hit.scope, exact=True)[0] if with_embedding else None
            )
            documents.append(
                to_document(
                    str(hit.id),
                    hit.text,
                    hit.metadata,
                    vector=None if record is None else record.vector,
                    score=hit.score,
                    with_embedding=with_embedding,
                )
            )
        return documents

    def _document(self, record: Record, with_embedding: bool) -> Document:
        """Return the document of a memory; a record of a listing has no vector, so it is read first."""
        if with_embedding and record.vector is None:
            (complete,) = self._documents.get_many([record.id], scope=record.scope, exact=True)
            record = record if complete is None else complete
        return to_document(
            str(record.id),
            record.text,
            record.metadata or {},
            vector=record.vector,
            with_embedding=with_embedding,
        )

    bm25_retrieval_async = awaited(bm25_retrieval, "bm25_retrieval_async")
    embedding_retrieval_async = awaited(embedding_retrieval, "embedding_retrieval_async")
    hybrid_retrieval_async = awaited(hybrid_retrieval, "hybrid_retrieval_async")


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
