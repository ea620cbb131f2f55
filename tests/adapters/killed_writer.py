"""A process that writes until it is killed, and the writes that it acknowledged before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

__all__ = ["acknowledged_writes"]

_ROOT = Path(__file__).parents[2]


def acknowledged_writes(script: str, *arguments: object, after: int, prefix: str = "") -> list[str]:
    """Run an endless script that prints a line for each completed write, kill it with SIGKILL after `after` lines,
    and return all printed lines.

    Only lines that begin with `prefix` count, and are returned without it: frameworks print lines of their own.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)]),  # the package under test
        "PYTHONUNBUFFERED": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        if line.startswith(prefix):
            lines.append(line.strip().removeprefix(prefix))
        if len(lines) == after:
            process.send_signal(signal.SIGKILL)
            break
    rest, _ = process.communicate(timeout=60)
    lines += [line.removeprefix(prefix) for line in rest.split("\n")[:-1] if line.startswith(prefix)]
    assert process.returncode == -signal.SIGKILL, f"ended by itself after {len(lines)} writes"
    return lines
