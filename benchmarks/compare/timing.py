"""Timing of single calls.

Each pass times every query once, call by call, with garbage collection as in production; the passes of the engines
alternate, so that a disturbance of the machine affects all of them. The median of each percentile over the passes
counts. A preempted call is timed again, because its time would only measure the load of the machine.
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
"""A preempted call lasts at least about a scheduler's time slice; shorter ones are not checked."""
HOPELESS_NS = 100_000_000
"""A call this long is always preempted, so it is not repeated."""
N_TRIES = 4


def time_calls(call: Callable[[Item], Any], items: Sequence[Item]) -> NDArray[np.int64]:
    """Return the nanoseconds of each call(item), in order, after an unmeasured warm-up with the first tenth."""
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
    """Return the time of one call that was not preempted, or the least of a few that were."""
    least = 0
    for _ in range(N_TRIES):
        before = lost_cores()
        taken = time_one(call, item)
        least = min(least or taken, taken)
        if lost_cores() == before:
            break
    return least


def lost_cores() -> int:
    """Return how often this process was preempted (0 if the system does not tell)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw if resource else 0


def affordable(
    call: Callable[[Item], Any], items: Sequence[Item], budget_seconds: float, least: int = 8
) -> Sequence[Item]:
    """Return as many items as one pass within the budget allows, at least `least`, spread evenly."""
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
    """Return p50, p95 and p99 in microseconds, each as the median over the passes."""
    return {
        name: statistics.median(float(np.percentile(one, at)) for one in passes) / 1e3
        for name, at in PERCENTILES.items()
    }
