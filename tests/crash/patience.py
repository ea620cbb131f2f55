"""The time that a child has had: that of the clock without what it waited for a processor, which others may keep busy.

A child that is killed after some time of the clock does next to nothing on a loaded machine, and little is tested.
"""

from __future__ import annotations

import time
from pathlib import Path


class TimeOf:
    """Counts from when it is made."""

    def __init__(self, child: int) -> None:
        self._statistics = Path(f"/proc/{child}/schedstat")  # of its first thread
        self._start = self._now()

    def seconds(self) -> float:
        """How long the child was at work, or waited for something that is no processor."""
        return self._now() - self._start

    def _now(self) -> float:
        try:
            waited_ns = int(self._statistics.read_text().split()[1])
        except (OSError, IndexError, ValueError):  # not Linux, or not counted: the clock alone
            waited_ns = 0
        return time.monotonic() - waited_ns * 1e-9
