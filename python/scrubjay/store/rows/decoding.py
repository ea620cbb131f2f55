"""Validation of stored values: the one place that decides whether a value of the file is what Scrubjay wrote.

SQLite returns whatever the file holds: any type in any column, text that is not UTF-8. Each kind of value has a
function here that returns it or raises CorruptIndexError. A row of a document is returned with its `damage`
described, so that an unreadable row does not stop the others.

A plaintext row has a checksum of its scope, id and text, and another one of its payload (:class:`Checksum`), so a
row moved to another scope or id is detected like one whose text was changed. Sealed rows are authenticated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.documents import payload as payloads
from scrubjay.documents.passage_vectors import DocumentVector, PassageVectors
from scrubjay.store.rows.sealed import frame, is_sealed
from scrubjay.store.rows.values import RowId, StoredRow
from scrubjay.store.rows.vectors import content_hash, decode, fits, n_bytes

_MAX_INTEGER = 1 << 62  # bound of write numbers and times, so that sums stay within 64 bits
_OF_PLACE = "its text, id or scope is not what was written"


class Undecodable(bytes):
    """The bytes of a stored text that is not UTF-8."""


def text_of(data: bytes) -> str | Undecodable:
    """Decode a text of the file; the text factory of every connection, so that an invalid text does not stop the
    others."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Undecodable(data)


def integer(value: Any, what: str, least: int = 0) -> int:
    """Return a stored integer.

    Raises:
        CorruptIndexError: it has another type, or is out of range.
    """
    if value.__class__ is not int or not least <= value < _MAX_INTEGER:
        raise CorruptIndexError(f"{what}: expected an integer from {least} up, got {shown(value)}")
    return int(value)


def optional_integer(value: Any, what: str) -> int | None:
    """Return a stored integer of either sign, or None."""
    return None if value is None else integer(value, what, -_MAX_INTEGER)


def name_of(value: Any) -> str:
    """Return a name or statement of the file's schema.

    Raises:
        CorruptIndexError: it is not a text.
    """
    if value.__class__ is not str:
        raise CorruptIndexError(f"the schema: {shown(value)} is not a name or statement")
    return str(value)


