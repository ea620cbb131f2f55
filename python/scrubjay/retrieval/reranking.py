"""Reranking with a deadline and a cache of scores."""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from hashlib import sha256
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.locks import renew_in_children
from scrubjay.index import Hit
from scrubjay.retrieval.cache import CacheStats
from scrubjay.retrieval.result import RetrievedHit

Scores = NDArray[np.float32]


@runtime_checkable
class Reranker(Protocol):
    """Scores texts by how well they answer a query. An optional attribute `name` identifies the reranker in caches."""

    def score(self, query: str, texts: list[str]) -> Scores:
        """Return one finite float32 for each of `texts`: its relevance to `query`, higher is better."""
        ...


def render(template: str | Callable[[Hit], str] | None, hit: Hit) -> str:
    """Return the reranker's input for a hit: its text, or a template over its text and metadata.

    A template is a function of the hit, or a str with {text}, {id}, {created_at} and names of metadata in braces;
    missing values are empty.
    """
    if template is None:
        return hit.text
    if callable(template):
        return template(hit)
    return template.format_map(_Fields(hit))


def order_of(hits: Sequence[RetrievedHit], scores: Scores, fused_weight: float) -> list[int]:
    """Return the new order of the hits: the identifier tier first, then by the reranker's and the fused score; ties
    keep their order.

    Each score is standardised within its tier. Hits of several queries have no comparable fused scores: the logarithm
    of their place is used instead.
    """
    exact = np.array([hit.identifier for hit in hits])
    total = scores.astype(np.float64)
    if fused_weight > 0:
        fused = np.array([hit.fused_score for hit in hits])
        if any(hit.queries != (0,) for hit in hits):
            fused = -np.log(np.arange(1, len(hits) + 1))
        for tier in (exact, ~exact):
            total[tier] = _standardised(total[tier]) + fused_weight * _standardised(fused[tier])
    return [int(place) for place in np.lexsort((np.arange(len(hits)), -total, ~exact))]


def _standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    deviation = float(scores.std()) if len(scores) else 0.0
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros(len(scores))


class _Fields(Mapping[str, Any]):
    def __init__(self, hit: Hit) -> None:
        self._hit = hit

    def __getitem__(self, name: str) -> Any:
        own = name in ("text", "id", "created_at")
        value = getattr(self._hit, name) if own else self._hit.metadata.get(name)
        return "" if value is None else value

    def __iter__(self) -> Any:
        return iter(self._hit.metadata)

    def __len__(self) -> int:
        return len(self._hit.metadata)


class Reranking:
    """A reranker with a deadline and a cache of its scores.

    Args:
        reranker: called on its own thread, one call at a time.
        deadline_s: time limit of a call; None: no limit.
        cache_size: the number of cached scores of (query, text).
    """

    def __init__(self, reranker: Reranker, deadline_s: float | None, cache_size: int = 10_000) -> None:
        if not isinstance(reranker, Reranker):
            raise TypeError(
                f"reranker: expected an object with score(query, texts), got {type(reranker).__name__}"
            )
        if deadline_s is not None and not deadline_s > 0:
            raise ValueError(f"deadline_s: expected a number > 0 or None, got {deadline_s}")
        self.reranker = reranker
        self.name = str(getattr(reranker, "name", type(reranker).__name__))
        self._deadline_s = deadline_s
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0  # of the process that has the pool's thread
        self._known: OrderedDict[bytes, float] = OrderedDict()
        self._cache_size = cache_size
        self._lock = Lock()
        renew_in_children(self, "_lock")
        self._n_hits = self._n_misses = 0

    def score(self, query: str, texts: Sequence[str]) -> Scores:
        """Return the scores; cached ones are not computed again.

        Raises:
            TimeoutError: the deadline passed. The call continues in the background and its result is cached.
            Exception: raised by the reranker, or ValueError for an answer of the wrong shape.
        """
        keys = [sha256(f"{len(query)} {query}{text}".encode("utf-8", "replace")).digest() for text in texts]
        with self._lock:
            known = [self._known.get(key) for key in keys]
            missing = [place for place, score in enumerate(known) if score is None]
            self._n_hits += len(keys) - len(missing)
            self._n_misses += len(missing)

        def ask() -> None:
            answer = np.asarray(
                self.reranker.score(query, [texts[place] for place in missing]), dtype=np.float32
            )
            if answer.shape != (len(missing),):
                raise ValueError(f"expected {len(missing)} scores, got an array of shape {answer.shape}")
            if not np.isfinite(answer).all():
                first = int(np.argmin(np.isfinite(answer)))
                raise ValueError(f"expected finite scores, got {answer[first]} for text {first}")
            with self._lock:
                for place, score in zip(missing, answer.tolist(), strict=True):
                    known[place] = score
                    self._known[keys[place]] = score
                while len(self._known) > self._cache_size:
                    self._known.popitem(last=False)

        if missing:
            if self._deadline_s is None:
                ask()
            else:
                future = self._submit(ask)
                try:
                    future.result(timeout=self._deadline_s)
                except LateError:
                    future.cancel()
                    raise TimeoutError(f"no answer within {self._deadline_s:g} s") from None
        return np.array(known, dtype=np.float32)

    def _submit(self, ask: Callable[[], None]) -> Future[None]:
        """Submit a call to the thread, which another caller may be releasing concurrently."""
        while True:
            with self._lock:
                pool = self._pool
                if pool is None or self._pid != os.getpid():  # a fork does not have the parent's threads
                    pool = self._pool = ThreadPoolExecutor(1, thread_name_prefix="scrubjay-rerank")
                    self._pid = os.getpid()
                try:
                    return pool.submit(ask)
                except RuntimeError:
                    if sys.is_finalizing() or self._pool is pool:  # the interpreter is shutting down
                        raise

    def stats(self) -> CacheStats:
        """Return the hits, misses and entries of the cache of scores."""
        with self._lock:
            return CacheStats(self._n_hits, self._n_misses, entries=len(self._known))

    def close(self) -> None:
        """Release the thread."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
