"""Maintenance of all rows of a collection or tenant that each kind of store implements itself: changing the model
or a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scrubjay.base.progress import Progress
from scrubjay.documents.passage_vectors import DocumentVector
from scrubjay.store.engine import DurableEngine
from scrubjay.store.seam import Store
from scrubjay.store.sqlite import reembedding, rekeying
from scrubjay.store.sqlite.store import SqliteStore


def reembed_store(
    engine: DurableEngine,
    model: str,
    dim: int,
    embed: Callable[[Sequence[tuple[str, bytes | None]]], Sequence[DocumentVector | None]],
    progress: Progress,
    *,
    batch_size: int,
    failing: tuple[type[Exception], ...] = (),
) -> int:
    """Give every document a vector of `model`; see :mod:`scrubjay.store.sqlite.reembedding`."""
    store = engine.store
    if isinstance(store, SqliteStore):
        return reembedding.reembed_rows(
            engine, store, model, dim, embed, progress, batch_size=batch_size, failing=failing
        )
    from scrubjay.store.postgres.reembedding import reembed_rows

    return reembed_rows(engine, store, model, dim, embed, progress, batch_size=batch_size, failing=failing)


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
