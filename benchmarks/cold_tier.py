"""Cost and savings of the cold tier: the first search of a scope, frozen and not, and the bytes in the database.

    python -m benchmarks.cold_tier [--documents 1000 10000] [--rounds 5]

starts a PostgreSQL server (as the tests do), with objects in a folder beside it, texts of 60 words, 256 dimensions. All
kinds of a size take turns in each round, so the load of the machine is the same for all, and the ratio of medians
counts. CPU time is that of this process, without the server.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.data.postgres import new_cluster, new_url
from tests.data.stores import asked

from scrubjay import Index, Objects, Scope
from scrubjay.backend import Backend

DIM, WORDS = 256, 60
_TABLES = ("sj_document", "sj_image", "sj_tombstone", "sj_cold", "sj_scope")


def measure(base: str, n: int, rounds: int, folder: Path) -> None:
    """Print the figures of one size."""
    url, scope = new_url(base), Scope("acme", user="jane")
    objects = Objects((folder / f"objects-{n}").as_uri())
    given = random.Random(7)
    vectors = np.random.default_rng(7).normal(size=(n, DIM)).astype(np.float32)
    words = [f"word{i}" for i in range(20_000)]
    records = [
        {"id": f"m{i}", "text": " ".join(given.choices(words, k=WORDS)), "vector": vectors[i]}
        for i in range(n)
    ]
    question = {"text": records[n // 2]["text"][:60], "vector": vectors[n // 2], "k": 10}

    def opened() -> Index:
        return Index.open(url, dim=DIM, objects=objects)

    def store(index: Index) -> Any:
        return Backend.of(index).engine.store  # type: ignore[union-attr]

    with opened() as index:
        index.upsert_many(records, scope=scope, progress=False)
        index.admin.compact()
    before = size(url)
    reports: list[Any] = []
    times: dict[str, list[tuple[float, float]]] = {}

    def timed(name: str, call: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        times.setdefault(name, []).append((time.perf_counter() - wall, time.process_time() - cpu))

    def first_search(name: str) -> None:
        with opened() as index:
            store(index).tidy = lambda: None
            store(index).stats()
            timed(name, lambda: index.search(scope=scope, **question))
            for _ in range(200):
                timed(f"{name}, then warm", lambda: index.search(scope=scope, **question))

    for _ in range(rounds):
        first_search("warm tier, from the image")
        with image_put_away(url):
            first_search("warm tier, from rows")
        with opened() as index:
            store(index).tidy = lambda: None
            timed("freeze", lambda index=index: reports.append(index.admin.freeze(0)))
        asked(url, f"VACUUM FULL {', '.join(_TABLES)}")
        frozen = size(url)
        first_search("cold tier, from the image")
        with image_put_away(url):
            first_search("cold tier, from its object")
        with opened() as index:
            store(index).tidy = lambda: None
            timed("bring back", lambda index=index: store(index).thaw([scope]))
        with opened() as index:
            index.admin.compact()
    print(
        f"{n:,} documents: {before:,} bytes in the database, {frozen:,} once frozen; object: {reports[0].n_bytes:,}"
    )
    for name, found in times.items():
        wall, cpu = (1000 * statistics.median(one[i] for one in found) for i in (0, 1))
        print(f"  {name:<40} {wall:9.3f} ms  {cpu:9.3f} ms CPU  ({len(found)})")


@contextmanager
def image_put_away(url: str) -> Iterator[None]:
    """Remove the images within the block."""
    asked(url, "CREATE TABLE kept_image AS SELECT * FROM sj_image")
    asked(url, "DELETE FROM sj_image")
    yield
    asked(url, "DELETE FROM sj_image")  # written by an index when it was closed
    asked(url, "INSERT INTO sj_image SELECT * FROM kept_image")
    asked(url, "DROP TABLE kept_image")


def size(url: str) -> int:
    """Return the bytes of the tables of an index."""
    sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in _TABLES)
    return int(asked(url, f"SELECT {sizes}")[0][0])


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    server = new_cluster()
    if isinstance(server, str):
        parser.error(server)
    for n in arguments.documents:
        with tempfile.TemporaryDirectory() as folder:
            measure(server.url, n, arguments.rounds, Path(folder))


if __name__ == "__main__":
    main()
