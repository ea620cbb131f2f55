"""Recording of times: single calls, calls that arrive by a clock, and calls on several threads.

Every sample is kept, so that no percentile is an estimate. Calls under load arrive by a schedule and their latency
counts from the scheduled arrival (no coordinated omission): a stall delays all calls queued behind it.
"""

from __future__ import annotations

import os
import statistics
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter_ns, sleep
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare import timing

Item = TypeVar("Item")
TAIL = {"p50": 50, "p95": 95, "p99": 99, "p99.9": 99.9}
N_PASSES = 3
SLOW = 1.5
"""An engine that needs longer than this fraction of a pass's time, even for its few items, gets one pass."""
NEARLY_NS = 200_000
"""Sleeping ends this long before an arrival, because the system wakes a thread about 60 us late."""


def interleaved(
    calls: Mapping[str, Callable[[Item], Any]],
    items: Sequence[Item],
    *,
    n_passes: int = N_PASSES,
    seconds: float = 20.0,
) -> dict[str, dict[str, Any]]:
    """Return the percentiles in microseconds and the number of items of each call; passes alternate between the calls.

    A call too slow for all items in `seconds` a pass gets fewer, spread evenly.
    """
    chosen = {name: timing.affordable(call, items, seconds) for name, call in calls.items()}
    passes: dict[str, list[NDArray[np.int64]]] = {name: [] for name in calls}
    for number in range(n_passes):
        for name, call in calls.items():
            if number == 0 or passes[name][0].sum() < SLOW * seconds * 1e9:
                passes[name].append(timing.time_calls(call, chosen[name]))
    return {name: {**tail_us(passes[name]), "queries": len(chosen[name])} for name in calls}


def added(
    calls: Mapping[str, Callable[[Item], Any]], items: Sequence[Item], *, rounds: int = 15
) -> dict[str, dict[str, float]]:
    """Return the extra time of each call over the first: percentiles of the differences by item, as :func:`tail_us`.

    The calls take turns on each item, each after an untimed one, and the least of the rounds counts: so disturbances by
    the machine, and caches that are cold for the first call, cancel out of the difference.
    """
    least = {name: np.full(len(items), np.iinfo(np.int64).max) for name in calls}
    base = next(iter(calls))
    for _ in range(rounds):
        for number, item in enumerate(items):
            calls[base](item)
            for name, call in calls.items():
                started = perf_counter_ns()
                call(item)
                least[name][number] = min(least[name][number], perf_counter_ns() - started)
    others = [name for name in calls if name != base]
    return {name: {**tail_us([least[name] - least[base]]), "queries": len(items)} for name in others}


def tail_us(passes: Sequence[NDArray[np.int64]]) -> dict[str, float]:
    """Return p50, p95, p99 and p99.9 in microseconds, each as the median over the passes."""
    return {
        name: statistics.median(float(np.percentile(one, at)) for one in passes) / 1e3
        for name, at in TAIL.items()
    }


def open_loop(
    call: Callable[[Item], Any], items: Sequence[Item], a_second: float, seconds: float
) -> dict[str, NDArray[np.int64]]:
    """Run calls at fixed arrivals; return nanoseconds from the arrival ("latency") and from the start ("service")."""
    n = max(1, int(a_second * seconds))
    latency, service = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    begun = perf_counter_ns()
    for number in range(n):
        arrival = begun + int(number * 1e9 / a_second)
        wait_until(arrival)
        started = perf_counter_ns()
        call(items[number % len(items)])
        ended = perf_counter_ns()
        latency[number], service[number] = ended - arrival, ended - started
    return {"latency": latency, "service": service}


def wait_until(moment_ns: int) -> None:
    """Sleep until a time, yielding the interpreter repeatedly at the end."""
    while (left := moment_ns - perf_counter_ns()) > 0:
        sleep((left - NEARLY_NS) * 1e-9 if left > NEARLY_NS else 0)


def use_core(core: int | None) -> None:
    """Bind the calling thread to a core, unless None."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


@contextmanager
def on_cores(cores: Sequence[int]) -> Iterator[None]:
    """Let the calling thread, and threads it starts, use these cores within the block."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(cores))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class ConcurrentWriter:
    """Runs `work(number)` at fixed arrivals on a separate thread while a `with` block runs."""

    def __init__(self, work: Callable[[int], Any], a_second: float, core: int | None = None) -> None:
        self._work, self._a_second, self._core = work, a_second, core
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.latency_ns: list[int] = []
        self._seconds = 0.0
        self._error: BaseException | None = None

    @property
    def reached(self) -> float:
        """The number of calls a second that were done."""
        return len(self.latency_ns) / self._seconds if self._seconds else 0.0

    def _run(self) -> None:
        use_core(self._core)
        begun = perf_counter_ns()
        try:
            while not self._stop.is_set():
                arrival = begun + int(len(self.latency_ns) * 1e9 / self._a_second)
                wait_until(arrival)
                self._work(len(self.latency_ns))
                self.latency_ns.append(perf_counter_ns() - arrival)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            self._error = error
        self._seconds = (perf_counter_ns() - begun) * 1e-9

    def __enter__(self) -> ConcurrentWriter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None:
            raise self._error


def throughput(
    call: Callable[[Item], Any], items: Sequence[Item], cores: Sequence[int | None], seconds: float
) -> float:
    """Return calls a second of one thread for each core given, each bound to its core."""
    counts = [0] * len(cores)
    ready = threading.Barrier(len(cores) + 1)
    errors: list[BaseException] = []
    until = [0]

    def run(number: int, core: int | None) -> None:
        use_core(core)
        n, place = 0, number * len(items) // len(cores)
        ready.wait()
        try:
            while perf_counter_ns() < until[0]:
                call(items[place % len(items)])
                n, place = n + 1, place + 1
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            errors.append(error)
        counts[number] = n

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(cores)]
    for thread in threads:
        thread.start()
    started = perf_counter_ns()
    until[0] = started + int(seconds * 1e9)
    ready.wait()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts) / ((perf_counter_ns() - started) * 1e-9)


def scaling(
    call: Callable[[Item], Any],
    items: Sequence[Item],
    cores: Sequence[int],
    seconds: float,
    n_rounds: int = 3,
) -> dict[str, float]:
    """Return the throughput of one thread and of two, in alternating rounds; the best round of each counts."""
    one, two = [], []
    for _ in range(n_rounds):
        one.append(throughput(call, items, cores[:1], seconds))
        two.append(throughput(call, items, cores[:2], seconds))
    return {"one": max(one), "two": max(two), "ratio": max(two) / max(one), "cores": len(cores[:2])}
