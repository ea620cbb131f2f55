"""The overhead of awaiting a search over calling it: `python -m benchmarks.asynchronous [--documents N]`.

Three ways of the same search in turn, in one event loop, so that their ratios hold on a busy machine: a plain call,
`Index.asearch`, and a thread for each search (:func:`asyncio.to_thread`), which `asearch` uses if the search might
block. Medians in microseconds; the last column is the ratio to the plain call.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import numpy as np

from scrubjay import Index, Scope

JANE = Scope("acme", user="jane")
WORDS = [f"word{i}" for i in range(2_000)]
DIM = 64


def fill(index: Index, n_documents: int) -> None:
    """Write texts of twelve words, with random vectors."""
    rng = np.random.default_rng(1)
    index.upsert_many(
        [
            {"id": i, "text": " ".join(rng.choice(WORDS, 12)), "vector": rng.normal(size=DIM)}
            for i in range(n_documents)
        ],
        scope=JANE,
        progress=False,
    )


async def measure(index: Index, n_searches: int) -> dict[str, float]:
    """Return the median microseconds of each way."""
    rng = np.random.default_rng(2)

    async def called(text: str, vector: np.ndarray) -> object:
        return index.search(text, vector=vector, scope=JANE)

    ways: list[tuple[str, Callable[[str, np.ndarray], Awaitable[object]]]] = [
        ("search", called),
        ("asearch", lambda text, vector: index.asearch(text, vector=vector, scope=JANE)),
        ("thread", lambda text, vector: asyncio.to_thread(index.search, text, vector=vector, scope=JANE)),
    ]
    orders = list(itertools.permutations(ways))
    taken: dict[str, list[float]] = {name: [] for name, _ in ways}
    for n in range(n_searches):
        text, vector = " ".join(rng.choice(WORDS, 3)), rng.normal(size=DIM)
        for name, way in orders[n % len(orders)]:  # the first call, and one after a thread, has colder caches
            begun = time.perf_counter()
            await way(text, vector)
            taken[name].append(time.perf_counter() - begun)
    return {name: median(times) * 1e6 for name, times in taken.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--searches", type=int, default=2_000)
    asked = parser.parse_args()
    print("| index | way | us | ratio |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "a.scrubjay") as in_file:
        for kind, index in (("memory", Index()), ("file", in_file)):
            fill(index, asked.documents)
            index.search("word1", scope=JANE)
            found = asyncio.run(measure(index, asked.searches))
            for name, us in found.items():
                print(f"| {kind} | {name} | {us:.1f} | {us / found['search']:.2f} |")


if __name__ == "__main__":
    main()
