"""Reads images of scopes (:mod:`scrubjay.store.postgres.images`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scrubjay._native import Scope
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.images import image_chunks
from scrubjay.store.postgres.sealing import table_of
from scrubjay.store.rows.decoding import unmarked


class ImageReader:
    """Reads images of one collection. Thread-safe."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def image(self, key: Any) -> tuple[int, list[bytes]] | None:
        """Return (version, chunks) of a scope's image; None if the image or a part of it is missing.

        Objects are read from the object store, not from the local cache.
        """
        found = self._image(key, past_cache=True)
        return None if found is None else (found[0], [bytes(chunk) for chunk in found[1]])

    @contextmanager
    def image_views(
        self, scope: Scope, key: Any
    ) -> Iterator[tuple[int, Sequence[bytes | memoryview]] | None]:
        """Provide what :meth:`image` returns, without a copy, and with the local cache."""
        yield self._image(key)

    def _image(
        self, key: Any, *, past_cache: bool = False
    ) -> tuple[int, Sequence[bytes | memoryview]] | None:
        if not key:
            return None
        found = self._collection.ask(
            "SELECT ordinal, n_chunks, version, data, object, n_bytes FROM sj_image "
            "WHERE home = %s AND collection = %s AND scope = %s AND (SELECT s.embedding = c.embedding FROM sj_scope s "
            "JOIN sj_collection c ON c.collection = s.collection "
            "WHERE s.home = %s AND s.collection = %s AND s.key = %s) ORDER BY ordinal",
            (key.home, self._collection.number, key.number) * 2,
            home=key.home,
        )
        if not found or any(row[:3] != (i, len(found), found[0][2]) for i, row in enumerate(found)):
            return None
        version: int = found[0][2]
        chunks: Sequence[bytes | memoryview] | None
        chunks = image_chunks([row[3:] for row in found], self._collection.objects, past_cache=past_cache)
        if chunks is None:
            return None
        if self._collection.cipher.ring is not None:
            chunks = self._collection.cipher.open_image(
                table_of(self._collection.number, "sj_image"), key.scope, version, chunks
            )
        return version, unmarked(key.scope, version, chunks)
