"""Number and memory of the processes of a fleet: a simulation of one process.

    python -m benchmarks.fleet_sizing [--users N] [--nodes N,...] [--memory GB,...] [--active SHARE] [--json]

Users are routed to processes by a hash of their names, so each process serves its own share of them. One process is
simulated for a day, after a day that fills its memory. Requests follow a Zipf distribution (exponent .8) over the users
active that day; each active user has sessions of several requests, a minute apart on average, and the number of
memories of a user is log-normal, 1,070 on average. A user who is not in memory is read from an image, and the least
recently used one is evicted (LRU). The times of a search and of a load are constants of this file, measured by `python
-m benchmarks.fleet` on one machine; network and service are excluded.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MEAN_MEMORIES, SPREAD = 1_070, 1.0
ZIPF = 0.8
SESSIONS, REQUESTS = 2, 9  # sessions a day for an active user; requests a session
PAUSE_SECONDS = 60.0  # between two requests of a session, on average
BYTES = 1_350  # resident bytes of a memory: 256 dimensions, 20 to 40 words
WARM_MS = 0.035
LOAD_MS, LOAD_MS_PER_1000, JITTER_MS = 4.2, 2.5, 0.9
DAY_SECONDS = 86_400


class Setting(NamedTuple):
    """The parameters of the simulation."""

    users: int
    nodes: int
    memory_gb: float
    active: float = 0.1


class Sizing(NamedTuple):
    """The results for one process; milliseconds of a request."""

    nodes: int
    memory_gb: float
    requests_per_second: float
    hit_ratio: float
    loads_per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


def simulated(setting: Setting, seed: int = 1, *, most_users: int = 200_000) -> Sizing:
    """Simulate one process; beyond `most_users` users it is scaled down, with its memory."""
    random = np.random.default_rng(seed)
    share = setting.users // setting.nodes
    scale = max(1.0, share / most_users)
    n = int(share / scale)
    sizes = np.maximum(1, random.lognormal(np.log(MEAN_MEMORIES) - SPREAD**2 / 2, SPREAD, n).astype(np.int64))
    capacity = int(setting.memory_gb * 1e9 / scale)
    cache: OrderedDict[int, int] = OrderedDict()
    used, waits, n_requests = 0, [], 0
    for day in range(2):
        for user in _requests(random, n, setting.active):
            n_bytes = int(sizes[user]) * BYTES
            is_there = user in cache
            if is_there:
                cache.move_to_end(user)
            else:
                cache[user] = n_bytes
                used += n_bytes
                while used > capacity and len(cache) > 1:
                    used -= cache.popitem(last=False)[1]
            if day == 0:
                continue
            n_requests += 1
            if not is_there:
                waits.append(LOAD_MS + LOAD_MS_PER_1000 * sizes[user] / 1000 + random.exponential(JITTER_MS))
    n_misses = len(waits)
    times = np.concatenate([np.full(n_requests - n_misses, WARM_MS), np.asarray(waits)])
    p50, p95, p99 = np.percentile(times, (50, 95, 99))
    return Sizing(
        setting.nodes,
        setting.memory_gb,
        n_requests * scale / DAY_SECONDS,
        1 - n_misses / n_requests,
        n_misses * scale / DAY_SECONDS,
        float(p50),
        float(p95),
        float(p99),
    )


def _requests(random: np.random.Generator, n_users: int, active: float) -> Iterator[int]:
    """Yield the user of each request of a day, in order of time."""
    weights = 1.0 / np.arange(1, n_users + 1) ** ZIPF
    n = int(n_users * active) * SESSIONS
    ends: NDArray[np.float64] = np.cumsum(weights)
    users = np.searchsorted(ends, random.random(n) * ends[-1])
    pauses = random.exponential(PAUSE_SECONDS, (n, REQUESTS))
    pauses[:, 0] = random.random(n) * DAY_SECONDS
    order = np.argsort(pauses.cumsum(axis=1), axis=None)
    yield from users[order // REQUESTS].tolist()


def _numbers(text: str) -> list[float]:
    found = [float(part) for part in text.split(",")]
    if not all(0 < number < math.inf for number in found):
        raise argparse.ArgumentTypeError(f"expected numbers above 0, got {text!r}")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--users", type=int, default=10_000_000)
    parser.add_argument(
        "--nodes", type=_numbers, default=[4.0, 8.0, 16.0], help="processes, separated by commas"
    )
    parser.add_argument("--memory", type=_numbers, default=[2.0, 14.0], help="GB of each for memories")
    parser.add_argument("--active", type=float, default=0.1, help="share of the users that come in a day")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    if not (0 < given.active <= 1 and min(map(int, given.nodes)) > 0):
        parser.error("expected --nodes of whole numbers above 0 and --active in (0, 1]")
    if given.users * given.active < max(given.nodes):
        parser.error("expected --users of whom one at least comes to each process")
    found = [
        simulated(Setting(given.users, int(nodes), memory, given.active))
        for nodes in given.nodes
        for memory in given.memory
    ]
    if given.json:
        print(json.dumps([one._asdict() for one in found], indent=2))
        return
    print(
        f"{'nodes':>6}{'GB':>7}{'requests/s':>12}{'hits':>7}{'loads/s':>9}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}"
    )
    for one in found:
        print(
            f"{one.nodes:>6}{one.memory_gb:>7.1f}{one.requests_per_second:>12.1f}{one.hit_ratio:>7.3f}"
            f"{one.loads_per_second:>9.2f}{one.p50_ms:>9.3f}{one.p95_ms:>9.2f}{one.p99_ms:>9.2f}"
        )


if __name__ == "__main__":
    main()
