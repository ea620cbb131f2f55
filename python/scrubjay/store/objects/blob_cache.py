"""A size-bounded LRU cache of blobs on a local disk.

A folder of files, each named after its blob, mode 0600. Several processes may share it. Each scans the folder
after adding a sixteenth of its size, so each process may exceed the bound by that much. Nothing here fails: an
unreadable file counts as missing, and a failed write is skipped.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from scrubjay.base.locks import renew_in_children

_SHARE = 16
_PARTIAL = ".partial"
_ABANDONED_SECONDS = 3600  # unfinished files older than this are abandoned


class BlobCache:
    """A bounded folder of blobs. Thread-safe.

    Args:
        folder: created with the first blob, with mode 0700.
        max_bytes: bound on the total size of the blobs.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()  # guards the two below
        renew_in_children(self, "_lock")
        self._n_bytes: int | None = None  # None: the folder was not scanned yet
        self._n_added = 0

    def get(self, name: str, n_bytes: int) -> bytes | None:
        """Return the first `n_bytes` of a blob, fewer if it is shorter; None: not cached."""
        path = self._folder / name
        try:
            with path.open("rb", buffering=0) as file:
                data = file.read(n_bytes)
            os.utime(path)
        except OSError:
            return None
        return data

    def put(self, name: str, data: bytes) -> None:
        """Cache a blob, if it fits at all."""
        if len(data) > self._max_bytes:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, fresh = tempfile.mkstemp(prefix=".", suffix=_PARTIAL, dir=self._folder)
            try:
                with os.fdopen(descriptor, "wb", buffering=0) as file:
                    file.write(data)
                Path(fresh).replace(self._folder / name)
            except BaseException:
                Path(fresh).unlink(missing_ok=True)
                raise
            self._added(len(data))

    def _added(self, n_bytes: int) -> None:
        with self._lock:
            self._n_added += n_bytes
            known = None if self._n_bytes is None else self._n_bytes + self._n_added
            if known is None or known > self._max_bytes or self._n_added * _SHARE > self._max_bytes:
                self._n_bytes, self._n_added = self._make_room(), 0

    def _make_room(self) -> int:
        """Scan the folder, and remove the least recently used blobs until the rest fits."""
        files = self._files()
        total = sum(n_bytes for _, n_bytes, _ in files)
        for _, n_bytes, path in sorted(files):
            if total <= self._max_bytes:
                break
            with suppress(OSError):
                path.unlink(missing_ok=True)
                total -= n_bytes
        return total

    def _files(self) -> list[tuple[int, int, Path]]:
        """Return (time of last use, size, file) of each blob."""
        files = []
        abandoned = time.time() - _ABANDONED_SECONDS
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat()
                    if not entry.name.endswith(_PARTIAL):
                        files.append((status.st_mtime_ns, status.st_size, Path(entry.path)))
                    elif status.st_mtime < abandoned:
                        Path(entry.path).unlink()
        return files

    def names(self) -> list[str]:
        """Return the names of the cached blobs."""
        return [path.name for _, _, path in self._files()]

    def forget(self, names: Iterable[str]) -> None:
        """Remove blobs."""
        for name in names:
            with suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)

    def everything(self) -> Iterator[tuple[str, bytes]]:
        """Yield (file, bytes) of each cached blob."""
        for _, _, path in self._files():
            with suppress(FileNotFoundError):  # evicted meanwhile
                yield str(path), path.read_bytes()
