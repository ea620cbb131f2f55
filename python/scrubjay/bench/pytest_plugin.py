"""Fixtures for pytest-benchmark that time single calls. Load it with `pytest -p`, or import them in conftest.py.

pytest-benchmark's own loop repeats one call and keeps the means of batches. Here every round is one call with the next
of many questions, created outside the timed part, so the percentiles of its JSON are those of single calls, and caches
are as warm as for a caller with varying questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import pytest

from scrubjay.config import show_config

__all__ = ["EachCall", "each_call", "pytest_benchmark_update_machine_info"]

Item = TypeVar("Item")

_WARM_SHARE = 0.1
_LEAST_ROUNDS = 20
_PROBES = 5
"""Probe calls, of which the fastest determines the number of rounds: the first ones run with cold caches."""


class EachCall:
    """Times single calls of a function with a pytest-benchmark fixture."""

    def __init__(self, benchmark: Any) -> None:
        self._benchmark = benchmark

    def __call__(
        self,
        call: Callable[[Item], Any],
        items: Sequence[Item],
        *,
        rounds: int = 1_000,
        seconds: float = 2.0,
        calls_a_round: int = 1,
    ) -> Any:
        """Time `call(item)` for one item after the other, starting over after the last.

        Args:
            call: the function to time.
            items: its arguments; creating them is not timed.
            rounds: timed calls; fewer if they would take longer than `seconds`, but at least 20. A tenth as many are
                made before, untimed.
            calls_a_round: number of measured operations in one call of `call`, e.g. in one run of an event loop.
                Percentiles are divided by it, pytest-benchmark's own columns are not.

        Returns:
            the result of the last call. `extra_info` of the benchmark gets `p50_us`, `p95_us` and `p99_us`.
        """
        if not items:
            raise ValueError("items: expected at least one")
        arguments = cycle(items)
        each = min(_seconds_of(call, next(arguments)) for _ in range(_PROBES))
        affordable = min(rounds, max(_LEAST_ROUNDS, int(seconds / max(each, 1e-9))))
        result = self._benchmark.pedantic(
            call,
            setup=lambda: ((next(arguments),), {}),
            rounds=affordable,
            warmup_rounds=max(1, int(affordable * _WARM_SHARE)),
        )
        if self._benchmark.enabled:
            times = np.asarray(self._benchmark.stats.stats.data) * 1e6 / calls_a_round
            for at in (50, 95, 99):
                self._benchmark.extra_info[f"p{at}_us"] = round(float(np.percentile(times, at)), 3)
        return result


def _seconds_of(call: Callable[[Item], Any], item: Item) -> float:
    started = perf_counter()
    call(item)
    return perf_counter() - started


@pytest.fixture
def each_call(benchmark: Any) -> EachCall:
    """Time single calls: `each_call(call, items)`, see :class:`EachCall`."""
    return EachCall(benchmark)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Add the build and SIMD level to the machine of pytest-benchmark's JSON."""
    machine_info["scrubjay"] = show_config(as_dict=True)
