"""Waiting for the disk, which writers of several threads share.

With durability "full" a write is acknowledged when its commit is on the disk. SQLite would wait for that inside of the
commit, one writer after the other. So the commit alone is made in the writer's turn, and the wait follows without it:
one call brings to the disk what all threads have committed before it began. The log is written from its beginning to
its end, so what is on the disk is always a prefix of the commits; a checkpoint waits for the log by itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

__all__ = ["SharedSync"]


class SharedSync:
    """Brings a log to the disk for all who wait for it. Any thread may use it.

    Args:
        descriptor: returns that of the log; called for each wait, since the log may be another file than before.
    """

    def __init__(self, descriptor: Callable[[], int]) -> None:
        self._descriptor = descriptor
        # Not renewed in children: there the index is closed, and nobody waits.
        self._changed = threading.Condition()
        self._n_begun = self._n_ended = 0
        self._failed = 0  # the number of the last one that failed

    def wait(self) -> None:
        """Wait until what this thread has committed is on the disk.

        Raises:
            OSError: it cannot be known whether it is.
        """
        with self._changed:
            needed = (
                self._n_begun + 1
            )  # the next one to begin: the one under way may have begun before our commit
            while self._n_ended < needed:
                if self._n_begun > self._n_ended:
                    self._changed.wait()
                else:
                    self._sync_for_all()
            if (
                self._failed >= needed
            ):  # after a failure the system may call pages clean that it did not write
                raise OSError("the log could not be brought to the disk")

    def _sync_for_all(self) -> None:
        self._n_begun += 1
        number = self._n_begun
        self._changed.release()
        is_done = False
        try:
            _sync(self._descriptor())
            is_done = True
        finally:
            self._changed.acquire()
            self._n_ended = number
            if not is_done:
                self._failed = number
            self._changed.notify_all()


def _sync(descriptor: int) -> None:
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)
