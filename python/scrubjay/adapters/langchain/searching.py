"""The searches of a vector store: LangChain's variants over one search of the index."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.documents import Document

from scrubjay._native import Scope
from scrubjay.backend import Backend, FrameworkEmbedder, as_query, awaited, prepared
from scrubjay.documents.records import Record
from scrubjay.filters import Filter
from scrubjay.fusion import Query
from scrubjay.index import Hit, Hits, Index

R = TypeVar("R")

logger = logging.getLogger(__name__)

DocumentFilter = Mapping[str, Any] | Filter | Callable[[Document], bool]
"""What `filter` accepts."""


def _embedding_first(method: Callable[..., R], name: str) -> Callable[..., Coroutine[Any, Any, R]]:
    """Return the async twin of a search, which embeds the question with the embeddings' own async method."""
    search = awaited(method, name)

    @functools.wraps(search)
    async def run(self: Searching, query: str | None, *args: Any, **options: Any) -> R:
        with prepared(await self._question_embedded(query, options)):
            return await search(self, query, *args, **options)

    return run


class Searching:
    """The search methods of the vector store.

    Every search takes `filter`: conditions on metadata in the form of :mod:`scrubjay.filters`, checked natively before
    ranking; or a function of a document, called for every document that the scope sees. Every search also takes
    `scrubjay_query`, a :class:`scrubjay.Query` in place of the store's.
    """

    scope: Scope
    query: Query
    _embeddings: FrameworkEmbedder | None
    _attach: Callable[[int], None]
    _document: Callable[[Hit], Document]
    _document_of: Callable[[Record], Document]

    @property
    def index(self) -> Index:
        """The collection's index."""
        raise NotImplementedError

    def hits(
        self,
        query: str | None,
        k: int = 4,
        *,
        vector: Sequence[float] | None = None,
        filter: DocumentFilter | None = None,
        scrubjay_query: Query | None = None,
        explain: bool = False,
    ) -> Hits | list[Hit]:
        """Return the hits of :meth:`scrubjay.Index.search`, with ranks, scores and, if `explain`, evidence.

        Args:
            query: the question; None: search by the vector alone.
            k: the maximum number of hits.
            vector: in place of the question's embedding.
            filter: which documents may be found (see the class).
            scrubjay_query: how to rank, and which ids may be found; None: the store's query.
            explain: include the evidence.
        """
        settings = as_query(scrubjay_query, "scrubjay_query", self.query)
        if k == 0:
            return []
        index = self.index
        dim = Backend.of(index).dim
        if self._embeddings is not None and dim is not None:
            self._attach(dim)
        condition = filter
        if callable(filter) and not isinstance(filter, Filter):
            condition = lambda record: filter(self._document_of(record))  # noqa: E731
        hits = index.search(
            query,
            vector=vector,
            scope=self.scope,
            k=k,
            filter=condition,
            query=settings,
            explain=explain,
        )
        if self._embeddings is not None and hits.degraded and query is not None and len(index) > 0:
            logger.warning("search degraded to %s: %s", hits.mode, "; ".join(hits.degraded))
        return hits

    async def _question_embedded(self, query: str | None, options: Mapping[str, Any]) -> dict[Any, Any]:
        """Return the vector of a search's question, made by the embeddings' async method, if the search needs one."""
        settings = as_query(options.get("scrubjay_query"), "scrubjay_query", self.query)
        if (
            self._embeddings is None
            or query is None
            or options.get("vector") is not None
            or settings.mode == "lexical"
            or Backend.of(self.index).dim is None
        ):
            return {}
        return await self._embeddings.prepare(queries=[query])  # if that fails, keywords still answer

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Return the k best documents; see the class for the options."""
        return [self._document(hit) for hit in self.hits(query, k, **options)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the k best documents with the scores that order them, higher is better.

        The score is a similarity in mode "vector", BM25 in mode "lexical", and in mode "hybrid" the fused score, which
        is comparable within one answer only.
        """
        return [(self._document(hit), hit.score) for hit in self.hits(query, k, **options)]

    def similarity_search_by_vector(
        self, embedding: Sequence[float], k: int = 4, **options: Any
    ) -> list[Document]:
        """Return the k documents that are nearest to a vector."""
        return [
            document for document, _ in self.similarity_search_with_score_by_vector(embedding, k, **options)
        ]

    def similarity_search_with_score_by_vector(
        self, embedding: Sequence[float], k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the k documents that are nearest to a vector, with their similarities."""
        settings = as_query(options.pop("scrubjay_query", None), "scrubjay_query", self.query)
        hits = self.hits(None, k, vector=embedding, scrubjay_query=settings.replace(mode="vector"), **options)
        return [(self._document(hit), hit.score) for hit in hits]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Return k documents that are relevant and differ from one another.

        Args:
            query: the question.
            k: the maximum number of documents.
            fetch_k: the number of candidates of each ranking (at least k).
            lambda_mult: from 0 (only different) to 1 (only relevant). Relevance is scaled to 0..1 over the candidates;
                documents that contain an identifier of the question come first.
        """
        options["scrubjay_query"] = self._diverse(options, max(fetch_k, k), lambda_mult)
        return self.similarity_search(query, k, **options)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **options: Any,
    ) -> list[Document]:
        """Return k documents that are near to a vector and differ from one another."""
        options["scrubjay_query"] = self._diverse(options, max(fetch_k, k), lambda_mult)
        return self.similarity_search_by_vector(embedding, k, **options)

    def _diverse(self, options: Mapping[str, Any], candidates: int, mmr: float) -> Query:
        settings = as_query(options.get("scrubjay_query"), "scrubjay_query", self.query)
        return settings.replace(candidates=candidates, mmr=mmr)

    # ------------------------------------------------------------------ relevance from 0 to 1

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """Return the function from a similarity to a relevance from 0 to 1."""
        if Backend.of(self.index).metric == "l2":
            return lambda similarity: 1.0 / (1.0 - similarity)
        return lambda similarity: min(max(similarity, 0.0), 1.0)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        options["explain"] = True
        return self._with_relevance(self.hits(query, k, **options))

    def _with_relevance(self, hits: Iterable[Hit]) -> list[tuple[Document, float]]:
        """Return documents with relevances, in the order of the hits: the similarity, clamped to [0, 1]; 1 for a
        document that contains a rare identifier of the question verbatim; without a vector the fraction of the
        question's words that it contains."""
        scale = self._select_relevance_score_fn()

        def relevance(hit: Hit) -> float:
            if hit.identifier:
                return 1.0
            return (hit.coverage or 0.0) if hit.similarity is None else scale(hit.similarity)

        return [(self._document(hit), relevance(hit)) for hit in hits]

    # ------------------------------------------------------------------ async twins

    ahits = _embedding_first(hits, "ahits")
    asimilarity_search = _embedding_first(similarity_search, "asimilarity_search")
    asimilarity_search_with_score = _embedding_first(
        similarity_search_with_score, "asimilarity_search_with_score"
    )
    amax_marginal_relevance_search = _embedding_first(
        max_marginal_relevance_search, "amax_marginal_relevance_search"
    )
    _asimilarity_search_with_relevance_scores = _embedding_first(
        _similarity_search_with_relevance_scores, "_asimilarity_search_with_relevance_scores"
    )
    asimilarity_search_by_vector = awaited(similarity_search_by_vector, "asimilarity_search_by_vector")
    amax_marginal_relevance_search_by_vector = awaited(
        max_marginal_relevance_search_by_vector, "amax_marginal_relevance_search_by_vector"
    )
