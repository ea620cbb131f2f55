"""The protocol of a place for blobs, and a local folder that implements it.

Readers know the length and hash of a blob, so a place may lose, truncate or mix up images. The rows of cold
scopes are nowhere else: a place for those must be as durable as the database.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from scrubjay.base.whole_files import beside, sync_folder


class Blob(NamedTuple):
    """One blob of a listing: its name, its size, and its age in seconds."""

    name: str
    n_bytes: int
    age: float


class Blobs(Protocol):
    """A place for blobs. Names are paths of letters, digits, dots and dashes. Thread-safe.

    Raises (all methods):
        FileNotFoundError: the blob does not exist.
        OSError: the place does not answer, or refuses.
    """

    @property
    def place(self) -> str:
        """The location, for messages; contains no secrets."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Write a blob, atomically and durably: a loss of power after this returns does not lose it. An existing
        blob of this name is replaced."""
        ...

    def get(self, name: str, n_bytes: int) -> bytes:
        """Return the first `n_bytes` of a blob, fewer if it is shorter."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete blobs; missing ones are ignored."""
        ...

    def list(self, prefix: str) -> Iterator[Blob]:
        """Yield the blobs below a folder, in any order."""
        ...


class Folder:
    """A folder of files, readable by their owner only (mode 0600). It is created with the first blob."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        """The folder as a URL."""
        return self._path.absolute().as_uri()

    def put(self, name: str, data: bytes) -> None:
        """Write a blob; it is synced to disk when this returns."""
        path = self._path / name
        if not path.parent.is_dir():
            self._make(path.parent)
        with beside(path, replace=True) as fresh, fresh.open("wb", buffering=0) as file:
            file.write(data)
            os.fsync(file.fileno())

    def _make(self, folder: Path) -> None:
        for parent in reversed([folder, *folder.parents]):
            if not parent.is_dir():
                parent.mkdir(mode=0o700, exist_ok=True)
                sync_folder(parent.parent)

    def get(self, name: str, n_bytes: int) -> bytes:
        with (self._path / name).open("rb", buffering=0) as file:
            return file.read(n_bytes)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            (self._path / name).unlink(missing_ok=True)

    def list(self, prefix: str) -> Iterator[Blob]:
        """Yield the blobs below a folder, including unfinished files of a killed process."""
        now = time.time()
        for path in (self._path / prefix).rglob("*"):
            try:
                status = path.stat()
                if path.is_file():
                    name = path.relative_to(self._path).as_posix()
                    yield Blob(name, status.st_size, now - status.st_mtime)
            except FileNotFoundError:  # deleted meanwhile
                continue
