"""A damaged file never kills a process, raises only documented errors, and never serves another scope's data.

SCRUBJAY_DAMAGED_FILES for more cases; CI runs the default.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay import Index, Scope
from tests.crash.damaging import checksum, repaired

ROOT = Path(__file__).resolve().parents[2]
CASES = int(os.environ.get("SCRUBJAY_DAMAGED_FILES", "60"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver forks")
def test_damaged_files_end_in_documented_errors() -> None:
    """Runs in its own process: it forks, and pytest may have threads and open files."""
    pytest.importorskip("cryptography")
    finished = subprocess.run(
        [sys.executable, "-m", "tests.crash.damage", "--cases", str(CASES), "--seed", "5", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120 + CASES * 2,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    tally = json.loads(finished.stdout)
    assert tally["cases"] == CASES and tally["failed"] == 0
    assert tally["outcomes"]["answer"] > 50 * CASES, "most of what is asked of most files is answered"
    assert tally["outcomes"]["CorruptIndexError"] > 0
    assert len({way.split()[1] for way in tally["ways"]}) >= 7


def test_the_driver_knows_the_checksum_of_images(tmp_path: Path) -> None:
    path = tmp_path / "m.scrubjay"
    with Index.open(path) as index:
        for i in range(50):
            index.upsert(i, f"oak {i}", scope=Scope("acme"))
        index.admin.compact()
    connection = sqlite3.connect(path)
    (data,) = connection.execute("SELECT data FROM image").fetchone()
    connection.close()
    image = data[:-16]
    assert repaired(image) == image
    assert checksum(image, 1) != checksum(image, 0)
