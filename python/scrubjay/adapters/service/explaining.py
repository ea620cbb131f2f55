"""The explanation of a search: the two rankings, their fusion, and how long each step takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from scrubjay._native import Scope
from scrubjay.adapters.service.models import ExplainIn
from scrubjay.errors import Error
from scrubjay.fusion import Auto, Query
from scrubjay.index import Hits, Index

__all__ = ["explain"]

_N_RUNS = 3

T = TypeVar("T")


def explain(index: Index, scope: Scope, asked: ExplainIn) -> dict[str, Any]:
    """Search by both rankings, by words only and by meaning only; return what the page shows.

    >>> index = Index()
    >>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
    >>> shown = explain(index, Scope("acme"), ExplainIn(text="which train?"))
    >>> [hit["matched_terms"] for hit in shown["hits"]], [stage["name"] for stage in shown["stages"]]
    ([['train']], ['words', 'whole'])
    """
    whole = asked.query(scope)
    # One ranking as it is, before what the query adds to it.
    bare = Query(
        Auto(),
        candidates=whole.candidates,
        recall=whole.recall,
        keywords=whole.keywords,
        ids=whole.ids,
        exclude=whole.exclude,
    )

    def search(query: Query) -> Hits:
        return index.search(
            asked.text, scope=scope, k=asked.k, filter=asked.filter, query=query, explain=True
        )

    hits, whole_us = _timed(lambda: search(whole))
    stages = []
    embedder = index.embedder
    if embedder is not None:
        try:
            stages.append({"name": "embed", "us": _timed(partial(embedder.embed_query, asked.text))[1]})
        except Exception:  # noqa: BLE001 - an embedder may raise anything; `degraded` of the search names it
            embedder = None
    lexical, words_us = _timed(lambda: search(bare.replace(mode="lexical")))
    stages.append({"name": "words", "us": words_us})
    vector: list[dict[str, Any]] = []
    if embedder is not None:
        try:
            meaning, meaning_us = _timed(lambda: search(bare.replace(mode="vector")))
        except (Error, ValueError):
            pass
        else:
            if meaning.mode == "vector":
                vector = meaning.to_dicts()
                stages.append({"name": "embed and meaning", "us": meaning_us})
                stages.append({"name": "fusion", "us": max(0.0, whole_us - words_us - meaning_us)})
    stages.append({"name": "whole", "us": whole_us})
    return {
        "hits": hits.to_dicts(),
        "mode": hits.mode,
        "degraded": list(hits.degraded),
        "corrections": hits.corrections,
        "took_us": whole_us,
        "lexical": lexical.to_dicts(),
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
