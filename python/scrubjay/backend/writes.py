"""Writing and deleting in one step, for replacements and moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from scrubjay._native import Scope
from scrubjay.backend.leases import Lease
from scrubjay.documents.records import Row
from scrubjay.index.backend import Backend


class Writes:
    """The writes and deletions to be done at the end of the block of :meth:`Documents.writing`. A memory that is put
    stays, even if its key is also deleted."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._gone: list[tuple[Scope, str]] = []

    def put(self, rows: Iterable[Row]) -> None:
        """Write rows that are already checked, encoded and embedded, each replacing the memory with its key.

        Args:
            rows: id, text, scope, vector and payload of each (:mod:`scrubjay.documents.payload` encodes it).
        """
        self._rows.extend(rows)

    def delete(self, keys: Iterable[tuple[Scope, str]]) -> None:
        """Delete memories; unknown keys are ignored.

        Args:
            keys: exact scope and id of each.
        """
        self._gone.extend(keys)


@contextmanager
def writing(lease: Lease, doing: str) -> Iterator[Writes]:
    """The context of :meth:`Documents.writing`, over a lease."""
    with lease.turn:
        backend, writes = Backend.of(lease.index), Writes()
        if not backend.is_durable:
            yield writes
            # A search may see the new documents a moment before the old ones are gone.
            put = {(row.scope, row.id) for row in writes._rows}
            if writes._rows:
                backend.write_rows(writes._rows)
            if gone := [key for key in writes._gone if key not in put]:
                backend.delete_keys(gone)
            return
        with backend.changing(doing) as change:
            yield writes
            if writes._gone:
                scopes, ids = zip(*writes._gone, strict=True)
                change.delete(ids, scope=scopes, reason=doing)
            if rows := writes._rows:
                change.upsert(
                    [row.id for row in rows],
                    [row.text for row in rows],
                    scopes=[row.scope for row in rows],
                    vectors=[row.vector for row in rows],
                    payloads=[row.payload for row in rows],
                )
