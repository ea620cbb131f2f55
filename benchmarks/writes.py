"""The cost of one `index.upsert(id, text, scope=, vector=)`, by durability and number of threads.

    python -m benchmarks.writes [--threads 1 4 16] [--durability memory normal full] [--rounds N] [--beside CHECKOUT]
                                [--quick] [--json]

A child process for each row of the table writes new memories (256 dimensions, vectors given) into an index of 1,000, a
hundred at a time, all children in turn, so that other work of the machine affects all alike. `--beside` names another
checkout (with its native module), which is measured in the same turns. `SQLite` is the cost of the same statements in
Python's sqlite3 alone: a lower bound for an index on a file with one thread. Wall times are those of each call; CPU
time is that of the whole process, divided by calls.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DIM, N_FIRST, N_TURN = 256, 1_000, 96
ROOT = Path(__file__).resolve().parents[1]
WORDS = [
    f"{head}{tail}"
    for head in ("tra", "pla", "oa", "sto", "ri")
    for tail in ("in", "ne", "k", "ve", "ver", "st")
]


def texts(n: int) -> list[str]:
    """Return sentences of twelve words."""
    choose = random.Random(3)
    return [" ".join(choose.choices(WORDS, k=12)) + f" {i}" for i in range(n)]


def index_writer(path: Path, durability: str) -> Callable[[int], None]:
    """Return a function that writes the memory with a number to an index."""
    from scrubjay import Index, Scope

    scope = Scope("acme", user="jane")
    in_memory = durability == "memory"
    index = Index(dim=DIM) if in_memory else Index.open(path, dim=DIM, durability=durability)  # type: ignore[arg-type]
    vectors = np.random.default_rng(1).normal(size=(N_FIRST, DIM)).astype(np.float32)
    sentences = texts(N_FIRST)
    index.upsert_many(
        ({"id": f"first{i}", "text": sentences[i], "vector": vectors[i]} for i in range(N_FIRST)),
        scope=scope,
        progress=False,
    )

    def write(i: int) -> None:
        index.upsert(f"m{i}", sentences[i % N_FIRST], scope=scope, vector=vectors[i % N_FIRST])

    return write


def statement_writer(path: Path, _: str) -> Callable[[int], None]:
    """Return a function that writes the same rows, counts and versions by a minimum of plain statements."""
    index_writer(path, "normal")(-1)
    connection = sqlite3.connect(path, isolation_level=None)
    execute = connection.execute
    execute("PRAGMA synchronous = NORMAL")
    execute("PRAGMA secure_delete = ON")
    key, version = execute("SELECT key, version FROM scope").fetchone()
    sentences, vector = texts(N_FIRST), bytes(2 + 2 * DIM)

    def write(i: int) -> None:
        nonlocal version
        version += 1
        execute("BEGIN IMMEDIATE")
        execute("PRAGMA data_version").fetchone()
        execute(
            "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id, scope) DO NOTHING",
            (version, f"m{i}", key, sentences[i % N_FIRST], None, None, i, None, bytes(9)),
        )
        execute("INSERT INTO vector VALUES (?, ?)", (version, vector))
        execute(
            "UPDATE scope SET version = ?, documents = documents + ?, vectors = vectors + ? WHERE key = ?",
            (version, 1, 1, key),
        )
        execute("COMMIT")

    return write


def serve(durability: str, n_threads: int) -> None:
    """In a child: for each line of input write a turn, and print its times in seconds."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        make = statement_writer if durability == "SQLite" else index_writer
        write = make(Path(folder) / "memories.scrubjay", durability)
        n_done = 0
        for _ in sys.stdin:
            spans: list[float] = []

            def work(first: int, spans: list[float] = spans) -> None:
                for i in range(first, first + N_TURN // n_threads):
                    begun = time.perf_counter()
                    write(i)
                    spans.append(time.perf_counter() - begun)

            begun, cpu_begun = time.perf_counter(), time.process_time()
            if n_threads == 1:
                work(n_done)
            else:
                threads = [
                    threading.Thread(target=work, args=(n_done + n * (N_TURN // n_threads),))
                    for n in range(n_threads)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            n_done += N_TURN
            turn = {
                "spans": spans,
                "wall": time.perf_counter() - begun,
                "cpu": time.process_time() - cpu_begun,
            }
            print(json.dumps(turn), flush=True)
        os._exit(0)  # skip writing images


class Child:
    """A process that writes a turn on request."""

    def __init__(self, name: str, tree: Path, durability: str, n_threads: int) -> None:
        self.name, self.durability, self.n_threads = name, durability, n_threads
        self.turns: list[dict[str, Any]] = []
        code = f"from benchmarks import writes; writes.serve({durability!r}, {n_threads})"
        paths = os.pathsep.join([str(tree / "python"), str(ROOT)])
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths},
        )

    def turn(self, keep: bool) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if keep:
            self.turns.append(answer)

    def end(self) -> dict[str, Any]:
        """End the process; return its figures, in microseconds."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        spans = sorted(span for turn in self.turns for span in turn["spans"])
        by_call = sorted(turn["cpu"] / N_TURN for turn in self.turns)
        return {
            "what": self.name,
            "durability": self.durability,
            "threads": self.n_threads,
            "p50_us": spans[len(spans) // 2] * 1e6,
            "p95_us": spans[len(spans) * 95 // 100] * 1e6,
            "cpu_us": by_call[len(by_call) // 2] * 1e6,
            "least_cpu_us": by_call[0] * 1e6,
            "writes_per_second": len(spans) / sum(turn["wall"] for turn in self.turns),
        }


def measure(
    trees: dict[str, Path], durabilities: list[str], n_threads: list[int], rounds: int
) -> list[dict[str, Any]]:
    """Run all children in turn, `rounds` times."""
    children = []
    for durability in durabilities:
        for n in n_threads:
            children += [Child(name, tree, durability, n) for name, tree in trees.items()]
    if "normal" in durabilities:
        children.append(Child("statements", ROOT, "SQLite", 1))
    for number in range(rounds + 2):
        for child in children:
            child.turn(keep=number >= 2)
    return [child.end() for child in children]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writes", description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--durability", nargs="+", default=["memory", "normal", "full"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--beside", type=Path, help="another checkout, measured in turn")
    parser.add_argument("--quick", action="store_true", help="does it run?")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.quick:
        options.threads, options.rounds = [1, 4], 1
    trees = {"here": ROOT}
    if options.beside is not None:
        trees = {"beside": options.beside, **trees}
    found = measure(trees, options.durability, options.threads, options.rounds)
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    numbers = ("p50_us", "p95_us", "cpu_us", "least_cpu_us", "writes_per_second")
    print(f"{'':12}{'durability':>12}{'threads':>9}" + "".join(f"{name:>19}" for name in numbers))
    for row in found:
        print(
            f"{row['what']:12}{row['durability']:>12}{row['threads']:>9}"
            + "".join(f"{row[name]:>19,.0f}" for name in numbers)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
