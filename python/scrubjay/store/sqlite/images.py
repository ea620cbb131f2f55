"""Reads images of partitions from the file: as a whole, or in pieces, or says where the engine finds them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import ClosedError
from scrubjay.store.rows.decoding import MARK_BYTES, has_mark, mark_of, unmarked
from scrubjay.store.seam import ImagePart, StoredImage
from scrubjay.store.sqlite.connections import StoreConnection, translated
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.reading import ScopeReader

# Large enough that few calls wait for the GIL, small enough for the second cache of a processor.
_PIECE_BYTES = 1 << 17
_LARGE_BYTES = 2 << 20  # images with more bytes would replace every page of the connection's cache
_FIRST_BYTES = 80  # hold the checksum of an image (Engine.load_stored_partition)


class _Row(NamedTuple):
    """A row of the table of images, without its BLOB."""

    number: int
    ordinal: int
    n_chunks: int
    version: int
    kind: str
    n_bytes: int
    root: int | None  # page of the table's root


class _Pieces:
    """A stored chunk without its mark, read from its BLOB piece by piece. For one thread, and one iteration.

    SQLite copies into each piece, and the engine from it, while it is in the processor's cache. Each call of
    SQLite holds the connection's lock: another thread must not close a BLOB that is being read.
    """

    def __init__(
        self, connection: StoreConnection, blob: Any, row: _Row, scope: Scope, descriptor: Callable[[], int]
    ) -> None:
        self._connection, self._blob, self._row, self._scope = connection, blob, row, scope
        self._descriptor = descriptor

    def __len__(self) -> int:
        """The number of bytes with the mark."""
        return self._row.n_bytes

    def stored(self) -> StoredImage | None:
        """Return where the chunk is in the file. Only its first bytes are read through SQLite: they have the
        checksum of the others, which may be newer in the log."""
        row = self._row
        if os.name != "posix" or row.root is None or row.n_bytes < _FIRST_BYTES + MARK_BYTES:
            return None
        first: bytes = self._connection.call(self._blob.read, _FIRST_BYTES)
        self._connection.call(self._blob.seek, 0)
        end = mark_of(self._scope, row.version, row.ordinal, row.n_chunks)
        return StoredImage(self._descriptor(), row.root, row.number, row.n_bytes, first, end)

    def __iter__(self) -> Iterator[bytes]:
        call, read = self._connection.call, self._blob.read
        left = self._row.n_bytes - MARK_BYTES
        with self._connection.passing_through() if left > _LARGE_BYTES else nullcontext():
            while left > 0:
                piece: bytes = call(read, min(left, _PIECE_BYTES))
                left -= len(piece)
                yield piece
        end: bytes = call(read)
        if not has_mark(self._scope, self._row.version, self._row.ordinal, self._row.n_chunks, end):
            yield end


class ImageReader:
    """Reads the images of a collection's partitions, each in its own snapshot. Thread-safe."""

    def __init__(self, scopes: ScopeReader, documents: DocumentReader, descriptor: Callable[[], int]) -> None:
        self._descriptor = descriptor
        self._path, self._snapshot, self._scope_of = scopes.path, scopes.snapshot, documents.scope_of_key
        self._tables, self._cipher, self._connection = scopes.tables, scopes.cipher, scopes.reading_connection

    def image(self, key: int) -> tuple[int, list[bytes]] | None:
        with translated(self._path, "reading"), self._snapshot():
            image = self._rows(key)
            return None if image is None else self._copied(self._scope_of(key), *image)

    @contextmanager
    def image_views(self, scope: Scope, key: int) -> Iterator[tuple[int, Sequence[ImagePart]] | None]:
        """Provide the image that :meth:`image` returns, not read yet where it can be read in pieces."""
        with self._snapshot(), translated(self._path, "reading"):
            image = self._rows(key)
            if image is None:
                yield None
                return
            version, rows = image
            if self._cipher.ring is not None or sys.version_info < (3, 11):
                yield version, self._opened(scope, version, [self._data(row.number) for row in rows])
            else:
                connection = self._connection()
                with self._blobs(rows) as blobs:
                    yield (
                        version,
                        [
                            _Pieces(connection, blob, row, scope, self._descriptor)
                            for blob, row in zip(blobs, rows, strict=True)
                        ],
                    )

    @contextmanager
    def _blobs(self, rows: Sequence[_Row]) -> Iterator[list[Any]]:
        """Open the BLOBs of these rows for the duration of a block."""
        connection, blobs = self._connection(), []
        blobopen: Any = connection.blobopen  # type: ignore[attr-defined,unused-ignore]
        open_blob = partial(blobopen, self._tables.image, "data", readonly=True)
        try:
            for row in rows:
                blobs.append(connection.call(open_blob, row.number))
            yield blobs
        finally:
            with suppress(ClosedError):  # the connection closed them
                for blob in blobs:
                    connection.call(blob.close)

    def _copied(self, scope: Scope, version: int, rows: Sequence[_Row]) -> tuple[int, list[bytes]]:
        chunks = self._opened(scope, version, [self._data(row.number) for row in rows])
        return version, [bytes(chunk) for chunk in chunks]

    def _rows(self, key: int) -> tuple[int, list[_Row]] | None:
        """Return (version, rows) of a complete image."""
        table = self._tables.image
        rows = [
            _Row(*row)
            for row in self._connection().rows(
                f"SELECT number, ordinal, n_chunks, version, typeof(data), length(data), "
                f"(SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = '{table}') "
                f"FROM {table} WHERE scope = ? ORDER BY ordinal",
                (key,),
            )
        ]
        for i, row in enumerate(rows):
            if (row.ordinal, row.n_chunks, row.version, row.kind) != (i, len(rows), rows[0].version, "blob"):
                return None
        if not rows or rows[0].version.__class__ is not int:
            return None
        return rows[0].version, rows

    def _opened(
        self, scope: Scope, version: int, chunks: Sequence[bytes | memoryview]
    ) -> Sequence[bytes | memoryview]:
        if self._cipher.ring is not None:  # without keys the engine rejects a sealed image
            chunks = self._cipher.open_image(self._tables.image, scope, version, chunks)
        return unmarked(scope, version, chunks)

    def _data(self, number: int) -> bytes:
        if sys.version_info >= (3, 11):
            # A fifth of the time: a value of a row passes through SQLite's own memory.
            return self._connection().blob(self._tables.image, "data", number)
        row: tuple[bytes] = (
            self._connection()
            .execute(f"SELECT data FROM {self._tables.image} WHERE number = ?", (number,))
            .fetchone()
        )
        return row[0]
