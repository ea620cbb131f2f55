"""The documents of facts and episodes in the index, and their writing within a change.

A fact has one document for each stretch of time in which it holds (nearly all hold once), and one that never holds
where it was corrected or revoked, so that a search can ask what was believed before. A document says in its metadata of
which record it is and when it holds, in microseconds since 1970: `valid_from` until before `valid_until`. A search adds
the condition for its time (:func:`holding`), so what supersedes and what is superseded change in one step. Where its
source names a run, a turn and an author, the document is a turn of that conversation (:mod:`scrubjay.turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from scrubjay import payload
from scrubjay._native import Scope
from scrubjay.entities import with_entities
from scrubjay.memory.ledger.details import detail_in
from scrubjay.memory.ledger.making import loaded, sensitivity_of
from scrubjay.memory.ledger.rows import EpisodeRow, FactRow, Row, scope_in
from scrubjay.memory.ledger.statements import begin_of_episode, has_documents, holds_of
from scrubjay.memory.model.decoding import as_moment
from scrubjay.passage_vectors import DocumentVector
from scrubjay.store.together import Change
from scrubjay.turns import as_turn

__all__ = [
    "RESERVED",
    "Document",
    "Documents",
    "Embedded",
    "documents_in",
    "documents_of",
    "holding",
    "ids_of_documents",
    "place_in_run",
    "remove",
    "remove_documents",
]

RESERVED = (
    "kind", "record", "subject", "predicate", "confidence", "task_type", "outcome", "faded", "relation", "value",
    "importance", "sensitivity", "valid_from", "valid_until",
)  # fmt: skip
"""What a document's metadata says of its record, beside what the caller gave."""
_NEVER = ((0, 0),)
_EVENT = "event "


class Embedded(NamedTuple):
    """What the embedder made of a text: a vector, one for each passage of a long text, nothing (None), or no answer yet
    (`pending`)."""

    vector: DocumentVector | None
    pending: bool = False


class Document(NamedTuple):
    """A document of a record: its id in the scope, and its payload without the mark of what is pending."""

    id: str
    payload: bytes | None
    times: payload.Times


def holding(moment: int) -> dict[str, Any]:
    """Return the filter for documents of what holds at a time, in microseconds since 1970."""
    return {
        "$not": {"$or": [{"valid_from": {"$gt": moment}}, {"valid_until": {"$lte": moment}}]},
    }


def ids_of_documents(row: FactRow | EpisodeRow) -> list[str]:
    """Return the ids of a record's documents in its scope."""
    return _ids(row, max(len(holds_of(row)), 1) if isinstance(row, FactRow) else 1)


def _ids(row: FactRow | EpisodeRow, n: int) -> list[str]:
    # In format 1 a fact handed its document on to the one that superseded it.
    first = row.id if isinstance(row, FactRow) and row.holds is None and row.status != "active" else row.slot
    return [first, *(f"{first}.{i}" for i in range(1, n))]


def documents_of(row: FactRow | EpisodeRow, *, with_turn: bool = True) -> list[Document]:
    """Return the documents that a record has.

    Args:
        row: of the record.
        with_turn: whether they say which turn of a conversation it is from; those of older versions did not.
    """
    own = loaded(row.metadata)
    metadata = {**(_turn_of(row, own) if with_turn else {}), **own, "kind": row.kind, "record": row.id}
    said: dict[str, Any]
    if isinstance(row, FactRow):
        detail = detail_in(row)
        metadata["confidence"] = row.confidence
        said = {
            "subject": row.subject,
            "predicate": row.predicate,
            "faded": bool(row.faded),
            "relation": None if row.relation == "asserts" else row.relation,
            "sensitivity": detail.get("sensitivity"),
        }
        if detail:
            metadata = _with_detail(metadata, detail)
        created_at = row.created_at if row.said_at is None else row.said_at
        times = holds_of(row) or _NEVER
    else:
        said = {"outcome": row.outcome, "task_type": row.task_type, "sensitivity": sensitivity_of(row)}
        created_at = begin_of_episode(row)
        times = ((created_at, None),)
    for name, value in said.items():
        if value:
            metadata[name] = value
    # All of it was checked when it was written to the row, and is JSON's own types.
    fields: dict[str, Any] = {"metadata": metadata, "created_at": as_moment(created_at).isoformat()}
    expires_at = row.expires_at
    if expires_at is not None:
        fields["expires_at"] = as_moment(expires_at).isoformat()
    made = []
    for id, (begin, end) in zip(_ids(row, len(times)), times, strict=True):
        metadata["valid_from"] = begin
        metadata.pop("valid_until", None)
        if end is not None:
            metadata["valid_until"] = end
        made.append(Document(id, payload.encode_fields(fields), (created_at, expires_at)))
    return made


