"""The canary covers every adapter, and its runner and that of the suites parse pytest's output."""

from __future__ import annotations

import doctest
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.long.canary import __main__ as canary
from tests.long.suites import __main__ as suites

import scrubjay.adapters

ROOT = Path(__file__).resolve().parents[2]


def test_every_adapter_has_a_canary() -> None:
    adapters = {
        module.name.replace("_", "-")
        for module in pkgutil.iter_modules(scrubjay.adapters.__path__)
        if not module.name.startswith("_")
    }
    assert set(canary.CANARIES) == adapters
    assert [name for name, one in canary.CANARIES.items() if not one.tests] == []


def test_test_files_of_the_canaries_exist() -> None:
    files = [file for one in canary.CANARIES.values() for file in one.tests]
    files += [file for one in suites.SUITES.values() if one.distribution is None for file in one.tests]
    assert [file for file in files if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("module", [canary, suites], ids=["canary", "suites"])
def test_examples(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 1 and results.failed == 0


@pytest.mark.parametrize("module", ["tests.long.canary", "tests.long.suites"])
def test_the_commands_list_frameworks_and_refuse_unknown_ones(module: str) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", module, "--list"], capture_output=True, text=True, cwd=ROOT
    )
    assert listed.returncode == 0 and "langchain" in listed.stdout.split()
    refused = subprocess.run(
        [sys.executable, "-m", module, "nothing"], capture_output=True, text=True, cwd=ROOT
    )
    assert refused.returncode == 2 and "nothing" in refused.stderr


def test_a_row_is_sound_only_if_tests_ran_and_passed() -> None:
    row = canary.Row("a", "b", False, "1")
    canary.read(row, "3 skipped in 0.1s", 0)
    assert not row.is_sound and row.problem is not None and "no test ran" in row.problem
    row = canary.Row("a", "b", False, "1")
    canary.read(row, "2 passed, 1 error in 0.1s", 1)
    assert not row.is_sound and (row.passed, row.failed) == (2, 1)
    row = canary.Row("a", "b", False, "1")
    canary.read(row, "no tests ran in 0.1s", 4)
    assert not row.is_sound and row.problem == "pytest ended with 4"
    row = canary.Row("a", "b", False, "1")
    canary.read(row, "2 passed in 0.1s", 0)
    assert row.is_sound
