"""The page structure of a SQLite file (https://sqlite.org/fileformat2.html), as far as compaction needs it and
SQL does not expose it.

It finds sparse leaves of tables, and pages with bytes of deleted rows. SQLite zeroes what it frees
(`secure_delete`), but a page whose cells it moved to a neighbour keeps their bytes in its unallocated space,
between the cell pointers and the cells. Only files with pointer maps (auto_vacuum) are supported: the maps give
the kind of each page.

Nothing here takes a lock. What is read during other writes is a hint, to be read again under the write lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.base.errors import CorruptIndexError

_HEADER_BYTES = 100
_LOCK_BYTE = 1 << 30  # SQLite does not use the page with this byte
_ENTRY_BYTES = 5  # of a pointer map: kind, and parent page
_ROOT, _BTREE = 1, 5  # kinds
_TABLE_LEAF = 13
_HEADER_SIZES = {2: 12, 5: 12, 10: 8, _TABLE_LEAF: 8}  # of interior and leaf pages of indexes and tables
_PIECE_PAGES = 128


class Leaf(NamedTuple):
    """A leaf page of a table."""

    root: int
    first: int
    last: int
    n_rows: int
    n_free_bytes: int


class Pages:
    """The pages of a file, without the log: only what a checkpoint has written to the file.

    Raises:
        CorruptIndexError: the file has no pointer maps.

    Attributes:
        page_bytes: the size of a page.
        usable_bytes: that size without the end of the page that some builds of SQLite reserve.
        n_pages: the number of pages.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        header = os.pread(descriptor, _HEADER_BYTES, 0)
        size = int.from_bytes(header[16:18], "big")
        self.page_bytes = 1 << 16 if size == 1 else size
        largest_root = int.from_bytes(header[52:56], "big")
        if len(header) < _HEADER_BYTES or largest_root == 0 or self.page_bytes < 512:
            raise CorruptIndexError("the header is not that of a file with pointer maps")
        self.usable_bytes = self.page_bytes - header[20]
        self.n_pages = os.fstat(descriptor).st_size // self.page_bytes
        self._kinds: npt.NDArray[np.uint8] = np.zeros(self.n_pages + 1, dtype=np.uint8)
        self._parents: npt.NDArray[np.int64] = np.zeros(self.n_pages + 1, dtype=np.int64)
        self._read_maps()

    def _read_maps(self) -> None:
        n_entries = self.usable_bytes // _ENTRY_BYTES
        lock_page = _LOCK_BYTE // self.page_bytes + 1
        for start in range(2, self.n_pages + 1, n_entries + 1):
            page = start + (start == lock_page)
            data = np.frombuffer(self.read(page), dtype=np.uint8)[: n_entries * _ENTRY_BYTES]
            entries = data.reshape(-1, _ENTRY_BYTES)[: max(self.n_pages - page, 0)]
            covered = slice(page + 1, page + 1 + len(entries))
            self._kinds[covered] = entries[:, 0]
            self._parents[covered] = np.ascontiguousarray(entries[:, 1:]).view(">u4").reshape(-1)
        if self.n_pages:
            self._kinds[1] = _ROOT  # the root of the schema has no entry
        if lock_page <= self.n_pages:
            self._kinds[lock_page] = 0

    def read(self, page: int) -> bytes:
        """Return a page's bytes; fewer at the end of the file."""
        return os.pread(self._descriptor, self.page_bytes, (page - 1) * self.page_bytes)

    def is_btree(self, page: int) -> bool:
        """Whether a page belongs to a table or an index, by its pointer map entry."""
        return page <= self.n_pages and int(self._kinds[page]) in (_ROOT, _BTREE)

    def _each(self) -> Iterator[tuple[int, bytes]]:
        size = self.page_bytes
        for start in range(1, self.n_pages + 1, _PIECE_PAGES):
            chosen = [
                n for n in range(start, min(start + _PIECE_PAGES, self.n_pages + 1)) if self.is_btree(n)
            ]
            if not chosen:
                continue
            data = os.pread(self._descriptor, size * _PIECE_PAGES, (start - 1) * size)
            for page in chosen:
                yield page, data[(page - start) * size : (page - start + 1) * size]

    def unclean(self) -> Iterator[int]:
        """Yield the pages of tables and indexes with nonzero bytes in their unallocated space."""
        for page, data in self._each():
            begin, end = unallocated(page, data)
            if data.count(0, begin, end) != end - begin:
                yield page

    def zero(self, page: int) -> None:
        """Zero the unallocated space of a page, unless it no longer belongs to a table or index, or is damaged.

        The caller holds the write lock of the whole file, and has checkpointed the log completely.
        """
        if self._kind_now(page) not in (_ROOT, _BTREE):
            return
        data = self.read(page)
        begin, end = unallocated(page, data)
        if begin < end and _nothing_before(end, page, data):
            os.pwrite(self._descriptor, bytes(end - begin), (page - 1) * self.page_bytes + begin)

    def sync(self) -> None:
        """Sync the zeroed pages to disk."""
        os.fsync(self._descriptor)

    def _kind_now(self, page: int) -> int:
        if page == 1:
            return _ROOT
        n_entries = self.usable_bytes // _ENTRY_BYTES
        holder = (page - 2) // (n_entries + 1) * (n_entries + 1) + 2
        holder += holder == _LOCK_BYTE // self.page_bytes + 1
        at = (holder - 1) * self.page_bytes + _ENTRY_BYTES * (page - holder - 1)
        kind = os.pread(self._descriptor, 1, at) if page > holder else b""
        return kind[0] if kind else 0

    def leaves(self, roots: frozenset[int]) -> Iterator[Leaf]:
        """Yield the nonempty leaves of the tables with these roots, in no particular order."""
        for page, data in self._each():
            if data[:1] == bytes([_TABLE_LEAF]) and (root := self._root(page)) in roots:
                leaf = _leaf(root, data)
                if leaf is not None:
                    yield leaf

    def _root(self, page: int) -> int:
        for _ in range(20):  # no tree is higher
            if page > self.n_pages or self._kinds[page] != _BTREE:
                break
            page = int(self._parents[page])
        return page


