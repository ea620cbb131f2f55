"""Background work: writes images of changed partitions, and returns freed memory to the system.

A killed process leaves no image of its last writes, so the next one would rebuild those partitions from their
rows. Therefore a background thread writes an image once a partition has been idle for a second, or when a quarter
of it is new. The thread starts with the first work and ends with the index.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Protocol

_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 64.0


class HousekeepingOwner(Protocol):
    """The owner of background work."""

    def tidy(self) -> bool | None:
        """Do pending work; True: more is pending, None: it could not be done, False: all is done."""
        ...


class Housekeeper:
    """A thread that calls `tidy` a second after :meth:`note`, and again while work remains."""

    def __init__(self, house: HousekeepingOwner, name: str = "scrubjay-housekeeping") -> None:
        self._name = name
        self._house = weakref.ref(house)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._notes = _Notes()
        # A finalizer may run at any point: a SimpleQueue is reentrant, an Event might not be.
        weakref.finalize(house, self._notes.queue.put, False).atexit = False

    def note(self) -> None:
        """Report pending work."""
        if self._notes.noted or self._notes.stopped:
            return
        self._notes.note()
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    thread = threading.Thread(
                        target=_keep,
                        args=(self._house, self._notes),
                        name=self._name,
                        daemon=True,
                    )
                    with suppress(RuntimeError):  # the interpreter is exiting, or no more threads can start
                        thread.start()
                        self._thread = thread  # set last: a thread that has not started cannot be joined

    def hurry(self) -> None:
        """After :meth:`note`: skip the pause."""
        self._notes.queue.put(True)

    def stop(self, *, wait: bool = True) -> None:
        """Stop the thread; with `wait` join it."""
        self._notes.stopped = True
        self._notes.queue.put(False)
        thread = self._thread
        if wait and thread is not None and thread is not threading.current_thread():
            thread.join()


class _Notes:
    """Messages to the thread. True: work is pending; False: stop."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[bool] = SimpleQueue()
        self.noted = False  # reported, and not picked up yet
        self.stopped = False

    def note(self) -> None:
        self.noted = True
        self.queue.put(True)

    def rest(self, seconds: float) -> bool:
        """Wait for a message, then for the pause; False if the thread must stop."""
        if not self.queue.get():
            return False
        try:
            return self.queue.get(timeout=seconds)
        except Empty:
            return True


def _keep(house: weakref.ref[HousekeepingOwner], notes: _Notes) -> None:
    pause = _PAUSE_SECONDS
    while notes.rest(pause):
        notes.noted = False
        tidied = house()
        if tidied is None:
            return
        try:
            more = tidied.tidy()
        except Exception:  # noqa: BLE001 - the index was closed meanwhile, or memory is short: nothing is lost
            more = None
        del tidied
        if more is not False and not notes.noted:
            notes.note()
        pause = min(2 * pause, _MAX_PAUSE_SECONDS) if more is None else _PAUSE_SECONDS
