"""The explanation of a search: the two rankings, their fusion, the matching words, and the time taken."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from scrubjay._native import Scope, StaticEmbedder
from scrubjay.adapters.service.search_models import ExplainIn
from scrubjay.base.errors import Error
from scrubjay.fusion import Auto, Query
from scrubjay.index import Hits, Index

_QUICK_US = 50_000.0


def explain(index: Index, scope: Scope, asked: ExplainIn) -> dict[str, Any]:
    """Search by fusion, by words only and by meaning only; return the explanation for the page.

    The time is that of one whole search without an explanation, as a program makes it, including the embedding of the
    text (an index caches the vectors of questions, except for native embedders). The embedding time is that of one more
    call of a native embedder; others may cost money. Short calls are timed three times and the median is reported,
    because other work of the machine disturbs single calls. No time is computed as a difference.

    >>> index = Index()
    >>> index.upsert("m1", "Prefers trains to planes.", scope=Scope("acme"))
    >>> shown = explain(index, Scope("acme"), ExplainIn(text="which train?"))
    >>> [hit["matched_terms"] for hit in shown["hits"]], shown["hits"][0]["snippet"]["pieces"][1]
    ([['train']], {'text': 'trains', 'match': 'word'})
    """
    full_query = asked.query(scope)
    # A single ranking, without the signals of the query.
    bare = Query(
        Auto(),
        candidates=full_query.candidates,
        recall=full_query.recall,
        keywords=full_query.keywords,
        ids=full_query.ids,
        exclude=full_query.exclude,
    )

    def search(query: Query, explain: bool = True) -> Hits:
        return index.search(
            asked.text, scope=scope, k=asked.k, filter=asked.filter, query=query, explain=explain
        )

    took_us = _us(lambda: search(full_query, explain=False))
    hits = search(full_query)
    # A ranking by meaning has no evidence besides its scores, so it is not explained.
    by_meaning = bare.replace(mode="vector")
    meaning = _by_meaning(lambda: search(by_meaning, explain=False)) if index.embedder is not None else None
    lexical = search(bare.replace(mode="lexical"))
    dicts = _Dicts(asked.snippet)
    return {
        "hits": dicts.of(hits),
        "mode": hits.mode,
        "degraded": list(hits.degraded),
        "corrections": hits.corrections,
        "took_us": took_us,
        "embed_us": _embedding_us(index, asked.text) if meaning else None,
        "lexical": dicts.of(lexical),
        "vector": dicts.of(meaning) if meaning else [],
        "lexical_share": hits.lexical_share,
    }


class _Dicts:
    """Converts hits of one question to dicts with snippets; the snippet of a memory is made once for all rankings."""

    def __init__(self, n_characters: int) -> None:
        self._n_characters = n_characters
        self._known: dict[Any, dict[str, Any]] = {}

    def of(self, hits: Hits) -> list[dict[str, Any]]:
        """Return these hits as dicts."""
        dicts = hits.to_dicts()
        for key, hit, fields in zip(hits.keys, hits, dicts, strict=True):
            if key not in self._known:
                self._known[key] = hit.snippet(self._n_characters).to_dict()
            fields["snippet"] = self._known[key]
        return dicts


def _by_meaning(search: Callable[[], Hits]) -> Hits | None:
    """Return the ranking by meaning; None if the search fell back to words."""
    try:
        hits = search()
    except (Error, ValueError):
        return None
    return hits if hits.mode == "vector" else None


def _embedding_us(index: Index, text: str) -> float | None:
    embedder = index.embedder
    if embedder is None or not isinstance(getattr(embedder, "native", None), StaticEmbedder):
        return None
    return _us(lambda: embedder.embed_query(text))


def _us(call: Callable[[], object]) -> float:
    """Return the microseconds of a call; for a quick call the median of three."""
    times: list[float] = []
    while len(times) < 3 and (not times or times[0] < _QUICK_US):
        start = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)
