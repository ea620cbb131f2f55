"""The digest of a scope's rows: a keyed multiset hash, used by every kind of store.

Each sealed value can be opened only in its table, row and column, so its 16-byte tag represents it. The digest of
a scope is the sum, modulo 2**128, of a pseudorandom function of the tags of all its values (texts, payloads,
vectors) and of plain values that matter (when a document expires), so a write adds new rows and subtracts removed
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.encryption import BLOCK_BYTES, Box
from scrubjay.store.rows.sealed import frame

_TAG = -BLOCK_BYTES
_NUMBER_BYTES = 8
_Values = tuple[int | None, Sequence[bytes | None]]  # expiry of a row, and its sealed values


class ScopeDigest(NamedTuple):
    """The digest of a scope."""

    total: int = 0
    """Sum over all rows."""
    image: int = 0
    """The version of the newest image; 0: no image."""
    recent: int = 0
    """Sum over the rows and tombstones after the image."""

    def to_bytes(self) -> bytes:
        """Return the bytes to seal."""
        return (
            self.total.to_bytes(BLOCK_BYTES, "little")
            + self.recent.to_bytes(BLOCK_BYTES, "little")
            + self.image.to_bytes(_NUMBER_BYTES, "little")
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> ScopeDigest:
        """Return the digest from the result of :meth:`to_bytes`."""
        number = int.from_bytes
        return cls(
            number(data[:BLOCK_BYTES], "little"),
            number(data[2 * BLOCK_BYTES :], "little"),
            number(data[BLOCK_BYTES : 2 * BLOCK_BYTES], "little"),
        )


def around_scope(table: str, names: Sequence[str], version: int, documents: int, vectors: int) -> bytes:
    """Return the associated data of a scope's digest."""
    return frame("digest", table, *names, f"{version} {documents} {vectors}")


def open_digest(
    box: Box, table: str, names: Sequence[str], version: int, documents: int, vectors: int, sealed: Any
) -> ScopeDigest:
    """Decrypt the digest of a scope; `table` is the table of its documents.

    Raises:
        CorruptIndexError: it is missing, or belongs to another state of the scope.
    """
    if sealed is None and not documents:
        return ScopeDigest()
    around = around_scope(table, names, version, documents, vectors)
    try:
        if not isinstance(sealed, bytes):
            raise CorruptIndexError("missing")
        return ScopeDigest.from_bytes(box.open(around, sealed))
    except CorruptIndexError:
        raise mismatch(names, "its digest does not match its state") from None


def mismatch(names: Sequence[str], what: str) -> CorruptIndexError:
    """Return the error for a scope that was rolled back, or whose rows were removed."""
    tenant, user, agent = names
    whose = (
        f"tenant {tenant!r}" + (f", user {user!r}" if user else "") + (f", agent {agent!r}" if agent else "")
    )
    return CorruptIndexError(
        f"{whose}: {what}: sealed rows were rolled back or removed in the file; restore a backup, or "
        "accept the stored rows with index.admin.encrypt(tenant, accept=True)"
    )


def block(value: object) -> bytes:
    """Return the tag of a sealed value; for a value that Scrubjay did not write, any bytes of the same size."""
    tag = value[_TAG:] if isinstance(value, bytes) else b"?"
    return tag if len(tag) == BLOCK_BYTES else tag.ljust(BLOCK_BYTES, b"\0")


def row_blocks(box: Box, seq: int, expires_at: int | None, values: Iterable[Any]) -> bytes:
    """Return what a row contributes to the digest of its scope; `values` are sealed, or None."""
    blocks = b"".join([block(value) for value in values if value is not None])
    return blocks if expires_at is None else blocks + box.block(("expires", seq, expires_at))


def changed(
    box: Box,
    was: ScopeDigest,
    changes: Iterable[tuple[int, int, bytes | _Values]],
    tombstones: Iterable[tuple[int, Any]],
) -> ScopeDigest:
    """Return the digest of a scope after rows were added and removed.

    Args:
        box: the tenant's data key.
        was: the digest before.
        changes: 1 or -1, the number, and the blocks of each row (or the arguments of :func:`row_blocks` for
            them).
        tombstones: number and id of each deleted document.
    """
    early: dict[int, list[bytes]] = {1: [], -1: []}
    late: dict[int, list[bytes]] = {1: [], -1: []}
    for sign, seq, values in changes:
        blocks = values if isinstance(values, bytes) else row_blocks(box, seq, *values)
        (late if seq > was.image else early)[sign].append(blocks)
    buried = [box.block(("tombstone", *own)) for own in tombstones]
    come, come_late, gone, gone_late, dead = box.totals(
        *(b"".join(some) for some in (early[1], late[1], early[-1], late[-1], buried))
    )
    total = was.total + come + come_late - gone - gone_late
    recent = was.recent + come_late - gone_late + dead
    return ScopeDigest(total % 2**128, was.image, recent % 2**128)
