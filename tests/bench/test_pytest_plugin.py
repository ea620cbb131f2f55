"""The fixtures time single calls without their setup, and add percentiles to pytest-benchmark's JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scrubjay.bench.pytest_plugin import EachCall

ROOT = Path(__file__).resolve().parents[2]


class Fake:
    """A stand-in for a pytest-benchmark fixture with a simulated clock: the call returns the time of its round."""

    enabled = True

    def __init__(self) -> None:
        self.extra_info: dict[str, float] = {}
        self.rounds = self.warmup_rounds = 0
        self.stats = self
        self.data: list[float] = []

    def pedantic(self, call: Any, setup: Any, rounds: int, warmup_rounds: int) -> Any:
        self.stats, self.rounds, self.warmup_rounds = self, rounds, warmup_rounds
        for number in range(warmup_rounds + rounds):
            arguments, named = setup()
            result = call(*arguments, **named)
            if number >= warmup_rounds:
                self.data.append(result * 1e-6)
        return result


def test_percentiles_are_those_of_single_calls() -> None:
    fake = Fake()
    fake.stats.stats = fake  # type: ignore[attr-defined]
    EachCall(fake)(lambda item: item, [10.0] * 94 + [500.0] * 6, rounds=100)
    assert (fake.rounds, fake.warmup_rounds) == (100, 10)
    assert fake.extra_info == {"p50_us": 10.0, "p95_us": 500.0, "p99_us": 500.0}


def test_percentiles_are_divided_by_the_calls_of_a_round() -> None:
    fake = Fake()
    fake.stats.stats = fake  # type: ignore[attr-defined]
    EachCall(fake)(lambda item: item, [40.0], calls_a_round=20)
    assert fake.extra_info["p50_us"] == 2.0


def test_slow_calls_get_fewer_rounds() -> None:
    fake = Fake()
    fake.stats.stats = fake  # type: ignore[attr-defined]
    EachCall(fake)(lambda item: item, [1.0], rounds=10**9, seconds=1e-9)
    assert fake.rounds == 20


def test_no_items_are_an_error() -> None:
    with pytest.raises(ValueError, match="items: expected at least one"):
        EachCall(Fake())(lambda item: item, [])


@pytest.mark.slow
def test_the_micro_suite_runs(tmp_path: Path) -> None:
    """One benchmark, started as a user starts it; the time excludes building the index."""
    pytest.importorskip("pytest_benchmark")
    out = tmp_path / "b.json"
    command = [sys.executable, "-m", "pytest", "benchmarks/micro/test_search.py", "--benchmark-only", "-q"]
    command += [
        "-k",
        "test_search and memory-1000 and not 10000",
        f"--benchmark-json={out}",
        "-p",
        "no:cacheprovider",
    ]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    report = json.loads(out.read_text())
    assert "simd_active" in report["machine_info"]["scrubjay"]
    (benchmark,) = report["benchmarks"]
    assert benchmark["fullname"] == "benchmarks/micro/test_search.py::test_search[memory-1000]"
    info = benchmark["extra_info"]
    assert 0 < info["p50_us"] <= info["p95_us"] <= info["p99_us"] < 100_000


def test_names_of_the_micro_suite_are_kept() -> None:
    """The figures are tracked over years by name: add names here, never change one."""
    pytest.importorskip("pytest_benchmark")
    command = [sys.executable, "-m", "pytest", "benchmarks", "--collect-only", "-q", "-p", "no:cacheprovider"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    found = {line for line in finished.stdout.splitlines() if "::" in line}
    kept = set((Path(__file__).parent / "micro_names.txt").read_text(encoding="utf-8").splitlines())
    assert kept <= found, kept - found
    assert found <= kept, f"add to micro_names.txt: {sorted(found - kept)}"
