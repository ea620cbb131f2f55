"""The cost of the signals besides the fusion: coverage, recency, marginal relevance, entities, priors."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from benchmarks import memories as memories_of
from benchmarks import recording
from benchmarks.latency import engine as asked
from benchmarks.latency.single import measured
from benchmarks.latency.sizes import Part, Sizes
from benchmarks.memories import Exact, Question

CANDIDATES = 100
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)


def signals(sizes: Sizes) -> Part:
    """Measure user-10k, every memory with a time: plain RRF over 100 candidates, with each signal, and with all.

    The rows "added" are paired differences from plain RRF.
    """
    import scrubjay
    from scrubjay.documents.payload import encode

    memories = memories_of.of_users(
        0, 0, sizes.large, sizes.dim, use_system=sizes.use_system, seed=sizes.seed
    )
    numbers = random.Random(sizes.seed)
    engine = scrubjay.Engine(sizes.dim, k1=1.2, b=0.75)
    scope = memories_of.scope_of(memories.blocks[0])
    payloads = [
        encode({"category": "note"}, EPOCH + timedelta(seconds=numbers.randrange(30_000_000)))
        for _ in range(len(memories))
    ]
    rows = range(len(memories))
    engine.upsert_many(list(rows), memories.texts, scope=scope, vectors=memories.vectors, payloads=payloads)
    questions = memories.questions(memories.blocks, sizes.n_queries, seed=sizes.seed + 10)
    plain = scrubjay.Query(scrubjay.RRF(memories_of.RRF_K), candidates=CANDIDATES)
    recency = scrubjay.Recency(now=EPOCH + timedelta(days=365))
    given = {
        "plain RRF": plain,
        "with coverage": plain.replace(coverage=0.3),
        "with recency": plain.replace(recency=recency),
        "with marginal relevance": plain.replace(mmr=0.5),
        "with all three": plain.replace(coverage=0.3, recency=recency, mmr=0.5),
    }
    calls = {name: _asker(engine, query) for name, query in given.items()}
    rows = measured("signals", calls, questions, Exact(memories), sizes, check=False)
    costs = recording.added(calls, questions[: max(1, len(questions) // 4)])
    rows += [
        {"workload": "signals, added", "how": how, "visible": sizes.large, **cost, "recall": None}
        for how, cost in costs.items()
    ]
    return {"rows": rows}


def _asker(engine: Any, query: Any) -> Callable[[Question], Any]:
    search = engine.search

    def ask(question: Question) -> Any:
        ids, scores = search(
            question.query.text,
            vector=question.vector,
            scope=question.scope,
            k=asked.K,
            query=query,
        )
        return ids, scores

    return ask
