"""The sweeper: deletes items whose time to live is over.

Expired items are never found; sweeping removes their rows from the file.
"""

from __future__ import annotations

import logging
import threading
import weakref
from concurrent.futures import Future
from typing import Protocol

from scrubjay.errors import ClosedError
from scrubjay.locks import renew_in_children

__all__ = ["Sweeper"]

logger = logging.getLogger(__name__)


class Sweeping(Protocol):
    """A store that can be swept."""

    def sweep_ttl(self) -> int:
        """Delete what has expired."""
        ...


class Sweeper:
    """A thread that sweeps a store at intervals, until it is stopped or the store is dropped."""

    def __init__(self, store: Sweeping) -> None:
        self._store = weakref.ref(store)
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._done: Future[None] | None = None

    def start(self, interval_minutes: float) -> Future[None]:
        """Start sweeping; return a future that is done when sweeping ends, and ends it when cancelled."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive() and self._done is not None:
                return self._done
            stop, done = threading.Event(), Future[None]()
            done.add_done_callback(lambda _: stop.set())
            thread = threading.Thread(
                target=_sweep, args=(self._store, stop, done, interval_minutes * 60), daemon=True,
                name="scrubjay-ttl-sweeper",
            )  # fmt: skip
            self._stop, self._thread, self._done = stop, thread, done
            thread.start()
            return done

    def stop(self, timeout: float | None) -> bool:
        """Stop sweeping; whether the thread has ended within so many seconds."""
        with self._lock:
            self._stop.set()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()


def _sweep(
    store: weakref.ref[Sweeping], stop: threading.Event, done: Future[None], interval_seconds: float
) -> None:
    while not stop.wait(interval_seconds):
        target = store()
        if target is None:
            break
        try:
            target.sweep_ttl()
        except ClosedError:
            break
        except Exception:  # a busy or full disk now says nothing of the next time
            logger.exception("sweeping expired items failed")
        del target
    if not done.done():
        try:
            done.set_result(None)
        except Exception:  # noqa: BLE001 - cancelled at this very moment, which is as good
            pass
