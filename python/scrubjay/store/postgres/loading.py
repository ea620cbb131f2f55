"""Bulk inserts: whole columns as arrays in PostgreSQL's binary format.

COPY is rejected on tables with row-level security, and one statement per row has its overhead a thousand times.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from scrubjay.store.postgres.address import psycopg_module
from scrubjay.store.postgres.batch import Batch

_MANY = 16  # rows from which arrays are faster than single statements
_PART_ROWS, _PART_BYTES = 2_000, 8 << 20  # per statement; an array is limited to 1 GiB

_COLUMNS = "seq, scope, id, text, payload, vector, created_at, updated_at, expires_at, hash, pending"
_KINDS = ("int8", "int8", "bytea", "bytea", "bytea", "bytea", "int8", "int8", "int8", "bytea", "bool")
_OIDS = {"bool": 16, "bytea": 17, "int8": 20}
_FORMS = {"bool": struct.Struct(">i?"), "int8": struct.Struct(">iq")}
_SIZES = {"bool": 1, "int8": 8}
_HEAD, _LENGTH, _NULL = struct.Struct(">iiiii"), struct.Struct(">i"), struct.pack(">i", -1)

_ONE = f"INSERT INTO sj_document(home, collection, {_COLUMNS}) VALUES (%s, %s, {', '.join(['%s'] * len(_KINDS))})"
_SEVERAL = (
    f"INSERT INTO sj_document(home, collection, {_COLUMNS}) SELECT %s, %s, * FROM unnest("
    + ", ".join(f"%b::{kind}[]" for kind in _KINDS)
    + ")"
)


class Loaded(NamedTuple):
    """A row of `sj_document` without its home and collection."""

    seq: int
    scope: int
    id: bytes
    text: bytes
    payload: bytes | None
    vector: bytes | None
    created_at: int | None
    updated_at: int
    expires_at: int | None
    hash: bytes
    pending: bool

    def is_live(self, now: int) -> bool:
        """Whether it has not expired at a time."""
        return self.expires_at is None or self.expires_at > now

    @property
    def stored(self) -> tuple[Any, ...]:
        """The columns that readers select: seq, id, text, payload, vector, hash."""
        return self.seq, self.id, self.text, self.payload, self.vector, self.hash


def insert(batch: Batch, home: str, collection: int, rows: Sequence[Loaded]) -> None:
    """Insert new rows of one home."""
    if len(rows) < _MANY:
        for row in rows:
            batch.add(_ONE, (home, collection, *row), home=home)
        return
    _register(batch.connection)
    for part in _parts(rows):
        columns = (
            _Packed(kind, column) for kind, column in zip(_KINDS, zip(*part, strict=True), strict=True)
        )
        batch.add(_SEVERAL, (home, collection, *columns), home=home)
        batch.flush()  # so that the columns are not in memory twice


def _parts(rows: Sequence[Loaded]) -> Iterator[Sequence[Loaded]]:
    start = n_bytes = 0
    for i, row in enumerate(rows):
        size = len(row.text) + len(row.payload or b"") + len(row.vector or b"")
        if i > start and (i - start >= _PART_ROWS or n_bytes + size > _PART_BYTES):
            yield rows[start:i]
            start, n_bytes = i, 0
        n_bytes += size
    yield rows[start:]


class _Packed:
    """A column as an array in binary format."""

    __slots__ = ("data",)

    def __init__(self, kind: str, values: Sequence[Any]) -> None:
        parts = [_HEAD.pack(1, None in values, _OIDS[kind], len(values), 1)]
        if kind == "bytea":
            for value in values:
                if value is None:
                    parts.append(_NULL)
                else:
                    parts.append(_LENGTH.pack(len(value)))
                    parts.append(value)
        else:
            pack, size = _FORMS[kind].pack, _SIZES[kind]
            parts += [_NULL if value is None else pack(size, value) for value in values]
        self.data = b"".join(parts)


def _register(connection: Any) -> None:
    """Enable a connection to send packed columns, whose types are in the statement."""
    psycopg = psycopg_module()

    class Dumper(psycopg.adapt.Dumper):  # type: ignore[misc, name-defined]
        format = psycopg.pq.Format.BINARY
        oid = 0

        def dump(self, obj: _Packed) -> bytes:
            return obj.data

    connection.adapters.register_dumper(_Packed, Dumper)
