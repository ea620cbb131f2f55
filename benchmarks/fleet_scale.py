"""One user's search in a database of ten million memories against one in a small database.

    python -m benchmarks.fleet_scale [--users 10000] [--few 110] [--searches 20000] [--budget-mb 2048] [--json]

Two databases of one server of Debian's packages, started in a temporary folder: users of 1,000 memories each, 256
dimensions, vectors given, a hundred users a tenant. The searching users follow a Zipf distribution, as in
`benchmarks.fleet_sizing`: a few search often, most rarely. A search is warm if nothing was loaded for it. The databases
alternate in one process, each index with the same budget; the order changes from question to question, because the
second search finds the question and its vector in the caches of the CPU. First both serve the users of the small
database ("the same users"). Then each serves users of its own: the large index loads and evicts, since not all of its
users fit.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import time
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from typing import Any

import numpy as np
from tests.data.postgres import new_cluster, new_url

from benchmarks.fleet import DIM, QUERY, Data, percentile, timed
from benchmarks.fleet_sizing import ZIPF
from scrubjay import Index, Scope
from scrubjay.backend import Backend
from scrubjay.base.progress import open_progress

MEMORIES = 1000
USERS_A_TENANT = 100
LOADERS = 2
_SETTLE_SECONDS = 5  # for writing the images of loaded partitions


def scope_of(user: int) -> Scope:
    return Scope(f"t{user // USERS_A_TENANT}", user=f"u{user}")


def load(url: str, users: range) -> None:
    """Write the memories of these users, one user at a time."""
    data = Data()
    # Resident partitions are indexed on write: with the least budget a loader writes only rows.
    with Index.open(url, dim=DIM, memory_budget=1 << 20) as index:
        engine: Any = Backend.of(index).engine
        ids = list(range(MEMORIES))
        for user in users:
            picks = np.random.default_rng(user).integers(len(data.texts), size=MEMORIES)
            texts = [data.texts[pick] for pick in picks]
            engine.upsert_many(ids, texts, scope=scope_of(user), vectors=data.vectors[picks])


def fill(url: str, n_users: int) -> float:
    """Write from several processes; return documents a second."""
    Index.open(url, dim=DIM).close()  # create the tables
    shares = [range(n_users * i // LOADERS, n_users * (i + 1) // LOADERS) for i in range(LOADERS)]
    started = time.perf_counter()
    with get_context("spawn").Pool(LOADERS) as pool:
        pool.starmap(load, [(url, share) for share in shares])
    return n_users * MEMORIES / (time.perf_counter() - started)


def drawn(n_users: int, seed: int) -> Iterator[int]:
    """Yield users in the order of their searches."""
    random = np.random.default_rng(seed)
    ends = np.cumsum(1.0 / np.arange(1, n_users + 1) ** ZIPF)
    order = random.permutation(n_users)  # the frequency is independent of the order of rows
    while True:
        yield from order[np.searchsorted(ends, random.random(10_000) * ends[-1])].tolist()


def in_turns(names: Iterable[str], i: int) -> list[str]:
    """Return the names in their order, reversed in every second round."""
    return list(names)[:: -1 if i % 2 else 1]


def loads_of(index: Index) -> int:
    """Return the number of loads so far."""
    engine: Any = Backend.of(index).engine
    return sum(count for name, count in engine.residency.loads.stats().items() if name.startswith("loads_"))


def measure(base: str, n_users: int, n_few: int, n_searches: int, budget: int) -> dict[str, float]:
    """Return the figures by name: cold times in milliseconds, warm ones in microseconds."""
    urls = {"many": new_url(base), "few": new_url(base)}
    sizes = {"many": n_users, "few": n_few}
    figures: dict[str, float] = {}
    for name, url in urls.items():
        figures[f"{name}: documents"] = sizes[name] * MEMORIES
        figures[f"{name}: loaded documents/s"] = fill(url, sizes[name])
    opened: dict[str, list[float]] = {name: [] for name in urls}
    for _ in range(10):
        for name, url in urls.items():
            times = opened[name]
            times.append(timed(lambda url=url: Index.open(url, dim=DIM, memory_budget=budget).close()))  # type: ignore[misc]
    data = Data()
    indexes = {name: Index.open(url, dim=DIM, memory_budget=budget) for name, url in urls.items()}

    def search(name: str, user: int, i: int) -> tuple[float, bool]:
        """Return the time of a search, and whether it was warm."""
        index, scope, pick = indexes[name], scope_of(user), i % len(data.questions)
        question, vector = data.questions[pick], data.vectors[pick]
        loads = loads_of(index)
        took = timed(lambda: index.search(question, scope=scope, vector=vector, query=QUERY))
        return took, loads_of(index) == loads

    same: dict[str, list[float]] = {name: [] for name in urls}
    for user in range(n_few):
        for name in urls:
            search(name, user, user)  # the first one loads
    time.sleep(_SETTLE_SECONDS)
    gc.collect()
    asking = drawn(n_few, 4)
    for i in range(n_searches):
        user = next(asking)
        for name in in_turns(urls, i):
            same[name].append(search(name, user, i)[0])
    users = {name: drawn(sizes[name], 5) for name in urls}
    warm: dict[str, list[float]] = {name: [] for name in urls}
    cold: dict[str, list[float]] = {name: [] for name in urls}
    bar = open_progress(None, total=n_searches, what="searching", unit="searches")
    for i in range(n_searches):
        bar.update(1)
        for name in in_turns(urls, i):
            took, is_warm = search(name, next(users[name]), i)
            (warm if is_warm else cold)[name].append(took)
        if i == n_searches // 10:  # before, most scopes occur for the first time
            for name in urls:
                warm[name].clear()
                cold[name].clear()
            gc.collect()
    for name, index in indexes.items():
        figures[f"{name}: open p50 ms"] = percentile(opened[name], 0.5)
        figures[f"{name}: open worst ms"] = max(opened[name])
        for share in (0.5, 0.95, 0.99):
            figures[f"{name}: search of the same users p{share * 100:g} us"] = (
                percentile(same[name], share) * 1e3
            )
            figures[f"{name}: warm search p{share * 100:g} us"] = percentile(warm[name], share) * 1e3
            figures[f"{name}: any search p{share * 100:g} ms"] = percentile(warm[name] + cold[name], share)
        figures[f"{name}: share of warm searches"] = len(warm[name]) / len(warm[name] + cold[name])
        figures[f"{name}: resident MB"] = index.admin.stats()["memory_bytes"] / 1e6
        index.close()
    figures["peak of the process MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=10_000, help="of 1,000 memories each")
    parser.add_argument("--few", type=int, default=110, help="users of the small database")
    parser.add_argument("--searches", type=int, default=20_000)
    parser.add_argument("--budget-mb", type=int, default=2048, help="of memory for each index")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    server = new_cluster()
    if isinstance(server, str):
        parser.error(server)
    try:
        figures = measure(server.url, given.users, given.few, given.searches, given.budget_mb << 20)
    finally:
        server.remove()
    if given.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:44}{value:16,.2f}")


if __name__ == "__main__":
    main()
