"""Scrubjay against the checks, and the published page against the reports. Other stores are not run here."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from conformance.stock import publishing, running
from conformance.stock.catalogue import STORES
from conformance.stock.scrubjay_stores import scrubjay_index, scrubjay_memory

from memory_store_conformance import LEVELS, Report, Result, all_checks, conformance_test

test_index = conformance_test(scrubjay_index, only=[level for level in LEVELS if level != "costs"])
# What Memory adds to the index: statements and recall.
test_memory = conformance_test(
    scrubjay_memory, only=["truth", "isolation", "deletion.search", "deletion.scope", "retrieval.fresh"]
)


def test_the_page_is_made_of_the_reports() -> None:
    assert publishing.PAGE.read_text(encoding="utf-8") == publishing.page(), (
        "run python -m conformance.stock publish"
    )


def test_every_store_of_the_catalogue_has_a_factory() -> None:
    for store in STORES:
        file, name = store.factory.split(":")
        module = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}, store.name


def test_reports_are_of_the_catalogue_and_of_all_checks() -> None:
    reports = {
        path.stem: Report.from_json(path.read_text(encoding="utf-8"))
        for path in running.RESULTS.glob("*.json")
    }
    assert set(reports) <= {store.name for store in STORES}
    assert "scrubjay-index" in reports and len(reports) >= 4
    for name, report in reports.items():
        assert report.name == name and [result.id for result in report.results] == [
            one.id for one in all_checks()
        ], name


def test_reports_hold_no_path_of_a_machine() -> None:
    for report in running.RESULTS.glob("*.json"):
        text = report.read_text(encoding="utf-8")
        for folder in ("/tmp/", "/home/", "/root/", "/Users/"):
            assert folder not in text, f"{report.name}: {folder}"


def test_some_results_can_be_made_anew() -> None:
    def result(id: str, outcome: str) -> Result:
        return Result(id, outcome, "promise", "why")

    before = Report("x", [], [result("crud.count", "failed"), result("crud.list", "passed")])
    after = running.merged(before, Report("x", [], [result("crud.count", "passed")]))
    assert [(one.id, one.outcome) for one in after.results] == [
        ("crud.list", "passed"),
        ("crud.count", "passed"),
    ]
    with pytest.raises(ValueError, match="only"):
        running.merged(before, Report("x", [], [], {"python": "other"}))


def test_the_command_names_its_stores() -> None:
    command = [sys.executable, "-m", "conformance.stock", "run", "nothing"]
    done = subprocess.run(command, cwd=running.ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "expected names of the catalogue" in done.stderr
