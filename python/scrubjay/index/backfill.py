"""Deferred embedding of documents that were written while the embedder failed.

The engine lists the pending documents (:mod:`scrubjay.store.pending`). A vector is filled in by a conditional write of
the same document: a document that was written or deleted meanwhile is left alone, and if the process is killed, nothing
is lost and the next one continues.

A thread retries after a second, then with growing pauses of at most 64 seconds, until nothing is pending; it starts
with the first pending document, and is woken at once when the embedder has answered a write or a search.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrubjay._native import Scope
from scrubjay.base.errors import EmbedderError, VersionConflictError
from scrubjay.base.locks import is_mine, renew_in_children
from scrubjay.base.progress import Progress, open_progress
from scrubjay.documents import payload
from scrubjay.documents.passage_vectors import DocumentVector
from scrubjay.embedders.protocol import checked_matrix
from scrubjay.index.passages import joined
from scrubjay.index.semantic import Semantics
from scrubjay.store.document_engine import DocumentEngine
from scrubjay.store.residency.housekeeping import Housekeeper
from scrubjay.store.rows.values import StoredDocument

_BATCH = 64  # texts per call in the background


@dataclass(frozen=True)
class BackfillReport:
    """The result of :meth:`Admin.backfill`."""

    embedded: int
    """Texts that were embedded, including those for which the embedder has no vector."""
    refused: int
    """Texts on which the embedder fails although it answers for others. They stay pending."""
    pending: int
    """Memories that are pending now, refused ones included."""


class _Down(Exception):  # noqa: N818 - control flow: ends a pass, not an error
    """The embedder does not answer."""


class Backfill:
    """The pending documents of one collection, and the thread that embeds them. Thread-safe.

    Args:
        engine: of the collection.
        semantics: its embedder.
        is_read_only: whether nothing may be written, so nothing is filled in.
    """

    def __init__(self, engine: DocumentEngine, semantics: Semantics, *, is_read_only: bool = False) -> None:
        self._engine = engine
        self._semantics = semantics
        self._is_read_only = is_read_only
        self._turn = threading.RLock()  # one thread at a time embeds pending documents
        renew_in_children(self, "_turn")
        self._keeper: Housekeeper | None = None
        self._pid = os.getpid()
        self.any = False
        """Whether this process knows of pending documents."""
        me = weakref.ref(self)

        def hurry() -> None:
            backfill = me()
            if backfill is not None and backfill.any and not is_mine(backfill._turn):
                backfill.start(hurry=True)

        semantics.outage.on_end = hurry

    # ------------------------------------------------------------------ the pending documents

    def wake(self) -> None:
        """Start embedding documents that became pending."""
        self.any = True
        self.start()

    def look(self) -> None:
        """Look for documents that were pending before, and start embedding them."""
        self.any = self.count() > 0
        if self.any:
            self.start()

    def count(self, scopes: Sequence[Scope] | None = None) -> int:
        """Return the number of pending memories in these exact scopes, or in all."""
        return self._engine.pending.count(scopes)

    # ------------------------------------------------------------------ filling in

    def fill(self, batch_size: int, progress: Progress) -> BackfillReport:
        """Embed pending documents; see :meth:`Admin.backfill`."""
        with self._turn:
            return self._fill(batch_size, progress)

    def _fill(self, batch_size: int, progress: Progress) -> BackfillReport:
        n_embedded = n_refused = 0
        if self._semantics.embedder is not None:
            try:
                for page in self._engine.pending.pages(batch_size):
                    for batch, vectors in self._embed(page):
                        if vectors is None:
                            n_refused += len(batch)
                        else:
                            n_embedded += self._write(batch, vectors)
                        progress.update(len(batch))
            except _Down:
                pass
        if n_embedded:
            self._engine.pending.forget_embedded()
        n_left = self.count()
        self.any = n_left > 0
        return BackfillReport(n_embedded, n_refused, n_left)

    def _embed(
        self, batch: list[StoredDocument]
    ) -> Iterator[tuple[list[StoredDocument], list[DocumentVector | None] | None]]:
        """Yield parts of a batch with their vectors; None for a document on which the embedder fails, but only on it.

        Raises:
            _Down: the embedder fails on any text.
            EmbedderError: it returned something other than vectors.
        """
        if not batch:
            return
        embedder, outage = self._semantics.embedder, self._semantics.outage
        if embedder is None:
            raise _Down
        parts = [self._semantics.parts_of(document.text, document.payload) for document in batch]
        try:
            output = embedder.embed_documents([text for part in parts for text in part.texts])
        except Exception as error:  # noqa: BLE001 - whatever was raised: the texts stay pending
            try:
                embedder.embed_documents(["text"])
            except Exception:  # noqa: BLE001
                raise _Down from error
            if len(batch) == 1:
                yield batch, None
                return
            middle = len(batch) // 2
            yield from self._embed(batch[:middle])
            yield from self._embed(batch[middle:])
            return
        matrix = checked_matrix(output, sum(len(part.texts) for part in parts), embedder)
        outage.answered()
        rows = iter([row if row.any() else None for row in matrix])
        yield batch, [joined(part, [next(rows) for _ in part.texts]) for part in parts]

    def _write(self, batch: Sequence[StoredDocument], vectors: Sequence[DocumentVector | None]) -> int:
        """Fill in vectors; return how many documents were unchanged and got one."""
        try:
            self._engine.upsert_versioned(
                [document.id for document in batch],
                [document.text for document in batch],
                scope=[document.scope for document in batch],
                versions=[document.version for document in batch],
                vectors=list(vectors),
                payloads=[payload.with_pending(document.payload, False) for document in batch],
                fills=True,  # a legal hold does not cover vectors
            )
        except VersionConflictError:
            if len(batch) == 1:
                return 0
            return sum(
                self._write([document], [vector]) for document, vector in zip(batch, vectors, strict=True)
            )
        if any(vector is not None for vector in vectors):
            self._semantics.wrote()
        return len(batch)

    # ------------------------------------------------------------------ in the background

    def start(self, *, hurry: bool = False) -> None:
        """Schedule the thread in a second; with `hurry` wake it now."""
        if self._is_read_only or self._semantics.embedder is None:
            return
        if self._keeper is None or self._pid != os.getpid():  # a fork does not have the parent's thread
            self._keeper, self._pid = Housekeeper(self, "scrubjay-backfill"), os.getpid()
        self._keeper.note()
        if hurry:
            self._keeper.hurry()

    def stop(self) -> None:
        """Stop the thread. It may still be waiting for the embedder; its later writes are refused or have no effect."""
        if self._keeper is not None and self._pid == os.getpid():
            self._keeper.stop(wait=False)

    def tidy(self) -> bool | None:
        """Embed pending documents. Return True to run again soon, None later, False if nothing is left to do."""
        if not self._turn.acquire(blocking=False):
            return True
        try:
            report = self._fill(_BATCH, open_progress(False, total=0, what="", unit=""))
        except EmbedderError:
            return False  # its output is wrong: the next write reports that
        finally:
            self._turn.release()
        return None if report.pending > report.refused else False
