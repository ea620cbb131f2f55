"""How long one tenant's write waits while another tenant writes huge texts.

    python -m benchmarks.neighbours [--seconds 10] [--kind engine index file] [--json FILE] [--quick]

One thread upserts short documents to its own scope, one every two milliseconds, and times each call. At the same time
another thread of the process writes one large text after the other to another scope: none, random words, `a.` repeated,
U+FDFA repeated (one character that NFKC turns into four words), words that occur only once. In memory through Engine
and through Index; `file` is an Index in a file, whose writers share SQLite's write lock.

The row `nobody` is the noise of the machine; the promise is 5 ms at p99 in memory on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay import Engine, Index, Scope

DIM = 64
PACE_SECONDS = 0.002
N_IDS = 500  # of the victim, in rotation: most of its writes replace a document
N_TEXTS = 4  # of the attacker
Write = Callable[[int, str, Scope, Any], None]


def attackers(n_bytes: int) -> dict[str, list[str]]:
    """Return the texts of each attacker: `n_bytes` each, and a million different words."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"

    def words(size: int) -> str:
        known = ["".join(rng.choices(letters, k=rng.randint(3, 10))) for _ in range(20_000)]
        return " ".join(rng.choices(known, k=size // 7))

    distinct = " ".join("".join(letters[number // 26**i % 26] for i in range(5)) for number in range(n_bytes))
    return {
        "nobody": [],
        "random words": [words(n_bytes) for _ in range(N_TEXTS)],
        "a. repeated": ["a." * (n_bytes // 2)],
        "U+FDFA": ["\ufdfa" * (n_bytes // 3)],
        f"{n_bytes:,} distinct words": [distinct],
    }


def open_writer(kind: str, folder: str) -> tuple[Write, Callable[[], None]]:
    """Return functions that write one document, and that close."""
    if kind == "engine":
        engine = Engine(dim=DIM)
        return lambda id, text, scope, vector: engine.upsert(
            id, text, scope=scope, vector=vector
        ), lambda: None
    if kind == "index":
        index = Index(dim=DIM)
    else:
        index = Index.open(str(Path(folder) / "neighbours.scrubjay"), dim=DIM, durability="normal")
    return lambda id, text, scope, vector: index.upsert(id, text, scope=scope, vector=vector), index.close


def measure(kind: str, texts: list[str], seconds: float) -> dict[str, float]:
    """Return the latencies of the victim's writes in milliseconds, and the work of the attacker meanwhile."""
    victim, stranger = Scope("victim"), Scope("stranger")
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((N_IDS, DIM)).astype(np.float32)
    own = [f"note {i} about invoices, trains and the staging key sk-stg-{i:04}" for i in range(N_IDS)]
    with tempfile.TemporaryDirectory() as folder:
        write, close = open_writer(kind, folder)
        for i in range(N_IDS):
            write(i, own[i], victim, vectors[i])
        stop = threading.Event()
        durations: list[float] = []

        def attack() -> None:
            while not stop.is_set():
                begin = time.perf_counter()
                n = len(durations)
                write(1_000_000 + n % 8, texts[n % len(texts)], stranger, None)
                durations.append(time.perf_counter() - begin)

        thread = threading.Thread(target=attack)
        if texts:
            thread.start()
        times = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            i = len(times) % N_IDS
            begin = time.perf_counter()
            write(i, own[-i], victim, vectors[i])
            times.append(time.perf_counter() - begin)
            time.sleep(PACE_SECONDS)
        stop.set()
        if texts:
            thread.join()
        close()
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    return {
        "p50_ms": float(p50),
        "p99_ms": float(p99),
        "max_ms": max(times) * 1e3,
        "n_writes": len(times),
        "attacker_writes": len(durations),
        "attacker_ms": float(np.median(durations)) * 1e3 if durations else 0.0,
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; the exit code is always 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.neighbours", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="for each row")
    parser.add_argument(
        "--kind", nargs="+", choices=["engine", "index", "file"], default=["engine", "index", "file"]
    )
    parser.add_argument("--bytes", type=int, default=1_000_000, help="of a text")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    parser.add_argument("--quick", action="store_true", help="does it run?")
    options = parser.parse_args(arguments)
    seconds, n_bytes = (0.2, 20_000) if options.quick else (options.seconds, options.bytes)
    rows = []
    print(
        f"{'':8}{'attacker':28}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}{'writes':>8}{'its write ms':>14}{'its':>6}"
    )
    for kind in options.kind:
        for name, texts in attackers(n_bytes).items():
            row = measure(kind, texts, seconds)
            rows.append({"kind": kind, "attacker": name, **row})
            print(
                f"{kind:8}{name:28}{row['p50_ms']:9.3f}{row['p99_ms']:9.3f}{row['max_ms']:9.2f}"
                f"{row['n_writes']:8}{row['attacker_ms']:14.1f}{row['attacker_writes']:6}",
                flush=True,
            )
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
