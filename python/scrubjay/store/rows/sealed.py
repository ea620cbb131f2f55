"""The format of sealed byte strings, as far as it is readable without a key
(:mod:`scrubjay.store.keys.encryption`)."""

from __future__ import annotations

SEALED, _ESCAPED = b"\xff\x01", b"\xff\x00"
ID_BYTES, NONCE_BYTES, _TAG_BYTES = 8, 12, 16
HEAD_BYTES = len(SEALED) + ID_BYTES
OVERHEAD_BYTES = HEAD_BYTES + NONCE_BYTES + _TAG_BYTES


def is_sealed(data: bytes | memoryview) -> bool:
    """Whether bytes are sealed, with any key."""
    return isinstance(data, (bytes, memoryview)) and bytes(data[:2]) == SEALED


def escaped(data: bytes) -> bytes:
    """Return plain bytes in stored form, which cannot be mistaken for sealed ones."""
    return _ESCAPED + data if data[:1] == b"\xff" else data


def unescaped(data: bytes) -> bytes:
    """Return the argument of :func:`escaped`."""
    return data[2:] if data[:2] == _ESCAPED else data


def frame(*names: str) -> bytes:
    """Encode a sequence of names injectively.

    >>> frame("ab", "c") == frame("a", "bc")
    False
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    return b"".join(len(name).to_bytes(4, "little") + name for name in encoded)


def sealed_by(sealed: bytes | memoryview) -> bytes:
    """Return the id of the data key that sealed bytes need."""
    return bytes(sealed[len(SEALED) : HEAD_BYTES])
