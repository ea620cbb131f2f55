"""The figures of the level costs follow what they measure, and a broken store fails there, too."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from memory_store_conformance import Hit, Scope, all_checks, validate
from reference import ReferenceStore


class FourTimes(ReferenceStore):
    """Writes everything four times."""

    def write(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        for _ in range(4):
            super().write(what, scope, arguments)


class Slow(ReferenceStore):
    """Waits 20 ms in each search, and in each put of one item."""

    def search(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        time.sleep(0.02)
        return super().search(scope, text, k, filter)

    def write(self, what: str, scope: Scope, arguments: list[Any]) -> None:
        if len(arguments) == 1:
            time.sleep(0.02)
        super().write(what, scope, arguments)


class FindsNothing(ReferenceStore):
    def search(self, scope: Scope, text: str, k: int, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        return []


def figures(store: Any, *only: str) -> dict[str, Any]:
    report = validate(store, only=only)
    assert [result.outcome for result in report.results] == ["measured"] * len(only), report.table()
    return {name: value for result in report.results for name, value in (result.figures or {}).items()}


def test_bytes_and_writes_are_those_of_the_store() -> None:
    one = figures(ReferenceStore, "costs.bytes", "costs.writes")
    four = figures(FourTimes, "costs.bytes", "costs.writes")
    assert one["bytes an item"] > 1000  # a vector of 256 numbers
    for name in ("bytes an item", "bytes written an item", "write calls an item"):
        assert 3.5 < four[name] / one[name] < 4.5, name


def test_times_have_the_store_s_in_them() -> None:
    measured = figures(Slow, "costs.put", "costs.search")
    assert set(measured) == {
        f"{what} {share} ms" for what in ("put", "of 100", "of 1000", "of 4000") for share in ("p50", "p95")
    }
    assert all(value >= 20 for value in measured.values())
    assert measured["of 4000 p95 ms"] >= measured["of 4000 p50 ms"]


def test_a_search_that_finds_nothing_has_no_time() -> None:
    (result,) = validate(FindsNothing, only=["costs.search"]).results
    assert result.outcome == "failed" and "found nothing" in result.evidence


def test_every_cost_is_tested_here() -> None:
    assert {one.id for one in all_checks(["costs"])} == {
        "costs.bytes",
        "costs.writes",
        "costs.put",
        "costs.search",
    }
