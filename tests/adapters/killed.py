"""A process that is killed after its writes were acknowledged."""

from __future__ import annotations

import signal
import subprocess
import sys

__all__ = ["acknowledged_until_killed"]


def acknowledged_until_killed(script: str, *arguments: object, after: int) -> int:
    """Run an endless script that prints a line for each completed write; kill it after `after` lines.

    Returns the number of printed lines, which is the number of acknowledged writes.
    """
    command = [sys.executable, "-u", "-c", script, *map(str, arguments)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    lines = 0
    for _ in range(after):
        if not child.stdout.readline():
            raise AssertionError(f"the process ended by itself after {lines} writes: {child.wait()}")
        lines += 1
    child.send_signal(signal.SIGKILL)
    lines += len(child.stdout.readlines())
    assert child.wait() == -signal.SIGKILL
    return lines
