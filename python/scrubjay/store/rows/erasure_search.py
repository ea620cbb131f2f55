"""Searching for remains of erased data: the byte sequences to search for, and the search of files."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from scrubjay.documents.records import as_text
from scrubjay.store.rows.vectors import encode_many

_PIECE_BYTES = 32
_MIN_BASE64 = 4  # digits; shorter sequences occur in any image
_WINDOW_BYTES = 8 << 20


class KeyProof(NamedTuple):
    """The state of one key of a user.

    Attributes:
        id: of the key, as the key store knows it.
        made_at: when the key was created.
        whole: True: the user had no data before the key, so all of it was sealed with this key. False: earlier
            data was sealed with the tenant's key or not at all, and copies from before `made_at` can be read
            without this key.
        destroyed_at: when the key store destroyed it; None: it has not.
    """

    id: str
    made_at: datetime
    whole: bool
    destroyed_at: datetime | None

    def __str__(self) -> str:
        """Describe the state of the key in a phrase."""
        if self.destroyed_at is None:
            return f"key {self.id} was not destroyed"
        before = (
            ""
            if self.whole
            else f"; copies from before {self.made_at:%Y-%m-%dT%H:%M:%SZ} hold what it did not seal"
        )
        return f"key {self.id} destroyed at {self.destroyed_at:%Y-%m-%dT%H:%M:%SZ}{before}"


@dataclass(frozen=True)
class ErasureReport:
    """The result of a search for erased bytes, and what it proves.

    Attributes:
        files: the files that were searched; empty for a database.
        n_bytes: how many bytes were searched: of the files, or of the values in a database.
        n_sequences: how many byte sequences were searched for.
        found: one entry for each match. In files: the file, the position, and the sequence (its index in the
            arguments). In a database: the table and column ("sj_document.text"), the number of rows, and the
            sequence. For an object or its copy: its address, the position, and the sequence.
        proof: what is proved if nothing was found: "bytes", that no byte of the files has it; "rows", that no row
            of the database does; "rows and objects", that no object of its object store does, either; "keys",
            nothing of that, as only a scope was given.
        not_covered: descriptions of places that may hold copies and were not searched.
        tables: of a database, the tables that were searched.
        n_objects: how many objects, and copies of them on this machine, were searched.
        keys: of a user: the state of each key that the user has had (:mod:`scrubjay.keystores`). A destroyed key
            proves that no copy, of whatever age, can be decrypted as far as it was sealed with it.
    """

    files: tuple[Path, ...]
    n_bytes: int
    n_sequences: int
    found: tuple[tuple[Path | str, int, int], ...]
    proof: str = "bytes"
    not_covered: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    n_objects: int = 0
    keys: tuple[KeyProof, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing was found and no key exists."""
        return not self.found and all(key.destroyed_at is not None for key in self.keys)

    @property
    def proofs(self) -> tuple[str, ...]:
        """What is proved, in words: for each key, and for the searched places if nothing was found.

        >>> ErasureReport((), 100, 1, ()).proofs
        ('bytes absent',)
        """
        absent = {
            "bytes": "bytes absent",
            "rows": "rows absent",
            "rows and objects": "rows and objects absent",
        }
        searched = [absent[self.proof]] if self.proof in absent and not self.found else []
        return (*map(str, self.keys), *searched)


class SearchPatterns(NamedTuple):
    """The search patterns: (bytes, the index of the sequence that they are part of)."""

    exact: list[tuple[bytes, int]]
    folded: list[tuple[bytes, int]]
    """In lower case; matched against lower-cased data."""


class DescriptorSource(Protocol):
    """Opens files without interfering with SQLite."""

    def descriptor(self, path: Path) -> int:
        """Return a descriptor for reading a file, which must not be closed."""
        ...


def text_needles(texts: Iterable[str]) -> list[bytes]:
    """Return texts as the byte sequences to search for.

    Raises:
        TypeError: a text is not a str.
    """
    return [as_text(text).encode() for text in _each(texts, "texts", str)]


def byte_needles(sequences: Iterable[bytes]) -> list[bytes]:
    """Return the byte sequences as a list.

    Raises:
        TypeError: a sequence is not bytes.
    """
    return [bytes(sequence) for sequence in _each(sequences, "sequences", bytes)]


