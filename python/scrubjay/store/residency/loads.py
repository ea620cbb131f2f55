"""How often partitions were read into memory, and how long searches waited for it."""

from __future__ import annotations

import threading


class Loads:
    """The counts of one residency. Thread-safe.

    A search that finds its partitions in memory counts nowhere, so it pays nothing for this.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n = {"image": 0, "rows": 0, "changes": 0}
        self._seconds = 0.0

    def add(self, source: str, seconds: float) -> None:
        """Count one load: whole from an "image" or from "rows", or only the "changes" since the last one."""
        with self._lock:
            self._n[source] += 1
            self._seconds += seconds

    def stats(self) -> dict[str, int | float]:
        """Return the counts as they are named in an index's statistics.

        >>> loads = Loads()
        >>> loads.add("image", 0.5)
        >>> loads.stats()
        {'loads_from_image': 1, 'loads_from_rows': 0, 'loads_of_changes': 0, 'load_seconds': 0.5}
        """
        with self._lock:
            return {
                "loads_from_image": self._n["image"],
                "loads_from_rows": self._n["rows"],
                "loads_of_changes": self._n["changes"],
                "load_seconds": self._seconds,
            }
