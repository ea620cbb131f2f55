"""Syncing the log to disk, shared by writers of several threads.

With durability "full" a write is acknowledged when its commit is on disk. SQLite would sync inside the commit,
one writer after the other. Instead only the commit is made under the write lock, and the sync follows without it:
one fdatasync covers everything that any thread committed before it began. The log is written sequentially, so
what is on disk is always a prefix of the commits; a checkpoint syncs the log itself.

After a failed sync all later ones fail: the system may have marked unwritten pages as clean, so a later success
would not cover earlier commits. Opening the index again checkpoints the log, which is synced.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

_CLOSING_SECONDS = 30.0  # a waiting thread may itself close the index, in a finalizer


class SharedSync:
    """Syncs a log on behalf of all waiting threads. Thread-safe.

    Args:
        descriptor: returns the descriptor of the log; called for each sync, since the log may be another file
            than before.
    """

    def __init__(self, descriptor: Callable[[], int]) -> None:
        self._descriptor = descriptor
        # Not in renew_in_children: an index cannot be used in a child process, so nothing waits there.
        self._changed = threading.Condition()
        self._n_begun = self._n_ended = 0
        self._is_waiting = False  # one thread is syncing for all
        self._has_failed = False
        self._inside: set[int] = set()  # thread ids; needs no lock, as each thread changes only its own entry

    def enter(self) -> None:
        """Make :meth:`settle` wait for this thread until it leaves; call before anything can close the log."""
        self._inside.add(threading.get_ident())

    def leave(self) -> None:
        """End what :meth:`enter` began."""
        self._inside.discard(threading.get_ident())

    def settle(self) -> None:
        """Before the log is closed: wait until the threads that committed to it have synced."""
        last = time.monotonic() + _CLOSING_SECONDS
        while self._inside - {threading.get_ident()} and time.monotonic() < last:
            time.sleep(0.001)

    def wait(self) -> None:
        """Wait until everything that this thread has committed is on disk.

        Raises:
            OSError: the sync failed, so it is unknown whether it is.
        """
        with self._changed:
            needed = self._n_begun + 1  # a sync in progress may have begun before our commit
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
            self._changed.notify_all()  # after an interrupt another thread syncs again


def _sync(descriptor: int) -> None:
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)
