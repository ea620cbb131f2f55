"""The cost of encryption: CPU time with and without keys, and their ratio.

    python -m benchmarks.encryption [--memories 5000] [--rounds 5]

The same memories (20 words, 256 dimensions) are written alternately to an unencrypted file and an encrypted one; the
least of all rounds counts.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay import Index, Scope

JANE = Scope("acme", user="jane")
N_SINGLE, N_SEARCHES, N_GETS = 60, 3000, 2000


def memories(n: int) -> list[dict[str, Any]]:
    """Return records."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(5000)]
    return [
        {
            "id": i,
            "text": " ".join(rng.choice(words, 20)),
            "scope": JANE,
            "vector": rng.normal(size=256).astype(np.float32),
            "metadata": {"n": i, "kind": "note"},
        }
        for i in range(n)
    ]


def timed(figures: dict[str, float], name: str, work: Callable[[], Any]) -> None:
    """Record the least CPU time, in milliseconds."""
    start = time.process_time()
    work()
    figures[name] = min(figures.get(name, np.inf), (time.process_time() - start) * 1e3)


def measure(path: Path, records: list[dict[str, Any]], keys: Any, figures: dict[str, float]) -> None:
    """Write a file, and read it in several ways."""
    many, single = records[:-N_SINGLE], records[-N_SINGLE:]
    with Index.open(path, keys=keys, durability="normal") as index:
        timed(
            figures,
            f"write {len(many)}, 250 at a time",
            lambda: [index.upsert_many(many[i : i + 250], progress=False) for i in range(0, len(many), 250)],
        )
        timed(figures, f"write {N_SINGLE} one by one", lambda: [index.upsert(**one) for one in single])
        index.admin.compact()
    with Index.open(path, keys=keys) as index:
        timed(figures, f"first search, {len(records)} in an image", lambda: index.search("word1", scope=JANE))
        timed(
            figures,
            f"{N_SEARCHES} more searches",
            lambda: [index.search("word1", scope=JANE, k=3) for _ in range(N_SEARCHES)],
        )
        timed(figures, f"{N_GETS} times get", lambda: [index.get(i, scope=JANE) for i in range(N_GETS)])
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DELETE FROM image")
    connection.close()
    with Index.open(path, keys=keys) as index:
        timed(
            figures, f"first search, {len(records)} rows, no image", lambda: index.search("word1", scope=JANE)
        )
    figures["file, MB"] = path.stat().st_size / 1e6


def main(n: int, rounds: int) -> None:
    """Measure alternately, and print."""
    records = memories(n + N_SINGLE)
    clear: dict[str, float] = {}
    encrypted: dict[str, float] = {}
    for _ in range(rounds):
        for keys, figures in ((None, clear), (lambda tenant: b"k" * 32, encrypted)):
            with tempfile.TemporaryDirectory() as folder:
                measure(Path(folder) / "memories.scrubjay", records, keys, figures)
    print(f"{'':42}{'clear':>10}{'encrypted':>12}{'ratio':>8}")
    for name, value in clear.items():
        print(f"{name:42}{value:10.1f}{encrypted[name]:12.1f}{encrypted[name] / value:8.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memories", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    main(arguments.memories, arguments.rounds)
