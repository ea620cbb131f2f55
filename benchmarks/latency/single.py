"""Single calls, one after another, on an otherwise quiet engine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import memories as memories_of
from benchmarks import recording
from benchmarks.ingest import resident_bytes
from benchmarks.latency import engine as asked
from benchmarks.latency.sizes import Part, Row, Sizes
from benchmarks.memories import Exact, Memories, Question
from scrubjay.backend import Backend


def store_row(name: str, memories: Memories, build: Callable[[], Any]) -> tuple[Any, Row]:
    """Run `build`; return its result, and a row with its seconds and growth of the resident set."""
    gc.collect()
    before, started = resident_bytes(), time.perf_counter()
    engine = build()
    seconds = time.perf_counter() - started
    stats = engine.stats()
    return engine, {
        "store": name,
        "documents": stats["documents"],
        "build_seconds": seconds,
        "documents_per_second": stats["documents"] / seconds,
        "resident_bytes_a_document": max(0, resident_bytes() - before) / stats["documents"],
        "reported_bytes_a_document": stats["memory_bytes"] / stats["documents"],
        "text_bytes_a_document": stats["text_bytes"] / stats["documents"],
    }


def measured(
    workload: str,
    calls: dict[str, Callable[[Question], Any]],
    questions: Sequence[Question],
    exact: Exact,
    sizes: Sizes,
    *,
    check: bool = True,
) -> list[Row]:
    """Return a row for each way to ask; passes interleaved, recall of the fused answer on some of the questions."""
    times = recording.interleaved(calls, questions, seconds=sizes.seconds)
    checked = questions[:: max(1, len(questions) // sizes.n_checked)][: sizes.n_checked]
    rows = []
    for name, call in calls.items():
        recall = exact.mean_recall(asked.found_by(call, checked), asked.K) if check else None
        documents = checked[0].last - checked[0].first
        rows.append(
            {"workload": workload, "how": name, "visible": documents, **times[name], "recall": recall}
        )
    return rows


def users(sizes: Sizes) -> Part:
    """Measure user-1k and user-10k, with and without strangers in the store, and the stages of the call."""
    all_of_them = memories_of.of_users(
        sizes.n_users,
        sizes.each,
        sizes.large,
        sizes.dim,
        strangers=sizes.strangers,
        use_system=sizes.use_system,
        seed=sizes.seed,
    )
    known = all_of_them.head(sizes.n_users + 1)
    exact = Exact(known)
    one, built = store_row("users", known, lambda: asked.filled(known))
    stores, engines = [built], {"": one}
    if sizes.strangers:
        many, built = store_row("users@1m", all_of_them, lambda: asked.filled(all_of_them))
        stores.append(built)
        engines["@1m"] = many
    small, large = known.blocks[1:], known.blocks[:1]
    asks = {
        "user-1k": known.questions(small, sizes.n_queries, seed=sizes.seed + 1),
        "user-1k scattered": known.questions(small, sizes.n_queries, seed=sizes.seed + 1, each=1),
        "user-10k": known.questions(large, sizes.n_queries, seed=sizes.seed + 2),
    }
    rows = []
    for workload, questions in asks.items():
        calls = {f"hybrid{suffix}": asked.asker(engine) for suffix, engine in engines.items()}
        rows += measured(workload, calls, questions, exact, sizes)
    for workload in ("user-1k", "user-10k"):
        rows += stages(workload, one, asks[workload], exact, sizes)
    return {"rows": rows, "stores": stores, "corpus": [{"source": known.source}]}


def stages(
    workload: str, engine: Any, questions: Sequence[Question], exact: Exact, sizes: Sizes
) -> list[Row]:
    """Measure the parts of the call: on nothing, each arm alone with its 50 candidates, both fused."""
    import scrubjay

    nobody = scrubjay.Scope(memories_of.TENANT + "-nobody")
    search = engine.search

    def on_nothing(question: Question) -> Any:
        ids, scores = search(question.query.text, vector=question.vector, scope=nobody, k=asked.K)
        return ids, scores

    calls = {
        "nothing": on_nothing,
        "lexical": asked.asker(engine, memories_of.CANDIDATES, mode="lexical"),
        "vector": asked.asker(engine, memories_of.CANDIDATES, mode="vector"),
        "both": asked.asker(engine),
    }
    times = recording.interleaved(calls, questions, seconds=sizes.seconds)
    return [
        {"workload": f"{workload} by stage", "how": name, **times[name], "recall": None} for name in calls
    ]


def fixed_cost(sizes: Sizes) -> Part:
    """Measure a search on an empty partition, k = 10, nine words: arrays of an Engine, and Hits of an Index."""
    import scrubjay

    vector = np.zeros(sizes.dim, dtype=np.float32)
    vector[0] = 1.0
    engine, index = scrubjay.Engine(sizes.dim, k1=1.2, b=0.75), scrubjay.Index(dim=sizes.dim)
    scope = scrubjay.Scope(memories_of.TENANT)
    text = "what did she say about the trip last summer"

    def arrays(_: int) -> Any:
        ids, scores = engine.search(text, vector=vector, scope=scope, k=asked.K)
        return ids, scores

    calls: dict[str, Callable[[int], Any]] = {
        "Engine, arrays": arrays,
        "Index, Hits": lambda _: index.search(text, vector=vector, scope=scope, k=asked.K),
    }
    times = recording.interleaved(calls, range(sizes.n_queries))
    return {
        "rows": [
            {"workload": "nothing", "how": name, "visible": 0, **times[name], "recall": None}
            for name in calls
        ]
    }


def big(sizes: Sizes) -> Part:
    """Measure one large partition, with and without its graph, at each recall setting of this build."""
    if not sizes.big:
        return {"notes": [{"note": "big: not asked for (--full)"}]}
    memories = memories_of.of_users(0, 0, sizes.big, sizes.dim, use_system=sizes.use_system, seed=sizes.seed)
    engine, built = store_row("big", memories, lambda: asked.filled(memories))
    n_checked = max(4, sizes.n_checked // 2)
    part = replace(sizes, n_checked=n_checked)
    exact = Exact(memories)
    questions = memories.questions(memories.blocks, max(200, sizes.n_queries // 2), seed=sizes.seed + 3)
    notes = []
    if hasattr(engine, "build_graphs"):
        started = time.perf_counter()
        n_graphs = engine.build_graphs()
        built["graph_seconds"] = time.perf_counter() - started
        built["reported_bytes_a_document"] = engine.stats()["memory_bytes"] / sizes.big
        notes.append(
            {"note": f"big: build_graphs() made {n_graphs} graphs in {built['graph_seconds']:.1f} s"}
        )
    settings = asked.recall_settings()
    calls = {f"hybrid, {name}": asked.asker(engine, **given) for name, given in settings.items()}
    rows = measured("big", calls, questions, exact, part)
    return {"rows": rows, "stores": [built], "notes": notes}


def multi(sizes: Sizes) -> Part:
    """Measure a search of a tenant's, a user's and an agent's memories together."""
    tenant, user, agent = sizes.shared
    memories = memories_of.shared(
        tenant, user, agent, sizes.dim, use_system=sizes.use_system, seed=sizes.seed
    )
    everybody = memories_of.Block(0, len(memories), "jane", "coder")
    engine, built = store_row("multi", memories, lambda: asked.filled(memories))
    questions = memories.questions([everybody], sizes.n_queries, seed=sizes.seed + 4)
    rows = measured("multi", {"hybrid": asked.asker(engine)}, questions, Exact(memories), sizes)
    return {"rows": rows, "stores": [built]}