def _with_detail(metadata: dict[str, Any], detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a fact with what its detail says of it."""
    value, importance = detail.get("value"), detail.get("importance")
    if isinstance(value, (str, int, float)):
        metadata["value"] = value
    if importance is not None:
        metadata["importance"] = importance
    made: dict[str, Any] = with_entities(metadata, detail.get("entities"))
    return made


def place_in_run(seq: int) -> str:
    """Return the place of what was distilled from an event of its run."""
    return f"{_EVENT}{seq}"


def _turn_of(row: FactRow | EpisodeRow, own: Mapping[str, Any]) -> dict[str, Any]:
    """Which turn of a conversation a record is from, where its source says so.

    A turn of a run is a question with its answers; what was distilled has a position of its own if it was spoken.
    """
    is_event = row.place is not None and row.place.startswith(_EVENT)
    position = own.get("position") if is_event else row.source_turn
    return as_turn(row.source_run, position, row.author)


class Documents:
    """What a change does to documents, collected and written at its end: each record's last state, in one step.

    Args:
        change: the change under way.
        find: returns a document of the index as it is committed, by id and scope, or None.
        embed: returns what the embedder makes of texts that have no vector yet.
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
        self._embedded: dict[str, Embedded] = {}
        self._gone: dict[Scope, dict[str, str]] = {}  # id of a document -> reason
        self.has_changed = False
        """Whether the documents of a record that was there before were changed or deleted."""

    def put(
        self,
        row: FactRow | EpisodeRow,
        embedded: Embedded | None = None,
        before: FactRow | EpisodeRow | None = None,
    ) -> None:
        """Write the documents of a record.

        Args:
            row: as it is from now on.
            embedded: of its text; None: as its document has it, or the embedder's answer.
            before: the row as it was, if it had documents.
        """
        if before is not None:
            self._leave(before, "changed")
        if embedded is None and row.id not in self._embedded:
            embedded = self._known(row if before is None else before, row.text)
        if embedded is not None:
            self._embedded[row.id] = embedded
        self._rows[row.id] = row

    def embedded_of(self, row: FactRow | EpisodeRow) -> Embedded | None:
        """Return what the embedder made of a record's text, as its document has it; None if it does not."""
        return self._known(row, row.text)

    def remove(self, row: FactRow | EpisodeRow, reason: str) -> None:
        """Delete the documents of a record."""
        self._rows.pop(row.id, None)
        self._leave(row, reason)

    def _leave(self, row: FactRow | EpisodeRow, reason: str) -> None:
        self.has_changed = True
        gone = self._gone.setdefault(scope_in(row), {})
        gone.update(dict.fromkeys(ids_of_documents(row), reason))

    def _known(self, row: FactRow | EpisodeRow, text: str) -> Embedded | None:
        found = self._find(ids_of_documents(row)[0], scope_in(row))
        if found is None or (found.scope, found.text) != (scope_in(row), text):
            return None
        return Embedded(found.vector, payload.is_pending(found.payload))

    def flush(self) -> None:
        """Write what was collected."""
        rows, self._rows = list(self._rows.values()), {}
        fresh = [row for row in rows if row.id not in self._embedded]
        if fresh:
            for row, embedded in zip(fresh, self._embed([row.text for row in fresh]), strict=True):
                self._embedded[row.id] = embedded
        ids, texts, scopes, vectors, payloads, times = [], [], [], [], [], []
        for row in rows:
            scope, embedded = scope_in(row), self._embedded[row.id]
            gone = self._gone.get(scope, {})
            for document in documents_of(row):
                gone.pop(document.id, None)
                ids.append(document.id)
                texts.append(row.text)
                scopes.append(scope)
                vectors.append(embedded.vector)
                payloads.append(payload.with_pending(document.payload, embedded.pending))
                times.append(document.times)
        for scope, gone in self._gone.items():
            for reason in dict.fromkeys(gone.values()):
                self._change.delete(
                    [id for id, why in gone.items() if why == reason], scope=scope, reason=reason
                )
        self._gone = {}
        if ids:
            self._change.upsert(ids, texts, scopes=scopes, vectors=vectors, payloads=payloads, times=times)


def documents_in(change: Change) -> Documents:
    """Return what a change does to documents."""
    documents: Documents = change.layer
    return documents


def remove(change: Change, row: FactRow | EpisodeRow, reason: str) -> None:
    """Delete the documents of a fact or episode."""
    documents_in(change).remove(row, reason)


def remove_documents(change: Change, row: Row, reason: str) -> None:
    """Take a record out of the index, if it is there."""
    is_there = has_documents(row) if isinstance(row, FactRow) else row.status == "active"
    if isinstance(row, (FactRow, EpisodeRow)) and is_there:
        remove(change, row, reason)
