"""The fixed cost of a search, and the cost of each further term, hit and posting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks.compare import timing
from benchmarks.micro.data import ZipfTexts, fixed_queries

N_PASSES = 3


def median_us(call: Callable[[], Any], n_calls: int) -> dict[str, float]:
    """Return percentiles of n calls without an argument, the median of three passes."""
    return timing.percentiles_us(
        [timing.time_calls(lambda _: call(), range(n_calls)) for _ in range(N_PASSES)]
    )


def measure(n_documents: int, n_calls: int) -> dict[str, Any]:
    """Measure all primitives on one partition of n documents."""
    import scrubjay

    texts = ZipfTexts(seed=1)
    engine, scope, empty = scrubjay.Engine(), scrubjay.Scope("micro"), scrubjay.Scope("nobody")
    engine.upsert_many(list(range(n_documents)), texts.texts(n_documents), scope=scope)
    nine_words = fixed_queries()["nine words"]
    lexical = scrubjay.Query(mode="lexical")
    unknown = "qqa qqb qqc qqd qqe qqf qqg qqh qqi"

    def search(query: str, k: int = 10, where: Any = scope) -> Any:
        return engine.search(query, scope=where, k=k, query=lexical)

    def unpacked(query: str) -> Any:
        ids, scores = search(query)
        return ids, scores

    return {
        "documents": n_documents,
        "call": {
            "count(scope): the border alone": median_us(lambda: engine.count(scope), n_calls),
            "search, empty partition, 9 words": median_us(lambda: search(nine_words, where=empty), n_calls),
            "search, 9 words none of which is known": median_us(lambda: search(unknown), n_calls),
            "search, 9 words": median_us(lambda: search(nine_words), n_calls),
            "search, 9 words, arrays taken": median_us(lambda: unpacked(nine_words), n_calls),
        },
        "k": {str(k): median_us(partial(search, nine_words, k), n_calls) for k in (1, 10, 100, 1_000)},
        "words": {
            str(n): varied([texts.text(n) for _ in range(n_calls)], search)
            for n in (1, 2, 3, 6, 12, 30, 60, 100)
        },
        "keywords": {
            str(n): varied([texts.keywords(n) for _ in range(n_calls)], search) for n in (1, 2, 3, 4)
        },
    }


def varied(queries: Sequence[str], search: Callable[[str], Any]) -> dict[str, float]:
    """Return percentiles over different queries."""
    return timing.percentiles_us([timing.time_calls(search, queries) for _ in range(N_PASSES)])


def tokenizing(n_texts: int) -> dict[str, float]:
    """Return native MB/s of the analyzer over ASCII and mixed texts, with a cold and a warm cache of surface forms."""
    from scrubjay import _native

    texts = ZipfTexts(seed=2).texts(n_texts)
    mixed = [f"{text} Überprüfung Straße naïve Ωμέγα Привет мир 東京都 {text[:40]}" for text in texts]
    rates = {}
    for name, sample in (("ascii", texts), ("mixed", mixed)):
        for warmth, passes in (("cold", 1), ("warm", N_PASSES + 1)):
            n_bytes, _, seconds = _native.analyze_throughput(sample, passes=passes)
            rates[f"{name}_{warmth}_mb_a_second"] = n_bytes / 1e6 / seconds
    return rates
