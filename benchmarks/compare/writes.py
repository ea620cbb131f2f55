"""Cost of single writes, memory of the index, and the effect of deletes on queries."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from benchmarks.compare import timing
from benchmarks.compare.cells import of_query
from benchmarks.compare.lexical_engines import LexicalEngine, Scrubjay
from benchmarks.compare.workload import Query, Terms
from benchmarks.ingest import resident_bytes

N_PASSES_DELETES = 7


def single_writes(
    engines: Sequence[LexicalEngine], texts: Sequence[str], terms: Terms, n: int
) -> dict[str, Any]:
    """Return the microseconds to add a document and to delete one, each visible to the next search."""
    report: dict[str, Any] = {}
    lines = [terms.line(place) for place in range(len(texts))]
    for engine in engines:
        places = range(min(engine.n_adds, len(texts)))
        if not places:
            report[engine.name] = None
            continue
        rows = [(n + place, texts[place], lines[place]) for place in places]
        added = [time_write(engine.add, *row) for row in rows]
        deleted = [time_write(engine.delete, number) for number, _, _ in rows]
        report[engine.name] = {
            "writes": len(places),
            "add_us": timing.percentiles_us([np.array(added)]),
            "delete_us": timing.percentiles_us([np.array(deleted)]),
        }
    return report


def time_write(call: Callable[..., None], *arguments: Any) -> int:
    """Return the nanoseconds of one write, which cannot be repeated, so preemption counts."""
    started = perf_counter_ns()
    call(*arguments)
    return perf_counter_ns() - started


def memory(scrubjay: Scrubjay) -> dict[str, float]:
    """Return bytes of the lexical index for each posting and term, and bytes of everything for each document."""
    stats = scrubjay.engine.stats()
    n_postings, n_terms = int(stats["postings"]), int(stats["terms"])
    return {
        "postings": n_postings,
        "terms": n_terms,
        "posting_bytes": int(stats["posting_bytes"]),
        "bytes_a_posting": int(stats["posting_bytes"]) / max(1, n_postings),
        # Issue measure: the rest beyond 45 bytes a term, spread over the postings.
        "bytes_a_posting_beyond_terms": (int(stats["posting_bytes"]) - 45 * n_terms) / max(1, n_postings),
        "memory_bytes_a_document": int(stats["memory_bytes"]) / max(1, int(stats["documents"])),
        "text_bytes_a_document": int(stats["text_bytes"]) / max(1, int(stats["documents"])),
    }


def tiny_partitions(
    texts: Sequence[str], n_partitions: int, n_words: int, n_each: int = 10
) -> dict[str, float]:
    """Return the bytes of a partition of ten documents of n words beyond their texts: as reported, and resident.

    Measured in a separate process, because the resident set only shows growth.
    """
    rows = [" ".join(text.split()[:n_words]) for text in texts[: n_each * 8]]
    code = "import json, sys; from benchmarks.compare import writes as w; "
    code += "print(json.dumps(w.write_tiny(*json.load(sys.stdin))))"
    given = json.dumps([rows, n_partitions, n_each])
    finished = subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise RuntimeError(finished.stderr)
    return {"words": n_words, **json.loads(finished.stdout)}


def write_tiny(rows: Sequence[str], n_partitions: int, n_each: int) -> dict[str, float]:
    """Write the partitions in this process."""
    import scrubjay

    engine = scrubjay.Engine()
    empty_bytes = int(engine.stats()["memory_bytes"])
    scopes = [scrubjay.Scope("tiny", user=str(number)) for number in range(n_partitions)]
    ids = list(range(n_partitions * n_each))
    before = resident_bytes()
    for number, scope in enumerate(scopes):
        first = (number * n_each) % (len(rows) - n_each + 1)
        engine.upsert_many(
            ids[number * n_each : (number + 1) * n_each], rows[first : first + n_each], scope=scope
        )
    resident = resident_bytes() - before
    stats = engine.stats()
    text_bytes = int(stats["text_bytes"])
    return {
        "partitions": n_partitions,
        "documents_each": n_each,
        "postings_each": int(stats["postings"]) / n_partitions,
        "text_bytes_each": text_bytes / n_partitions,
        "reported_bytes_each": (int(stats["memory_bytes"]) - empty_bytes - text_bytes) / n_partitions,
        "posting_bytes_each": int(stats["posting_bytes"]) / n_partitions,
        "resident_bytes_each": (resident - text_bytes) / n_partitions,
    }


def deletes_spread(
    documents: Sequence[str], terms: Terms, queries: Sequence[Query], n_deletes: int, k: int = 10
) -> dict[str, Any]:
    """Run the same queries on the whole collection and on one with deletes spread over it, passes alternating."""
    engines = {"whole": Scrubjay(), "thinned": Scrubjay()}
    for engine in engines.values():
        engine.build(documents, terms)
    for number in np.linspace(0, len(documents) - 1, n_deletes, dtype=np.int64).tolist():
        engines["thinned"].delete(number)
    calls = {name: of_query(engine.search, k) for name, engine in engines.items()}
    passes: dict[str, list[Any]] = {name: [] for name in calls}
    for _ in range(N_PASSES_DELETES):
        for name, call in calls.items():
            passes[name].append(timing.time_calls(call, queries))
    # The fastest pass of each query: disturbances of the machine only add.
    fastest = {name: np.min(np.stack(times), axis=0) for name, times in passes.items()}
    return {
        "documents": len(documents),
        "deletes": n_deletes,
        "dead": int(engines["thinned"].engine.stats()["dead"]),
        "ratio_p50": float(np.percentile(fastest["thinned"], 50) / np.percentile(fastest["whole"], 50)),
        "ratio_p95": float(np.percentile(fastest["thinned"], 95) / np.percentile(fastest["whole"], 95)),
        "ratio_of_queries_median": float(np.median(fastest["thinned"] / fastest["whole"])),
        **{f"{name}_us": timing.percentiles_us(times) for name, times in passes.items()},
    }
