"""Checks of the files that a command reads and writes.

No command overwrites a file without --force, and none writes to a file that it reads, also through links. A command
that only reads opens an index read-only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from scrubjay.base.whole_files import beside, log_of, whole_file
from scrubjay.cli.objects import objects_of
from scrubjay.cli.reader_state import InputError, Skips
from scrubjay.cli.terminal import clean, dim
from scrubjay.embedders import EmbedderLike
from scrubjay.index import Index
from scrubjay.store.keys.encryption import KeyProvider
from scrubjay.store.postgres.address import Address, is_address

_SQLITE = b"SQLite format 3\0"


def is_index(name: str | Path) -> bool:
    """Whether a name refers to an index: the address of a database, or an existing index file."""
    if is_address(name):
        return True
    try:
        path = Path(name)
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def open_index(
    name: str,
    embedder: EmbedderLike | None = None,
    *,
    collection: str | None = None,
    writes: bool = False,
    keys: KeyProvider | None = None,
) -> Index:
    """Open an existing index; without `writes` read-only.

    Raises:
        InputError: the file does not exist or is not an index. It is unchanged.
        StoreError: the database cannot be opened.
    """
    path = Path(name)
    if is_address(name):
        objects = objects_of(name)
        return Index.open(
            name, embedder, collection=collection, read_only=not writes, keys=keys, objects=objects
        )
    if not path.exists():
        raise InputError(f"{name}: no such file")
    if not path.is_file() or not is_index(path):
        raise InputError(f"{name}: expected an index created by Index.open() or `scrubjay add`")
    return Index.open(path, embedder, collection=collection, read_only=not writes, keys=keys)


def shown_place(name: str) -> str:
    """Return the displayed name of an index: an address without user and password."""
    return Address(name).place if is_address(name) else name


@contextmanager
def new_index(target: Path, arguments: argparse.Namespace, *, force: bool = False) -> Iterator[Index]:
    """Yield an empty index in a file that gets its name when it is complete."""
    try:
        with beside(Path(os.path.realpath(target)), replace=force, sweeps=True) as fresh:
            collection = getattr(arguments, "collection", None)
            with Index.open(fresh, arguments.embedder, collection=collection) as index:
                yield index
    except FileExistsError:  # created since the check
        raise InputError(
            f"{target}: the file exists; choose another name, or use --force to replace it"
        ) from None


def check_output(name: str, *, force: bool, reads: Iterable[str | Path] = ()) -> None:
    """Check the output file before long work.

    Raises:
        InputError: it is one of the input files, an index in use, a folder, or exists without `force`.
    """
    path = Path(name)
    if name == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
        return  # a terminal, a pipe, /dev/null
    for source in reads:
        if is_same(path, Path(source)):
            raise InputError(f"{name}: expected another file than those that are read, {source} is the same")
    if path.is_dir():
        raise InputError(f"{name}: expected the name of a file, this is a folder")
    if not path.parent.is_dir():
        raise InputError(f"{name}: No such file or directory: make the folder {path.parent} first")
    if os.path.lexists(path) and not force:
        raise InputError(f"{name}: the file exists; choose another name, or use --force to replace it")
    if log_of(path).exists():  # SQLite would apply the log to the new file
        raise InputError(f"{name}: the file is an index that is in use; name another one, or close it first")


@contextmanager
def file_or_output(name: str) -> Iterator[str]:
    """Yield the name of the output file: `name`, or for "-" a file that is copied to standard output when complete."""
    if name != "-":
        yield name
        return
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        file = Path(folder) / "output"
        yield str(file)
        with file.open(encoding="utf-8") as lines:
            shutil.copyfileobj(lines, sys.stdout)


@contextmanager
def written(name: str, *, force: bool) -> Iterator[TextIO]:
    """Open a text file for writing that appears when it is complete; "-" is standard output."""
    if name == "-":
        yield sys.stdout
        return
    try:
        with whole_file(name, replace=force) as file:
            yield file
    except FileExistsError:  # created since the check
        raise InputError(
            f"{name}: the file exists; choose another name, or use --force to replace it"
        ) from None


def say_skipped(skips: Skips, arguments: argparse.Namespace, most: int = 20) -> None:
    """Report on standard error what the readers skipped or changed, and why; nothing with --json."""
    if arguments.json:
        return
    lines = [f"skipped {line}" for line in skips.lines()] + [f"note: {line}" for line in skips.note_lines()]
    for line in lines[:most]:
        print(dim(clean(line)), file=sys.stderr)
    if len(lines) > most:
        print(dim(f"... and {len(lines) - most:,} more; --json names all"), file=sys.stderr)


def say_memory(index: Index, command: str) -> None:
    """If nothing was found, report on standard error that the file has memory records, and the command for them."""
    from scrubjay.memory.ledger.context import COLLECTION  # imports the whole memory

    if COLLECTION in index.admin.collections():
        print(f"what an agent remembers is shown by `scrubjay memory {command}`", file=sys.stderr)


def said_by_system(error: OSError) -> str:
    """Return the system's error message, preceded by the file."""
    message = error.strerror or str(error)
    return message if error.filename is None else f"{error.filename}: {message}"


def is_same(path: Path, source: Path) -> bool:
    """Whether two names refer to the same file, also through symbolic or hard links, or to the same address."""
    try:
        if path.exists() and source.exists():
            return path.samefile(source)
    except OSError:
        return False
    return os.path.realpath(path) == os.path.realpath(source)
