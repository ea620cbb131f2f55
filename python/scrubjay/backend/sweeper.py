"""A periodic task on a thread of this process, usually deleting expired memories."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from scrubjay.base.errors import ClosedError
from scrubjay.base.locks import renew_in_children

_log = logging.getLogger(__name__)


class Sweeper:
    """Calls a method at intervals until it is stopped, or the method's object is closed or garbage collected.
    Thread-safe.

    A call that fails (another process writes for long, the disk is full) is logged, and the next one is tried. After a
    fork the parent's thread continues, and the child may start its own.

    Args:
        sweep: a bound method; its object is referenced weakly. ClosedError ends the sweeping.
        name: of the thread.

    >>> class Store:
    ...     def __init__(self):
    ...         self.swept = threading.Event()
    ...     def sweep(self):
    ...         self.swept.set()
    >>> store = Store()
    >>> sweeper = Sweeper(store.sweep)
    >>> done = sweeper.start(0.001)
    >>> store.swept.wait(60), sweeper.stop(), done.done()
    (True, True, True)
    """

    def __init__(self, sweep: Callable[[], Any], name: str = "scrubjay-sweep") -> None:
        self._sweep = weakref.WeakMethod(sweep)
        self._name = name
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._done: Future[None] | None = None

    def start(self, seconds: float) -> Future[None]:
        """Start, unless running; return a future that is done when this ends, and whose cancellation ends it.

        Args:
            seconds: the interval; the first call is one interval from now.
        """
        with self._lock:
            if self._thread is not None and self._thread.is_alive() and self._done is not None:
                return self._done
            stop, done = threading.Event(), Future[None]()
            done.add_done_callback(lambda _: stop.set())
            call = (self._sweep, stop, done, seconds)
            thread = threading.Thread(target=_run, args=call, daemon=True, name=self._name)
            self._stop, self._thread, self._done = stop, thread, done
            thread.start()
            return done

    def stop(self, timeout: float | None = None) -> bool:
        """Stop after the current call; return whether that happened within the time limit.

        Args:
            timeout: seconds; None: no limit.
        """
        with self._lock:
            self._stop.set()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()


def _run(
    sweep: weakref.WeakMethod[Callable[[], Any]], stop: threading.Event, done: Future[None], seconds: float
) -> None:
    while not stop.wait(seconds):
        call = sweep()
        if call is None:
            break
        try:
            call()
        except ClosedError:
            break
        except Exception:  # noqa: BLE001 - the next call may succeed
            _log.exception("a sweep failed; the next one is in %g seconds", seconds)
        del call  # otherwise this thread would keep the object alive
    if not done.done():
        try:
            done.set_result(None)
        except Exception:  # noqa: BLE001 - cancelled concurrently, which has the same effect
            pass
