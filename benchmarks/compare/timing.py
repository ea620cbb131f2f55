"""How are single calls timed?

Each pass times every query once, calls one by one, garbage collection as users have it; the passes of the engines
alternate, so that a disturbance of the machine meets all of them. Of each percentile the median over the passes counts.
A call from which the scheduler took the core away is timed again: on a busy machine it would only tell how busy it is.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

resource: Any = importlib.import_module("resource") if importlib.util.find_spec("resource") else None
Item = TypeVar("Item")
PERCENTILES = {"p50": 50, "p95": 95, "p99": 99}
WARM_SHARE = 0.1
SUSPICIOUS_NS = 1_000_000
"""A call that lost the core lasted at least about a scheduler's time slice; shorter ones are not asked about."""
HOPELESS_NS = 100_000_000
"""So long a call loses the core every time: its time is the machine's business, and it is not repeated."""
N_TRIES = 4


def time_calls(call: Callable[[Item], Any], items: Sequence[Item]) -> NDArray[np.int64]:
    """Nanoseconds of each call(item), in order; the first tenth of the items is run before, unmeasured."""
    for item in items[: max(1, int(len(items) * WARM_SHARE))]:
        call(item)
    spent = np.zeros(len(items), dtype=np.int64)
    losses = lost_cores()
    for place, item in enumerate(items):
        started = perf_counter_ns()
        call(item)
        spent[place] = taken = perf_counter_ns() - started
        if SUSPICIOUS_NS < taken < HOPELESS_NS and lost_cores() != losses:
            spent[place] = min(taken, undisturbed(call, item))
            losses = lost_cores()
    return spent


def undisturbed(call: Callable[[Item], Any], item: Item) -> int:
    """The time of one call that kept the core, or the least of a few that did not."""
    least = 0
    for _ in range(N_TRIES):
        before = lost_cores()
        taken = time_one(call, item)
        least = min(least or taken, taken)
        if lost_cores() == before:
            break
    return least


def lost_cores() -> int:
    """How often the scheduler took the core from this process (0 where the system does not tell)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw if resource else 0


def affordable(
    call: Callable[[Item], Any], items: Sequence[Item], budget_seconds: float, least: int = 8
) -> Sequence[Item]:
    """As many items as one pass within the budget allows, at least `least`, spread over all."""
    probe = items[:: max(1, len(items) // 3)][:3]
    call(probe[0])
    each = statistics.median(float(time_one(call, item)) for item in probe) * 1e-9
    n = len(items) if each == 0 else int(budget_seconds / each)
    if n >= len(items):
        return items
    return items[:: -(-len(items) // max(n, least))]


def time_one(call: Callable[[Item], Any], item: Item) -> int:
    started = perf_counter_ns()
    call(item)
    return perf_counter_ns() - started


def percentiles_us(passes: Sequence[NDArray[np.int64]]) -> dict[str, float]:
    """p50, p95 and p99 in microseconds: the median over the passes, each by itself."""
    return {
        name: statistics.median(float(np.percentile(one, at)) for one in passes) / 1e3
        for name, at in PERCENTILES.items()
    }
