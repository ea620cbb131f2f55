"""Reading the images of a scope's chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from scrubjay._native import Scope
from scrubjay.store.sqlite.connections import translated
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.images import Images
from scrubjay.store.sqlite.reading import ScopeReader


class ImageReader:
    """Reads the images of a collection, each in its own snapshot. Thread-safe."""

    def __init__(self, scopes: ScopeReader, documents: DocumentReader) -> None:
        self._path, self._snapshot, self._scope_of = scopes.path, scopes.snapshot, documents.scope_of_key
        self._images = Images(scopes.tables, scopes.cipher, scopes.reading_connection)

    def image(self, key: int) -> tuple[int, list[bytes]] | None:
        with translated(self._path, "reading"), self._snapshot():
            return self._images.copied(key, partial(self._scope_of, key))

    @contextmanager
    def image_views(
        self, scope: Scope, key: int
    ) -> Iterator[tuple[int, Sequence[bytes | memoryview]] | None]:
        with self._snapshot(), translated(self._path, "reading"), self._images.viewed(key, scope) as image:
            yield image
