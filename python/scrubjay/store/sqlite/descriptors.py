"""Reading and writing an open index's files beside SQLite, without breaking SQLite's locks.

Closing any descriptor of a file drops all locks that the process has on it (POSIX), including SQLite's: another
process would then believe itself alone, and delete the log that we write to. So code that reads the files keeps
its descriptors and mappings until no index of this process has the file open.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

_lock = threading.Lock()
_n_open: dict[Path, int] = {}
_dropped: deque[Path] = deque()  # paths of closed indexes, not counted yet
_descriptors: dict[
    Path, dict[tuple[int, int, bool], int]
] = {}  # index -> (device, inode, for writing) of a file -> descriptor
_mappings: dict[Path, mmap.mmap] = {}  # index -> header of its wal-index

# The header of the wal-index (the file -shm) holds a change counter, checksums and the size of the log. Every
# commit of every process rewrites it before it is acknowledged. We rely only on the header changing at each
# commit, on this version number, and on the counter, which each commit that changes anything increments
# (https://sqlite.org/walformat.html).
_WAL_INDEX_VERSION = 3_007_000
_HEAD_BYTES = 48
_count_of = struct.Struct("=8xI").unpack_from
_last_frame_of = struct.Struct("=16xI").unpack_from
_MAX_WAIT_SECONDS = 1.0


class OpenDescriptors:
    """Access to the files of one open index."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._pid = os.getpid()
        self._closed = False
        with _lock:
            _settle()
            _n_open[self._path] = _n_open.get(self._path, 0) + 1

    def descriptor(self, path: Path, *, for_writing: bool = False) -> int:
        """Return a descriptor of `path`, a file of this index, for reading, or also for writing; do not close it."""
        with _lock:
            fresh = path.stat()
            descriptors = _descriptors.setdefault(self._path, {})
            name = (fresh.st_dev, fresh.st_ino, for_writing)
            if name not in descriptors:
                mode = os.O_RDWR if for_writing else os.O_RDONLY
                opened = os.open(path, mode | getattr(os, "O_BINARY", 0))
                descriptors.setdefault(name, opened)
            return descriptors[name]

    def wal_index(self, path: Path) -> mmap.mmap | None:
        """Return the header of the wal-index as shared memory, which shows every commit of any process at once.

        It raises ValueError once the last index of this process has closed the file. Another process may truncate
        the file meanwhile: SQLite leaves three bytes, so the first page stays readable. None if there is no
        wal-index, or its layout is unknown.
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
            _dropped.append(self._path)  # a finalizer may run at any point, so it takes no lock

    def close(self) -> None:
        """Release the files, after the index has closed its connections; the last index of a file closes
        descriptors and mappings."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        _dropped.append(self._path)
        if _lock.acquire(
            timeout=_MAX_WAIT_SECONDS
        ):  # it times out if this very thread holds the lock and runs a finalizer
            try:
                _settle()
            finally:
                _lock.release()


def follows(before: bytes, after: bytes) -> bool:
    """Whether exactly one transaction was committed between two headers of a wal-index."""
    (earlier,), (later,) = _count_of(before), _count_of(after)
    # different after a recovery, which restarts the counter; wraps around at 2**32 commits
    return bool(later - earlier == 1)


def n_log_pages(head: bytes) -> int:
    """Return the number of pages in the log, by the header of the wal-index."""
    (n_pages,) = _last_frame_of(head)
    return int(n_pages)


def _settle() -> None:
    """Process the closed indexes, and close what was kept for them. The caller holds the lock."""
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
    """In a child: a thread of the parent may hold the lock, and the files belong to the parent."""
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


def looking_at(path: Path) -> OpenDescriptors:
    """Register an index that has this file open."""
    return OpenDescriptors(path)
