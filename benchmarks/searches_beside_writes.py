"""`index.search` while another thread writes, compared with no writer.

    python -m benchmarks.searches_beside_writes [--rates 1000 5000] [--durability memory normal] [--rounds N]
                                                [--beside CHECKOUT] [--quick] [--json]

An index of 10,000 memories of one user (256 dimensions). One thread searches, 500 times a second by a clock, and reads
id, score and text of the hits; another thread replaces memories of the same user in another order, with other texts and
vectors, at the rate of `--rates`, or the rate it reaches (`reached`). Rounds without and with writes alternate, and
those of all processes are interleaved. Times are of a search from its start; each figure is the median over the rounds.
On one core, or if both threads have work for more than one, the ratio shows how the core is shared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import recording
from benchmarks.writes import DIM, ROOT, texts

N_MEMORIES, SEARCHES_A_SECOND, N_QUESTIONS = 10_000, 500, 200


def serve(durability: str, seconds: float, n_memories: int) -> None:
    """In a child: for each rate on a line of input (0: no writer) search for some time, and print the times."""
    from scrubjay import Index, Scope

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path, scope = Path(folder) / "memories.scrubjay", Scope("acme", user="jane")
        index = Index(dim=DIM) if durability == "memory" else Index.open(path, dim=DIM, durability=durability)  # type: ignore[arg-type]
        numbers, choose = np.random.default_rng(5), random.Random(5)
        vectors = numbers.normal(size=(n_memories, DIM)).astype(np.float32)
        sentences = texts(n_memories)
        index.upsert_many(
            ({"id": f"m{i}", "text": sentences[i], "vector": vectors[i]} for i in range(n_memories)),
            scope=scope,
            progress=False,
        )
        order = [choose.randrange(n_memories) for _ in range(100_000)]
        near = vectors[:N_QUESTIONS] + numbers.normal(size=(N_QUESTIONS, DIM)).astype(np.float32)
        questions = [(" ".join(sentences[i].split()[:4]), near[i]) for i in range(N_QUESTIONS)]
        n_written = [0]

        def search(question: tuple[str, Any]) -> object:
            text, vector = question
            return [(hit.id, hit.score, hit.text) for hit in index.search(text, vector=vector, scope=scope)]

        def write(_: int) -> None:
            n = n_written[0] = n_written[0] + 1
            i, other = order[n % len(order)], (7 * n) % n_memories
            index.upsert(f"m{i}", sentences[other], scope=scope, vector=vectors[other])

        for line in sys.stdin:
            rate, reached = int(line), 0.0
            if rate:
                with recording.ConcurrentWriter(write, rate) as writer:
                    took = recording.open_loop(search, questions, SEARCHES_A_SECOND, seconds)
                reached = writer.reached
            else:
                took = recording.open_loop(search, questions, SEARCHES_A_SECOND, seconds)
            print(json.dumps({"took": took["service"].tolist(), "reached": reached}), flush=True)
        os._exit(0)  # skip writing images


def child(tree: Path, durability: str, seconds: float, n_memories: int) -> subprocess.Popen[str]:
    """Return a process that runs `serve` with the package of a checkout."""
    code = f"from benchmarks import searches_beside_writes as s; s.serve({durability!r}, {seconds}, {n_memories})"
    paths = os.pathsep.join([str(tree / "python"), str(ROOT)])
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=pipe,
        stdout=pipe,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
    )


def measure(
    trees: dict[str, Path], durabilities: list[str], rates: list[int], rounds: int, *, quick: bool
) -> list[dict[str, Any]]:
    """Run each process at each rate in turn, `rounds` times."""
    size = (0.1, 200) if quick else (1.0, N_MEMORIES)
    children = {
        (name, kind): child(tree, kind, *size) for kind in durabilities for name, tree in trees.items()
    }
    passes: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for number in range(rounds + 1):
        for rate in (0, *rates):
            for who, process in children.items():
                assert process.stdin is not None and process.stdout is not None
                process.stdin.write(f"{rate}\n")
                process.stdin.flush()
                found = json.loads(process.stdout.readline())
                if number:  # the first round warms up
                    passes.setdefault((*who, rate), []).append(found)
    for process in children.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    rows: list[dict[str, Any]] = []
    for (name, kind, rate), runs in passes.items():
        tail = recording.tail_us([np.array(run["took"]) for run in runs])
        reached = float(np.median([run["reached"] for run in runs]))
        rows.append({"what": name, "durability": kind, "rate": rate, "reached": reached, **tail})
    quiet = {(row["what"], row["durability"]): row for row in rows if not row["rate"]}
    for row in rows:
        base = quiet[row["what"], row["durability"]]
        row.update({f"{name}_ratio": row[name] / base[name] for name in ("p50", "p99")})
    return sorted(rows, key=lambda row: (row["durability"], row["rate"], row["what"]))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.searches_beside_writes", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 5_000])
    parser.add_argument("--durability", nargs="+", default=["memory", "normal"])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--beside", type=Path, help="another checkout, measured in turn")
    parser.add_argument("--quick", action="store_true", help="does it run?")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    trees = {"here": ROOT}
    if options.beside is not None:
        trees = {"beside": options.beside, **trees}
    rounds = 1 if options.quick else options.rounds
    found = measure(trees, options.durability, options.rates, rounds, quick=options.quick)
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    names = ("p50", "p99", "p50_ratio", "p99_ratio")
    print(f"{'':8}{'durability':>12}{'writes/s':>10}{'reached':>10}" + "".join(f"{n:>11}" for n in names))
    for row in found:
        print(
            f"{row['what']:8}{row['durability']:>12}{row['rate']:>10,}{row['reached']:>10,.0f}"
            f"{row['p50']:>11,.0f}{row['p99']:>11,.0f}{row['p50_ratio']:>11.2f}{row['p99_ratio']:>11.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
