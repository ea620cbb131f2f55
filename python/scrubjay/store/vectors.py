"""Vectors as bytes of a row, and the hash of a row.

"f32": little-endian float32. "f16": an int16 exponent e, then float16 elements x; the vector is x * 2**e, with the
greatest |x| in [0.5, 1], as the native engine stores it. The engine is given exactly what the bytes encode, so that a
partition that was rebuilt from rows equals one that was written to, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["content_hash", "decode", "decode_many", "encode_many", "n_bytes"]

_HEAD_BYTES = 2
Floats = NDArray[np.float32]


def n_bytes(dim: int, dtype: str) -> int:
    """Return how many bytes one vector takes.

    >>> n_bytes(256, "f16"), n_bytes(256, "f32")
    (514, 1024)
    """
    return _HEAD_BYTES + 2 * dim if dtype == "f16" else 4 * dim


def encode_many(matrix: Floats, dtype: str) -> list[bytes]:
    """Encode the rows of an (n, dim) matrix of finite numbers.

    >>> [len(data) for data in encode_many(np.float32([[1, 2, 3], [0, 0, 1e-30]]), "f16")]
    [8, 8]
    """
    if len(matrix) == 0:
        return []
    if dtype == "f32":
        return [row.tobytes() for row in np.ascontiguousarray(matrix, dtype="<f4")]
    _, exponents = np.frexp(np.abs(matrix).max(axis=1))
    exponents = np.clip(exponents, -148, 127).astype("<i2")
    rows = np.ldexp(matrix, -exponents.astype(np.int32)[:, None]).astype("<f2")
    heads = exponents.tobytes()
    return [heads[2 * i : 2 * i + 2] + row.tobytes() for i, row in enumerate(rows)]


def decode_many(data: Sequence[bytes], dtype: str) -> Floats:
    """Decode equally long vectors into an (n, dim) matrix.

    >>> decode_many(encode_many(np.float32([[1, -2], [0.5, 3e-5]]), "f16"), "f16").tolist()[0]
    [1.0, -2.0]
    """
    joined = np.frombuffer(b"".join(data), dtype=np.uint8).reshape(len(data), -1)
    if dtype == "f32":
        return joined.view("<f4").astype(np.float32, copy=False)
    exponents = np.ascontiguousarray(joined[:, :_HEAD_BYTES]).view("<i2").astype(np.int32)
    rows = np.ascontiguousarray(joined[:, _HEAD_BYTES:]).view("<f2").astype(np.float32)
    decoded: Floats = np.ldexp(rows, exponents)
    return decoded


def decode(data: bytes, dtype: str) -> Floats:
    """Decode one vector into a (dim,) array."""
    row: Floats = decode_many([data], dtype)[0]
    return row


def content_hash(text: str | bytes, payload: bytes | None) -> bytes:
    """Return 8 bytes that change with the text or the payload; what `check` holds a row to.

    Of a sealed row they are those of the sealed bytes: they tell nothing of the text, and need no key.
    """
    digest = hashlib.blake2b(text.encode() if isinstance(text, str) else text, digest_size=8)
    if payload is not None:
        digest.update(b"\0" + payload)
    return digest.digest()
