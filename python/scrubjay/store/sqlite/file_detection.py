"""Distinguishes files that were never an index from damaged ones, after opening has failed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrubjay.base.errors import CorruptIndexError, StoreError, StoreFormatError
from scrubjay.base.whole_files import log_of, mode_of
from scrubjay.store.sqlite.descriptors import looking_at
from scrubjay.store.sqlite.schema import APPLICATION_ID

_SQLITE = b"SQLite format 3\0"
_APPLICATION_ID_AT = 68  # in SQLite's header of 100 bytes
_PAGE_BYTES = 8192  # of our files


def check_place(path: Path) -> None:
    """Reject a path where no file can be, which SQLite reports as "unable to open database file".

    Raises:
        StoreFormatError: it is a folder.
        StoreError: its folder does not exist, or the system rejects the path (a name that is too long).
    """
    try:
        if stat.S_ISDIR(mode_of(path)):
            raise StoreFormatError(f"path: expected a file, got a folder: {path}")
        if not stat.S_ISDIR(mode_of(path.parent)):
            raise StoreError(f"opening: the folder {path.parent} does not exist; make it first: {path}")
    except OSError as error:
        raise StoreError(f"opening: {error.strerror}: {path!s:.200}") from error


@contextmanager
def recognised(path: Path) -> Iterator[None]:
    """Replace the error for a damaged file by StoreFormatError, if the file was never an index."""
    try:
        yield
    except CorruptIndexError as error:
        if not is_foreign(path):
            raise
        raise StoreFormatError(
            f"path: expected a Scrubjay index, got a file of another kind: {path}"
        ) from error


def is_foreign(path: Path) -> bool:
    """Whether a file that could not be opened has no trace of an index: neither its first bytes, the application
    id in its header, its size in pages, nor a log beside it. An index whose first page was overwritten still has
    the others."""
    if log_of(path).exists():
        return False
    looking = looking_at(path)
    try:
        descriptor = looking.descriptor(path)
        n_bytes = os.fstat(descriptor).st_size
        os.lseek(descriptor, 0, os.SEEK_SET)
        head = os.read(descriptor, _APPLICATION_ID_AT + 4)
    except OSError:
        return False
    finally:
        looking.close()
    marked = head[_APPLICATION_ID_AT:] == APPLICATION_ID.to_bytes(4, "big")
    begins = head[: len(_SQLITE)] == _SQLITE[: len(head)]
    return n_bytes > 0 and n_bytes % _PAGE_BYTES != 0 and not marked and not begins
