"""Why did these memories come back? The two rankings, the fusion of them, and how long each step takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from scrubjay import fusion
from scrubjay._native import Scope
from scrubjay.adapters._scoped import ScopedMemories
from scrubjay.adapters.service.models import ExplainIn, hit_fields
from scrubjay.errors import Error
from scrubjay.results import Hits

__all__ = ["FUSIONS", "explain"]

FUSIONS: dict[str, fusion.Fusion | None] = {
    "auto": None,
    "rrf": fusion.RRF(),
    "weighted": fusion.Weighted(),
    "boost": fusion.Boost(),
    "production": fusion.Production(),
}
_N_RUNS = 3

T = TypeVar("T")


def explain(memories: ScopedMemories, scope: Scope, asked: ExplainIn) -> dict[str, Any]:
    """Search by both rankings, by words only and by meaning only; return what the page shows.

    >>> from scrubjay import Index
    >>> memories = ScopedMemories(Index())
    >>> memories.put(Scope("acme"), [{"id": "m1", "text": "Prefers trains to planes."}])
    1
    >>> shown = explain(memories, Scope("acme"), ExplainIn(text="which train?"))
    >>> [hit["matched_terms"] for hit in shown["hits"]], [stage["name"] for stage in shown["stages"]]
    ([['train']], ['words', 'whole'])
    """
    options: dict[str, Any] = {"k": asked.k, "filter": asked.filter, "explain": True}
    chosen = FUSIONS[asked.fusion]

    def search(mode: str) -> Hits:
        fused = chosen if mode == "hybrid" else None
        return memories.search(scope, asked.text, mode=mode, fusion=fused, **options)

    hits, whole_us = _timed(lambda: search("hybrid"))
    stages = []
    embedder = memories.index.embedder
    if embedder is not None:
        try:
            stages.append({"name": "embed", "us": _timed(partial(embedder.embed_query, asked.text))[1]})
        except Exception:  # noqa: BLE001 - an embedder may raise anything; the search has said why in `degraded`
            embedder = None
    lexical, words_us = _timed(lambda: search("lexical"))
    stages.append({"name": "words", "us": words_us})
    vector: list[dict[str, Any]] = []
    if embedder is not None:
        try:
            meaning, meaning_us = _timed(lambda: search("vector"))
        except (Error, ValueError):
            pass
        else:
            if meaning.mode == "vector":
                vector = hit_fields(meaning)
                stages.append({"name": "embed and meaning", "us": meaning_us})
                stages.append({"name": "fusion", "us": max(0.0, whole_us - words_us - meaning_us)})
    stages.append({"name": "whole", "us": whole_us})
    return {
        "hits": hit_fields(hits),
        "mode": hits.mode,
        "degraded": list(hits.degraded),
        "took_us": whole_us,
        "lexical": hit_fields(lexical),
        "vector": vector,
        "lexical_share": hits.lexical_share,
        "stages": stages,
    }


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    """Return what the call returns, and the least of a few times, in microseconds: the others were disturbed."""
    least = float("inf")
    for _ in range(_N_RUNS):
        start = time.perf_counter_ns()
        found = call()
        least = min(least, (time.perf_counter_ns() - start) / 1000)
    return found, least
