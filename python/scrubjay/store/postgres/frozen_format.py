"""The format of a frozen scope: all rows of its documents as one object, for the cold tier.

    magic (8) | random (16) | length of the head (4) | head | rows

The head contains the scope, the collection, the version and the number of rows, so that no object is mistaken for
another one. The random bytes make every object unique even with equal rows, so removing an object by its hash
never removes one that was written since. Rows are in the form of the table, so those of encrypted tenants are
sealed one by one; the whole object, including ids, is sealed once more.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Sequence

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.encryption import Box
from scrubjay.store.keys.opening import Opening
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.loading import Loaded
from scrubjay.store.postgres.sealing import table_of
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.sealed import frame, is_sealed, sealed_by

_MAGIC = b"SJCOLD1\n"
_RANDOM_BYTES = 16
_LENGTH = struct.Struct("<I")
_ROW = struct.Struct("<BqqqqIIIII")  # flags, four numbers, the lengths of five values
_CREATED, _EXPIRES, _PENDING, _PAYLOAD, _VECTOR = 1, 2, 4, 8, 16


def frozen_rows(
    scope: Scope, collection: int, version: int, rows: Sequence[Loaded], box: Box | None
) -> bytes:
    """Serialise the rows of a scope at a version as one object, sealed with `box` (None: not encrypted)."""
    head = _head(scope, collection, version, len(rows))
    parts = [_MAGIC, secrets.token_bytes(_RANDOM_BYTES), _LENGTH.pack(len(head)), head]
    for row in rows:
        flags = (
            _CREATED * (row.created_at is not None)
            | _EXPIRES * (row.expires_at is not None)
            | _PENDING * row.pending
            | _PAYLOAD * (row.payload is not None)
            | _VECTOR * (row.vector is not None)
        )
        values = (row.id, row.text, row.payload or b"", row.vector or b"", row.hash)
        numbers = (row.seq, row.created_at or 0, row.updated_at, row.expires_at or 0)
        parts.append(_ROW.pack(flags, *numbers, *map(len, values)))
        parts += values
    data = b"".join(parts)
    return data if box is None else box.seal(_around(scope, collection, version), data)


def thawed_rows(
    data: bytes, scope: Scope, collection: int, version: int, n_rows: int, opening: Opening
) -> list[Loaded]:
    """Return the argument `rows` of :func:`frozen_rows`.

    Raises:
        EncryptionError: the key is not available (KeyErasedError: it was destroyed).
        CorruptIndexError: the object belongs to another scope or version, or is invalid.
    """
    if is_sealed(data):
        box = opening.opening(scope.tenant, sealed_by(data))
        data = box.open(_around(scope, collection, version), data)
    head = _head(scope, collection, version, n_rows)
    start = len(_MAGIC) + _RANDOM_BYTES
    begin = _MAGIC, _LENGTH.pack(len(head)) + head
    end = start + len(begin[1])
    if (data[: len(_MAGIC)], data[start:end]) != begin:
        raise CorruptIndexError(
            "its object in the cold tier is not that of this scope and version", scope=scope
        )
    try:
        return _rows(data, end, Homes().key(scope).number, n_rows)
    except (struct.error, ValueError):
        raise CorruptIndexError("its object in the cold tier cannot be read", scope=scope) from None


def _rows(data: bytes, at: int, number: int, n_rows: int) -> list[Loaded]:
    rows = []
    for _ in range(n_rows):
        flags, seq, created_at, updated_at, expires_at, *lengths = _ROW.unpack_from(data, at)
        at += _ROW.size
        values = []
        for length in lengths:
            values.append(data[at : at + length])
            at += length
        id, text, payload, vector, hash = values
        rows.append(
            Loaded(
                seq,
                number,
                id,
                text,
                payload if flags & _PAYLOAD else None,
                vector if flags & _VECTOR else None,
                created_at if flags & _CREATED else None,
                updated_at,
                expires_at if flags & _EXPIRES else None,
                hash,
                bool(flags & _PENDING),
            )
        )
    if at != len(data):
        raise ValueError("its length is not that of its rows")
    return rows


def _head(scope: Scope, collection: int, version: int, n_rows: int) -> bytes:
    return frame(*names_of(scope), f"{collection} {version} {n_rows}")


def _around(scope: Scope, collection: int, version: int) -> bytes:
    return frame("cold rows", table_of(collection), *names_of(scope), str(version))
