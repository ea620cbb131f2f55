"""Write throughput of 100,000 memories in 1,000 partitions, up to the first search, and the memory of a partition.

    python -m benchmarks.ingest [--documents N] [--partitions N] [--dim N] [--rows-per-call N] [--repeat N] [--json]

Single-threaded; texts, ids, scopes and vectors are made before the clock starts, and it stops when the first search has
answered. Memory is the growth of the resident set of a child process. The cost of an empty partition is measured by
writing one memory to each of many partitions and erasing it; that of a tiny one before the erasure.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus import Corpus

N_EMPTY = 50_000


def resident_bytes() -> int:
    """Return the resident set of this process (Linux)."""
    n_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return n_pages * 4096


def clustered_vectors(n: int, dim: int, seed: int) -> Any:
    """Return unit vectors around a few hundred centres, like embeddings of related texts."""
    numbers = np.random.default_rng(seed)
    centres = numbers.normal(size=(256, dim)).astype(np.float32)
    vectors = centres[numbers.integers(256, size=n)] + 0.7 * numbers.normal(size=(n, dim)).astype(np.float32)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def measure_ingest(n_documents: int, n_partitions: int, dim: int, rows_per_call: int) -> dict[str, Any]:
    """Run the measurement once, in this process."""
    from scrubjay import _native

    corpus = Corpus(seed=1)
    texts = corpus.texts(n_documents)
    vectors = clustered_vectors(n_documents, dim, seed=2)
    ids = [f"m{number}" for number in range(n_documents)]
    scopes = [_native.Scope("tenant", user=f"user{number}") for number in range(n_partitions)]
    per_partition = n_documents // n_partitions
    query = corpus.query(texts[-1])
    engine = _native.Engine(dim)
    gc.collect()
    before = resident_bytes()
    started, started_cpu = time.perf_counter(), time.process_time()
    for number, scope in enumerate(scopes):
        first = number * per_partition
        last = n_documents if number == n_partitions - 1 else first + per_partition
        for start in range(first, last, rows_per_call):
            rows = slice(start, min(start + rows_per_call, last))
            engine.upsert_many(ids[rows], texts[rows], scope=scope, vectors=vectors[rows])
    hits = engine.search(query, vector=vectors[-1], scope=scopes[-1])
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - started_cpu
    after = resident_bytes()
    if ids[-1] not in list(hits.ids):
        raise RuntimeError(f"the first search did not find {ids[-1]}")
    stats = engine.stats()
    return {
        "documents_per_second": n_documents / seconds,
        "documents_per_cpu_second": n_documents / cpu_seconds,
        "resident_bytes_per_document": (after - before) / n_documents,
        "reported_bytes_per_document": stats["memory_bytes"] / n_documents,
        "text_bytes_per_document": sum(len(text.encode()) for text in texts) / n_documents,
        "source": corpus.source,
    }


def measure_empty_partitions() -> dict[str, Any]:
    """Return the bytes of a partition with one short memory, and of one whose memories were erased."""
    from scrubjay import _native

    engine = _native.Engine()
    scopes = [_native.Scope("tenant", user=f"user{number}") for number in range(N_EMPTY)]
    gc.collect()
    before = resident_bytes()
    for number, scope in enumerate(scopes):
        engine.upsert(number, "jay", scope=scope)
    tiny = resident_bytes() - before
    engine.delete_many(list(range(N_EMPTY)), scope=scopes)
    engine.compact()
    return {
        "bytes_per_tiny_partition": tiny / N_EMPTY,
        "bytes_per_emptied_partition": max(0, resident_bytes() - before) / N_EMPTY,
    }


def in_child(call: str, *arguments: int) -> dict[str, Any]:
    """Run one measurement in a fresh process."""
    code = f"import json; from benchmarks import ingest; print(json.dumps(ingest.{call}(*{arguments!r})))"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if finished.returncode:
        raise RuntimeError(finished.stderr)
    result: dict[str, Any] = json.loads(finished.stdout)
    return result


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--rows-per-call", type=int, default=100, help="rows of one upsert_many")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    sizes = options.documents, options.partitions, options.dim, options.rows_per_call
    runs = [in_child("measure_ingest", *sizes) for _ in range(options.repeat)]
    report: dict[str, Any] = {
        "documents": options.documents,
        "partitions": options.partitions,
        "dim": options.dim,
        "rows_per_call": options.rows_per_call,
        "runs": options.repeat,
    }
    for name, value in runs[0].items():
        report[name] = value if isinstance(value, str) else statistics.median(run[name] for run in runs)
    report.update(in_child("measure_empty_partitions"))
    if options.json:
        print(json.dumps(report, indent=1))
        return 0
    for name, value in report.items():
        print(f"{name:32} {value:>12,.0f}" if isinstance(value, (int, float)) else f"{name:32} {value:>12}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
