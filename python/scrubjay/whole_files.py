"""Files that appear under their name when they are complete, readable by their owner only.

A new file has mode 0600 whatever the umask; one that replaces another has that one's mode. (Windows has no such modes:
there a file has what its folder gives.)
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

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

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES)


def log_of(path: Path) -> Path:
    """Return the name of SQLite's log of a file, which lies beside what a link leads to."""
    real = path.resolve()
    return real.with_name(real.name + "-wal")


def mode_of(path: Path) -> int:
    """Return the kind and mode of what a path names; 0 where nothing is.

    Path.is_file() of Python 3.14 and later says no to a path that the system refuses, too.

    Raises:
        OSError: the system takes no such path, such as one that is too long.
    """
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


@contextmanager
def in_utf8(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a text file for reading, without the mark that some editors put first.

    Raises:
        ValueError: what is read is not UTF-8.
        OSError: it cannot be opened.
    """
    with Path(path).open(encoding="utf-8-sig") as file:
        try:
            yield file
        except UnicodeDecodeError:
            raise ValueError(f"path: expected a file in UTF-8, got other bytes: {path}") from None


@contextmanager
def whole_file(path: str | os.PathLike[str], *, replace: bool = False) -> Iterator[TextIO]:
    """Open a text file for writing; it is there, complete and on the disk, when the block ends, else nothing is.

    Other than regular files (a terminal, a pipe, /dev/null) are written to directly. A lone half of a surrogate pair,
    which UTF-8 has no form for, is written as its escape, in JSON the one that says the same.

    Raises:
        FileExistsError: there is a file of this name, and not `replace`. It is as it was.
        OSError: the file cannot be written; one that was there is as it was.

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
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("w", encoding="utf-8", errors="backslashreplace") as file:
            yield file
        return
    with (
        beside(target, replace=replace) as fresh,
        fresh.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def beside(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give the name of an empty new file in the folder of `path`; it takes that name when the block ends.

    What is written must be on the disk by then. If the block raises, the new file is removed.
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
        with suppress(OSError):  # a file system may have no modes
            fresh.chmod(0o600)  # a umask may take more than it has to
        yield fresh
        put_in_place(fresh, path, replace=replace)
    finally:
        fresh.unlink(missing_ok=True)


def put_in_place(fresh: Path, path: Path, *, replace: bool) -> None:
    """Give a file its name, for good.

    Raises:
        FileExistsError: there is one of this name, perhaps since a moment, and not `replace`.
    """
    if replace:
        with suppress(FileNotFoundError):
            fresh.chmod(stat.S_IMODE(path.stat().st_mode))
        fresh.replace(path)
    else:
        _give_new_name(fresh, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Let the names in a folder be on the disk, where a system can."""
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def make_private(path: Path) -> None:
    """Make an empty file for its owner's eyes, unless there is one of this name.

    The descriptor is closed before the file has its name: closing it later would take away the locks that another
    thread's SQLite has on it already (see :mod:`scrubjay.store.sqlite.descriptors`).
    """
    target = Path(os.path.realpath(path))
    if os.name != "posix" or target.exists():
        return
    with suppress(FileExistsError), beside(target):
        pass


def _give_new_name(fresh: Path, path: Path) -> None:
    if os.name != "posix":
        fresh.rename(path)  # refuses one that is there
        return
    try:
        os.link(fresh, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):  # a file system without links: as near as it gets
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        fresh.rename(path)
    else:
        fresh.unlink()
