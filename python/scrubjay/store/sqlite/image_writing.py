"""Writes large images piece by piece, each in a transaction of its own, so that other writers wait for one piece.

The pieces are :mod:`scrubjay.store.sqlite.image_pieces`; the transaction that replaces the image lists them.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from scrubjay._native import Scope
from scrubjay.base.errors import StoreBusyError, StoreError
from scrubjay.store.keys.encryption import Box
from scrubjay.store.keys.sealing import sealed_image
from scrubjay.store.rows.decoding import mark_of, marked
from scrubjay.store.sqlite import image_pieces, schema
from scrubjay.store.sqlite.cipher import data_key
from scrubjay.store.sqlite.connections import StoreConnection
from scrubjay.store.sqlite.image_pieces import CutImage, Piece
from scrubjay.store.sqlite.schema import Tables
from scrubjay.store.sqlite.scope_rows import row_of
from scrubjay.store.sqlite.steps import beside, checkpoint, rest
from scrubjay.store.sqlite.transaction import Transaction

PIECE_BYTES = 1 << 20
"""The most bytes of a piece. Writing them holds the write lock for about three milliseconds."""

_DOING = "writing images"
_LOG_BYTES = 4 << 20  # of pieces between two checkpoints, before a writer's commit has to make one


class Stepping(Protocol):
    """What writing in pieces needs of the store of a file."""

    path: Path
    tables: Tables

    def reading_connection(self) -> StoreConnection:
        """Return this thread's connection."""
        ...

    def stepping(self, doing: str) -> AbstractContextManager[StoreConnection]:
        """Acquire the write lock and begin a transaction for a maintenance step."""
        ...

    def writing(
        self, doing: str, *, scopes: Sequence[Scope], in_background: bool
    ) -> AbstractContextManager[Transaction]:
        """Acquire the write lock and begin a transaction."""
        ...


@contextmanager
def in_pieces(
    store: Stepping, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool
) -> Iterator[Sequence[bytes] | CutImage]:
    """Write the pieces of a large image, and provide what `write_image` takes: the chunks themselves if they are
    small, or if it will not take them. At the end of the block those pieces of the scope are deleted that no image
    lists.

    Raises:
        StoreBusyError: another process held the write lock for longer than the busy timeout, or the scope was
            erased, or its image written, meanwhile.
    """
    if sum(map(len, chunks)) <= PIECE_BYTES:
        yield chunks
        return
    writer = _Writer(store, scope, version, replace=replace)
    if not writer.is_needed:
        yield chunks
        return
    try:
        yield writer.write(chunks)
    finally:
        with suppress(StoreError):  # the next image, or compaction, deletes the others
            forget_unlisted(store, store.tables, writer.key)


def forget_unlisted(store: Stepping, t: Tables, key: int) -> None:
    """Delete the pieces of a scope that no image lists, in steps."""
    n_left = 1
    while n_left > 0:
        with _paused(), store.stepping(_DOING) as connection:
            if not image_pieces.exists(connection, t):  # the collection was dropped meanwhile
                return
            numbers = image_pieces.unlisted(connection, t, key)  # anew: its writer may have listed one
            connection.executemany(
                f"DELETE FROM {image_pieces.table_of(t)} WHERE number = ?",
                [(number,) for number in numbers[:1]],
            )
            n_left = len(numbers) - 1


def forget_all_unlisted(store: Stepping) -> None:
    """The same for all scopes of all collections of the file."""
    connection = store.reading_connection()
    for t in schema.all_tables(connection):
        if image_pieces.exists(connection, t):
            keys = connection.execute(f"SELECT DISTINCT scope FROM {image_pieces.table_of(t)}").fetchall()
            for (key,) in keys:
                forget_unlisted(store, t, key)


@contextmanager
def _paused() -> Iterator[None]:
    """Give other writers their turn after a step."""
    begun = time.monotonic()
    yield
    rest(time.monotonic() - begun)


class _Writer:
    """Writes the pieces of one image."""

    def __init__(self, store: Stepping, scope: Scope, version: int, *, replace: bool) -> None:
        self._store, self._scope, self._version = store, scope, version
        self._numbers: list[int] = []
        self._box: Box | None = None
        with store.writing(_DOING, scopes=(), in_background=True) as transaction:
            connection, cipher = transaction.connection, transaction.cipher
            row = row_of(connection, store.tables.scope, scope, "s.key")
            if row is None:
                raise StoreBusyError(f"{_DOING}: the scope was erased meanwhile: {store.path}")
            self.key = int(row[0])
            self.is_needed = transaction.takes_image(self.key, version, replace=replace)
            if not self.is_needed:  # another process wrote it
                return
            if cipher is not None:
                self._box = cipher.sealing(scope.tenant, scope.user, make=False)
            self._data_key = _id_of_key(connection, scope.tenant)
            image_pieces.create(connection, store.tables)

    def write(self, chunks: Sequence[bytes]) -> CutImage:
        scope, version = self._scope, self._version
        ends = [mark_of(scope, version, i, len(chunks)) for i in range(len(chunks))]
        if self._box is not None:
            whole = marked(scope, version, chunks)
            chunks = sealed_image(self._box, self._store.tables.image, scope, version, whole)
            ends = [b""] * len(chunks)
        n_unchecked = 0  # bytes since the last checkpoint
        cut: list[list[Piece]] = []
        with beside(self._store.path, _DOING) as log:
            for chunk, end in zip(chunks, ends, strict=True):
                pieces: list[Piece] = []
                for part in _parts(chunk, end):
                    pieces.append((self._write_one(part), len(part)))
                    n_unchecked += len(part)
                    if n_unchecked >= _LOG_BYTES:
                        checkpoint(log)
                        n_unchecked = 0
                cut.append(pieces)
            checkpoint(log)
        return CutImage(cut, self._data_key)

    def _write_one(self, part: bytes | memoryview) -> int:
        with _paused(), self._store.stepping(_DOING) as connection:
            if not self._goes_on(connection):
                raise StoreBusyError(f"{_DOING}: the scope was changed meanwhile: {self._store.path}")
            table = image_pieces.table_of(self._store.tables)
            cursor = connection.execute(f"INSERT INTO {table}(scope, data) VALUES (?, ?)", (self.key, part))
            self._numbers.append(int(cursor.lastrowid or 0))
        return self._numbers[-1]

    def _goes_on(self, connection: StoreConnection) -> bool:
        """Whether the image can still be used: a piece must not bring back what was erased since the last one."""
        t = self._store.tables
        if not image_pieces.exists(connection, t):
            return False
        row = connection.execute(f"SELECT horizon FROM {t.scope} WHERE key = ?", (self.key,)).fetchone()
        return (
            row is not None
            and row[0].__class__ is int
            and row[0] <= self._version
            and _id_of_key(connection, self._scope.tenant) == self._data_key
            and image_pieces.are_there(connection, t, self.key, self._numbers[-1:])
        )


def _id_of_key(connection: sqlite3.Connection, tenant: str) -> bytes | None:
    stored = data_key(connection, tenant)
    return None if stored is None else stored.id


def _parts(chunk: bytes, end: bytes) -> Iterator[bytes | memoryview]:
    """Yield a chunk in equal parts of PIECE_BYTES or less, the last one followed by `end`."""
    n_parts = max(1, -(-len(chunk) // PIECE_BYTES))
    n_bytes = max(1, -(-len(chunk) // n_parts))
    last = max(0, len(chunk) - 1) // n_bytes * n_bytes
    for begin in range(0, last, n_bytes):
        yield memoryview(chunk)[begin : begin + n_bytes]
    yield chunk[last:] + end
