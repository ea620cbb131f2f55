"""Each check catches its planted fault, and no other check does. The reference store, without a fault, passes all."""

from __future__ import annotations

import os
from typing import Any

import pytest

from faults import all_faults
from memory_store_conformance import LEVELS, Check, all_checks, validate
from memory_store_conformance.runner import _offered, run_check
from reference import ReferenceStore

CASES = [
    pytest.param(check, store, id=f"{check}-{store.__name__}")
    for check, stores in all_faults().items()
    for store in stores
]
SLOW = {"deletion.killed", "async.lag", "async.cancelled", "paging.linear", "retrieval.identifiers"}
SLOW |= {one.id for one in all_checks(["durability", "expiry", "costs"])}
EVERYTHING = os.environ.get("CONFORMANCE_ALL_FAULTS") == "1"


def test_the_reference_store_passes_everything() -> None:
    report = validate(ReferenceStore, only=[level for level in LEVELS if level != "costs"])
    assert [
        (result.id, result.outcome, result.evidence)
        for result in report.results
        if result.outcome == "failed"
    ] == []
    assert [result.id for result in report.results if result.outcome == "not offered"] == []
    assert report.exit_code == 0


def test_every_check_has_a_planted_fault() -> None:
    judged = {one.id for one in all_checks() if one.level != "costs"}  # test_costs.py has theirs
    assert set(all_faults()) == judged


def beside(check: str) -> list[Check]:
    """Return the checks that must not catch another's fault: all, or, to save time, the quick ones of its level."""
    level = check.partition(".")[0]
    return [
        one
        for one in all_checks()
        if one.level != "costs" and (EVERYTHING or (one.level == level and one.id not in SLOW))
    ]


@pytest.mark.parametrize(("check", "store"), CASES)
def test_exactly_its_check_catches_a_fault(check: str, store: Any) -> None:
    offered = _offered(store)
    (intended,) = all_checks([check])
    result = run_check(intended, store, offered, 120)
    assert result.outcome == "failed", f"{store.__name__} goes unnoticed"
    assert result.evidence
    for other in beside(check):
        if other.id != check:
            answer = run_check(other, store, offered, 120)
            assert answer.outcome == "passed", f"{other.id}: {answer.evidence}"
