"""Maintenance of all rows of a collection or tenant that each kind of store implements itself: changing the model
or a key."""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, VersionConflictError
from scrubjay.base.progress import Progress
from scrubjay.documents.payload import with_pending
from scrubjay.store.engine import DurableEngine
from scrubjay.store.rows.model_change import ModelChange
from scrubjay.store.rows.values import StoredRow
from scrubjay.store.seam import Store
from scrubjay.store.sqlite import reembedding, rekeying
from scrubjay.store.sqlite.store import SqliteStore


def reembed_store(store: Store, change: ModelChange) -> int:
    """Give every document a vector of the new model; return how many were embedded. See
    :mod:`scrubjay.store.sqlite.reembedding`."""
    if isinstance(store, SqliteStore):
        return reembedding.reembed_rows(store, change)
    from scrubjay.store.postgres.reembedding import reembed_rows

    return reembed_rows(store, change)


def made_pending(engine: DurableEngine, row: StoredRow, scope: Scope) -> bool:
    """Rewrite a document as pending, with its current vector; False if it was rewritten, was deleted or has expired
    meanwhile, or cannot be read."""
    try:
        document = engine.document(row, scope)
        engine.upsert_versioned(
            [document.id],
            [document.text],
            scope=scope,
            versions=[row.seq],
            vectors=[document.vector],
            payloads=[with_pending(document.payload)],
            fills=True,
        )
    except (VersionConflictError, CorruptIndexError):
        return False
    return True


def encrypt_tenant(store: Store, tenant: str, progress: Progress, *, accept: bool = False) -> int:
    """Encrypt all unencrypted data of a tenant; see :func:`scrubjay.store.sqlite.rekeying.encrypt_tenant`."""
    if isinstance(store, SqliteStore):
        return rekeying.encrypt_tenant(store, tenant, progress, accept=accept)
    from scrubjay.store.postgres.rekeying import encrypt_tenant

    return encrypt_tenant(store, tenant, progress, accept=accept)


def rotate_key(store: Store, tenant: str, old: bytes) -> None:
    """Wrap a tenant's data key with another master key; see :func:`scrubjay.store.sqlite.rekeying.rotate_key`."""
    if isinstance(store, SqliteStore):
        return rekeying.rotate_key(store, tenant, old)
    from scrubjay.store.postgres.rekeying import rotate_key

    return rotate_key(store, tenant, old)