def unallocated(page: int, data: bytes) -> tuple[int, int]:
    """Return begin and end of the space between cell pointers and cells in a page of a table or index; an empty
    range if the page is invalid."""
    at = _HEADER_BYTES if page == 1 else 0
    header_size = _HEADER_SIZES.get(data[at]) if len(data) > at + 12 else None
    if header_size is None:
        return 0, 0
    begin = at + header_size + 2 * int.from_bytes(data[at + 3 : at + 5], "big")
    end = int.from_bytes(data[at + 5 : at + 7], "big") or 1 << 16
    return (begin, end) if begin <= end <= len(data) else (0, 0)


def _nothing_before(end: int, page: int, data: bytes) -> bool:
    """Whether no cell and no free block begins before the stated end of the unallocated space."""
    at = _HEADER_BYTES if page == 1 else 0
    pointers = at + _HEADER_SIZES[data[at]]
    n_cells = int.from_bytes(data[at + 3 : at + 5], "big")
    cells = np.frombuffer(data, dtype=">u2", count=n_cells, offset=pointers)
    block = int.from_bytes(data[at + 1 : at + 3], "big")
    return (n_cells == 0 or int(cells.min()) >= end) and (block == 0 or block >= end)


def _leaf(root: int, data: bytes) -> Leaf | None:
    n_cells = int.from_bytes(data[3:5], "big")
    begin, end = unallocated(2, data)
    if n_cells == 0 or end == 0:
        return None
    n_free = end - begin + data[7]
    at, n_seen = int.from_bytes(data[1:3], "big"), 0
    while 0 < at < len(data) - 4 and n_seen < len(data) // 4:  # the free blocks between the cells
        n_free += int.from_bytes(data[at + 2 : at + 4], "big")
        at, n_seen = int.from_bytes(data[at : at + 2], "big"), n_seen + 1
    first, last = (int.from_bytes(data[8 + 2 * i : 10 + 2 * i], "big") for i in (0, n_cells - 1))
    return Leaf(root, _row_number(data, first), _row_number(data, last), n_cells, n_free)


def _row_number(data: bytes, at: int) -> int:
    """Return the number of the row whose cell begins here."""
    _, at = _varint(data, at)  # the size of the cell
    number, _ = _varint(data, at)
    return number - (1 << 64) if number >= 1 << 63 else number


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i in range(8):
        byte = data[at + i] if at + i < len(data) else 0
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    return value << 8 | (data[at + 8] if at + 8 < len(data) else 0), at + 9
