"""An index in a file against its promises of speed; prints each figure beside its promise.

    python -m benchmarks.store [--partitions N] [--folder DIR] [--keep] [--json]

Builds a file of N partitions of 1,000 memories and five of 10,000 (256 dimensions, vectors given) through
Index.upsert_many in batches of 1,000 with durability "normal"; then, in a new process each: opening, first queries of
cold partitions, warm queries against an engine in memory with the same documents, memory under a budget, single writes,
and the check for writes of other processes. The files are in the page cache, as after any use.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus import Corpus
from benchmarks.ingest import clustered_vectors, resident_bytes
from scrubjay import Index, Query, Scope
from scrubjay.backend import Backend

DIM = 256
BATCH = 1000
QUERY = Query(candidates=50)
N_LARGE, LARGE = 5, 10_000
BUDGET_BYTES = 256 << 20

PROMISES = {
    "ingest documents/s": ">= 10,000",
    "open ms": "<= 50",
    "cold 1,000 p95 ms": "<= 5",
    "cold 10,000 p95 ms": "<= 20",
    "warm over in memory": "<= 1.10",
    "resident MB over budget": "<= 0",
    "upsert p95 ms (normal)": "<= 2",
    "check us": "<= 5",
}


def scope_of(partition: int) -> Scope:
    return Scope("bench", user=f"u{partition}")


def pool() -> tuple[list[str], Any, list[str]]:
    corpus = Corpus(7)
    texts = corpus.texts(20_000)
    return texts, clustered_vectors(20_000, DIM, 7), [corpus.query(text) for text in texts[:2000]]


def sizes(n_partitions: int) -> list[int]:
    return [1000] * n_partitions + [LARGE] * N_LARGE


def build(path: Path, n_partitions: int) -> dict[str, float]:
    texts, vectors, _ = pool()
    seconds = cpu_seconds = 0.0
    n_written = 0
    rng = np.random.default_rng(1)
    with Index.open(path, dim=DIM, durability="normal", memory_budget=BUDGET_BYTES) as index:
        for partition, size in enumerate(sizes(n_partitions)):
            for _ in range(0, size, BATCH):
                picks = rng.integers(len(texts), size=BATCH)
                records = [
                    {"id": n_written + i, "text": texts[pick], "vector": vectors[pick]}
                    for i, pick in enumerate(picks)
                ]
                start, cpu_start = time.perf_counter(), time.process_time()
                index.upsert_many(records, scope=scope_of(partition), progress=False)
                seconds += time.perf_counter() - start
                cpu_seconds += time.process_time() - cpu_start
                n_written += BATCH
        start = time.perf_counter()
    closing = time.perf_counter() - start
    return {
        "documents": n_written,
        "ingest documents/s": n_written / seconds,
        "ingest documents/CPU s": n_written / cpu_seconds,
        "closing s": closing,
        "file MB": path.stat().st_size / 1e6,
    }


def percentiles(
    name: str, call: Callable[[int], Any], n: int, after: Callable[[], None] = lambda: None
) -> dict[str, float]:
    times, cpu_times = [], []
    for i in range(n):
        start, cpu_start = time.perf_counter(), time.thread_time()
        call(i)
        times.append((time.perf_counter() - start) * 1000)
        cpu_times.append((time.thread_time() - cpu_start) * 1000)
        after()
    times.sort()
    cpu_times.sort()
    return {
        f"{name} p95 CPU ms": cpu_times[min(n - 1, int(n * 0.95))],  # as on an idle machine
        f"{name} p50 ms": statistics.median(times),
        f"{name} p95 ms": times[min(n - 1, int(n * 0.95))],
        f"{name} max ms": times[-1],
    }


def cold(path: Path, n_partitions: int) -> dict[str, float]:
    _, vectors, queries = pool()
    before = resident_bytes()
    start = time.perf_counter()
    index = Index.open(path, memory_budget=BUDGET_BYTES)
    figures = {"open ms": (time.perf_counter() - start) * 1000}
    order = np.random.default_rng(2).permutation(n_partitions)[: min(n_partitions, 1000)]

    def ask(partition: int, i: int) -> None:
        hits = index.search(
            queries[i % 2000], vector=vectors[i % 2000], scope=scope_of(partition), query=QUERY
        )
        assert len(hits) == 10

    residents = []

    def resident() -> None:
        residents.append(resident_bytes() - before)

    ask(int(order[0]), 0)  # the first search also pays costs shared by all
    figures.update(percentiles("cold 1,000", lambda i: ask(int(order[i]), i), len(order), resident))
    large = [n_partitions + i for i in range(N_LARGE)]
    figures.update(percentiles("cold 10,000", lambda i: ask(large[i], i), N_LARGE, resident))
    figures.update(quiet(index, ask, [int(partition) for partition in order[:200]], "cold 1,000"))
    figures.update(quiet(index, ask, large, "cold 10,000"))
    time.sleep(2)  # freed memory is returned to the system after a second
    resident()
    figures["resident MB, most"] = max(residents) / 1e6
    figures["resident MB, at rest"] = residents[-1] / 1e6
    figures["resident MB over budget"] = (max(residents) - BUDGET_BYTES) / 1e6
    figures["partitions MB"] = index.admin.stats()["memory_bytes"] / 1e6  # type: ignore[operator]
    index.close()
    return figures


def quiet(
    index: Index, ask: Callable[[int, int], None], partitions: list[int], name: str
) -> dict[str, float]:
    """Return the least of five first queries of each partition, as on an idle machine."""
    residency = Backend.of(index).engine.residency  # type: ignore[union-attr]
    least = []
    for i, number in enumerate(partitions):
        partition = residency.partition(scope_of(number))
        times = []
        for _ in range(5):
            with partition.lock:
                residency.drop(partition)
            start = time.perf_counter()
            ask(number, i)
            times.append((time.perf_counter() - start) * 1000)
        least.append(min(times))
    least.sort()
    return {f"{name} p95 of the least of 5 ms": least[min(len(least) - 1, int(len(least) * 0.95))]}


def warm(path: Path, n_partitions: int) -> dict[str, float]:
    _, vectors, queries = pool()
    index = Index.open(path)
    memory = Index(dim=DIM)
    scope = scope_of(0)
    store = Backend.of(index).engine.store  # type: ignore[union-attr]
    for row in store.rows(scope, now=0):
        vector = index.get(row.id, scope=scope).vector  # type: ignore[union-attr]
        memory.upsert(row.id, row.text, scope=scope, vector=vector)

    def once(which: Index, i: int) -> float:
        start = time.perf_counter()
        which.search(queries[i], vector=vectors[i], scope=scope, query=QUERY)
        return time.perf_counter() - start

    # The least of several alternating times of each question, as on an idle machine.
    least = [[float("inf")] * len(queries) for _ in range(2)]
    both = list(zip(least, (index, memory), strict=True))
    for _ in range(10):
        both.reverse()  # the second call has the question's words in the caches
        for i in range(len(queries)):
            for times, which in both:
                times[i] = min(times[i], once(which, i))
    warm_us, memory_us = (statistics.fmean(times) * 1e6 for times in least)
    check = min(_time_of(store.glance) for _ in range(5))
    figures = {
        "warm us": warm_us,
        "in memory us": memory_us,
        "warm over in memory": warm_us / memory_us,
        "check us": check,
    }
    index.close()
    return figures


def _time_of(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    for _ in range(10_000):
        call()
    return (time.perf_counter() - start) / 10_000 * 1e6


def writes(path: Path, n_partitions: int) -> dict[str, float]:
    texts, vectors, _ = pool()
    figures: dict[str, float] = {}
    for durability in ("normal", "full"):
        with Index.open(path, durability=durability) as index:
            index.admin.warm(scope_of(1))

            def upsert(i: int, index: Index = index, durability: str = durability) -> None:
                index.upsert(
                    10**9 + i + 10**6 * len(durability), texts[i], scope=scope_of(1), vector=vectors[i]
                )

            name = f"upsert ({durability})"
            figures.update(percentiles(name, upsert, 1000))
    return {name.replace(" (normal) p95 ms", " p95 ms (normal)"): value for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="leave the file, and use one that is there")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--phase", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    path = folder / "benchmark.scrubjay"
    phases = {"build": build, "cold": cold, "warm": warm, "writes": writes}
    if arguments.phase:
        print(json.dumps(phases[arguments.phase](path, arguments.partitions)))
        return
    figures: dict[str, float] = {}
    for phase in phases:
        if phase == "build" and arguments.keep and path.exists():
            continue
        command = [sys.executable, "-m", "benchmarks.store", "--phase", phase, "--folder", str(folder)]
        done = subprocess.run(
            [*command, "--partitions", str(arguments.partitions)], check=True, capture_output=True, text=True
        )
        figures.update(json.loads(done.stdout))
        print(f"{phase} done", file=sys.stderr)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, value in figures.items():
            print(f"{name:<28}{value:>14,.3f}   {PROMISES.get(name, '')}")
    if not arguments.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
