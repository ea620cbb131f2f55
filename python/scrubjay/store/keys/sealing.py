"""Sealed rows and images, and their associated data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.encryption import Box
from scrubjay.store.rows.sealed import frame, is_sealed
from scrubjay.store.rows.values import RowId, StoredRow


class RowBox:
    """Seals and opens the rows of one scope in one collection. Row and column are the associated data."""

    __slots__ = ("_around", "box")

    def __init__(self, box: Box, table: str, scope: Scope) -> None:
        self.box = box
        self._around = frame(table, scope.tenant, scope.user or "", scope.agent or "")

    def _place(self, seq: int, id: RowId) -> bytes:
        return self._around + f"{seq} {'s' if isinstance(id, str) else 'i'}{id}".encode(
            "utf-8", "surrogatepass"
        )

    def seal(
        self, seq: int, id: RowId, text: str, payload: bytes | None, vector: bytes | None
    ) -> tuple[bytes, bytes | None, bytes | None]:
        """Seal the values of a row."""
        place = self._place(seq, id)
        seal = self.box.seal
        return (
            seal(b"text" + place, text.encode("utf-8", "surrogatepass")),
            None if payload is None else seal(b"payload" + place, payload),
            None if vector is None else seal(b"vector" + place, vector),
        )

    def seal_vector(self, seq: int, id: RowId, vector: bytes) -> bytes:
        """Seal a vector alone, as :meth:`seal` does."""
        return self.box.seal(b"vector" + self._place(seq, id), vector)

    def with_box(self, box: Box) -> RowBox:
        """Return the opener of rows of the same scope that another key sealed."""
        other = RowBox.__new__(RowBox)
        other.box, other._around = box, self._around
        return other

    def opened_or(self, column: str, seq: int, id: RowId, value: bytes | None) -> bytes | None:
        """Return a payload or vector, decrypted if it is sealed; None if that fails."""
        if value is None or not is_sealed(value):
            return value
        try:
            return self.box.open(column.encode() + self._place(seq, id), value)
        except CorruptIndexError:
            return None

    def open(self, row: Sequence[Any]) -> StoredRow:
        """Decrypt a row (seq, id, text, payload, vector) that :meth:`seal` sealed."""
        seq, id, text, payload, vector = row
        place = self._place(seq, id)
        unseal = self.box.open
        try:
            return StoredRow(
                seq,
                id,
                unseal(b"text" + place, text).decode("utf-8", "surrogatepass"),
                None if payload is None else unseal(b"payload" + place, payload),
                None if vector is None else unseal(b"vector" + place, vector),
            )
        except CorruptIndexError as error:
            raise CorruptIndexError(f"document {id!r}: {error}") from None


def around_image(table: str, scope: Scope, version: int, ordinal: int, n_chunks: int) -> bytes:
    """Return the associated data of one chunk of an image."""
    names = (table, scope.tenant, scope.user or "", scope.agent or "")
    return frame(*names, f"{version} {ordinal} {n_chunks}")


def sealed_image(
    box: Box, table: str, scope: Scope, version: int, chunks: Sequence[bytes]
) -> Sequence[bytes]:
    """Seal the chunks of an image."""
    return [
        box.seal(around_image(table, scope, version, i, len(chunks)), chunk) for i, chunk in enumerate(chunks)
    ]
