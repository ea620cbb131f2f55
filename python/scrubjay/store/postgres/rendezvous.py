"""The rendezvous of processes of one machine that use a database with the same options: files in a private folder
in shared memory."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrubjay.store.postgres.poll_answers import FORMAT

fcntl: Any = None
with suppress(ImportError):  # without it nothing is shared
    import fcntl

_MOST_BYTES = 100  # of a socket's path: 104 on macOS, 108 on Linux
_ABANDONED_SECONDS = 3600
_PARTS = (".lock", ".sock", ".feed", ".new")


class Rendezvous:
    """The files shared by processes with equal words: a lock, a socket and the last answer.

    Args:
        words: describe what is shared: processes that differ in one never meet. Only a hash of them is stored.
        folders: candidates in order; the first one that can be made private is used.

    Raises:
        OSError: no folder is suitable, or the platform has no such locks.
    """

    def __init__(self, words: Iterable[str], folders: Iterable[Path] | None = None) -> None:
        if fcntl is None or not hasattr(os, "geteuid"):
            raise OSError("no locks of files")
        given = [str(FORMAT), *words, *_of_this_boot()]
        name = hashlib.blake2b("\0".join(given).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        self._folder = _private_folder(_folders() if folders is None else folders)
        self._lock, self._socket, self._answer, self._fresh = (
            self._folder / f"{name}{part}" for part in _PARTS
        )
        if len(os.fsencode(self._socket)) > _MOST_BYTES:
            raise OSError("the path is too long for a socket")

    @property
    def address(self) -> str:
        """The path of the leader's socket."""
        return str(self._socket)

    def lock(self) -> int | None:
        """Return the descriptor of the lock, whose holder is the leader; None if another process holds it. It is
        released by :meth:`unlock` or the end of the process."""
        return _locked(self._lock)

    def unlock(self, lock: int) -> None:
        """Remove the files and release the lock."""
        self.clear()
        with suppress(OSError):
            self._lock.unlink()  # a process waiting for this lock opens the name again
        os.close(lock)

    def clear(self) -> None:
        """Remove the files of an earlier leader that was killed."""
        for path in (self._socket, self._answer, self._fresh):
            with suppress(OSError):
                path.unlink()

    def write(self, data: bytes) -> None:
        """Replace the last answer atomically.

        Raises:
            OSError: it cannot be written.
        """
        descriptor = os.open(self._fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            n_written = file.write(data)
        if n_written != len(data):
            raise OSError("no space for an answer")
        self._fresh.replace(self._answer)

    def read(self) -> bytes:
        """Return the last answer; empty if it cannot be read."""
        try:
            return self._answer.read_bytes()
        except OSError:
            return b""

    def erase_answer(self) -> None:
        """Remove the last answer, when the leader has no followers."""
        with suppress(OSError):
            self._answer.unlink()

    def sweep(self) -> None:
        """Remove unused files of processes that were killed at least an hour ago."""
        last = time.time() - _ABANDONED_SECONDS
        with suppress(OSError):
            for path in list(self._folder.glob("*.lock")):
                with suppress(OSError):
                    if path.stat().st_mtime > last or (lock := _locked(path)) is None:
                        continue
                    for part in _PARTS[1:]:
                        path.with_suffix(part).unlink(missing_ok=True)
                    path.unlink(missing_ok=True)
                    os.close(lock)


def _locked(path: Path) -> int | None:
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The last holder removes the file; a lock on an unlinked file excludes nothing.
        if os.fstat(lock).st_ino == path.stat().st_ino:
            os.utime(lock)
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _folders() -> list[Path]:
    name = f"scrubjay-{os.geteuid()}"
    return [Path("/dev/shm") / name, Path(tempfile.gettempdir()) / name]


def _private_folder(folders: Iterable[Path]) -> Path:
    for folder in folders:
        with suppress(OSError):
            if not folder.parent.is_dir():
                continue
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            found = folder.lstat()
            if (
                stat.S_ISDIR(found.st_mode)
                and found.st_uid == os.geteuid()
                and not stat.S_IMODE(found.st_mode) & 0o077
                and os.access(folder, os.W_OK | os.X_OK)
            ):
                return folder
    raise OSError("no private folder")


def _of_this_boot() -> list[str]:
    """Return words that differ where the monotonic clock differs: after a reboot, in another time namespace."""
    words = []
    with suppress(OSError):
        words.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(OSError):
        words.append(str(Path("/proc/self/ns/time").stat().st_ino))
    return words
