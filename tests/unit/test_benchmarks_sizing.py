"""The simulation of a fleet gives the known results where these exist."""

from __future__ import annotations

import json

import pytest
from benchmarks import fleet_sizing
from benchmarks.fleet_sizing import REQUESTS, WARM_MS, Setting, simulated


def test_with_memory_for_all_only_first_requests_wait() -> None:
    found = simulated(Setting(users=20_000, nodes=2, memory_gb=1_000))
    assert found.hit_ratio > 1 - 1 / REQUESTS and found.p50_ms == WARM_MS
    assert found.requests_per_second == pytest.approx(10_000 * 0.1 * 2 * REQUESTS / 86_400, rel=0.01)


def test_with_memory_for_one_every_request_waits_but_those_of_the_same_user_in_a_row() -> None:
    found = simulated(Setting(users=20_000, nodes=1, memory_gb=1e-9))
    assert found.hit_ratio < 0.2 and found.p50_ms > 1


def test_more_memory_and_more_processes_never_hurt() -> None:
    ratios = [simulated(Setting(400_000, 1, gb)).hit_ratio for gb in (0.2, 1.0, 5.0)]
    assert ratios == sorted(ratios)
    shares = [simulated(Setting(400_000, nodes, 0.5)).hit_ratio for nodes in (1, 4, 16)]
    assert shares == sorted(shares)


def test_a_share_that_is_scaled_down_comes_out_alike() -> None:
    whole, scaled = (simulated(Setting(100_000, 1, 2.0), most_users=most) for most in (100_000, 25_000))
    assert scaled.hit_ratio == pytest.approx(whole.hit_ratio, abs=0.02)
    assert scaled.loads_per_second == pytest.approx(whole.loads_per_second, rel=0.1)


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    fleet_sizing.main(["--users", "5000", "--nodes", "1,2", "--memory", "1", "--json"])
    assert [one["nodes"] for one in json.loads(capsys.readouterr().out)] == [1, 2]