def _each(given: Any, name: str, kind: type) -> Iterator[Any]:
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{name}: expected a sequence of {kind.__name__}, got one {type(given).__name__}")
    if not isinstance(given, Iterable):
        raise TypeError(f"{name}: expected a sequence of {kind.__name__}, got {type(given).__name__}")
    for place, item in enumerate(given):
        if not isinstance(item, kind):
            raise TypeError(f"{name}[{place}]: expected {kind.__name__}, got {type(item).__name__}")
        yield item


def vector_needles(vectors: Iterable[ArrayLike], dtype: str = "f16") -> list[bytes]:
    """Return the encodings of vectors in rows and images: their elements in single and half precision, and as bytes if
    `dtype` is "i8". (So few bytes occur by chance, too.)
    """
    needles = []
    for vector in vectors:
        row = np.asarray(vector, dtype=np.float32).reshape(1, -1)
        needles.append(encode_many(row, "f32")[0])
        needles.append(encode_many(row, "f16")[0][2:])
        if dtype == "i8":
            needles.append(encode_many(row, dtype)[0][2:])
    return needles


def name_needles(name: str) -> tuple[list[bytes], list[bytes]]:
    """Return the encodings of a name: those to match in any case, and those to match exactly.

    UTF-8 and UTF-16 (upper and lower case alike), hexadecimal digits, and base64 at each of the three alignments.

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
        whole = (before + len(raw)) * 8 // 6  # digits that do not depend on the bytes that follow
        exact.append(encoded[(before * 8 + 5) // 6 : whole])
    return list(dict.fromkeys(folded)), [needle for needle in exact if len(needle) >= _MIN_BASE64]


def sought_for(needles: Sequence[bytes], names: Sequence[str]) -> SearchPatterns:
    """Return the search patterns of byte sequences, and of names in every encoding of :func:`name_needles`."""
    exact = [(piece, number) for number, needle in enumerate(needles) for piece in _pieces(needle)]
    folded: list[tuple[bytes, int]] = []
    for number, name in enumerate(names, len(needles)):
        anyhow, exactly = name_needles(name)
        folded += [(piece, number) for piece in anyhow]
        exact += [(piece, number) for piece in exactly]
    return SearchPatterns(exact, folded)


def search_files(
    paths: Iterable[Path], looking: DescriptorSource, needles: Sequence[bytes], names: Sequence[str] = ()
) -> ErasureReport:
    """Search the files of an index for byte sequences, and for names in every encoding of :func:`name_needles`.

    SQLite may split a long value at a page boundary, so sequences longer than 32 bytes are searched for in pieces
    of 32 bytes: any 63 consecutive bytes of one are found. Words shared with other documents are found as well.
    """
    matches: list[tuple[Path, int, int]] = []
    n_bytes = 0
    searched = []
    sought = sought_for(needles, names)
    longest = max((len(piece) for piece, _ in sought.exact + sought.folded), default=1)
    for path in paths:
        if not path.exists():
            continue
        searched.append(path)
        descriptor = looking.descriptor(path)
        n_bytes += os.fstat(descriptor).st_size
        first: dict[int, int] = {}
        for start, data in _windows(descriptor, longest):
            first_hits(data, start, sought, first)
        matches.extend((path, at, number) for number, at in sorted(first.items()))
    return ErasureReport(tuple(searched), n_bytes, len(needles) + len(names), tuple(matches))


def first_hits(data: bytes, start: int, sought: SearchPatterns, first: dict[int, int]) -> None:
    """Record in `first` (sequence -> position) the first match of each sequence in `data`, which begins at
    `start`."""
    lower = data.lower() if sought.folded else b""
    for where, some in ((data, sought.exact), (lower, sought.folded)):
        for piece, number in some:
            if number not in first and (at := where.find(piece)) >= 0:
                first[number] = start + at


def _pieces(needle: bytes) -> list[bytes]:
    if len(needle) <= _PIECE_BYTES:
        return [needle]
    pieces = [needle[at : at + _PIECE_BYTES] for at in range(0, len(needle) - _PIECE_BYTES + 1, _PIECE_BYTES)]
    return [piece for piece in pieces if any(piece)]  # a run of zeros proves nothing


def _windows(descriptor: int, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield (position, bytes) of a file in windows that overlap, so that any `longest` bytes lie within one
    window."""
    start = 0
    while data := os.pread(descriptor, _WINDOW_BYTES, start):
        yield start, data
        if len(data) < _WINDOW_BYTES:
            return
        start += _WINDOW_BYTES - longest + 1
