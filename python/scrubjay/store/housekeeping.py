"""What happens when nobody looks: images of partitions that changed, and memory back to the system.

A process that is killed leaves no image of what it wrote last, and the next one would have to build those partitions
from their rows. So a thread of its own writes an image once a partition has rested for a second, or when a quarter of
it is new. It starts with the first thing that there is to do, and ends with the index.
"""

from __future__ import annotations

import threading
import weakref
from typing import Protocol

__all__ = ["Housekeeper", "Tidied"]

_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 64.0


class Tidied(Protocol):
    """What can be kept tidy."""

    def tidy(self) -> bool | None:
        """Do what there is to do; True: there is more to come, None: it could not be done, False: all is done."""
        ...


class Housekeeper:
    """A thread that calls `tidy` a second after :meth:`note`, again and again while there is more."""

    def __init__(self, house: Tidied) -> None:
        self._house = weakref.ref(house)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._noted = threading.Event()
        self._stopped = threading.Event()
        weakref.finalize(house, _stop, self._noted, self._stopped).atexit = False

    def note(self) -> None:
        """There is something to do."""
        if self._noted.is_set():
            return
        self._noted.set()
        if self._thread is None and not self._stopped.is_set():
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=_keep,
                        args=(self._house, self._noted, self._stopped),
                        name="scrubjay-housekeeping",
                        daemon=True,
                    )
                    self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for what it is doing."""
        _stop(self._noted, self._stopped)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()


def _stop(noted: threading.Event, stopped: threading.Event) -> None:
    stopped.set()
    noted.set()


def _keep(house: weakref.ref[Tidied], noted: threading.Event, stopped: threading.Event) -> None:
    pause = _PAUSE_SECONDS
    while True:
        noted.wait()
        if stopped.wait(pause):
            return
        noted.clear()
        tidied = house()
        if tidied is None:
            return
        try:
            more = tidied.tidy()
        except Exception:  # noqa: BLE001 - the index was closed meanwhile, or memory is short: nothing is lost
            more = None
        del tidied
        if more is not False:
            noted.set()
        pause = min(2 * pause, _MAX_PAUSE_SECONDS) if more is None else _PAUSE_SECONDS
