"""Reads images of partitions from the file: as a whole, or in pieces, or says where the engine finds them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import ClosedError
from scrubjay.store.rows.decoding import MARK_BYTES, has_mark, mark_of, unmarked
from scrubjay.store.seam import ImagePart, StoredImage
from scrubjay.store.sqlite import image_pieces
from scrubjay.store.sqlite.connections import StoreConnection, translated
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.image_pieces import Piece
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


class _Chunk(NamedTuple):
    """Where a chunk of an image is stored."""

    ordinal: int
    n_chunks: int
    version: int
    table: str
    root: int | None  # page of the table's root
    blobs: Sequence[Piece]  # its bytes, in order: the chunk's own row, or its pieces

    @property
    def n_bytes(self) -> int:
        return sum(n_bytes for _, n_bytes in self.blobs)


class _Blobs:
    """BLOBs that are open until the end of a block."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection, self._open = connection, ExitStack()

    def __enter__(self) -> _Blobs:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ClosedError):  # the connection closed them
            self._open.close()

    def open(self, table: str, number: int) -> Any:
        blobopen: Any = self._connection.blobopen  # type: ignore[attr-defined,unused-ignore]
        blob = self._connection.call(partial(blobopen, table, "data", readonly=True), number)
        self._open.callback(self._connection.call, blob.close)
        return blob


class _Pieces:
    """A stored chunk without its mark, read piece by piece. For one thread, and one iteration.

    SQLite copies into each piece, and the engine from it, while it is in the processor's cache. Each call of
    SQLite holds the connection's lock: another thread must not close a BLOB that is being read.
    """

    def __init__(
        self,
        connection: StoreConnection,
        blobs: _Blobs,
        chunk: _Chunk,
        scope: Scope,
        descriptor: Callable[[], int],
    ) -> None:
        self._connection, self._chunk, self._scope = connection, chunk, scope
        self._open = partial(blobs.open, chunk.table)
        self._first = self._open(chunk.blobs[0][0])
        self._descriptor = descriptor

    def __len__(self) -> int:
        """The number of bytes with the mark."""
        return self._chunk.n_bytes

    def stored(self) -> StoredImage | None:
        """Return where the chunk is in the file. Only its first bytes are read through SQLite: they have the
        checksum of the others, which may be newer in the log."""
        chunk = self._chunk
        if os.name != "posix" or chunk.root is None or chunk.n_bytes < _FIRST_BYTES + MARK_BYTES:
            return None
        first: bytes = self._connection.call(self._first.read, _FIRST_BYTES)
        self._connection.call(self._first.seek, 0)
        end = mark_of(self._scope, chunk.version, chunk.ordinal, chunk.n_chunks)
        return StoredImage(self._descriptor(), chunk.root, chunk.blobs, first, end)

    def __iter__(self) -> Iterator[bytes]:
        chunk, call = self._chunk, self._connection.call
        left = chunk.n_bytes - MARK_BYTES
        end = b""
        with self._connection.passing_through() if left > _LARGE_BYTES else nullcontext():
            for i, (number, n_bytes) in enumerate(chunk.blobs):
                blob = self._first if i == 0 else self._open(number)
                n = min(n_bytes, left)
                left -= n
                while n > 0:
                    piece: bytes = call(blob.read, min(n, _PIECE_BYTES))
                    n -= len(piece)
                    yield piece
                end += call(blob.read)
                call(blob.close)
        if not has_mark(self._scope, chunk.version, chunk.ordinal, chunk.n_chunks, end):
            yield end


