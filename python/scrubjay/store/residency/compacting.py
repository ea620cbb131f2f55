"""Compaction: removes deleted documents from memory, images and file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from scrubjay._native import Engine, Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.base.progress import Progress
from scrubjay.store.residency.loading import graph_lost
from scrubjay.store.residency.residency import Residency
from scrubjay.store.seam import Store


def compact_rows(
    store: Store,
    residency: Residency,
    *,
    readable: Callable[[Scope], bool],
    empty_native: Callable[[], Engine],
    progress: Progress | None,
) -> None:
    """Purge the ids of deleted documents, write fresh images, and return space.

    Args:
        store: the rows.
        residency: of their partitions.
        readable: whether a scope can be read now; other scopes are left unchanged.
        empty_native: makes an empty engine of the same kind.
        progress: advanced for each partition without a current image.
    """
    store.forget_deleted()
    for scope, state in store.scopes():
        if readable(scope) and _is_damaged(store, scope, state.key, empty_native()):
            with store.writing("compacting", scopes=()) as transaction:
                transaction.drop_image(state.key)
    for scope in store.stale_scopes():
        if readable(scope):
            with suppress(CorruptIndexError, EncryptionError):  # unreadable scopes are left unchanged
                partition = residency.partition(scope)
                residency.bring(partition)
                residency.save(partition, wait=True, in_background=True)
                residency.evict()
        if progress is not None:
            progress.update(1)
    store.rewrite()


def _is_damaged(store: Store, scope: Scope, key: int, empty: Engine) -> bool:
    """Whether a scope has an image that cannot be used in full."""
    try:
        image = store.image(key)
        if image is None:
            return False
        empty.load_partition(scope, image[1])
        return graph_lost(empty, scope, image[1])
    except CorruptIndexError:
        return True
