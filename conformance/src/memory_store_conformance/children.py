"""Child processes that a check starts, watches and kills."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

__all__ = ["Child"]

_END = None


class Child:
    """A Python process that opens the store of a directory and runs one operation of :mod:`.child`.

    Its output is read line by line with :meth:`line`. :meth:`kill` ends it if nothing else does.
    """

    def __init__(self, address: str, directory: Path, operation: str, **arguments: Any) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._errors = (directory.parent / f"{directory.name}-{operation}-{id(self)}.err").open("w+b")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "memory_store_conformance.child",
                address,
                str(directory),
                operation,
                json.dumps(arguments),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.decode("utf-8", "replace").rstrip("\n"))
        self._lines.put(_END)

    def line(self, timeout: float = 60.0) -> str | None:
        """Return the next line of the operation; None at the end.

        Raises:
            TimeoutError: there was no line in time.
        """
        try:
            while True:
                line = self._lines.get(timeout=timeout)
                if line is _END:
                    self._lines.put(_END)
                    return None
                if line.startswith("> "):  # skip output of libraries
                    return line[2:]
        except queue.Empty:
            raise TimeoutError(f"a child process said nothing for {timeout:.0f} s") from None

    def say(self, line: str) -> None:
        """Send a line to its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def wait(self, timeout: float = 60.0) -> int:
        """Return the exit code; a negative one is the signal.

        Raises:
            TimeoutError: it did not end in time.
        """
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"a child process did not end within {timeout:.0f} s") from None

    def kill(self) -> None:
        """End the process and its descendants by SIGKILL."""
        for process in [*_descendants(self._process.pid), self._process.pid]:
            if self._process.returncode is None or process != self._process.pid:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self._process.wait()
        for stream in (self._process.stdin, self._errors):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass

    def last_error(self) -> str:
        """Return the last line of its standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""


def _descendants(process: int) -> list[int]:
    """Return the descendants of a process; empty without /proc."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(after_name[1]), []).append(int(stat.parent.name))
    descendants, pending = [], [process]
    while pending:
        below = children.get(pending.pop(), [])
        descendants += below
        pending += below
    return descendants
