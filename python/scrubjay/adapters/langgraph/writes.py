"""Writes of items: no reader sees half of an item, and no stale value overwrites a newer one.

Existing items are read in the writer's turn and in the transaction that changes them, where the index has a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from scrubjay import payload
from scrubjay._native import Scope
from scrubjay.adapters.langgraph.items import Put, deadline, is_item, item_key, n_parts
from scrubjay.adapters.langgraph.namespaces import Namespace, document_id, home_of
from scrubjay.backend import Backend, Lease
from scrubjay.index import Hit, Index
from scrubjay.records import Record, Row

__all__ = ["refresh", "write"]

_WORTH_IT = 0.01  # of its time to live, by which a read must move an item's end before that is written


def write(lease: Lease, index: Index, tenant: str, puts: Sequence[Put]) -> None:
    """Write and delete items, all or none."""
    texts = list(dict.fromkeys(text for put in puts for text in put.texts))
    vectors = dict(zip(texts, Backend.of(index).embed(texts), strict=True))  # before anybody has to wait

    def changes() -> tuple[list[Row], list[tuple[Scope, str]]]:
        now = datetime.now(timezone.utc)
        documents: list[Row] = []
        gone: list[tuple[Scope, str]] = []
        known = _known(index, tenant, puts)
        for put in puts:
            n_old, created_at = known.get((put.namespace, put.key), (0, None))
            n_new = 0
            if put.value is not None:
                documents += put.documents(tenant, vectors, created_at, now)
                n_new = max(1, len(put.texts))
            for part in range(n_new, n_old):
                gone.append(put.document_key(tenant, part))
        return documents, gone

    _change(lease, index, "putting items", changes)


def refresh(lease: Lease, index: Index, tenant: str, read: Iterable[Record | Hit]) -> None:
    """Restart the time to live of items that were read; items without one, or with a fresh one, are not touched.

    An end that would move by less than a hundredth of the time to live stays where it is.
    """
    now = datetime.now(timezone.utc)
    due = {item_key(found): found for found in read if _is_due(found, now)}
    if not due:
        return

    def changes() -> tuple[list[Row], list[tuple[Scope, str]]]:
        documents = []
        for (namespace, key), found in due.items():
            put = Put(namespace, key, None, [], None)
            for part in range(n_parts(found)):
                scope, id = put.document_key(tenant, part)
                record = index.get(id, scope=scope)
                # An item rewritten since it was read has a fresh time already; a deleted one stays deleted.
                if record is not None and record.scope == scope and _is_due(record, now):
                    metadata = dict(record.metadata or {})
                    expires_at = deadline(now, metadata["ttl"])
                    metadata["ends"] = expires_at.isoformat()
                    encoded = payload.encode(metadata, record.created_at, expires_at)
                    ends = payload.microseconds(expires_at)
                    vector: Any = record.vector
                    documents.append(Row(id, record.text, scope, vector, encoded, ends))
        return documents, []

    _change(lease, index, "refreshing items", changes)


def _known(
    index: Index, tenant: str, puts: Sequence[Put]
) -> dict[tuple[Namespace, str], tuple[int, datetime | None]]:
    """Return how many parts the items have that are there, and when they were made; a listing for each namespace."""
    ids: dict[Namespace, list[str]] = {}
    for put in puts:
        ids.setdefault(put.namespace, []).append(document_id(put.namespace, put.key, 0))
    found = {}
    for namespace, wanted in ids.items():
        for old in index.list(home_of(tenant, namespace), exact=True, ids=wanted):
            if is_item(old):
                created_at = old.created_at
                found[item_key(old)] = (
                    n_parts(old),
                    created_at if isinstance(created_at, datetime) else None,
                )
    return found


def _is_due(found: Record | Hit, now: datetime) -> bool:
    metadata = found.metadata or {}
    ttl = metadata.get("ttl")
    if ttl is None:
        return False
    return deadline(now, ttl) - datetime.fromisoformat(metadata["ends"]) >= timedelta(minutes=ttl) * _WORTH_IT


def _change(lease: Lease, index: Index, doing: str, changes: Any) -> None:
    with lease.turn:
        if not Backend.of(index).is_durable:
            # A search may see the new documents a moment before the old ones are gone.
            documents, gone = changes()
            if documents:
                Backend.of(index).write_rows(documents)
            if gone:
                Backend.of(index).delete_keys(gone)
            return
        with Backend.of(index).changing(doing) as change:
            documents, gone = changes()
            if gone:
                change.delete([id for _, id in gone], scope=[scope for scope, _ in gone], reason=doing)
            if documents:
                change.upsert(
                    [document.id for document in documents],
                    [document.text for document in documents],
                    scopes=[document.scope for document in documents],
                    vectors=[document.vector for document in documents],
                    payloads=[document.payload for document in documents],
                )
