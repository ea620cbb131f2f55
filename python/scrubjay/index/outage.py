"""Whether the embedder fails at present, and when it is called again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)

_RESTS, _MOST_SECONDS = 10.0, 60.0


class Outage:
    """The failures of one embedder. Thread-safe: what two threads see at once is right for one of them.

    After a failure the embedder rests ten times as long as the failing call took, at most a minute: writers that would
    wait for a time-out each spend a tenth of their time on it at most. One log message for each outage.
    """

    __slots__ = ("_rests_until", "is_on", "on_end")

    def __init__(self) -> None:
        self.is_on = False
        self.on_end: Callable[[], None] = lambda: None
        self._rests_until = 0.0

    @property
    def rests(self) -> bool:
        """Whether the embedder is not to be called now."""
        return self.is_on and time.monotonic() < self._rests_until

    def failed(self, name: str, error: str, seconds: float) -> None:
        """The embedder raised; the call took `seconds`."""
        self._rests_until = time.monotonic() + min(_RESTS * seconds, _MOST_SECONDS)
        if not self.is_on:
            self.is_on = True
            _log.warning(
                "embedder %r failed: %s; what is written is found by words, and embedded when the embedder answers",
                name,
                error,
            )

    def answered(self) -> None:
        """The embedder returned something."""
        if self.is_on:
            self.is_on = False
            _log.info("the embedder answers again")
            self.on_end()

    def forget(self) -> None:
        """Another embedder is in use."""
        self.is_on = False