def agent(sizes: Sizes) -> Part:
    """Measure queries of 30 to 100 terms, and five expansions of a question as one batch."""
    memories = memories_of.of_users(
        0, 0, sizes.large, sizes.dim, use_system=sizes.use_system, seed=sizes.seed
    )
    engine = asked.filled(memories)
    exact = Exact(memories)
    n = max(40, sizes.n_queries // 2)
    long = memories.questions(memories.blocks, n, seed=sizes.seed + 5, words=(30, 100))
    rows = measured("agent", {"30 to 100 terms": asked.asker(engine)}, long, exact, sizes)
    short = memories.questions(memories.blocks, n, seed=sizes.seed + 6)
    fives = [short[place : place + 5] for place in range(0, len(short) - 4, 5)]
    scope, plain = short[0].scope, asked.textbook_query()

    def batch(five: Sequence[Question], threads: int | None) -> Any:
        return engine.search_batch(
            [question.query.text for question in five],
            vectors=np.stack([question.vector for question in five]),
            scope=scope,
            k=asked.K,
            query=plain,
            threads=threads,
        )

    calls: dict[str, Callable[[Sequence[Question]], Any]] = {
        "five expansions, a batch on one thread": lambda five: batch(five, 1),
        "five expansions, a batch on all threads": lambda five: batch(five, None),
        "five expansions, one by one": lambda five: [one(question) for question in five],
    }
    one = asked.asker(engine)
    times = recording.interleaved(calls, fives, seconds=sizes.seconds)
    rows += [
        {"workload": "agent", "how": name, "visible": sizes.large, **times[name], "recall": None}
        for name in calls
    ]
    return {"rows": rows}


def text(sizes: Sizes) -> Part:
    """Measure text-only searches, with the embedder inside the measured time, beside the same with the vector given."""
    import scrubjay

    try:
        embedder = scrubjay.embedders.WordLlama()
    except ImportError as error:
        return {"notes": [{"note": f"text: not available ({error})"}]}
    plain = memories_of.of_users(0, 0, sizes.large, 8, use_system=sizes.use_system, seed=sizes.seed)
    embedded = np.asarray(embedder.embed_documents(plain.texts), dtype=np.float32)
    memories = plain.with_vectors(embedded)
    index = scrubjay.Index(embedder, query_cache=0)
    block = memories.blocks[0]
    scope = memories_of.scope_of(block)
    for first in range(0, sizes.large, memories_of.ROWS_A_CALL):
        rows_of = range(first, min(first + memories_of.ROWS_A_CALL, sizes.large))
        records = [{"id": row, "text": memories.texts[row], "vector": embedded[row]} for row in rows_of]
        index.upsert_many(records, scope=scope, progress=False)
    asks = memories.questions([block], sizes.n_queries, seed=sizes.seed + 7)
    asks = [question.with_vector(embedder.embed_query(question.query.text)) for question in asks]
    asks = [question for question in asks if np.any(question.vector)]
    plain = asked.textbook_query()

    def hits(question: Question, **given: Any) -> Any:
        found = index.search(
            question.query.text,
            scope=scope,
            k=asked.K,
            query=plain,
            **given,
        )
        return [hit.id for hit in found], None

    def arrays(question: Question, **given: Any) -> Any:
        ids, scores = Backend.of(index).engine.search(
            question.query.text,
            scope=scope,
            k=asked.K,
            query=plain,
            **given,
        )
        return ids, scores

    calls: dict[str, Callable[[Question], Any]] = {
        "text, embedded inside": hits,
        "text and vector given": lambda question: hits(question, vector=question.vector),
        "the embedder alone": lambda question: embedder.embed_query(question.query.text),
    }
    native = getattr(embedder, "native", None)
    if native is not None and asked.accepts(Backend.of(index).engine.search, "embedder"):
        calls["text, embedded in the same native call, arrays"] = lambda question: arrays(
            question, embedder=native
        )
        calls["text and vector given, arrays"] = lambda question: arrays(question, vector=question.vector)
    times = recording.interleaved(calls, asks, seconds=sizes.seconds)
    checked = asks[:: max(1, len(asks) // sizes.n_checked)][: sizes.n_checked]
    exact = Exact(memories)
    rows = []
    for name, call in calls.items():
        recall = None
        if name != "the embedder alone":
            recall = exact.mean_recall(asked.found_by(call, checked), asked.K)
        rows.append(
            {"workload": "text", "how": name, "visible": sizes.large, **times[name], "recall": recall}
        )
    return {"rows": rows}
