"""What does an index without a file do its work with? The native engine, which also knows the order of writing.

The native engine finds documents by what is in them and cannot enumerate them, so the ids are kept here as well, scope
by scope in the order of their last writing. Searches do not come here at all.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from scrubjay._native import Document, Engine, Scope
from scrubjay.errors import Error
from scrubjay.filters import FilterLike, Ids
from scrubjay.store.listing import Asked, asked
from scrubjay.store.protocol import RowId, StoredDocument

__all__ = ["LocalEngine"]

_SLICE = 256  # the native engine looks for repeated ids in a caller's ranking one by one


class LocalEngine(Engine):
    """A native engine that can list its documents. Thread-safe: writers and listings take turns, searches do not wait.

    >>> engine = LocalEngine()
    >>> engine.upsert_many([1, 2, 3], ["one", "two", "three"], scope=Scope("acme"))
    3
    >>> engine.upsert(1, "uno", scope=Scope("acme"))
    >>> [document.id for document in engine.listed(Scope("acme"))]
    [1, 3, 2]
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._turn = threading.RLock()  # a stemmer that writes is refused below, not left waiting
        self._n_written = 0
        self._written: dict[Scope, dict[RowId, int]] = {}  # exact scope -> id -> number of the last write

    # ------------------------------------------------------------------ writing

    def upsert(self, id: Any, text: Any, *, scope: Any, vector: Any = None, payload: Any = None) -> None:
        """Insert a document or replace the one with this id; see :meth:`Engine.upsert`."""
        with self._turn:
            super().upsert(id, text, scope=scope, vector=vector, payload=payload)
            self._note(id, scope)

    def upsert_many(
        self, ids: Any, texts: Any, *, scope: Any, vectors: Any = None, payloads: Any = None
    ) -> int:
        """Insert or replace documents in order; see :meth:`Engine.upsert_many`."""
        with self._turn:
            try:
                n_written = super().upsert_many(ids, texts, scope=scope, vectors=vectors, payloads=payloads)
            except MemoryError:  # some may have been written; listings leave out what is not there
                self._note_many(ids, scope)
                raise
            self._note_many(ids, scope)
            return n_written

    def delete(self, id: Any) -> bool:
        """Delete a document; see :meth:`Engine.delete`."""
        with self._turn:
            known = self.get(id)
            deleted = super().delete(id)
            if known is not None:
                self._forget(known)
            return deleted

    def delete_many(self, ids: Any) -> int:
        """Delete documents; see :meth:`Engine.delete_many`."""
        with self._turn:
            known = [self.get(id) for id in ids]
            n_deleted = super().delete_many(ids)
            for document in known:
                if document is not None:
                    self._forget(document)
            return n_deleted

    def erase(self, scope: Any, *, exact: bool = False) -> int:
        """Erase what agrees with a scope; see :meth:`Engine.erase`."""
        with self._turn:
            n_erased = super().erase(scope, exact=exact)
            for known in list(self._written):
                if known == scope or (not exact and scope.contains(known)):
                    del self._written[known]
            return n_erased

    def load_partition(self, scope: Any, images: list[Any]) -> int:
        """Refused: images do not say in which order documents were written among those of other scopes."""
        raise Error("load_partition: expected a plain Engine; this one belongs to an index without a file")

    # ------------------------------------------------------------------ listing

    def listed(
        self,
        scope: Scope,
        *,
        filter: FilterLike | None = None,
        ids: Ids | None = None,
        exact: bool = False,
        limit: int | None = None,
        offset: int = 0,
        order: str = "newest",
    ) -> list[StoredDocument]:
        """Return documents that `scope` sees, without their vectors, by when they were last written.

        See :meth:`scrubjay.Index.list` for the arguments. All of one state: no write happens meanwhile.
        """
        wanted = asked(scope, filter=filter, exact=exact, limit=limit, offset=offset, order=order)
        if ids is not None:
            ids = set(ids)
            self.count(scope, ids=ids)  # says what is wrong with them
        with self._turn:
            found = self._seen(wanted, scope, self._numbered(wanted, ids))
            return list(islice(found, wanted.start, wanted.stop))

    def scopes(self, within: Scope | None = None) -> list[Scope]:
        """Return every scope that has documents, or those of them that agree with `within`."""
        with self._turn:
            return [scope for scope in self._written if within is None or within.contains(scope)]

    def _numbered(self, wanted: Asked, ids: Any) -> Iterator[RowId]:
        """Yield the ids of the scopes in the order that is wanted."""
        per_scope = []
        for scope in wanted.scopes:
            known = self._written.get(scope, {})
            if ids is None:
                pairs: Iterable[tuple[RowId, int]] = (
                    reversed(known.items()) if wanted.newest else known.items()
                )
            else:
                chosen = ((id, known[id]) for id in ids if id in known)
                pairs = sorted(chosen, key=lambda pair: pair[1], reverse=wanted.newest)
            per_scope.append(pairs)
        merged = heapq.merge(*per_scope, key=lambda pair: pair[1], reverse=wanted.newest)
        return (id for id, _ in merged)

    def _seen(self, wanted: Asked, scope: Scope, numbered: Iterator[RowId]) -> Iterator[StoredDocument]:
        """Yield those of the ids that are visible and admitted, by searches whose only ranking they are."""
        while part := list(islice(numbered, _SLICE)):
            found = self.search(
                "",
                scope=scope,
                k=len(part),
                candidates=len(part),
                rankings=[part],
                rrf_k=0.0,
                filter=wanted.filter,
            )
            for i in range(len(found)):
                yield StoredDocument(found.id(i), found.text(i), found.scope(i), found.payload(i), None)

    # ------------------------------------------------------------------ the order of writing

    def _note(self, id: Any, scope: Scope) -> None:
        key: RowId = id if isinstance(id, str) else int(id)
        known = self._written.setdefault(scope, {})
        known.pop(key, None)  # so that it moves to the end
        self._n_written += 1
        known[key] = self._n_written

    def _note_many(self, ids: Any, scope: Any) -> None:
        scopes = [scope] * len(ids) if isinstance(scope, Scope) else scope
        for id, one in zip(ids, scopes, strict=True):
            self._note(id, one)

    def _forget(self, document: Document) -> None:
        known = self._written.get(document.scope)
        if known is not None:
            known.pop(document.id, None)
            if not known:
                del self._written[document.scope]
