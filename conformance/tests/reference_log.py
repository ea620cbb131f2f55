"""The log of the reference store: one JSON text a line, appended under a lock, read by every process that uses it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # then one process at a time
    fcntl = None  # type: ignore[assignment]


class Log:
    """Operations in order. A torn last line was never acknowledged, and is truncated."""

    def __init__(self, directory: Path) -> None:
        self._path, self._lock_path = directory / "items.log", directory / "lock"
        self._path.touch()
        self._lock_path.touch()
        self._read_to = 0
        self._inode = 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the exclusive lock between processes."""
        with self._lock_path.open("rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def unread(self) -> tuple[bool, list[Any]]:
        """Return whether the log was rewritten, which voids earlier reads, and the operations not read yet."""
        inode = self._path.stat().st_ino
        rewritten = inode != self._inode
        if rewritten:
            self._inode, self._read_to = inode, 0
        if self._path.stat().st_size == self._read_to:
            return rewritten, []
        with self._path.open("rb") as file:
            file.seek(self._read_to)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read_to += len(whole)
        return rewritten, [json.loads(line) for line in whole.splitlines()]

    def append(self, operation: Any) -> None:
        """Append one operation durably. The lock must be held, with nothing unread."""
        with self._path.open("r+b") as file:
            file.truncate(self._read_to)
            file.seek(self._read_to)
            line = json.dumps(operation).encode() + b"\n"
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._read_to += len(line)

    def rewrite(self, operations: list[Any]) -> None:
        """Replace all operations. The lock must be held."""
        draft = self._path.with_suffix(".new")
        with draft.open("wb") as file:
            file.writelines(json.dumps(operation).encode() + b"\n" for operation in operations)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        self._inode, self._read_to = self._path.stat().st_ino, self._path.stat().st_size
