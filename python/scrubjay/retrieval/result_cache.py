"""Result caching of a retriever: look-ups, validation, storing."""

from __future__ import annotations

import secrets
from collections.abc import Hashable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from scrubjay._native import Scope
from scrubjay.index import Index
from scrubjay.index.backend import Backend
from scrubjay.retrieval.cache import CacheStats, RedisCache, ResultCache
from scrubjay.retrieval.keys import UncomparableValue, key_of
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.trace import Counters, Trace

_places: WeakKeyDictionary[Index, str] = WeakKeyDictionary()


class Question:
    """The cache key of one retrieval: the question, and the state of the memories."""

    __slots__ = ("key", "scope", "shared", "state", "text")

    def __init__(
        self,
        text: str | None,
        key: Hashable,
        scope: Scope,
        state: Hashable,
        shared: tuple[Hashable, ...] | None,
    ) -> None:
        self.text = text
        self.key = key
        self.scope = scope
        self.state = state
        self.shared = shared


class ResultCaches:
    """The caches of a retriever: one in this process, one shared by processes; either may be None. Thread-safe.

    Args:
        index: with the memories.
        local, shared: the caches.
        parts: the components of the retriever that affect a result, comparable across processes.
        counters: count retrievals that cannot be cached, and errors of the shared cache.
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
        self._backend = Backend.of(index)
        self._local = local
        self._shared = shared
        self._parts = parts
        self._counters = counters
        self._place = _places.setdefault(index, secrets.token_hex(16))  # retrievers may share a local cache

    @property
    def any(self) -> bool:
        """Whether there is a cache."""
        return self._local is not None or self._shared is not None

    def question(self, scope: Scope, options: dict[str, Any]) -> Question | None:
        """Return the question with these options, or None if there is no cache or it cannot be cached.

        It holds the current state; results computed after this call are at least as new.
        """
        if not self.any:
            return None
        try:
            options_key = key_of({name: value for name, value in options.items() if name != "threads"})
        except (UncomparableValue, RecursionError):
            self._counters.add("uncacheable_total")
            return None
        embedder = self._index.embedder
        key = (options_key, key_of(scope), self._parts, None if embedder is None else embedder.name)
        # The local state first: storing a newer result under an older state is safe, the reverse is not.
        state, shared = self._backend.generation(scope), None
        if self._shared is not None and not options.get("explain"):  # the shared cache has no evidence
            shared = self._backend.shared_generation(scope)
        return Question(options.get("text"), key, scope, state, shared)

    def recall(self, question: Question, trace: Trace) -> Retrieved | None:
        """Return the cached result of the question if the memories have not changed since."""
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
                result = None if row is None else self._restore(row, question, trace)
                if result is not None:
                    self._keep(question, result)
            stage.n_out = 0 if result is None else len(result)
            return result

    def remember(self, question: Question, result: Retrieved) -> None:
        """Store a result."""
        self._keep(question, result)
        if self._shared is not None and question.shared is not None:
            levels = {scope: level for level, scope in enumerate(question.scope.visible())}
            hits = [
                {
                    "level": levels[hit.scope],  # not its names, which must not be in a cache
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
        """Return the counts of the existing caches: "results", "shared"."""
        caches = (("results", self._local), ("shared", self._shared))
        return {name: cache.stats() for name, cache in caches if cache is not None}

    def _keep(self, question: Question, result: Retrieved) -> None:
        if self._local is not None:
            n_bytes = 500 + sum(400 + len(hit.text) for hit in result)
            self._local.put((self._place, question.key), question.state, result, n_bytes)

    def _restore(self, row: Any, question: Question, trace: Trace) -> Retrieved | None:
        """Return the hits of another process, read from this process's index; None if they do not match any more."""
        scope = question.scope
        levels = scope.visible()
        held = _checked(row, len(levels))
        if held is None:
            self._counters.add("shared_cache_errors_total")
            return None
        try:
            keys = [(levels[hit.level], hit.id) for hit in held.hits]
            result = self._backend.hits_of(keys, scope, question.text)
        except (TypeError, ValueError):  # ids of the other type
            self._counters.add("shared_cache_errors_total")
            return None
        if result is None:
            return None
        hits = []
        for place, held_hit in enumerate(held.hits):
            hit = RetrievedHit(result, place, held_hit.score, held_hit.queries)
            hit.rerank_score = held_hit.rerank
            hit.found_with(*held_hit.evidence)
            hits.append(hit)
        return Retrieved(hits, held.mode, held.degraded, trace, cached=True)


class _HeldHit(NamedTuple):
    level: int  # index of its scope in the list of visible scopes
    id: str | int
    score: float
    queries: tuple[int, ...]
    rerank: float | None
    evidence: tuple[int | None, int | None, bool]


class _StoredResult(NamedTuple):
    mode: str
    degraded: tuple[str, ...]
    hits: list[_HeldHit]


_MODES = ("hybrid", "vector", "lexical", "substring", "none")
_MAX_HITS = 100_000


def _checked(row: Any, n_levels: int) -> _StoredResult | None:
    """Return an entry of the shared cache if it has the form that :meth:`ResultCaches.remember` writes, or None.

    Any program that can write to the cache can store any value there, so every value is validated here.
    """
    if not isinstance(row, dict) or row.get("mode") not in _MODES:
        return None
    degraded, rows = row.get("degraded"), row.get("hits")
    if not isinstance(degraded, list) or not all(isinstance(reason, str) for reason in degraded):
        return None
    if not isinstance(rows, list) or len(rows) > _MAX_HITS:
        return None
    hits = [hit for hit in (_checked_hit(hit, n_levels) for hit in rows) if hit is not None]
    if len(hits) < len(rows) or len({(hit.level, hit.id) for hit in hits}) < len(hits):
        return None
    return _StoredResult(row["mode"], tuple(degraded), hits)


def _checked_hit(hit: Any, n_levels: int) -> _HeldHit | None:
    if not isinstance(hit, dict):
        return None
    names = ("level", "id", "score", "rerank", "queries", "evidence")
    values: list[Any] = [hit.get(name) for name in names]
    level, id, score, rerank, queries, evidence = values
    fits = (
        _is_count(level, 0)
        and level < n_levels
        and (isinstance(id, str) or _is_count(id, -(1 << 63)))
        and _is_number(score)
        and (rerank is None or _is_number(rerank))
        and isinstance(queries, list)
        and all(_is_count(query, 0) for query in queries)
        and isinstance(evidence, list)
        and len(evidence) == 3
        and all(rank is None or _is_count(rank, 1) for rank in evidence[:2])
        and isinstance(evidence[2], bool)
    )
    if not fits:
        return None
    ranks = (evidence[0], evidence[1], evidence[2])
    return _HeldHit(level, id, float(score), tuple(queries), None if rerank is None else float(rerank), ranks)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -1e300 < value < 1e300


def _is_count(value: Any, least: int) -> bool:
    return type(value) is int and least <= value < 1 << 63
