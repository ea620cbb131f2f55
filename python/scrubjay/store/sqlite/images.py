"""Reads images of partitions from the file: copied, or into reused memory."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from scrubjay._native import Scope
from scrubjay.locks import renew_in_children
from scrubjay.store.rows.decoding import unmarked
from scrubjay.store.sqlite.connections import StoreConnection, translated
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.reading import ScopeReader

_PIECE_BYTES = 1 << 16
_MAX_SCRATCH_BYTES = 16 << 20

_Parts = Sequence[bytes | memoryview]


class ImageReader:
    """Reads the images of a collection's partitions, each in its own snapshot. Thread-safe."""

    def __init__(self, scopes: ScopeReader, documents: DocumentReader) -> None:
        self._path, self._snapshot, self._scope_of = scopes.path, scopes.snapshot, documents.scope_of_key
        self._tables, self._cipher, self._connection = scopes.tables, scopes.cipher, scopes.reading_connection
        self._scratch = bytearray()  # buffer for an image on its way to the engine
        self._scratch_lock = threading.Lock()
        renew_in_children(self, "_scratch_lock")

    def image(self, key: int) -> tuple[int, list[bytes]] | None:
        with translated(self._path, "reading"), self._snapshot():
            image = self._rows(key)
            return None if image is None else self._copied(self._scope_of(key), *image)

    @contextmanager
    def image_views(self, scope: Scope, key: int) -> Iterator[tuple[int, _Parts] | None]:
        """Provide what :meth:`image` returns; page faults of new memory cost more than reading into old memory."""
        with self._snapshot(), translated(self._path, "reading"):
            image = self._rows(key)
            if image is None:
                yield None
                return
            if not self._scratch_lock.acquire(blocking=False):
                yield self._copied(scope, *image)
                return
            try:
                version, numbers = image
                yield version, self._opened(scope, version, self._into_scratch(numbers))
            finally:
                if len(self._scratch) > _MAX_SCRATCH_BYTES:
                    self._scratch = bytearray()
                self._scratch_lock.release()

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

    def _opened(self, scope: Scope, version: int, chunks: _Parts) -> _Parts:
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

    def _into_scratch(self, numbers: Sequence[int]) -> _Parts:
        if sys.version_info >= (3, 11):
            connection = self._connection()
            return list(connection.call(self._read_blobs, connection, numbers))
        return [self._data(number) for number in numbers]

    def _read_blobs(self, connection: StoreConnection, numbers: Sequence[int]) -> list[memoryview]:
        """Read BLOBs under the connection's lock: another thread must not close one while it is read."""
        with ExitStack() as stack:
            table = self._tables.image
            blobs = [
                stack.enter_context(connection.blobopen(table, "data", number, readonly=True))  # type: ignore[attr-defined,unused-ignore]
                for number in numbers
            ]
            if len(self._scratch) < (n_bytes := sum(map(len, blobs))):
                self._scratch = bytearray(n_bytes)
            scratch = memoryview(self._scratch)
            whole = scratch.toreadonly()  # the engine copies parts that may change while they are read
            views: list[memoryview] = []
            at = 0
            for blob in blobs:
                start = at
                while piece := blob.read(_PIECE_BYTES):
                    scratch[at : at + len(piece)] = piece
                    at += len(piece)
                views.append(whole[start:at])
        return views
