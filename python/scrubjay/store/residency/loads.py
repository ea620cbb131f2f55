"""Statistics of loads: how often partitions were read into memory, and how long searches waited."""

from __future__ import annotations

import threading


class Loads:
    """The load counters of one residency. Thread-safe.

    A search whose partitions are in memory is not counted, so it costs nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n = {"image": 0, "rows": 0, "changes": 0}
        self._seconds = 0.0

    def add(self, source: str, seconds: float) -> None:
        """Count a load: a whole partition from its "image" or "rows", or only the "changes" since its last load."""
        with self._lock:
            self._n[source] += 1
            self._seconds += seconds

    def stats(self) -> dict[str, int | float]:
        """Return the counters by their names in an index's statistics.

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
