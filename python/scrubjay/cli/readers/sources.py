"""The files behind the arguments of a command: files, folders, zip archives."""

from __future__ import annotations

import dataclasses
import errno
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath, PurePosixPath

from scrubjay.cli.reader_state import InputError, Skips

_MAX_MEMBER_BYTES = 1 << 30  # of a zip archive, unpacked


@dataclasses.dataclass(frozen=True)
class Source:
    """One file to read.

    Attributes:
        name: in ids and messages.
        read: returns its bytes.
        path: its path; None inside an archive.
        found: whether it was found in a folder or archive: then unreadable contents are skipped. A file that was named
            must be readable.
        beside: the function behind :meth:`neighbour`.
    """

    name: str
    read: Callable[[], bytes]
    path: Path | None = None
    found: bool = False
    beside: Callable[[str], bytes | None] | None = None

    def neighbour(self, name: str) -> bytes | None:
        """Return the bytes of a file of this name beside it or one folder up, or None."""
        return None if self.beside is None else self.beside(name)

    @property
    def suffix(self) -> str:
        """The suffix of its name, in lower case."""
        return PurePosixPath(self.name).suffix.lower()

    @property
    def stem(self) -> str:
        """The name without folders and suffix."""
        return PurePosixPath(self.name).stem


def name_of(path: Path, base: Path | None) -> str:
    """Return the name of a file: as given, or, with a `base`, relative to that folder, whatever the working folder is.
    A file outside it is named by its absolute path."""
    if base is None:
        return _text_of(path.as_posix())
    real = os.path.realpath(path)
    try:
        inside = os.path.relpath(real, os.path.realpath(base))
    except ValueError:  # on another drive
        return _text_of(Path(real).as_posix())
    return _text_of(Path(real if Path(inside).parts[:1] == (os.pardir,) else inside).as_posix())


def _text_of(name: str) -> str:
    r"""Return a file's name as text that can be stored and printed: bytes that are not UTF-8, which Linux allows in
    names, are escaped.

    >>> _text_of("caf\udce9.md")
    'caf\\udce9.md'
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def is_within(name: str, root: str) -> bool:
    """Whether a file of this name is the argument `root`, or is in it.

    >>> is_within("notes/a.md", "notes"), is_within("notes2/a.md", "notes"), is_within("a.md", ".")
    (True, False, True)
    """
    if root == ".":
        return not PurePath(name).is_absolute()
    return name == root or name.startswith(root.rstrip("/") + "/")


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder in order, without hidden files and folders, and without indexes."""
    for file in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if not hidden and not file.suffix.startswith(".scrubjay") and file.is_file():
            yield file


def find(path: Path, base: Path | None, skips: Skips) -> Iterator[Source]:
    """Yield the sources of an argument: the file itself, or the contents of the folder or archive.

    Raises:
        InputError: the file does not exist, or the archive is damaged.
    """
    if path.is_dir():
        root = name_of(path, base)
        for file in files_below(path):
            name = PurePosixPath(root, _text_of(file.relative_to(path).as_posix())).as_posix()
            if file.suffix.lower() == ".zip":
                try:
                    yield from _members(file, name, skips)
                except InputError as error:
                    skips.add(name, str(error).removeprefix(f"{name}: "))
            else:
                yield _of_file(file, name, found=True)
    elif path.suffix.lower() == ".zip":
        yield from _members(path, name_of(path, base), skips)
    elif not path.exists():
        raise InputError(f"{name_of(path, base)}: {os.strerror(errno.ENOENT)}")
    else:
        yield _of_file(path, name_of(path, base), found=False)


def _of_file(path: Path, name: str, found: bool) -> Source:
    def read() -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}") from None

    def neighbour(other: str) -> bytes | None:
        for folder in (path.parent, path.parent.parent):
            if (folder / other).is_file():
                return (folder / other).read_bytes()
        return None

    return Source(name, read, path, found, neighbour)


def _members(path: Path, name: str, skips: Skips) -> Iterator[Source]:
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        message = (error.strerror or error) if isinstance(error, OSError) else error
        raise InputError(f"{name}: {message}") from None
    with archive:
        names = set(archive.namelist())
        for member in sorted(names):
            hidden = any(part.startswith((".", "__MACOSX")) for part in member.split("/"))
            if member.endswith("/") or hidden:
                continue
            if archive.getinfo(member).file_size > _MAX_MEMBER_BYTES:
                skips.add(f"{name}/{member}", f"over {_MAX_MEMBER_BYTES >> 30} GiB when unpacked")
                continue
            yield _of_member(archive, member, names, name)


def _of_member(archive: zipfile.ZipFile, member: str, names: set[str], name: str) -> Source:
    def read() -> bytes:
        try:
            return archive.read(member)
        except (
            OSError,
            RuntimeError,
            zipfile.BadZipFile,
            NotImplementedError,
        ) as error:  # encrypted, damaged
            raise InputError(f"{name}/{member}: {error}") from None

    def neighbour(other: str) -> bytes | None:
        folder = PurePosixPath(member).parent
        for place in (folder / other, folder.parent / other):
            if place.as_posix() in names:
                return archive.read(place.as_posix())
        return None

    return Source(f"{name}/{member}", read, None, True, neighbour)
