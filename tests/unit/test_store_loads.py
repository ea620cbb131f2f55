"""An index's statistics report what was loaded into memory, from where, and what was evicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, Scope
from tests.data.postgres import new_url

SCOPES = [Scope("acme", user=f"u{n}") for n in range(6)]
COUNTS = ("loads_from_image", "loads_from_rows", "loads_of_changes", "evictions")


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return new_url() if request.param == "postgres" else tmp_path / "a.scrubjay"


def counts(index: Index) -> list[Any]:
    stats = index.admin.stats()
    return [stats[name] for name in COUNTS]


def test_each_load_is_counted_by_its_source(place: Any) -> None:
    with Index.open(place) as index:
        for scope in SCOPES:
            index.upsert_many([{"id": n, "text": f"oak {n}", "scope": scope} for n in range(20)])
    with Index.open(place) as index:
        assert counts(index) == [0, 0, 0, 0] and index.admin.stats()["load_seconds"] == 0
        for _ in range(2):
            index.search("oak", scope=SCOPES[0])
        assert counts(index) == [0, 1, 0, 0] and float(index.admin.stats()["load_seconds"] or 0) > 0
        index.admin.compact()
    with Index.open(place, max_stale=60) as index:
        for scope in SCOPES:
            index.search("oak", scope=scope)
        assert counts(index) == [6, 0, 0, 0]
        with Index.open(place, max_stale=60) as other:
            other.upsert(99, "oak of another", scope=SCOPES[0])
            stamp = other.admin.stamp(SCOPES[0])
        assert index.search("another", scope=SCOPES[0], after=stamp)[0].id == 99
        assert counts(index) == [6, 0, 1, 0]
        lag = index.admin.stats().get("feed_lag_seconds")
        assert (lag is None) == (index.path is not None) and (lag is None or 0 <= float(lag) < 60)


def test_evictions_are_counted_by_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.scrubjay"
    with Index.open(path, durability="normal") as index:
        for scope in SCOPES:
            index.upsert_many([{"id": n, "text": f"oak {n} " * 200, "scope": scope} for n in range(200)])
        index.admin.compact()
        bytes_in_all = int(index.admin.stats()["memory_bytes"] or 0)
    with Index.open(path, memory_budget=bytes_in_all // 3) as index:
        for scope in SCOPES * 2:
            index.search("oak", scope=scope)
        stats = index.admin.stats()
        assert int(stats["evictions"] or 0) > 0
        assert int(stats["loads_from_image"] or 0) == int(stats["resident_partitions"] or 0) + int(
            stats["evictions"] or 0
        )
