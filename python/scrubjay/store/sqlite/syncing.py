"""Waiting for the disk, which writers of several threads share.

With durability "full" a write is acknowledged when its commit is on the disk. SQLite would wait for that inside of the
commit, one writer after the other. So the commit alone is made in the writer's turn, and the wait follows without it:
one call brings to the disk what all threads have committed before it began. The log is written from its beginning to
its end, so what is on the disk is always a prefix of the commits; a checkpoint waits for the log by itself.

After a wait that failed none succeeds: the system may call pages clean that it did not write, so a later success would
say nothing of what came before it. Opening the index anew brings the log into the file, which is waited for.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

_CLOSING_SECONDS = 30.0  # a thread that waits may itself close the index, in a finalizer


class SharedSync:
    """Brings a log to the disk for all who wait for it. Any thread may use it.

    Args:
        descriptor: returns that of the log; called for each wait, since the log may be another file than before.
    """

    def __init__(self, descriptor: Callable[[], int]) -> None:
        self._descriptor = descriptor
        # Without renew_in_children: an index cannot be used in a child process, so nobody waits there.
        self._changed = threading.Condition()
        self._n_begun = self._n_ended = 0
        self._is_waiting = False  # one of the threads, for all
        self._has_failed = False
        self._inside: set[int] = set()  # threads; changed without a lock, as each changes itself

    def enter(self) -> None:
        """Let :meth:`settle` wait for this thread until it leaves; to be called before anything can close the log."""
        self._inside.add(threading.get_ident())

    def leave(self) -> None:
        """This thread waits no longer."""
        self._inside.discard(threading.get_ident())

    def settle(self) -> None:
        """Before the log is closed: wait until the threads that committed to it have waited for the disk."""
        last = time.monotonic() + _CLOSING_SECONDS
        while self._inside - {threading.get_ident()} and time.monotonic() < last:
            time.sleep(0.001)

    def wait(self) -> None:
        """Wait until what this thread has committed is on the disk.

        Raises:
            OSError: it cannot be known whether it is.
        """
        with self._changed:
            needed = self._n_begun + 1  # the one under way may have begun before our commit
            while self._n_ended < needed and not self._has_failed:
                if self._is_waiting:
                    self._changed.wait()
                else:
                    self._sync_for_all()
            if self._has_failed:
                raise OSError("the log could not be brought to the disk: close the index and open it again")

    def _sync_for_all(self) -> None:
        self._n_begun += 1
        self._is_waiting = True
        is_done = has_failed = False
        self._changed.release()
        try:
            _sync(self._descriptor())
            is_done = True
        except OSError:
            has_failed = True
            raise
        finally:
            self._changed.acquire()
            self._is_waiting = False
            if is_done:
                self._n_ended = self._n_begun
            self._has_failed = self._has_failed or has_failed
            self._changed.notify_all()  # after an interruption another thread begins anew


def _sync(descriptor: int) -> None:
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)
