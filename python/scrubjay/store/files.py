"""The files themselves: a search for erased bytes, backups."""

from __future__ import annotations

import base64
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scrubjay.errors import ClosedError, StoreError
from scrubjay.progress import Progress
from scrubjay.records import as_text
from scrubjay.store.connections import translated
from scrubjay.store.place import FILE_ID
from scrubjay.store.sqlite import SqliteStore
from scrubjay.store.vectors import encode_many
from scrubjay.whole_files import beside

__all__ = [
    "ErasureReport",
    "back_up",
    "byte_needles",
    "name_needles",
    "search_files",
    "text_needles",
    "vector_needles",
]

_PIECE_BYTES = 32
_MIN_BASE64 = 4  # digits; fewer are found in any image
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


def text_needles(texts: Iterable[str]) -> list[bytes]:
    """Return texts as the bytes that are looked for.

    Raises:
        TypeError: one is not a str.
    """
    return [as_text(text).encode() for text in _each(texts, "texts", str)]


def byte_needles(sequences: Iterable[bytes]) -> list[bytes]:
    """Return byte sequences.

    Raises:
        TypeError: one is no bytes.
    """
    return [bytes(sequence) for sequence in _each(sequences, "sequences", bytes)]


def _each(given: Any, name: str, kind: type) -> Iterator[Any]:
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{name}: expected a sequence of {kind.__name__}, got one {type(given).__name__}")
    if not isinstance(given, Iterable):
        raise TypeError(f"{name}: expected a sequence of {kind.__name__}, got {type(given).__name__}")
    for place, one in enumerate(given):
        if not isinstance(one, kind):
            raise TypeError(f"{name}[{place}]: expected {kind.__name__}, got {type(one).__name__}")
        yield one


def vector_needles(vectors: Iterable[ArrayLike]) -> list[bytes]:
    """Return the bytes that a vector may have in rows and images: its single and half precision elements."""
    needles = []
    for vector in vectors:
        row = np.asarray(vector, dtype=np.float32).reshape(1, -1)
        needles.append(encode_many(row, "f32")[0])
        needles.append(encode_many(row, "f16")[0][2:])
    return needles


def name_needles(name: str) -> tuple[list[bytes], list[bytes]]:
    """Return the bytes that a name may have: those that are looked for in any case, and those that are not.

    UTF-8 and UTF-16 (upper and lower case alike), hexadecimal digits, and base64 from each of its three places.

    >>> name_needles("jane")[1]
    [b'amFuZ', b'phbm', b'qYW5l']
    """
    folded, exact = [], []
    for form in dict.fromkeys((name, name.casefold(), name.upper())):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            folded.append(form.encode(encoding, "surrogatepass").lower())
    raw = name.encode("utf-8", "surrogatepass")
    folded.append(raw.hex().encode())
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw)
        whole = (before + len(raw)) * 8 // 6  # digits that depend on nothing that follows
        exact.append(encoded[(before * 8 + 5) // 6 : whole])
    return list(dict.fromkeys(folded)), [needle for needle in exact if len(needle) >= _MIN_BASE64]


def search_files(store: SqliteStore, needles: Sequence[bytes], names: Sequence[str] = ()) -> ErasureReport:
    """Search the files of an index for byte sequences, and for names in every form of :func:`name_needles`.

    SQLite may cut a long value where a page ends, so of a sequence longer than 32 bytes every 32 bytes are
    looked for, too:
    whatever 63 bytes of it are left in one place are found. Words that other documents share are found as well.
    """
    found: list[tuple[Path, int, int]] = []
    n_bytes = 0
    searched = []
    pieces = [(piece, number) for number, needle in enumerate(needles) for piece in _pieces(needle)]
    folded: list[tuple[bytes, int]] = []
    for number, name in enumerate(names, len(needles)):
        anyhow, exactly = name_needles(name)
        folded += [(piece, number) for piece in anyhow]
        pieces += [(piece, number) for piece in exactly]
    longest = max((len(piece) for piece, _ in pieces + folded), default=1)
    for path in store.files():
        if not path.exists():
            continue
        searched.append(path)
        descriptor = store.looking.descriptor(path)
        n_bytes += os.fstat(descriptor).st_size
        first: dict[int, int] = {}
        for start, data in _windows(descriptor, longest):
            lower = data.lower() if folded else b""
            for where, some in ((data, pieces), (lower, folded)):
                for piece, number in some:
                    if number not in first and (at := where.find(piece)) >= 0:
                        first[number] = start + at
        found.extend((path, at, number) for number, at in sorted(first.items()))
    return ErasureReport(tuple(searched), n_bytes, len(needles) + len(names), tuple(found))


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


def back_up(store: SqliteStore, target: Path, progress: Progress, *, replace: bool = False) -> int:
    """Copy the index as of now into `target`, beside readers and writers; return the copy's bytes.

    The copy appears under its name when it is complete.
    """
    if target.exists():
        if not replace:
            raise StoreError(f"backup: the file exists already, name a new one: {target}")
        if target.samefile(store.path):
            raise StoreError(f"backup: expected another file than the index itself: {target}")
        if target.with_name(target.name + "-wal").exists():  # it would be applied to the copy
            raise StoreError(f"backup: the file is an index that is in use, name another one: {target}")
    with translated(target, "backing up"), beside(target, replace=replace) as partial:
        with closing(sqlite3.connect(partial, isolation_level=None)) as copy, store.snapshot():
            source = store.reading_connection()
            source.execute("SELECT count(*) FROM meta").fetchone()  # from here on one state is read
            done = 0

            def advance(_status: int, remaining: int, total: int) -> None:
                nonlocal done
                if source.is_shut:  # or closing the index would wait for the whole copy
                    raise ClosedError(f"the index was closed while backing up: {target}")
                progress.update(total - remaining - done)
                done = total - remaining

            source.backup(copy, pages=_BACKUP_PAGES, progress=advance)
            copy.execute("DELETE FROM meta WHERE name = ?", (FILE_ID,))  # it will have a future of its own
            copy.execute("PRAGMA journal_mode = DELETE")  # one file; the next opening sets WAL again
        with partial.open("rb") as file:
            os.fsync(file.fileno())
    return target.stat().st_size