def shown(value: Any) -> str:
    """Return a stored value for a message, truncated."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def is_id(value: Any, kind: str | None = None) -> bool:
    """Whether a stored value is a valid document id (of this kind, "str" or "int")."""
    if value.__class__ is str:
        return bool(value) and kind != "int"
    return value.__class__ is int and kind != "str"


def scope_of(tenant: Any, user: Any, agent: Any) -> Scope:
    """Return the scope of a row; '' stands for None.

    Raises:
        CorruptIndexError: the names are not those of a scope.
    """
    try:
        return Scope(tenant, user or None, agent or None)
    except (TypeError, ValueError) as error:
        raise CorruptIndexError(f"a scope's names cannot be read: {error}") from None


def vector_of(data: Any, dim: int | None, dtype: str) -> DocumentVector:
    """Decode the vector of a row, or the vectors of its passages.

    Raises:
        CorruptIndexError: it is damaged.
    """
    expected = None if dim is None else n_bytes(dim, dtype)
    if not isinstance(data, bytes) or dim is None or not fits(len(data), dim, dtype):
        raise CorruptIndexError(f"its vector is {shown(data)}, expected {expected} bytes")
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            vector = decode(data, dtype)
    except ValueError as error:
        raise CorruptIndexError(f"its vector cannot be read: {error}") from None
    rows = vector.rows if isinstance(vector, PassageVectors) else vector
    if rows.shape[-1] != dim:
        raise CorruptIndexError(f"its vector has {rows.shape[-1]} numbers, expected {dim}")
    if not np.isfinite(rows).all():
        raise CorruptIndexError("its vector holds NaN or infinity")
    return vector


class Checksum:
    """Checksums of plaintext rows of one scope, as stored in the column `hash`.

    One byte 1, eight bytes of BLAKE2b over scope, id and text, and, if there is a payload, eight bytes over that.
    Files of earlier versions have eight bytes over text and payload.
    """

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        names = frame(scope.tenant, scope.user or "", scope.agent or "")
        self._scope = hashlib.blake2b(names, digest_size=8)

    def of(self, id: RowId, text: str, payload: bytes | None) -> bytes:
        """Return the checksum of a row."""
        name = str(id)
        head = self._scope.copy()
        kind = "s" if id.__class__ is str else "i"
        head.update(f"{kind}{len(name)} {name}{text}".encode("utf-8", "surrogatepass"))
        digest = b"\x01" + head.digest()
        return digest if payload is None else digest + hashlib.blake2b(payload, digest_size=8).digest()

    def damage(self, id: RowId, text: str, payload: bytes | None, stored: Any) -> tuple[str | None, bool]:
        """Return (what is damaged, or None; whether scope, id and text are intact)."""
        if stored.__class__ is bytes:
            if self.of(id, text, payload) == stored:
                return None, True
            if len(stored) == 8 and content_hash(text, payload) == stored:  # written by an earlier version
                return None, True
            if stored[:1] == b"\x01" and len(stored) in (9, 17) and self.of(id, text, None) == stored[:9]:
                return "its metadata is not what was written", True
        return _OF_PLACE, False


def row_reader(
    scope: Scope,
    opened: Callable[[Sequence[Any]], StoredRow] | None,
    current: Callable[[], Any],
    path: object,
) -> Callable[[Sequence[Any]], StoredRow]:
    """Return a function that makes a stored row from (seq, id, text, payload, vector, hash) as they are in the
    file.

    A damaged plaintext row is returned with its `damage`, and is `usable` only if nothing but its metadata is
    damaged. A sealed row that is not authentic may be an attack: it raises, and fails the search or listing.

    Args:
        scope: of the rows.
        opened: decrypts sealed rows (:meth:`Cipher.row_opener`); None without keys.
        current: returns the id of the tenant's data key in the file, None if it has none.
        path: of the file.

    The returned function raises EncryptionError for a sealed row whose key is not available, CorruptIndexError
    for one that is not authentic.
    """
    checksum = Checksum(scope)
    expected = checksum.of

    def lost(row: Sequence[Any], damage: str) -> StoredRow:
        return StoredRow(row[0], row[1], "", None, None, damage, False)

    def unsealed(row: Sequence[Any]) -> StoredRow:
        text = row[2]
        if not (isinstance(text, bytes) and is_sealed(text)) and current() is None:
            return lost(row, _OF_PLACE)
        if opened is None:
            raise EncryptionError(f"document {row[1]!r} is encrypted: open the file with keys=")
        return authentic(row)

    def authentic(row: Sequence[Any]) -> StoredRow:
        try:
            return opened(row[:5])  # type: ignore[misc]
        except CorruptIndexError as error:
            raise error.located(path=path, id=row[1], scope=scope) from None

    def read(row: Sequence[Any]) -> StoredRow:
        seq, id, text, payload, vector, stored = row
        if text.__class__ is not str:
            return unsealed(row)
        if not is_id(id) or not (payload is None or payload.__class__ is bytes):
            head_is_right = is_id(id) and checksum.damage(id, text, None, stored)[1]
            return _without_payload(row, path) if head_is_right else lost(row, _OF_PLACE)
        if opened is not None:
            authentic(row)  # raises for plaintext of an encrypted tenant
        if expected(id, text, payload) == stored:
            return StoredRow(seq, id, text, payload, vector)
        damage, usable = checksum.damage(id, text, payload, stored)
        if damage is None:
            return StoredRow(seq, id, text, payload, vector)
        return _without_payload(row, path) if usable else lost(row, damage)

    return read


def _without_payload(row: Sequence[Any], path: object) -> StoredRow:
    """Return a row with an intact text; its metadata is replaced by a marker whose decoding raises
    CorruptIndexError."""
    seq, id, text, _, vector, _ = row
    marker = payloads.DAMAGED + str(path).encode("utf-8", "replace")
    return StoredRow(seq, id, text, marker, vector, "its metadata is not what was written", True)


# ---------------------------------------------------------------------- images

_MARK = b"\0SJY"  # images without a mark never end with these bytes
MARK_BYTES = len(_MARK) + 12


def marked(scope: Scope, version: int, chunks: Sequence[bytes]) -> list[bytes]:
    """Return the chunks of an image in stored form: each ends with a mark that identifies its scope, version,
    number and the number of chunks. The native checksum covers the rest."""
    return [chunk + mark_of(scope, version, i, len(chunks)) for i, chunk in enumerate(chunks)]


def unmarked(
    scope: Scope, version: int, chunks: Sequence[bytes | memoryview]
) -> Sequence[bytes | memoryview]:
    """Return the chunks that :func:`marked` was given; chunks of earlier versions of Scrubjay have no mark.

    Raises:
        CorruptIndexError: they belong to another scope or version; the rows have to be read.
    """
    taken: list[bytes | memoryview] = []
    for i, chunk in enumerate(chunks):
        if has_mark(scope, version, i, len(chunks), bytes(chunk[-MARK_BYTES:])):
            chunk = memoryview(chunk)[:-MARK_BYTES]
        taken.append(chunk)
    return taken


def has_mark(scope: Scope, version: int, ordinal: int, n_chunks: int, end: bytes) -> bool:
    """Whether the last bytes of a stored chunk, MARK_BYTES of them, are its mark.

    Raises:
        CorruptIndexError: they are the mark of another one.
    """
    if end[-len(_MARK) :] != _MARK:
        return False
    if end != mark_of(scope, version, ordinal, n_chunks):
        raise CorruptIndexError(f"the image of {scope!r} belongs to another scope or version")
    return True


def mark_of(scope: Scope, version: int, ordinal: int, n_chunks: int) -> bytes:
    """Return the mark at the end of a stored chunk."""
    names = frame(scope.tenant, scope.user or "", scope.agent or "", f"{version} {ordinal} {n_chunks}")
    return hashlib.blake2b(names, digest_size=MARK_BYTES - len(_MARK)).digest() + _MARK
