"""Pieces of large images: a table that the first large image creates.

A file has one writer at a time, and an image of many megabytes in one transaction would hold up all others. A large
one is cut into pieces, which are written one at a time (:mod:`scrubjay.store.sqlite.image_writing`). The table of
images then has the list of a chunk's pieces in place of its bytes, and the number of chunks is negated.

A piece that no row lists belongs to an image that is being written or was replaced, or its writer was killed. Those
of a scope are deleted after its next image is written, when it is erased, and by compaction. Numbers of pieces are
never used again: a writer whose pieces were deleted meanwhile notices it, and gives up.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scrubjay.store.sqlite import schema
from scrubjay.store.sqlite.schema import Tables

_TABLE = """
CREATE TABLE image_piece{s}(number INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX image_piece_scope{s} ON image_piece{s}(scope);
"""
_PIECE = struct.Struct("<QI")
_PER_QUERY = 500

Piece = tuple[int, int]
"""The number of a piece, and its bytes."""


class CutImage(NamedTuple):
    """An image whose pieces are in the file."""

    chunks: list[list[Piece]]
    """The pieces of each chunk, in order."""
    key: bytes | None
    """Identifies the data key of the scope's tenant; None: it is not encrypted."""


def table_of(t: Tables) -> str:
    """Return the name of a collection's table of pieces."""
    return f"image_piece{t.suffix}"


def create(connection: sqlite3.Connection, t: Tables) -> None:
    """Create the table of pieces if necessary; the caller holds the write transaction."""
    if not exists(connection, t):
        schema.run_script(connection, _TABLE.replace("{s}", t.suffix))
        schema.note_image_pieces(connection)


def exists(connection: sqlite3.Connection, t: Tables) -> bool:
    """Whether a collection ever had a large image."""
    return schema.has_table(connection, table_of(t))


def encoded(pieces: Iterable[Piece]) -> bytes:
    """Return the list of a chunk's pieces as it is stored."""
    return b"".join(_PIECE.pack(number, n_bytes) for number, n_bytes in pieces)


def decoded(data: object) -> list[Piece] | None:
    """Return the pieces of a chunk; None: this is no such list."""
    if not isinstance(data, bytes) or len(data) == 0 or len(data) % _PIECE.size:
        return None
    return list(_PIECE.iter_unpack(data))


def sizes(connection: sqlite3.Connection, t: Tables, key: int) -> dict[int, int]:
    """Return the bytes of a scope's pieces by their numbers."""
    return dict(
        connection.execute(
            f"SELECT number, length(data) FROM {table_of(t)} WHERE scope = ? AND typeof(data) = 'blob'",
            (key,),
        ).fetchall()
    )


def forget(connection: sqlite3.Connection, t: Tables, key: int | None) -> None:
    """Delete the pieces of a scope, or of all (None); the caller holds the write transaction."""
    if exists(connection, t):
        condition, values = ("", ()) if key is None else (" WHERE scope = ?", (key,))
        connection.execute(f"DELETE FROM {table_of(t)}{condition}", values)


def unlisted(connection: sqlite3.Connection, t: Tables, key: int) -> list[int]:
    """Return the pieces of a scope that no row of its image lists."""
    listed = {
        number
        for (data,) in connection.execute(
            f"SELECT data FROM {t.image} WHERE scope = ? AND n_chunks < 0", (key,)
        ).fetchall()
        for number, _ in decoded(data) or ()
    }
    rows = connection.execute(f"SELECT number FROM {table_of(t)} WHERE scope = ? ORDER BY number", (key,))
    return [number for (number,) in rows.fetchall() if number not in listed]


def are_there(connection: sqlite3.Connection, t: Tables, key: int, numbers: Sequence[int]) -> bool:
    """Whether a scope has all of these pieces."""
    n_found = 0
    for begin in range(0, len(numbers), _PER_QUERY):
        some = numbers[begin : begin + _PER_QUERY]
        marks = ", ".join("?" * len(some))
        query = f"SELECT count(*) FROM {table_of(t)} WHERE scope = ? AND number IN ({marks})"
        n_found += int(connection.execute(query, (key, *some)).fetchone()[0])
    return n_found == len(numbers)
