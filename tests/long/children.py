"""Processes of pytest over this source tree, for what runs tests in other environments or of other projects."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

__all__ = ["ROOT", "run_pytest"]

ROOT = Path(__file__).resolve().parents[2]


def run_pytest(
    arguments: Sequence[str],
    *,
    folders: Iterable[Path],
    python: str | Path = sys.executable,
    cwd: Path = ROOT,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run pytest, and return what it said.

    Args:
        arguments: further ones than those that every run has: quiet, no warnings, no cache.
        folders: what can be imported; whatever PYTHONPATH holds here cannot.
        python: of the environment.
        cwd: where it runs.
        variables: of the process, beside those that this one has.
    """
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