class ImageReader:
    """Reads the images of a collection's partitions, each in its own snapshot. Thread-safe."""

    def __init__(self, scopes: ScopeReader, documents: DocumentReader, descriptor: Callable[[], int]) -> None:
        self._descriptor = descriptor
        self._path, self._snapshot, self._scope_of = scopes.path, scopes.snapshot, documents.scope_of_key
        self._tables, self._cipher, self._connection = scopes.tables, scopes.cipher, scopes.reading_connection

    def image(self, key: int) -> tuple[int, list[bytes]] | None:
        with translated(self._path, "reading"), self._snapshot():
            image = self._chunks(key)
            return None if image is None else self._copied(self._scope_of(key), *image)

    @contextmanager
    def image_views(self, scope: Scope, key: int) -> Iterator[tuple[int, Sequence[ImagePart]] | None]:
        """Provide the image that :meth:`image` returns, not read yet where it can be read in pieces."""
        with self._snapshot(), translated(self._path, "reading"):
            image = self._chunks(key)
            if image is None:
                yield None
                return
            version, chunks = image
            if self._cipher.ring is not None or sys.version_info < (3, 11):
                yield version, self._opened(scope, version, [self._data(chunk) for chunk in chunks])
            else:
                connection = self._connection()
                with _Blobs(connection) as blobs:
                    yield (
                        version,
                        [_Pieces(connection, blobs, chunk, scope, self._descriptor) for chunk in chunks],
                    )

    def _copied(self, scope: Scope, version: int, stored: Sequence[_Chunk]) -> tuple[int, list[bytes]]:
        chunks = self._opened(scope, version, [self._data(chunk) for chunk in stored])
        return version, [bytes(chunk) for chunk in chunks]

    def _chunks(self, key: int) -> tuple[int, list[_Chunk]] | None:
        """Return (version, chunks) of a complete image."""
        table = self._tables.image
        found = self._connection().rows(
            f"SELECT {_root_of(table)}, number, ordinal, n_chunks, version, typeof(data), length(data) "
            f"FROM {table} WHERE scope = ? ORDER BY ordinal",
            (key,),
        )
        rows = [_Row(*row) for _, *row in found]
        if not rows or rows[0].version.__class__ is not int:
            return None
        n_chunks, version = rows[0].n_chunks, rows[0].version
        for i, row in enumerate(rows):
            if (row.ordinal, row.n_chunks, row.version, row.kind) != (i, n_chunks, version, "blob"):
                return None
        if n_chunks == len(rows):
            root = found[0][0]
            return version, [
                _Chunk(row.ordinal, n_chunks, version, table, root, [(row.number, row.n_bytes)])
                for row in rows
            ]
        return (version, cut) if n_chunks == -len(rows) and (cut := self._cut(key, rows)) else None

    def _cut(self, key: int, rows: Sequence[_Row]) -> list[_Chunk] | None:
        """Return the chunks of an image in pieces; None if a piece is missing."""
        connection, t = self._connection(), self._tables
        table = image_pieces.table_of(t)
        ((root,),) = connection.rows(f"SELECT {_root_of(table)}")
        if root is None:  # there is no such table
            return None
        sizes = image_pieces.sizes(connection, t, key)
        chunks = []
        for row in rows:
            pieces = image_pieces.decoded(self._blob(t.image, row.number))
            if pieces is None or any(sizes.get(number) != n_bytes for number, n_bytes in pieces):
                return None
            chunks.append(_Chunk(row.ordinal, len(rows), row.version, table, root, pieces))
        return chunks

    def _opened(
        self, scope: Scope, version: int, chunks: Sequence[bytes | memoryview]
    ) -> Sequence[bytes | memoryview]:
        if self._cipher.ring is not None:  # without keys the engine rejects a sealed image
            chunks = self._cipher.open_image(self._tables.image, scope, version, chunks)
        return unmarked(scope, version, chunks)

    def _data(self, chunk: _Chunk) -> bytes:
        blobs = [self._blob(chunk.table, number) for number, _ in chunk.blobs]
        return blobs[0] if len(blobs) == 1 else b"".join(blobs)

    def _blob(self, table: str, number: int) -> bytes:
        if sys.version_info >= (3, 11):
            # A fifth of the time: a value of a row passes through SQLite's own memory.
            return self._connection().blob(table, "data", number)
        row: tuple[bytes] = (
            self._connection().execute(f"SELECT data FROM {table} WHERE number = ?", (number,)).fetchone()
        )
        return row[0]


def _root_of(table: str) -> str:
    """Return the expression for the page of a table's root."""
    return f"(SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = '{table}')"
