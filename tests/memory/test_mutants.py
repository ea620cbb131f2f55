"""Each rule of memory must have a test that fails without it. (One pytest run for each: `--mutants`.)"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memory.mutants import MUTANTS, finds_its_place

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.mutants
@pytest.mark.parametrize("name", MUTANTS)
def test_a_memory_without_the_rule_is_caught(name: str) -> None:
    environment = {**os.environ, "SCRUBJAY_MEMORY_MUTANT": name, "SCRUBJAY_TEST_PROFILE": "hunt"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.memory.mutants",
    ]
    finished = subprocess.run(
        [*command, MUTANTS[name].test],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert finished.returncode == 1, f"exit code {finished.returncode}: {finished.stdout[-2000:]}"
    assert " failed" in finished.stdout


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutation_finds_its_place(name: str) -> None:
    assert finds_its_place(MUTANTS[name])
    file, _, function = MUTANTS[name].test.partition("::")
    function = function.rpartition("::")[2].partition("[")[0]
    assert f"def {function}" in (ROOT / file).read_text(encoding="utf-8"), "its test was renamed"
