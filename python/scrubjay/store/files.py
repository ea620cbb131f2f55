"""What is in the files themselves: are erased bytes gone, and where is a copy?"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from scrubjay.errors import StoreBusyError, StoreError
from scrubjay.progress import Progress
from scrubjay.store.connections import translated
from scrubjay.store.place import FILE_ID
from scrubjay.store.sqlite import SqliteStore
from scrubjay.store.vectors import encode_many

__all__ = ["ErasureReport", "back_up", "rewrite_file", "search_files", "vector_needles"]

_PIECE_BYTES = 32
_WINDOW_BYTES = 8 << 20
_BACKUP_PAGES = 2048


@dataclass(frozen=True)
class ErasureReport:
    """What a search of the files for erased bytes found.

    Attributes:
        files: the files that were searched.
        n_bytes: how many bytes they have together.
        n_sequences: how many byte sequences were looked for.
        found: for each that is there: the file, the position, and which sequence (its index among those given).
    """

    files: tuple[Path, ...]
    n_bytes: int
    n_sequences: int
    found: tuple[tuple[Path, int, int], ...]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.found


def vector_needles(vectors: Iterable[ArrayLike]) -> list[bytes]:
    """Return the bytes that a vector may have in rows and images: its single and half precision elements."""
    needles = []
    for vector in vectors:
        row = np.asarray(vector, dtype=np.float32).reshape(1, -1)
        needles.append(encode_many(row, "f32")[0])
        needles.append(encode_many(row, "f16")[0][2:])
    return needles


def search_files(store: SqliteStore, needles: Sequence[bytes]) -> ErasureReport:
    """Search the files of an index for byte sequences.

    SQLite may cut a long value where a page ends, so of a sequence longer than 32 bytes every 32 bytes are
    looked for, too:
    whatever 63 bytes of it are left in one place are found. Words that other documents share are found as well.
    """
    found: list[tuple[Path, int, int]] = []
    n_bytes = 0
    searched = []
    pieces = [(piece, number) for number, needle in enumerate(needles) for piece in _pieces(needle)]
    longest = max((len(piece) for piece, _ in pieces), default=1)
    for path in store.files():
        if not path.exists():
            continue
        searched.append(path)
        descriptor = store.looking.descriptor(path)
        n_bytes += os.fstat(descriptor).st_size
        first: dict[int, int] = {}
        for start, data in _windows(descriptor, longest):
            for piece, number in pieces:
                if number not in first and (at := data.find(piece)) >= 0:
                    first[number] = start + at
        found.extend((path, at, number) for number, at in sorted(first.items()))
    return ErasureReport(tuple(searched), n_bytes, len(needles), tuple(found))


def _pieces(needle: bytes) -> list[bytes]:
    if len(needle) <= _PIECE_BYTES:
        return [needle]
    pieces = [needle[at : at + _PIECE_BYTES] for at in range(0, len(needle) - _PIECE_BYTES + 1, _PIECE_BYTES)]
    return [piece for piece in pieces if any(piece)]  # a run of zeros proves nothing


def _windows(descriptor: int, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield (position, bytes) of a file in pieces that overlap, so that what is `longest` lies whole in one of them."""
    start = 0
    while data := os.pread(descriptor, _WINDOW_BYTES, start):
        yield start, data
        if len(data) < _WINDOW_BYTES:
            return
        start += _WINDOW_BYTES - longest + 1


def rewrite_file(store: SqliteStore) -> None:
    """Write the file anew without its free pages and empty the log, so that nothing deleted is left in either.

    Raises:
        StoreBusyError: another process is reading or writing; what was deleted is zeroed, but the log may hold copies.
    """
    with store.exclusively("compacting") as connection:
        _empty_log(connection, store.path)
        connection.execute("VACUUM")
        _empty_log(connection, store.path)


def _empty_log(connection: sqlite3.Connection, path: Path) -> None:
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreBusyError(
            f"compacting: another process is using the index, its log cannot be emptied: {path}"
        )


def back_up(store: SqliteStore, target: Path, progress: Progress) -> int:
    """Copy the index as of now into `target`, beside readers and writers; return the copy's bytes.

    The copy appears under its name when it is complete.
    """
    if target.exists():
        raise StoreError(f"backup: the file exists already, name a new one: {target}")
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    with translated(target, "backing up"):
        try:
            with closing(sqlite3.connect(partial, isolation_level=None)) as copy, store.snapshot():
                source = store.reading_connection()
                source.execute("SELECT count(*) FROM meta").fetchone()  # from here on one state is read
                done = 0

                def advance(_status: int, remaining: int, total: int) -> None:
                    nonlocal done
                    progress.update(total - remaining - done)
                    done = total - remaining

                source.backup(copy, pages=_BACKUP_PAGES, progress=advance)
                copy.execute(
                    "DELETE FROM meta WHERE name = ?", (FILE_ID,)
                )  # it will have a future of its own
                copy.execute("PRAGMA journal_mode = DELETE")  # one file; the next opening sets WAL again
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    return target.stat().st_size
