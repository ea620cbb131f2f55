"""The cost of a writer and a second reader for a search: `python -m benchmarks.micro.contention [--documents N]`

All threads work on one partition. The writer replaces documents at a fixed rate, each upsert due at its own time even
if the previous one was late. Latencies are those of single calls from Python with vectors given. Two readers are
compared with one by calls a second; so are two threads of NumPy products, which take no lock and share nothing, so that
a busy second core is not mistaken for contention. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.micro.data import ZipfTexts

DIM = 256


class Store:
    """One partition of n documents, and queries for it."""

    def __init__(self, n_documents: int) -> None:
        import scrubjay

        texts, numbers = ZipfTexts(seed=1), np.random.default_rng(1)
        self.engine, self.scope = scrubjay.Engine(DIM), scrubjay.Scope("micro")
        self.query = scrubjay.Query(candidates=50)
        self.texts = texts.texts(n_documents)
        self.vectors = numbers.normal(size=(n_documents, DIM)).astype(np.float32)
        self.engine.upsert_many(list(range(n_documents)), self.texts, scope=self.scope, vectors=self.vectors)
        self.queries = [(texts.text(6), vector) for vector in self.vectors[:500]]

    def search(self, i: int) -> Any:
        text, vector = self.queries[i % len(self.queries)]
        return self.engine.search(text, vector=vector, scope=self.scope, k=10, query=self.query)

    def write(self, i: int) -> None:
        """Replace document i."""
        i %= len(self.texts)
        self.engine.upsert(i, self.texts[i], scope=self.scope, vector=self.vectors[i])


def latencies(search: Callable[[int], Any], seconds: float) -> dict[str, float]:
    """Return percentiles of single calls, in microseconds."""
    taken: list[int] = []
    clock, end = time.perf_counter_ns, time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i in range(50):
            begin = clock()
            search(i + len(taken))
            taken.append(clock() - begin)
    return {f"p{q:g}": float(np.percentile(taken, q)) / 1000 for q in (50, 95, 99, 99.9)}


def with_writer(store: Store, rate: float, seconds: float) -> dict[str, float]:
    """Return the same with a thread that writes `rate` times a second, and the writer's actual rate."""
    stop, written = threading.Event(), 0

    def writer() -> None:
        nonlocal written
        begin = time.perf_counter()
        while not stop.is_set():
            while written < (time.perf_counter() - begin) * rate:
                store.write(written)
                written += 1
            time.sleep(0.5 / rate)

    thread = threading.Thread(target=writer)
    begin = time.perf_counter()
    thread.start()
    try:
        found = latencies(store.search, seconds)
    finally:
        stop.set()
        thread.join()
    return {**found, "upserts_a_second": written / (time.perf_counter() - begin)}


def rate_of(n_threads: int, call: Callable[[int], Any], seconds: float) -> float:
    """Return calls a second of all threads together."""
    start = threading.Barrier(n_threads)

    def loop() -> tuple[int, float]:
        start.wait()
        begin, n = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            for _ in range(20):
                call(n)
                n += 1
        return n, time.perf_counter() - begin

    with ThreadPoolExecutor(n_threads) as pool:
        return sum(
            n / taken for n, taken in [f.result() for f in [pool.submit(loop) for _ in range(n_threads)]]
        )


def scaling(store: Store, seconds: float, n_rounds: int) -> dict[str, float]:
    """Compare two threads with one, alternately: medians, and the machine's own scaling at the same time."""
    matrix = np.ones((256, 256), dtype=np.float32)

    def product(_: int) -> Any:
        return matrix @ matrix

    rounds = []
    for _ in range(n_rounds):
        one, two = rate_of(1, store.search, seconds), rate_of(2, store.search, seconds)
        rounds.append((one, two, two / one, rate_of(2, product, seconds) / rate_of(1, product, seconds)))
    one, two, ratio, machine = np.median(np.array(rounds), axis=0)
    return {"one": one, "two": two, "ratio": ratio, "ratio_of_the_machine": machine}


def measure(n_documents: int, rate: float, seconds: float) -> dict[str, Any]:
    """Measure latencies with and without the writer alternately, and the throughput of readers."""
    store = Store(n_documents)
    latencies(store.search, seconds / 4)
    rounds = [(latencies(store.search, seconds), with_writer(store, rate, seconds)) for _ in range(3)]
    quiet, busy = (
        {key: float(np.median([one[which][key] for one in rounds])) for key in rounds[0][which]}
        for which in (0, 1)
    )
    return {
        "documents": n_documents,
        "quiet": quiet,
        "with_writer": busy,
        "p99_ratio": busy["p99"] / quiet["p99"],
        "readers": scaling(store, seconds / 4, 5),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.micro.contention", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1000, help="upserts a second")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    report = measure(options.documents, options.rate, options.seconds)
    if options.json:
        print(json.dumps(report))
        return 0
    for name in ("quiet", "with_writer"):
        print(f"{name:12}", "  ".join(f"{key} {value:.1f}" for key, value in report[name].items()))
    print(f"p99 with the writer: {report['p99_ratio']:.2f} times the quiet one")
    print("readers     ", "  ".join(f"{key} {value:.2f}" for key, value in report["readers"].items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
