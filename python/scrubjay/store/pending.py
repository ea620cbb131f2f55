"""The documents that were written while the embedder failed, and so have no vector yet: their payloads have a flag.

Rows are listed in a queue of the store (:mod:`scrubjay.store.sqlite.embedding_queue`); an index in memory keeps the
keys here. Both classes have the same methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from scrubjay._native import Engine, Scope
from scrubjay.documents.payload import is_pending
from scrubjay.store.rows.values import RowId, StoredDocument, StoredRow
from scrubjay.store.seam import Store


class PendingRows:
    """The pending documents of a store. Thread-safe.

    Args:
        store: the rows.
        now: the current time in microseconds since 1970.
        document: makes a document from a row.
    """

    def __init__(
        self, store: Store, now: Callable[[], int], document: Callable[[StoredRow, Scope], StoredDocument]
    ) -> None:
        self._store = store
        self._now = now
        self._document = document

    def count(self, scopes: Sequence[Scope] | None = None) -> int:
        """Return the number of pending documents of these exact scopes, or of all."""
        return self._store.pending_count(now=self._now(), scopes=scopes)

    def pages(self, size: int) -> Iterator[list[StoredDocument]]:
        """Yield the pending documents in order of writing, `size` at a time."""
        for page in self._store.pending_pages(size, now=self._now()):
            yield [self._document(*row) for row in page if is_pending(row[0].payload)]

    def forget_embedded(self) -> None:
        """Delete the entries of documents that are no longer pending."""
        with self._store.writing("filling in vectors", scopes=()) as transaction:
            transaction.forget_stale_pending()


class PendingKeys:
    """The pending documents of a native engine. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._keys: dict[tuple[Scope, RowId], None] = {}  # in order of writing

    def add(self, scope: Scope, id: RowId) -> None:
        """Record a document that became pending."""
        self._keys[scope, id] = None

    def count(self, scopes: Sequence[Scope] | None = None) -> int:
        """Return the number of pending documents of these exact scopes, or of all."""
        return sum(
            (scopes is None or scope in scopes) and self._found(scope, id) is not None
            for scope, id in list(self._keys)
        )

    def pages(self, size: int) -> Iterator[list[StoredDocument]]:
        """Yield the pending documents in order of writing, `size` at a time."""
        each = (self._found(*key) for key in list(self._keys))
        documents = (document for document in each if document is not None)
        while page := list(islice(documents, size)):
            yield page

    def forget_embedded(self) -> None:
        """Do nothing: `count` and `pages` forget the keys of documents that are no longer pending."""

    def _found(self, scope: Scope, id: RowId) -> StoredDocument | None:
        document: Any = self._engine.get(id, scope=scope)
        if document is not None and document.scope == scope and is_pending(document.payload):
            return document  # type: ignore[no-any-return]
        self._keys.pop((scope, id), None)
        return None
