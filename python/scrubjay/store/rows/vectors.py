"""The encoding of vectors in rows, and the hash of a row.

"f32": little-endian float32. "f16": an int16 exponent e, then float16 elements x; the vector is x * 2**e, with
the greatest |x| in [0.5, 1], as the native engine stores it. "i8": an int16 128 * e + m, then int8 elements x; the
vector is x * (1 + m / 128) * 2**e, with 127 as the greatest |x|. The engine is given exactly what the bytes encode, so
a partition rebuilt from rows equals the one that was written to, bit for bit.

A document may have several vectors, one per passage of its text (:class:`scrubjay.PassageVectors`). They are one
value of a row: a marker that no single vector begins with, their number (uint32), the position of each passage
(two uint32: its first character and the one after its last), and the concatenated vectors.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.documents.passage_vectors import DocumentVector, PassageVectors

_HEAD_BYTES = 2
_ELEMENT_BYTES = {"f16": 2, "i8": 1}  # behind the head
_MOST_STEPS = np.float32(127)
_LEAST_NORMAL = np.finfo(np.float32).tiny
Floats = NDArray[np.float32]
_PASSAGES = b"SJ\xc0\x7f"  # NaN as float32, and an exponent out of range
_PASSAGES_HEAD_BYTES, _SPAN_BYTES = 8, 8


def n_bytes(dim: int, dtype: str) -> int:
    """Return the size of one encoded vector.

    >>> n_bytes(256, "f16"), n_bytes(256, "f32"), n_bytes(256, "i8")
    (514, 1024, 258)
    """
    return 4 * dim if dtype == "f32" else _HEAD_BYTES + _ELEMENT_BYTES[dtype] * dim


def dim_of(data: bytes, dtype: str) -> int:
    """Return the dimension of encoded vectors.

    >>> rows = PassageVectors(np.ones((3, 5), np.float32), np.zeros((3, 2), np.uint32))
    >>> [dim_of(encode(one, dtype), dtype) for one in (rows, rows.rows[0]) for dtype in ("f16", "f32", "i8")]
    [5, 5, 5, 5, 5, 5]
    """
    size = len(data)
    if has_passages(data):
        n = int.from_bytes(data[4:8], "little")
        size = (size - _PASSAGES_HEAD_BYTES) // n - _SPAN_BYTES if n else 0
    return size // 4 if dtype == "f32" else (size - _HEAD_BYTES) // _ELEMENT_BYTES[dtype]


def fits(size: int, dim: int, dtype: str) -> bool:
    """Whether :func:`encode` may return this many bytes for vectors of this dimension.

    >>> fits(514, 256, "f16"), fits(515, 256, "f16"), fits(8 + 3 * (8 + 514), 256, "f16")
    (True, False, True)
    """
    vector_bytes = n_bytes(dim, dtype)
    n, rest = divmod(size - _PASSAGES_HEAD_BYTES, _SPAN_BYTES + vector_bytes)
    return size == vector_bytes or (n > 0 and rest == 0)


def has_passages(data: bytes) -> bool:
    """Whether the bytes are vectors of passages."""
    return data[:4] == _PASSAGES


def encode(vector: Any, dtype: str) -> bytes:
    """Encode a document's vector of shape (dim,), or its :class:`PassageVectors` (any pair of such arrays);
    numbers must be finite."""
    if not isinstance(vector, tuple) or np.ndim(vector[0]) != 2:
        return encode_many(np.asarray(vector, dtype=np.float32)[np.newaxis], dtype)[0]
    rows = np.asarray(vector[0], dtype=np.float32)
    spans = np.zeros((len(rows), 2), "<u4") if vector[1] is None else np.asarray(vector[1], "<u4")
    return b"".join([_PASSAGES, len(rows).to_bytes(4, "little"), spans.tobytes(), *encode_many(rows, dtype)])


def encode_many(matrix: Floats, dtype: str) -> list[bytes]:
    """Encode the rows of an (n, dim) matrix of finite numbers.

    >>> [len(data) for data in encode_many(np.float32([[1, 2, 3], [0, 0, 1e-30]]), "f16")]
    [8, 8]
    """
    if len(matrix) == 0:
        return []
    if dtype == "f32":
        return [row.tobytes() for row in np.ascontiguousarray(matrix, dtype="<f4")]
    if dtype == "i8":
        exponents, steps = _steps_of(matrix)
        return _joined(exponents, np.rint(matrix / steps[:, None]).astype(np.int8))
    if len(matrix) == 1:  # as below, without one-element arrays, in a third of the time
        _, exponent = math.frexp(float(np.abs(matrix).max()))
        exponent = min(max(exponent, -148), 127)
        row = np.ldexp(matrix[0], -exponent).astype("<f2")
        return [exponent.to_bytes(2, "little", signed=True) + row.tobytes()]
    _, exponents = np.frexp(np.abs(matrix).max(axis=1))
    exponents = np.clip(exponents, -148, 127).astype("<i2")
    return _joined(exponents, np.ldexp(matrix, -exponents.astype(np.int32)[:, None]).astype("<f2"))


def _joined(exponents: NDArray[np.int16], rows: NDArray[Any]) -> list[bytes]:
    heads = exponents.astype("<i2").tobytes()
    return [heads[2 * i : 2 * i + 2] + row.tobytes() for i, row in enumerate(rows)]


def _steps_of(matrix: Floats) -> tuple[NDArray[np.int16], Floats]:
    """Return the exponents of rows of bytes, and the steps that they encode.

    A step is 1/127 of the greatest element, rounded to eight bits. Where that is no normal float it is the power of two
    above, at least 2**-149, of which all floats are multiples.
    """
    greatest = np.abs(matrix).max(axis=1)
    wanted = greatest / _MOST_STEPS
    rounded = (wanted.view(np.uint32) + np.uint32(0x8000)) >> np.uint32(16)
    part, power = np.frexp(greatest.astype(np.float64) / float(_MOST_STEPS))
    power = np.maximum(np.where(part == 0.5, power - 1, power), -149)
    exponents = np.where(wanted >= _LEAST_NORMAL, rounded.astype(np.int32) - 127 * 128, power * 128)
    exponents = np.where(greatest == 0, 0, exponents).astype(np.int16)
    return exponents, _steps(exponents)


def _steps(exponents: NDArray[np.int16]) -> Floats:
    powers, fractions = np.divmod(exponents.astype(np.int32), 128)
    return np.ldexp(1 + fractions / 128, powers).astype(np.float32)


def decode_many(data: Sequence[bytes], dtype: str) -> Floats:
    """Decode equally long vectors into an (n, dim) matrix.

    >>> decode_many(encode_many(np.float32([[1, -2], [0.5, 3e-5]]), "f16"), "f16").tolist()[0]
    [1.0, -2.0]
    """
    joined = np.frombuffer(b"".join(data), dtype=np.uint8).reshape(len(data), -1)
    if dtype == "f32":
        return joined.view("<f4").astype(np.float32, copy=False)
    exponents = np.ascontiguousarray(joined[:, :_HEAD_BYTES]).view("<i2")
    if dtype == "i8":
        elements = joined[:, _HEAD_BYTES:].view(np.int8)
        return elements.astype(np.float32) * _steps(exponents)
    rows = np.ascontiguousarray(joined[:, _HEAD_BYTES:]).view("<f2").astype(np.float32)
    decoded: Floats = np.ldexp(rows, exponents.astype(np.int32))
    return decoded


def decode(data: bytes, dtype: str) -> DocumentVector:
    """Decode the result of :func:`encode`.

    Raises:
        ValueError: the bytes are invalid.

    >>> several = PassageVectors(np.float32([[1, 2], [3, 4]]), np.uint32([[0, 5], [4, 9]]))
    >>> [part.tolist() for part in decode(encode(several, "f16"), "f16")]
    [[[1.0, 2.0], [3.0, 4.0]], [[0, 5], [4, 9]]]
    """
    if not has_passages(data):
        row: Floats = decode_many([data], dtype)[0]
        return row
    n = int.from_bytes(data[4:8], "little")
    first = _PASSAGES_HEAD_BYTES + n * _SPAN_BYTES
    size, rest = divmod(len(data) - first, n) if n else (0, 1)
    if size <= 0 or rest:
        raise ValueError(f"vectors: expected those of {n} passages, got {len(data)} bytes")
    spans = np.frombuffer(data[_PASSAGES_HEAD_BYTES:first], "<u4").reshape(n, 2).astype(np.uint32)
    if (spans[:, 0] > spans[:, 1]).any():
        raise ValueError("vectors: a passage ends before it begins")
    return PassageVectors(
        decode_many([data[first + i * size : first + (i + 1) * size] for i in range(n)], dtype), spans
    )


def content_hash(text: str | bytes, payload: bytes | None) -> bytes:
    """Return 8 bytes that change with the text or the payload; `check` compares them with a row.

    For a sealed row the hash is that of the sealed bytes: it reveals nothing of the text, and needs no key.
    """
    digest = hashlib.blake2b(text.encode() if isinstance(text, str) else text, digest_size=8)
    if payload is not None:
        digest.update(b"\0" + payload)
    return digest.digest()
