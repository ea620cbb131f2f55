"""Writing the documents of facts and episodes within a change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.documents import payload
from scrubjay.memory.model.documents import Document, Embedded, documents_of, ids_of_documents
from scrubjay.memory.model.rows import EpisodeRow, FactRow, Row, scope_in
from scrubjay.memory.model.statements import has_documents
from scrubjay.store.writing.write_batches import Change


class Documents:
    """The document changes of a change, collected and written at its end: the last state of each record, in one step.

    Args:
        change: the change in progress.
        find: returns a committed document of the index by id and scope, or None.
        embed: returns the embeddings of texts that have no vector yet.
    """

    def __init__(
        self,
        change: Change,
        find: Callable[[str, Scope], Any],
        embed: Callable[[Sequence[str]], list[Embedded]],
    ) -> None:
        self._change = change
        self._find = find
        self._embed = embed
        self._rows: dict[str, FactRow | EpisodeRow] = {}
        self._made: dict[str, Sequence[Document]] = {}
        self._embedded: dict[str, Embedded] = {}
        self._gone: dict[Scope, dict[str, str]] = {}  # id of a document -> reason
        self.has_changed = False
        """Whether documents of an existing record were changed or deleted."""

    def put(
        self,
        row: FactRow | EpisodeRow,
        embedded: Embedded | None = None,
        before: FactRow | EpisodeRow | None = None,
        documents: Sequence[Document] | None = None,
    ) -> None:
        """Write the documents of a record.

        Args:
            row: the new row.
            embedded: the embedding of its text; None: that of its present document, or else from the embedder.
            before: the old row, if it had documents.
            documents: the documents of the row, if they are known (:func:`documents_of`).
        """
        if before is not None:
            self._leave(before, "changed")
        if embedded is None and row.id not in self._embedded:
            embedded = self._known(row if before is None else before, row.text)
        if embedded is not None:
            self._embedded[row.id] = embedded
        self._rows[row.id] = row
        if documents is None:
            self._made.pop(row.id, None)
        else:
            self._made[row.id] = documents

    def embedded_of(self, row: FactRow | EpisodeRow) -> Embedded | None:
        """Return the embedding of a record's text from its document; None if the document lacks it."""
        return self._known(row, row.text)

    def remove(self, row: FactRow | EpisodeRow, reason: str) -> None:
        """Delete the documents of a record."""
        self._rows.pop(row.id, None)
        self._leave(row, reason)

    def _leave(self, row: FactRow | EpisodeRow, reason: str) -> None:
        self.has_changed = True
        removals = self._gone.setdefault(scope_in(row), {})
        removals.update(dict.fromkeys(ids_of_documents(row), reason))

    def _known(self, row: FactRow | EpisodeRow, text: str) -> Embedded | None:
        document = self._find(ids_of_documents(row)[0], scope_in(row))
        if document is None or (document.scope, document.text) != (scope_in(row), text):
            return None
        return Embedded(document.vector, payload.is_pending(document.payload))

    def flush(self) -> None:
        """Write the collected changes."""
        rows, self._rows = list(self._rows.values()), {}
        fresh = [row for row in rows if row.id not in self._embedded]
        if fresh:
            for row, embedded in zip(fresh, self._embed([row.text for row in fresh]), strict=True):
                self._embedded[row.id] = embedded
        ids, texts, scopes, vectors, payloads, times = [], [], [], [], [], []
        for row in rows:
            embedded = self._embedded[row.id]
            for document in self._made.get(row.id) or documents_of(row):
                if document.scope in self._gone:
                    self._gone[document.scope].pop(document.id, None)
                ids.append(document.id)
                texts.append(document.text)
                scopes.append(document.scope)
                vectors.append(embedded.vector)
                payloads.append(payload.with_pending(document.payload, embedded.pending))
                times.append(document.times)
        for scope, removals in self._gone.items():
            for reason in dict.fromkeys(removals.values()):
                self._change.delete(
                    [id for id, why in removals.items() if why == reason], scope=scope, reason=reason
                )
        self._gone = {}
        if ids:
            self._change.upsert(ids, texts, scopes=scopes, vectors=vectors, payloads=payloads, times=times)


def documents_in(change: Change) -> Documents:
    """Return the document changes of a change."""
    documents: Documents = change.layer
    return documents


def remove(change: Change, row: FactRow | EpisodeRow, reason: str) -> None:
    """Delete the documents of a fact or episode."""
    documents_in(change).remove(row, reason)


def remove_documents(change: Change, row: Row, reason: str) -> None:
    """Remove a record from the index, if it is there."""
    is_there = has_documents(row) if isinstance(row, FactRow) else row.status == "active"
    if isinstance(row, (FactRow, EpisodeRow)) and is_there:
        remove(change, row, reason)
