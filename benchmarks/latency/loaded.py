"""Searches during writes, with a filter, and on two threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import memories as memories_of
from benchmarks import recording
from benchmarks import vectors as vectors_of
from benchmarks.compare import timing
from benchmarks.latency import engine as asked
from benchmarks.latency.sizes import Part, Row, Sizes
from benchmarks.memories import Exact, Question

WRITES_A_SECOND = 1_000
READS_A_SECOND = 1_000
N_ROUNDS = 3
SELECTIVITIES = (1.0, 0.5, 0.1, 0.01, 0.001)
COMPILED = 0.1
"""At this selectivity, also measure a filter compiled in advance."""


def write(sizes: Sizes) -> Part:
    """Measure user-10k with a writer at 1,000 upserts/s on the same partition, beside the same reads without writes.

    Reads arrive by a clock, 1,000 a second; each round is quiet, then with writes. Writes replace documents in a random
    order, each with another text and vector, so that compaction also works. With two cores the writer has its own.
    """
    memories = memories_of.of_users(
        0, 0, sizes.large, sizes.dim, use_system=sizes.use_system, seed=sizes.seed
    )
    questions = memories.questions(memories.blocks, min(2_000, sizes.n_queries), seed=sizes.seed + 8)
    engine = asked.filled(memories)
    ask, scope = asked.asker(engine), questions[0].scope
    numbers = random.Random(sizes.seed)
    order = [numbers.randrange(sizes.large) for _ in range(100_000)]
    fresh = vectors_of.clustered(sizes.large, sizes.dim, sizes.seed + 9)

    def upsert(number: int) -> None:
        row = order[number % len(order)]
        text = memories.texts[(row * 7 + number) % sizes.large]
        engine.upsert(row, text, scope=scope, vector=fresh[(row + number) % sizes.large])

    core = sizes.cores[0] if len(sizes.cores) > 1 else None
    passes: dict[str, list[Any]] = {"quiet": [], "written to": []}
    reached, written = [], []
    for question in questions[:200]:
        ask(question)
    for _ in range(N_ROUNDS):
        passes["quiet"].append(recording.open_loop(ask, questions, READS_A_SECOND, sizes.load_seconds))
        with recording.ConcurrentWriter(upsert, WRITES_A_SECOND, core) as writer:
            passes["written to"].append(
                recording.open_loop(ask, questions, READS_A_SECOND, sizes.load_seconds)
            )
        reached.append(writer.reached)
        written.append(np.array(writer.latency_ns))
    rows: list[Row] = []
    for kind in ("latency", "service"):
        since = "from arrival" if kind == "latency" else "from start"
        for name, runs in passes.items():
            tail = recording.tail_us([run[kind] for run in runs])
            row = {
                "workload": "write",
                "how": f"{name}, {since}",
                "visible": sizes.large,
                **tail,
                "recall": None,
            }
            rows.append({**row, "queries": sum(len(run[kind]) for run in runs)})
    by = {row["how"]: row for row in rows}
    facts = {
        "upserts_a_second": float(np.median(reached)),
        "upsert_us": recording.tail_us(written),
        "cores": 2 if core is not None else 1,
        **{
            f"p99_ratio_{since.replace(' ', '_')}": by[f"written to, {since}"]["p99"]
            / by[f"quiet, {since}"]["p99"]
            for since in ("from arrival", "from start")
        },
    }
    return {"rows": rows, "load": [facts]}


def threads(sizes: Sizes) -> Part:
    """Measure calls a second of one thread and of two, and of batches on one and two native threads."""
    if len(sizes.cores) < 2:
        return {"notes": [{"note": "threads: not available (one core)"}]}
    memories = memories_of.of_users(2, sizes.each, sizes.large, sizes.dim, use_system=sizes.use_system)
    engine = asked.filled(memories)
    found = []
    seconds = max(0.2, sizes.load_seconds / 4)
    n = min(2_000, sizes.n_queries)
    for workload, blocks in (("user-1k", memories.blocks[1:]), ("user-10k", memories.blocks[:1])):
        questions = memories.questions(blocks, n, seed=sizes.seed + 10)
        scaled = recording.scaling(asked.asker(engine), questions, sizes.cores, seconds)
        found.append({"workload": workload, "how": "one call each", **scaled})
        found.append({"workload": workload, "how": "batches of 500", **batches(engine, questions, sizes)})
    return {"threads": found}


def batches(engine: Any, questions: list[Question], sizes: Sizes) -> dict[str, float]:
    """Return queries a second of search_batch on one and on two of its threads; the best of three rounds."""
    some = questions[:500]
    texts = [question.query.text for question in some]
    vectors = np.stack([question.vector for question in some])
    scopes = [question.scope for question in some]
    plain = asked.textbook_query()

    def run(n_threads: int) -> float:
        spent = timing.time_one(
            lambda _: engine.search_batch(
                texts,
                vectors=vectors,
                scope=scopes,
                k=asked.K,
                query=plain,
                threads=n_threads,
            ),
            None,
        )
        return float(len(some) / (spent * 1e-9))

    with recording.on_cores(sizes.cores[:2]):
        rounds = [(run(1), run(2)) for _ in range(N_ROUNDS + 2)]
    one, two = max(one for one, _ in rounds), max(two for _, two in rounds)
    return {"one": one, "two": two, "ratio": two / one, "cores": len(sizes.cores[:2])}


def filtered(sizes: Sizes) -> Part:
    """Measure user-10k with metadata at each selectivity; results equal filter-then-rank, statistics of the scope."""
    import scrubjay

    if not asked.accepts(scrubjay.Index.search, "filter"):
        return {"notes": [{"note": "filter: not available (Index.search has no parameter `filter`)"}]}
    memories = memories_of.of_users(
        0, 0, sizes.large, sizes.dim, use_system=sizes.use_system, seed=sizes.seed
    )
    block, exact = memories.blocks[0], Exact(memories)
    scope = memories_of.scope_of(block)
    index = scrubjay.Index(dim=sizes.dim)
    places = np.random.default_rng(sizes.seed).permutation(sizes.large)
    for first in range(0, sizes.large, memories_of.ROWS_A_CALL):
        rows_of = range(first, min(first + memories_of.ROWS_A_CALL, sizes.large))
        records = [
            {
                "id": row,
                "text": memories.texts[row],
                "vector": memories.vectors[row],
                "metadata": {"place": int(places[row])},
            }
            for row in rows_of
        ]
        index.upsert_many(records, scope=scope, progress=False)
    questions = memories.questions([block], sizes.n_queries, seed=sizes.seed + 11)
    plain = asked.textbook_query()

    def asker(given: dict[str, Any]) -> Callable[[Question], Any]:
        def ask(question: Question) -> Any:
            found = index.search(
                question.query.text,
                vector=question.vector,
                scope=scope,
                k=asked.K,
                query=plain,
                **given,
            )
            return [hit.id for hit in found], None

        return ask

    calls = {"no filter": asker({})}
    bars = {f"{share:.1%} of the documents": max(1, int(sizes.large * share)) for share in SELECTIVITIES}
    calls |= {name: asker({"filter": {"place": {"$lt": bar}}}) for name, bar in bars.items()}
    if hasattr(scrubjay, "Filter"):
        name = f"{COMPILED:.1%}, compiled once"
        bars[name] = max(1, int(sizes.large * COMPILED))
        calls[name] = asker({"filter": scrubjay.Filter({"place": {"$lt": bars[name]}})})
    times = recording.interleaved(calls, questions, seconds=sizes.seconds)
    checked = questions[:: max(1, len(questions) // (sizes.n_checked // 2))][: sizes.n_checked // 2]
    rows = []
    for name, call in calls.items():
        allowed = places < bars[name] if name in bars else None
        recall = exact.mean_recall(asked.found_by(call, checked), asked.K, allowed)
        rows.append(
            {"workload": "filter", "how": name, "visible": sizes.large, **times[name], "recall": recall}
        )
    return {"rows": rows}
