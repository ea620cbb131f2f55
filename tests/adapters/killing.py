"""A process that writes through a framework and is killed while writing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

__all__ = ["acknowledged"]

_ROOT = Path(__file__).parents[2]


def acknowledged(script: str, path: Path, n: int = 40) -> list[str]:
    """Run a script with a path as its argument, kill it with SIGKILL after it has printed `n` lines, and return all
    printed lines: one for each acknowledged write.

    The script must write until it is killed.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_ROOT / "python"), str(_ROOT), os.environ.get("PYTHONPATH", "")]),
        "PYTHONUNBUFFERED": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        if line.startswith("wrote "):
            said.append(line.strip().removeprefix("wrote "))
        if len(said) == n:
            process.send_signal(signal.SIGKILL)
            break
    rest, _ = process.communicate(timeout=60)
    said += [line.removeprefix("wrote ") for line in rest.split("\n")[:-1] if line.startswith("wrote ")]
    assert process.returncode == -signal.SIGKILL, process.returncode
    return said
