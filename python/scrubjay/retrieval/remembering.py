"""What does a retriever ask its caches, and what does it tell them?"""

from __future__ import annotations

import secrets
from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

from scrubjay._native import Scope
from scrubjay.index import Index
from scrubjay.retrieval.cache import CacheStats, RedisCache, ResultCache
from scrubjay.retrieval.keys import Unkeyed, key_of
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.trace import Counters, Trace

__all__ = ["Question", "Remembering"]

_places: WeakKeyDictionary[Index, str] = WeakKeyDictionary()


class Question:
    """One retrieval as the caches know it: what was asked, and of which state of the memories."""

    __slots__ = ("key", "scope", "shared", "state")

    def __init__(
        self, key: Hashable, scope: Scope, state: Hashable, shared: tuple[Hashable, ...] | None
    ) -> None:
        self.key = key
        self.scope = scope
        self.state = state
        self.shared = shared


class Remembering:
    """The caches of a retriever: one in this process, one that processes share; either may be None. Thread-safe.

    Args:
        index: where the memories are.
        local, shared: the caches.
        parts: what of the retriever decides a result, comparable across processes.
        counters: count what cannot be cached, and errors of the shared cache.
    """

    def __init__(
        self,
        index: Index,
        local: ResultCache | None,
        shared: RedisCache | None,
        parts: Hashable,
        counters: Counters,
    ) -> None:
        self._index = index
        self._local = local
        self._shared = shared
        self._parts = parts
        self._counters = counters
        self._place = _places.setdefault(index, secrets.token_hex(16))  # retrievers may share a local cache

    def question(self, scope: Scope, options: dict[str, Any]) -> Question | None:
        """Return the question with these options, text and all; None if nothing is cached, or this cannot be.

        The state is that of now: what is found from here on is as new, or newer.
        """
        if self._local is None and self._shared is None:
            return None
        try:
            asked = key_of({name: value for name, value in options.items() if name != "threads"})
        except Unkeyed:
            self._counters.add("uncacheable_total")
            return None
        embedder = self._index.embedder
        key = (asked, key_of(scope), self._parts, None if embedder is None else embedder.name)
        # The local state first: what is found for newer versions may be kept for an older state, not the reverse.
        state, shared = self._index.generation(scope), None
        if self._shared is not None and not options.get("explain"):  # ids and scores explain nothing
            shared = self._index.shared_generation(scope)
        return Question(key, scope, state, shared)

    def recall(self, question: Question, trace: Trace) -> Retrieved | None:
        """Return what was found for the question, if the memories are as they were then."""
        with trace.stage("cache") as stage:
            result = None
            if self._local is not None:
                held: Retrieved | None = self._local.get((self._place, question.key), question.state)
                if held is not None:
                    result = Retrieved(list(held), held.mode, held.degraded, trace, cached=True)
            if result is None and self._shared is not None and question.shared is not None:
                row = self._shared.get((question.shared[0], question.key), question.shared[1:])
                if self._shared.last_error is not None:
                    self._counters.add("shared_cache_errors_total")
                result = None if row is None else self._restored(row, question.scope, trace)
                if result is not None:
                    self._keep(question, result)
            stage.n_out = 0 if result is None else len(result)
            return result

    def remember(self, question: Question, result: Retrieved) -> None:
        """Keep what was found."""
        self._keep(question, result)
        if self._shared is not None and question.shared is not None:
            hits = [
                {
                    "id": hit.id,
                    "score": hit.fused_score,
                    "rerank": hit.rerank_score,
                    "queries": list(hit.queries),
                    "evidence": list(hit.evidence),
                }
                for hit in result
            ]
            row = {"mode": result.mode, "degraded": list(result.degraded), "hits": hits}
            self._shared.put((question.shared[0], question.key), question.shared[1:], row)

    def stats(self) -> dict[str, CacheStats]:
        """Return the counts of the caches that there are: "results", "shared"."""
        caches = (("results", self._local), ("shared", self._shared))
        return {name: cache.stats() for name, cache in caches if cache is not None}

    def _keep(self, question: Question, result: Retrieved) -> None:
        if self._local is not None:
            n_bytes = 500 + sum(400 + len(hit.text) for hit in result)
            self._local.put((self._place, question.key), question.state, result, n_bytes)

    def _restored(self, row: Any, scope: Scope, trace: Trace) -> Retrieved | None:
        """The hits of another process, as this one's index has them; None if they are not what was put there."""
        try:
            result = self._index.hits_of([hit["id"] for hit in row["hits"]], scope)
            if result is None:
                return None
            hits = []
            for place, held in enumerate(row["hits"]):
                hit = RetrievedHit(result, place, float(held["score"]), tuple(held["queries"]))
                hit.rerank_score = held["rerank"]
                hit.found_with(*held["evidence"])
                hits.append(hit)
            return Retrieved(hits, str(row["mode"]), tuple(row["degraded"]), trace, cached=True)
        except (KeyError, TypeError, ValueError):
            self._counters.add("shared_cache_errors_total")
            return None
