"""Tracks whether the embedder currently fails, and when it may be called again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)

_RESTS, _MOST_SECONDS = 10.0, 60.0


class Outage:
    """The failures of one embedder. Thread-safe: of two concurrent reports either may win.

    After a failure the embedder is not called for ten times as long as the failing call took, at most a minute, so
    writers that would wait for a time-out spend at most a tenth of their time on it. One log message per outage.
    """

    __slots__ = ("_rests_until", "is_on", "on_end")

    def __init__(self) -> None:
        self.is_on = False
        self.on_end: Callable[[], None] = lambda: None
        self._rests_until = 0.0

    @property
    def rests(self) -> bool:
        """Whether the embedder must not be called now."""
        return self.is_on and time.monotonic() < self._rests_until

    def failed(self, name: str, error: str, seconds: float) -> None:
        """Record that the embedder raised; the call took `seconds`."""
        self._rests_until = time.monotonic() + min(_RESTS * seconds, _MOST_SECONDS)
        if not self.is_on:
            self.is_on = True
            _log.warning(
                "embedder %r failed: %s; new memories are found by keywords, and embedded when it answers again",
                name,
                error,
            )

    def answered(self) -> None:
        """Record that the embedder returned something."""
        if self.is_on:
            self.is_on = False
            _log.info("the embedder answers again")
            self.on_end()

    def forget(self) -> None:
        """Reset: another embedder is in use."""
        self.is_on = False
