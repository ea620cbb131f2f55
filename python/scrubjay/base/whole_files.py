"""Files that appear under their name only when complete, readable by their owner only.

A new file has mode 0600 whatever the umask; a file that replaces another takes its mode. (Windows has no such modes: a
file inherits the permissions of its folder.)
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from scrubjay.base.arguments import checked_flag, checked_path

__all__ = [
    "beside",
    "in_utf8",
    "log_of",
    "make_private",
    "mode_of",
    "put_in_place",
    "sync_folder",
    "whole_file",
]

_ABANDONED_SECONDS = 24 * 3600
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES)


def log_of(path: Path) -> Path:
    """Return the path of SQLite's log of a file, which is beside the target of a link."""
    real = path.resolve()
    return real.with_name(real.name + "-wal")


def mode_of(path: Path) -> int:
    """Return the kind and mode of the file at a path; 0 if there is none.

    Unlike this, Path.is_file() of Python 3.14 and later also returns False for a path that the system refuses.

    Raises:
        OSError: the system refuses the path, for example because it is too long.
    """
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


@contextmanager
def in_utf8(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a text file for reading, without a byte order mark.

    Raises:
        ValueError: the file is not UTF-8.
        OSError: it cannot be opened.
    """
    with checked_path(path, "path").open(encoding="utf-8-sig") as file:
        try:
            yield file
        except UnicodeDecodeError:
            raise ValueError(f"path: expected a file in UTF-8, got other bytes: {path}") from None


@contextmanager
def whole_file(path: str | os.PathLike[str], *, replace: bool = False) -> Iterator[TextIO]:
    """Open a text file for writing; when the block ends it exists, complete and synced; if the block raises, it does
    not.

    Anything but a regular file (a terminal, a pipe, /dev/null) is written to directly. A lone surrogate, which UTF-8
    cannot encode, is written as its escape, which JSON reads back as the same.

    Raises:
        FileExistsError: the file exists and `replace` is False. It is unchanged.
        OSError: the file cannot be written; an existing one is unchanged.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with whole_file(folder.name + "/a.txt") as file:
    ...     _ = file.write("one")
    >>> with whole_file(folder.name + "/a.txt") as file:
    ...     _ = file.write("two")
    Traceback (most recent call last):
    ...
    FileExistsError: [Errno 17] File exists: '...a.txt'
    >>> folder.cleanup()
    """
    target, replace = Path(os.path.realpath(checked_path(path, "path"))), checked_flag(replace, "replace")
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("w", encoding="utf-8", errors="backslashreplace") as file:
            yield file
        return
    with (
        beside(target, replace=replace, sweeps=True) as fresh,
        fresh.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def beside(path: Path, *, replace: bool = False, sweeps: bool = False) -> Iterator[Path]:
    """Yield the name of an empty new file in the folder of `path`, which is renamed to `path` when the block ends.

    The block must sync what it writes. If it raises, the new file is removed. A process that is killed leaves it; with
    `sweeps`, which lists the folder, such files for the same path are removed a day later.
    """
    if not replace and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None  # not the temporary name
    fresh = Path(name)
    try:
        os.close(descriptor)
        if sweeps:
            _remove_abandoned(path)
        with suppress(OSError):  # a file system may have no modes
            fresh.chmod(0o600)  # a umask may have removed more bits
        yield fresh
        put_in_place(fresh, path, replace=replace)
    finally:
        fresh.unlink(missing_ok=True)


def _remove_abandoned(path: Path) -> None:
    """Remove unfinished files for `path`, and the logs of SQLite beside them, if all were last written a day ago."""
    written: dict[str, list[tuple[float, Path]]] = {}
    ours = re.compile(rf"({re.escape(f'.{path.name}.')}\w{{8}}\.partial)(-wal|-shm|-journal)?")
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if match := ours.fullmatch(entry.name):
                with suppress(FileNotFoundError):  # another process finished it
                    written_at = entry.stat().st_mtime
                    written.setdefault(match[1], []).append((written_at, Path(entry.path)))
    for files in written.values():
        if max(files)[0] < time.time() - _ABANDONED_SECONDS:
            for _, file in files:
                with suppress(OSError):
                    file.unlink()


def put_in_place(fresh: Path, path: Path, *, replace: bool) -> None:
    """Rename a file to its final name, durably.

    Raises:
        FileExistsError: the name exists, perhaps only now, and `replace` is False.
    """
    if replace:
        with suppress(FileNotFoundError):
            fresh.chmod(stat.S_IMODE(path.stat().st_mode))
        fresh.replace(path)
    else:
        _give_new_name(fresh, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Sync the names in a folder to the disk, on systems that can."""
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def make_private(path: Path) -> None:
    """Create an empty file that only its owner can read, unless the name exists.

    The descriptor is closed before the file gets its name: closing it later would release the locks that SQLite holds
    on it in another thread (see :mod:`scrubjay.store.sqlite.descriptors`).
    """
    target = Path(os.path.realpath(path))
    if os.name != "posix" or target.exists():
        return
    with suppress(FileExistsError), beside(target):
        pass


def _give_new_name(fresh: Path, path: Path) -> None:
    if os.name != "posix":
        fresh.rename(path)  # fails if the name exists
        return
    try:
        os.link(fresh, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):  # a file system without links: not atomic, but as close as possible
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        fresh.rename(path)
    else:
        fresh.unlink()
