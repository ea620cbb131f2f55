"""An index survives SIGKILL at any moment. (SCRUBJAY_CRASH_ROUNDS for more rounds; CI runs the default.)"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("SCRUBJAY_CRASH_ROUNDS", "30"))


@pytest.mark.parametrize("more", [[], ["--encrypted"]])
def test_a_kill_loses_no_acknowledged_write_and_leaves_none_in_part(more: list[str]) -> None:
    """Runs in its own process: it forks, and pytest may have threads and open files."""
    if more:
        pytest.importorskip("cryptography")
    finished = subprocess.run(
        [sys.executable, "-m", "tests.crash.driver", "--rounds", str(ROUNDS), "--seed", "7", *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60 + ROUNDS * 2,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert f"rounds={ROUNDS}" in finished.stdout
    assert "acknowledged=0" not in finished.stdout
    assert ("encrypted=0)" in finished.stdout) == (not more)
