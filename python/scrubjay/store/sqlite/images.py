"""Reads images of partitions from the file: as a whole, or in pieces."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import ClosedError
from scrubjay.store.rows.decoding import MARK_BYTES, has_mark, unmarked
from scrubjay.store.seam import ImagePart
from scrubjay.store.sqlite.connections import StoreConnection, translated
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.reading import ScopeReader

# Large enough that few calls wait for the GIL, small enough for the second cache of a processor.
_PIECE_BYTES = 1 << 17
_LARGE_BYTES = 2 << 20  # images with more bytes would replace every page of the connection's cache


class _Pieces:
    """A stored chunk without its mark, read from its BLOB piece by piece. For one thread, and one iteration.

    SQLite copies into each piece, and the engine from it, while it is in the processor's cache. Each call of
    SQLite holds the connection's lock: another thread must not close a BLOB that is being read.
    """

    def __init__(self, connection: StoreConnection, blob: Any, has_mark: Callable[[bytes], bool]) -> None:
        self._connection, self._blob, self._has_mark = connection, blob, has_mark
        self._n_bytes: int = connection.call(len, blob)

    def __len__(self) -> int:
        """The number of bytes with the mark."""
        return self._n_bytes

    def __iter__(self) -> Iterator[bytes]:
        call, read = self._connection.call, self._blob.read
        left = self._n_bytes - MARK_BYTES
        while left > 0:
            piece: bytes = call(read, min(left, _PIECE_BYTES))
            left -= len(piece)
            yield piece
        end: bytes = call(read)
        if not self._has_mark(end):
            yield end


class ImageReader:
    """Reads the images of a collection's partitions, each in its own snapshot. Thread-safe."""

    def __init__(self, scopes: ScopeReader, documents: DocumentReader) -> None:
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
            version, numbers = image
            if self._cipher.ring is not None or sys.version_info < (3, 11):
                yield version, self._opened(scope, version, [self._data(number) for number in numbers])
            else:
                with self._blobs(numbers) as blobs:
                    yield (
                        version,
                        [
                            _Pieces(
                                self._connection(),
                                blob,
                                partial(has_mark, scope, version, ordinal, len(blobs)),
                            )
                            for ordinal, blob in enumerate(blobs)
                        ],
                    )

    @contextmanager
    def _blobs(self, numbers: Sequence[int]) -> Iterator[list[Any]]:
        """Open the BLOBs of these rows for the duration of a block."""
        connection, blobs = self._connection(), []
        blobopen: Any = connection.blobopen  # type: ignore[attr-defined,unused-ignore]
        open_blob = partial(blobopen, self._tables.image, "data", readonly=True)
        try:
            for number in numbers:
                blobs.append(connection.call(open_blob, number))
            n_bytes = sum(connection.call(len, blob) for blob in blobs)
            with connection.passing_through() if n_bytes > _LARGE_BYTES else nullcontext():
                yield blobs
        finally:
            with suppress(ClosedError):  # the connection closed them
                for blob in blobs:
                    connection.call(blob.close)

    def _copied(self, scope: Scope, version: int, numbers: Sequence[int]) -> tuple[int, list[bytes]]:
        chunks = self._opened(scope, version, [self._data(number) for number in numbers])
        return version, [bytes(chunk) for chunk in chunks]

    def _rows(self, key: int) -> tuple[int, list[int]] | None:
        """Return (version, row numbers) of a complete image."""
        rows = self._connection().rows(
            f"SELECT number, ordinal, n_chunks, version, typeof(data) FROM {self._tables.image} "
            "WHERE scope = ? ORDER BY ordinal",
            (key,),
        )
        for i, (_, ordinal, n_chunks, version, kind) in enumerate(rows):
            if (ordinal, n_chunks, version, kind) != (i, len(rows), rows[0][3], "blob"):
                return None
        if not rows or rows[0][3].__class__ is not int:
            return None
        return rows[0][3], [row[0] for row in rows]

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
