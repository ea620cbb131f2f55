"""What is left of what was erased: the sequences of bytes that are looked for, and a search of files for them."""

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

from scrubjay.records import as_text
from scrubjay.store.rows.vectors import encode_many

_PIECE_BYTES = 32
_MIN_BASE64 = 4  # digits; fewer are found in any image
_WINDOW_BYTES = 8 << 20


class KeyProof(NamedTuple):
    """What became of one key of a user.

    Attributes:
        id: of the key, as the key store knows it.
        made_at: when the key was made.
        whole: whether the user had nothing before that: everything was sealed with this key. False: what was there
            before was sealed with the tenant's key, or not at all, and copies from before `made_at` open with that.
        destroyed_at: when the key store destroyed it; None: it has not.
    """

    id: str
    made_at: datetime
    whole: bool
    destroyed_at: datetime | None

    def __str__(self) -> str:
        """Return it as a sentence."""
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
    """What a search for erased bytes found, and what it proves.

    Attributes:
        files: the files that were searched; none of a database.
        n_bytes: how many bytes were searched: of the files, or of the values in a database.
        n_sequences: how many byte sequences were looked for.
        found: for each that is there: the file, the position, and which sequence (its index among those given). In a
            database: the table and column ("sj_document.text"), in how many rows, and which sequence; of an object or
            its copy its address, the position, and which sequence.
        proof: what is proved where nothing was found: "bytes", that no byte of the files has it; "rows", that no row of
            the database does; "rows and objects", that no object of its object store does, either; "keys", nothing of
            that, as only a scope was given.
        not_covered: where copies may be that this does not show, in words.
        tables: of a database, the tables that were searched.
        n_objects: how many objects, and copies of them on this machine, were searched.
        keys: of a user: what became of each key that the user had (:mod:`scrubjay.keystores`); a destroyed one proves
            that no copy, of whatever age, opens what it sealed.
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
        """Whether nothing was found, and no key is left."""
        return not self.found and all(key.destroyed_at is not None for key in self.keys)

    @property
    def proofs(self) -> tuple[str, ...]:
        """What is proved, in words: of each key, and of what was searched and not found.

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


class Sought(NamedTuple):
    """What is looked for: (bytes, the index of the sequence that they are part of)."""

    exact: list[tuple[bytes, int]]
    folded: list[tuple[bytes, int]]
    """In lower case, as what is searched."""


class Looking(Protocol):
    """What reads files beside SQLite."""

    def descriptor(self, path: Path) -> int:
        """Return a descriptor to read a file by, which must not be closed."""
        ...


def text_needles(texts: Iterable[str]) -> list[bytes]:
    """Return texts as the bytes that are looked for.

    Raises:
        TypeError: one is not a str.
    """
    return [as_text(text).encode() for text in _each(texts, "texts", str)]


def byte_needles(sequences: Iterable[bytes]) -> list[bytes]:
    """Return byte sequences.

    Raises:
        TypeError: one is not bytes.
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


def sought_for(needles: Sequence[bytes], names: Sequence[str]) -> Sought:
    """Return what is looked for to find byte sequences, and names in every form of :func:`name_needles`."""
    exact = [(piece, number) for number, needle in enumerate(needles) for piece in _pieces(needle)]
    folded: list[tuple[bytes, int]] = []
    for number, name in enumerate(names, len(needles)):
        anyhow, exactly = name_needles(name)
        folded += [(piece, number) for piece in anyhow]
        exact += [(piece, number) for piece in exactly]
    return Sought(exact, folded)


def search_files(
    paths: Iterable[Path], looking: Looking, needles: Sequence[bytes], names: Sequence[str] = ()
) -> ErasureReport:
    """Search the files of an index for byte sequences, and for names in every form of :func:`name_needles`.

    SQLite may cut a long value where a page ends, so of a sequence longer than 32 bytes every 32 bytes are
    looked for, too:
    whatever 63 bytes of it are left in one place are found. Words that other documents share are found as well.
    """
    found: list[tuple[Path, int, int]] = []
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
        found.extend((path, at, number) for number, at in sorted(first.items()))
    return ErasureReport(tuple(searched), n_bytes, len(needles) + len(names), tuple(found))


def first_hits(data: bytes, start: int, sought: Sought, first: dict[int, int]) -> None:
    """Note in `first` (which -> where) what is in data that begins at `start` and was not found before."""
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
    """Yield (position, bytes) of a file in pieces that overlap, so that what is `longest` lies whole in one of them."""
    start = 0
    while data := os.pread(descriptor, _WINDOW_BYTES, start):
        yield start, data
        if len(data) < _WINDOW_BYTES:
            return
        start += _WINDOW_BYTES - longest + 1
