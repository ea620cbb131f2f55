"""Evaluation of the judged questions under one setting after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import Scope
from scrubjay.embedders.protocol import embed_queries
from scrubjay.fusion import Dates, Query, Recency
from scrubjay.index import Hit, Index
from scrubjay.index.backend import Backend
from scrubjay.retrieval import metrics
from scrubjay.retrieval.judged_sets import JudgedQuery
from scrubjay.retrieval.reranking import Reranker, Reranking
from scrubjay.retrieval.retriever import Retriever

METRICS: dict[str, Callable[[Sequence[Any], frozenset[Any]], float]] = {
    "ndcg@10": metrics.ndcg,
    "recall@5": lambda ranking, relevant: metrics.recall_at(5, ranking, relevant),
    "recall@10": metrics.recall,
    "mrr@10": metrics.reciprocal_rank,
}
_BATCH = 256
_PAGE = 1000

Scores = NDArray[np.float64]  # of one setting: (metrics, questions)
Bm25 = tuple[float, float]


@dataclass(frozen=True)
class Setting:
    """The parameters of a ranking.

    Attributes:
        query: of the searches.
        bm25: (k1, b) of :class:`scrubjay.Index`; None: the index's own.
        rerank: of :class:`scrubjay.Retriever`: the number of best hits to rerank; 0: none.
    """

    query: Query = Query()  # noqa: RUF009 - frozen
    bm25: Bm25 | None = None
    rerank: int = 0


class Trials:
    """Answers every question once per setting.

    Args:
        index: with the memories.
        queries: the questions.
        target: the index in `METRICS` of the metric to optimise.
        candidates: of each search.
        reranker, template: as in :class:`scrubjay.Retriever`; scores of pairs are cached.
    """

    def __init__(
        self,
        index: Index,
        queries: Sequence[JudgedQuery],
        target: int,
        candidates: int | None,
        reranker: Reranker | None = None,
        template: str | Callable[[Hit], str] | None = None,
    ) -> None:
        self.queries = queries
        self.target = target
        self.done: dict[Setting | str, Scores] = {}
        self._index = index
        self._candidates = candidates
        self._reranker = None if reranker is None else _CachedReranker(reranker)
        self._template = template
        self._copies: dict[Bm25, Index] = {}
        self._places: dict[
            datetime | None, list[int]
        ] = {}  # of the questions, by the time at which they were asked
        for place, query in enumerate(queries):
            self._places.setdefault(query.asked_at, []).append(place)
        self._vectors: list[Any] = [query.vector for query in queries]
        missing = [place for place, vector in enumerate(self._vectors) if vector is None]
        if missing and index.embedder is not None:  # once for all settings
            embedded = embed_queries(index.embedder, [queries[place].text for place in missing])
            for place, vector in zip(missing, embedded, strict=True):
                self._vectors[place] = vector.copy() if vector.any() else None

    def scores(self, setting: Setting | str) -> Scores:
        """Return all metrics for all questions; a str is the mode of a single ranking."""
        known = self.done.get(setting)
        if known is None:
            chosen = Setting(Query(mode=setting)) if isinstance(setting, str) else setting  # type: ignore[arg-type]
            rankings = self._reranked(chosen) if chosen.rerank else self._ranked(chosen)
            known = self.done[setting] = np.array(
                [
                    [figure(keys, query.relevant) for keys, query in zip(rankings, self.queries, strict=True)]
                    for figure in METRICS.values()
                ]
            )
        return known

    def target_scores(self, setting: Setting | str) -> NDArray[np.float64]:
        """Return the metric to optimise, for all questions."""
        return np.asarray(self.scores(setting)[self.target])

    def close(self) -> None:
        """Release the copies of the memories."""
        for copy in self._copies.values():
            copy.close()
        self._copies.clear()

    def _ranked(self, setting: Setting) -> list[Sequence[Any]]:
        index, keys = self._where(setting.bm25), dict[int, Sequence[Any]]()
        for asked_at, places in self._places.items():
            query = self._query(setting, asked_at)
            for start in range(0, len(places), _BATCH):
                part = places[start : start + _BATCH]
                results = index.search_batch(
                    [self.queries[place].text for place in part],
                    vectors=[self._vectors[place] for place in part],
                    scope=[self.queries[place].scope for place in part],
                    k=metrics.DEPTH,
                    query=query,
                )
                keys.update(zip(part, (hits.keys for hits in results), strict=True))
        return [keys[place] for place in range(len(self.queries))]

    def _reranked(self, setting: Setting) -> list[Sequence[Any]]:
        retriever = Retriever(
            self._where(setting.bm25),
            reranker=self._reranker,
            rerank=setting.rerank,
            template=self._template,
        )
        keys: list[Sequence[Any]] = []
        for question, vector in zip(self.queries, self._vectors, strict=True):
            hits = retriever.search(
                question.text,
                scope=question.scope,
                vector=vector,
                k=metrics.DEPTH,
                query=self._query(setting, question.asked_at),
            )
            failed = [reason for reason in hits.degraded if reason.startswith("reranker_failed")]
            if failed:
                raise ValueError(f"reranker: {failed[0]}")
            keys.append([(hit.scope, hit.id) for hit in hits])
        return keys

    def _query(self, setting: Setting, asked_at: datetime | None) -> Query:
        """Return the query of a setting, as asked at this time."""
        query = setting.query.replace(candidates=self._candidates)
        if asked_at is not None:
            for signal in ("dates", "recency"):
                given = getattr(query, signal)
                if isinstance(given, (Dates, Recency)) and given.now is None:
                    query = query.replace(**{signal: replace(given, now=asked_at)})
        return query

    def _where(self, bm25: Bm25 | None) -> Index:
        """Return an index with these constants: the given one, or an in-memory copy of the visible memories."""
        if bm25 is None:
            return self._index
        copy = self._copies.get(bm25)
        if copy is None:
            copy = self._copies[bm25] = Backend.of(self._index).scratch(*bm25)
            for scope in sorted(self._visible(), key=repr):
                cursor = None
                while True:
                    page = self._index.scroll(
                        scope=scope, limit=_PAGE, cursor=cursor, vectors=True, exact=True
                    )
                    copy.upsert_many(page.records, progress=False)
                    cursor = page.cursor
                    if cursor is None:
                        break
        return copy

    def _visible(self) -> set[Scope]:
        """Return the exact scopes that the questions see."""
        seen = set()
        for scope in {query.scope for query in self.queries}:
            seen |= {
                Scope(scope.tenant, user, agent)
                for user in {None, scope.user}
                for agent in {None, scope.agent}
            }
        return seen


class _CachedReranker:
    """A reranker with a cache of its scores of pairs."""

    def __init__(self, reranker: Reranker) -> None:
        self._scores = Reranking(reranker, None, cache_size=1_000_000)
        self.name = self._scores.name

    def score(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        return self._scores.score(query, texts)
