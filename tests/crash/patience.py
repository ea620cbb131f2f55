"""The time that a child has had: elapsed time without the time in which it waited for a processor.

A child that is killed after some elapsed time has done almost nothing on a loaded machine, and little is tested.
"""

from __future__ import annotations

import time
from pathlib import Path


class TimeOf:
    """A clock for a child, started when the object is created."""

    def __init__(self, child: int) -> None:
        self._statistics = Path(f"/proc/{child}/schedstat")  # of the first thread of the child
        self._start = self._now()

    def seconds(self) -> float:
        """Return how long the child ran, or waited for something other than a processor."""
        return self._now() - self._start

    def _now(self) -> float:
        try:
            waited_ns = int(self._statistics.read_text().split()[1])
        except (OSError, IndexError, ValueError):  # not Linux, or not counted: elapsed time alone
            waited_ns = 0
        return time.monotonic() - waited_ns * 1e-9
