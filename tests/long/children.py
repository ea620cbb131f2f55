"""Runs pytest in a child process, for tests in other environments or of other projects."""

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
    """Run pytest, and return the finished process.

    Args:
        arguments: arguments besides those of every run: quiet, no warnings, no cache.
        folders: the PYTHONPATH of the process, in place of the one of this process.
        python: the interpreter of the environment.
        cwd: the working directory.
        variables: environment variables of the process, besides those of this one.
    """
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
