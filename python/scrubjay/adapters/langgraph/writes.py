"""Writes of items: readers never see half an item, and a stale value never overwrites a newer one.

If the index has a file, existing items are read within the transaction that changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, cast

from scrubjay.adapters.langgraph.items import CheckedPut, deadline, is_item, item_key, n_parts
from scrubjay.adapters.langgraph.namespaces import Namespace, document_id, home_of
from scrubjay.backend import Backend, Documents
from scrubjay.documents import payload
from scrubjay.documents.records import Record, Row
from scrubjay.index import Hit

_WORTH_IT = 0.01  # fraction of the time to live by which a read must extend it to be written


def write(documents: Documents, tenant: str, puts: Sequence[CheckedPut]) -> None:
    """Write and delete items, atomically."""
    texts = list(dict.fromkeys(text for put in puts for text in put.texts))
    backend = Backend.of(documents.index)
    vectors = dict(zip(texts, backend.embed(texts), strict=True))  # before taking the write lock
    with documents.writing("putting items") as writes:
        now = datetime.now(timezone.utc)
        existing = _known(documents, tenant, puts)
        for put in puts:
            n_old, created_at = existing.get((put.namespace, put.key), (0, None))
            n_new = 0
            if put.value is not None:
                writes.put(put.documents(tenant, vectors, created_at, now))
                n_new = max(1, len(put.texts))
            writes.delete(put.document_key(tenant, part) for part in range(n_new, n_old))


def refresh(documents: Documents, tenant: str, read: Iterable[Record | Hit]) -> None:
    """Restart the time to live of items that were read, except items without one.

    An extension by less than a hundredth of the time to live is not written.
    """
    now = datetime.now(timezone.utc)
    due = {item_key(found): found for found in read if _is_due(found, now)}
    if not due:
        return
    with documents.writing("refreshing items") as writes:
        for (namespace, key), found in due.items():
            put = CheckedPut(namespace, key, None, [], None)
            for part in range(n_parts(found)):
                scope, id = put.document_key(tenant, part)
                (record,) = documents.get_many([id], scope=scope, exact=True)
                # An item rewritten since the read has a fresh time already; a deleted one stays deleted.
                if record is not None and _is_due(record, now):
                    metadata = dict(record.metadata or {})
                    expires_at = deadline(now, metadata["ttl"])
                    metadata["ends"] = expires_at.isoformat()
                    encoded = payload.encode(metadata, record.created_at, expires_at)
                    writes.put([Row(id, record.text, scope, cast(Any, record.vector), encoded)])


def _known(
    documents: Documents, tenant: str, puts: Sequence[CheckedPut]
) -> dict[tuple[Namespace, str], tuple[int, datetime | None]]:
    """Return the number of parts and the creation time of the existing items; one listing for each namespace."""
    ids: dict[Namespace, list[str]] = {}
    for put in puts:
        ids.setdefault(put.namespace, []).append(document_id(put.namespace, put.key, 0))
    result = {}
    for namespace, names in ids.items():
        for old in documents.list(scope=home_of(tenant, namespace), exact=True, ids=names):
            if is_item(old):
                result[item_key(old)] = n_parts(old), cast("datetime | None", old.created_at)
    return result


def _is_due(document: Record | Hit, now: datetime) -> bool:
    metadata = document.metadata or {}
    ttl = metadata.get("ttl")
    if ttl is None:
        return False
    return deadline(now, ttl) - datetime.fromisoformat(metadata["ends"]) >= timedelta(minutes=ttl) * _WORTH_IT
