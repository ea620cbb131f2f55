"""Each test file must catch the bugs seeded for it. (One pytest run for each: `--mutants`.)"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference.mutants import CAUGHT_BY

ROOT = Path(__file__).resolve().parent.parent.parent


def run_tests(engine: str, test: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SCRUBJAY_TEST_ENGINE": engine, "SCRUBJAY_TEST_PROFILE": "hunt"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", test]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=1200
    )


@pytest.mark.mutants
@pytest.mark.parametrize("test", sorted(set(CAUGHT_BY.values())))
def test_the_model_itself_passes(test: str) -> None:
    finished = run_tests("model", test)
    assert finished.returncode == 0, finished.stdout[-3000:]


@pytest.mark.mutants
@pytest.mark.parametrize("name", CAUGHT_BY)
def test_a_seeded_bug_is_caught(name: str) -> None:
    finished = run_tests(f"mutant:{name.split('@')[0]}", CAUGHT_BY[name])
    assert finished.returncode == 1, f"exit code {finished.returncode}: {finished.stdout[-2000:]}"
    assert " failed" in finished.stdout
