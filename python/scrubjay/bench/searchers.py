"""Searchers, the subject of a measurement: they store documents and find them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Protocol

from scrubjay._native import Scope
from scrubjay.bench.datasets import Document, Question, Vector
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Dates, Query
from scrubjay.index import Index

_BATCH = 256


@dataclass(frozen=True)
class Found:
    """The result of a search, best first, and its duration.

    Attributes:
        ids, texts: of the documents; reading them is included in the time of the search.
        search_us: microseconds from the call to the last text.
        embed_us: microseconds of embedding the question, before that; 0 if its vector was given or none is used.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    search_us: float
    embed_us: float = 0.0


class Searcher(Protocol):
    """Holds the documents of one case. Any object with these members is a searcher, whatever the engine."""

    def add(self, documents: Iterable[Document]) -> int:
        """Store the documents, searchable when this returns. Return how many there were."""
        ...

    def search(self, question: Question, k: int) -> Found:
        """Find at most k documents for the question, best first."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


class IndexSearcher:
    """A :class:`scrubjay.Index` in memory with one scope.

    The question is embedded separately from the search, unless its vector is given, so that the engine's and the
    embedder's times are reported separately.

    Args:
        embedder: None: texts are found by keywords, and by the vectors of the data set.
        query: how to rank. "Yesterday" and the like are relative to the time of the question in the data set, or else
            to the time of the last document.
    """

    def __init__(self, embedder: Embedder | None = None, query: Query | None = None) -> None:
        self._embedder, self._query = embedder, Query() if query is None else query
        self._index = Index(embedder)
        self._scope = Scope("bench", user="asker")
        self._last: str | None = None
        self._queries: dict[str | None, Query] = {}

    def add(self, documents: Iterable[Document]) -> int:
        """Store the documents."""
        return self._index.upsert_many(
            self._records(documents), scope=self._scope, progress=False, batch_size=_BATCH
        )

    def search(self, question: Question, k: int) -> Found:
        """Find the k best documents for the question, and read their ids and texts."""
        vector, embed_us = self._embedded(question)
        query = self._asked_at(question)
        started = perf_counter_ns()
        hits = self._index.search(question.text, scope=self._scope, k=k, vector=vector, query=query)
        ids = tuple(str(id) for id in hits.ids)
        texts = tuple(hit.text or "" for hit in hits)
        return Found(ids, texts, (perf_counter_ns() - started) / 1e3, embed_us)

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    def _embedded(self, question: Question) -> tuple[Vector | None, float]:
        if question.vector is not None or self._embedder is None or self._query.mode == "lexical":
            return question.vector, 0.0
        started = perf_counter_ns()
        vector = self._embedder.embed_query(question.text)
        return vector, (perf_counter_ns() - started) / 1e3

    def _records(self, documents: Iterable[Document]) -> Iterator[dict[str, object]]:
        for document in documents:
            if document.created_at is not None:
                self._last = max(self._last or "", document.created_at)
            record: dict[str, object] = {
                "id": document.id,
                "text": document.text,
                "created_at": document.created_at,
                "metadata": dict(document.metadata),
            }
            if document.vector is not None:
                record["vector"] = document.vector
            yield record

    def _asked_at(self, question: Question) -> Query:
        now = question.asked_at or self._last
        if now not in self._queries:
            dates = self._query.dates
            self._queries[now] = (
                self._query.replace(dates=replace(dates, now=now))
                if now is not None and isinstance(dates, Dates)
                else self._query
            )
        return self._queries[now]
