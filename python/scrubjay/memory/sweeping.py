"""Sweeps on a schedule, on a thread of the process that asked for them."""

from __future__ import annotations

import logging
import threading
import weakref
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from scrubjay.errors import ClosedError, Error

if TYPE_CHECKING:
    from scrubjay.memory.forgetting import Forgetting

__all__ = ["Sweeper", "interval_of"]

_log = logging.getLogger(__name__)


class Sweeper:
    """Sweeps a memory again and again until it is closed, or is gone.

    A sweep that fails (another process writes for long, a disk is full) is logged, and the next one is tried. After a
    fork the parent sweeps on; the child's copy of the memory is closed.

    Args:
        memory: is not kept alive by this.
        seconds: between two sweeps; the first one is that much later.
    """

    def __init__(self, memory: Forgetting, seconds: float) -> None:
        self._memory = weakref.ref(memory)
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scrubjay-sweep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop, after the sweep that is under way."""
        self._stop.set()
        if self._thread is not threading.current_thread() and self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            memory = self._memory()
            if memory is None:
                return
            try:
                memory.sweep()
            except ClosedError:
                return
            except Error:
                _log.exception("a sweep failed; the next one is in %g seconds", self._seconds)
            del memory  # or this thread would keep it


def interval_of(every: Any) -> float | None:
    """Return an interval in seconds.

    Raises:
        TypeError, ValueError: it is not one, or not positive.

    >>> interval_of(timedelta(hours=1)), interval_of(None)
    (3600.0, None)
    """
    if every is None:
        return None
    if isinstance(every, timedelta):
        every = every.total_seconds()
    if isinstance(every, bool) or not isinstance(every, (int, float)):
        raise TypeError(f"sweep_every: expected a timedelta or seconds, got {type(every).__name__}")
    if not 0 < every <= threading.TIMEOUT_MAX:
        raise ValueError(f"sweep_every: expected more than 0 seconds, got {every}")
    return float(every)
