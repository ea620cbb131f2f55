"""Reading and writing an open index's files beside SQLite, without breaking SQLite's locks.

Closing any descriptor of a file takes away all the locks that the process has on it (POSIX), SQLite's as well: another
process would then believe itself alone, and delete the log that we write to. So code that reads the files keeps its
descriptors and mappings until no index of this process has the file open.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

_lock = threading.Lock()
_n_open: dict[Path, int] = {}
_dropped: deque[Path] = deque()  # of indexes that are gone
_descriptors: dict[
    Path, dict[tuple[int, int, bool], int]
] = {}  # of an index: of a file (device, inode; for writing)
_mappings: dict[Path, mmap.mmap] = {}  # of an index: the head of its wal-index

# The head of the wal-index (the file -shm) holds a count of changes, checksums and the size of the log. Every commit of
# every process rewrites it before it is acknowledged. We rely only on its changing then, on this version number, and on
# the count, which each commit that changes anything adds one to (https://sqlite.org/walformat.html).
_WAL_INDEX_VERSION = 3_007_000
_HEAD_BYTES = 48
_COUNT = slice(8, 12)
_ORDER = sys.byteorder
_MAX_WAIT_SECONDS = 1.0


class Looking:
    """That one index has a file open, and its way of looking into it."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._pid = os.getpid()
        self._closed = False
        with _lock:
            _settle()
            _n_open[self._path] = _n_open.get(self._path, 0) + 1

    def descriptor(self, path: Path, *, for_writing: bool = False) -> int:
        """Return a descriptor for reading `path`, a file of this index, or for writing as well; do not close it."""
        with _lock:
            fresh = path.stat()
            kept = _descriptors.setdefault(self._path, {})
            name = (fresh.st_dev, fresh.st_ino, for_writing)
            if name not in kept:
                mode = os.O_RDWR if for_writing else os.O_RDONLY
                opened = os.open(path, mode | getattr(os, "O_BINARY", 0))
                kept.setdefault(name, opened)
            return kept[name]

    def wal_index(self, path: Path) -> mmap.mmap | None:
        """Return the head of the wal-index as memory that shows every commit of any process at once.

        Once the last index of this process has closed the file it raises ValueError. In between the file may be cut by
        another process: SQLite leaves it three bytes, so the first page stays readable. None if there is no wal-index,
        or its layout is unknown.
        """
        if os.name != "posix":
            return None
        with _lock:
            mapping = _mappings.get(self._path)
        if mapping is None:
            try:
                descriptor = self.descriptor(path)
                mapping = mmap.mmap(descriptor, _HEAD_BYTES, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED)
            except (OSError, ValueError):
                return None
            with _lock:
                mapping = _mappings.setdefault(self._path, mapping)
        return mapping if int.from_bytes(mapping[:4], sys.byteorder) == _WAL_INDEX_VERSION else None

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._pid == os.getpid():
            _dropped.append(self._path)  # this may run in the middle of anything: no lock

    def close(self) -> None:
        """The index has closed its connections. The last one of a file closes what was kept."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        _dropped.append(self._path)
        if _lock.acquire(
            timeout=_MAX_WAIT_SECONDS
        ):  # the lock is held by this very thread, which runs a finalizer
            try:
                _settle()
            finally:
                _lock.release()


def follows(before: bytes, after: bytes) -> bool:
    """Whether exactly one transaction was committed between two heads of a wal-index."""
    n_commits = int.from_bytes(after[_COUNT], _ORDER) - int.from_bytes(before[_COUNT], _ORDER)
    return n_commits == 1  # else after a recovery, which begins anew, or once in 2**32 commits


def _settle() -> None:
    """Count the indexes that are gone, and close what was kept for them. The caller holds the lock."""
    while _dropped:
        path = _dropped.popleft()
        _n_open[path] -= 1
        if _n_open[path] == 0:
            del _n_open[path]
            mapping = _mappings.pop(path, None)
            if mapping is not None:
                mapping.close()
            for descriptor in _descriptors.pop(path, {}).values():
                os.close(descriptor)


def _after_fork() -> None:
    """In a child: the lock may be held by a thread of the parent, whose files these are."""
    global _lock
    _lock = threading.Lock()
    _inherited.append((dict(_n_open), dict(_descriptors), dict(_mappings)))  # never closed here
    _dropped.clear()
    _n_open.clear()
    _descriptors.clear()
    _mappings.clear()


_inherited: list[Any] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def looking_at(path: Path) -> Looking:
    """Say that an index has this file open now."""
    return Looking(path)
