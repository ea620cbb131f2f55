"""Copies of blobs on a disk of this machine: as many as fit, the least recently used ones make room.

A folder of files, each under the name of its blob, mode 0600. Several processes may share it; each looks through the
folder once a sixteenth of its size was added by itself, so each of the others may exceed the bound by that much.
Nothing here ever fails: what cannot be read is not there, what cannot be written is not kept.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from scrubjay.locks import renew_in_children

_SHARE = 16
_PARTIAL = ".partial"
_ABANDONED_SECONDS = 3600  # a file that is unfinished for so long has nobody who finishes it


class BlobCache:
    """A bounded folder of blobs. Thread-safe.

    Args:
        folder: made with the first blob if there is none, with mode 0700.
        max_bytes: that the blobs may take together.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()  # the two below
        renew_in_children(self, "_lock")
        self._n_bytes: int | None = None  # None: nobody has looked yet
        self._n_added = 0

    def get(self, name: str, n_bytes: int) -> bytes | None:
        """Return the first `n_bytes` of a blob, fewer if it is shorter; None: it is not here."""
        path = self._folder / name
        try:
            with path.open("rb", buffering=0) as file:
                data = file.read(n_bytes)
            os.utime(path)
        except OSError:
            return None
        return data

    def put(self, name: str, data: bytes) -> None:
        """Keep a blob, if it fits at all."""
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
        """Look through the folder, and remove what was not used for longest until the rest fits."""
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
        """Return (when it was used last, size, file) of each blob."""
        found = []
        abandoned = time.time() - _ABANDONED_SECONDS
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat()
                    if not entry.name.endswith(_PARTIAL):
                        found.append((status.st_mtime_ns, status.st_size, Path(entry.path)))
                    elif status.st_mtime < abandoned:
                        Path(entry.path).unlink()
        return found

    def names(self) -> list[str]:
        """Return the names of the blobs that are here."""
        return [path.name for _, _, path in self._files()]

    def forget(self, names: Iterable[str]) -> None:
        """Remove blobs."""
        for name in names:
            with suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)

    def everything(self) -> Iterator[tuple[str, bytes]]:
        """Yield (file, bytes) of each blob that is here."""
        for _, _, path in self._files():
            with suppress(FileNotFoundError):  # it made room meanwhile
                yield str(path), path.read_bytes()
