"""Sweeps on a schedule, on a thread of the process that asked for them."""

from __future__ import annotations

import logging
import threading
import weakref

from scrubjay.errors import ClosedError, Error
from scrubjay.memory.lifecycle.sweeping import Sweeping

__all__ = ["Sweeper"]

_log = logging.getLogger(__name__)


class Sweeper:
    """Sweeps a memory again and again until it is closed, or is gone.

    A sweep that fails (another process writes for long, a disk is full) is logged, and the next one is tried. After a
    fork the parent sweeps on; the child's copy of the memory is closed.

    Args:
        sweeping: of the memory; it is not kept alive by this.
        seconds: between two sweeps; the first one is that much later.
    """

    def __init__(self, sweeping: Sweeping, seconds: float) -> None:
        self._sweeping = weakref.ref(sweeping)
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
            sweeping = self._sweeping()
            if sweeping is None:
                return
            try:
                sweeping.sweep()
            except ClosedError:
                return
            except Error:
                _log.exception("a sweep failed; the next one is in %g seconds", self._seconds)
            del sweeping  # or this thread would keep it
