"""The documents of facts and episodes in the index.

A fact has one document for each interval in which it holds (nearly all hold once), and one that never holds if it was
corrected or revoked, so that a search can ask what was believed before. The metadata of a document names its record and
its interval, in microseconds since 1970: from `valid_from` until before `valid_until`. A search filters by its time
(:func:`holding`), so that a fact and its successor change places in one step. If the source names a run, a turn and an
author, the document is a turn of that conversation (:mod:`scrubjay.documents.turns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.documents import payload
from scrubjay.documents.entities import with_entities
from scrubjay.documents.passage_vectors import DocumentVector
from scrubjay.documents.turns import as_turn
from scrubjay.memory.model.decoding import as_moment
from scrubjay.memory.model.details import detail_in
from scrubjay.memory.model.row_records import loaded, sensitivity_of
from scrubjay.memory.model.rows import EpisodeRow, FactRow, scope_in
from scrubjay.memory.model.statements import begin_of_episode, holds_of

RESERVED = (
    "kind", "record", "subject", "predicate", "confidence", "task_type", "outcome", "faded", "relation", "value",
    "importance", "sensitivity", "valid_from", "valid_until",
)  # fmt: skip
"""Metadata names of a document that describe its record; the caller's metadata may not use them."""


_NEVER = ((0, 0),)


_EVENT = "event "


class Embedded(NamedTuple):
    """The embedder's result for a text: a vector, one vector for each passage of a long text, no vector (None), or no
    answer yet (`pending`)."""

    vector: DocumentVector | None
    pending: bool = False


class Document(NamedTuple):
    """A document of a record; its payload lacks the mark of pending documents."""

    id: str
    scope: Scope
    text: str
    payload: bytes | None
    times: payload.Times


def holding(moment: int) -> dict[str, Any]:
    """Return the filter for documents that hold at a time, in microseconds since 1970."""
    return {
        "$not": {"$or": [{"valid_from": {"$gt": moment}}, {"valid_until": {"$lte": moment}}]},
    }


def ids_of_documents(row: FactRow | EpisodeRow) -> list[str]:
    """Return the ids of a record's documents in its scope."""
    return _ids(row, max(len(holds_of(row)), 1) if isinstance(row, FactRow) else 1)


def _ids(row: FactRow | EpisodeRow, n: int) -> list[str]:
    # In format 1 a fact passed its document on to the fact that superseded it.
    first = row.id if isinstance(row, FactRow) and row.holds is None and row.status != "active" else row.slot
    return [first, *(f"{first}.{i}" for i in range(1, n))]


def documents_of(row: FactRow | EpisodeRow, *, with_turn: bool = True) -> list[Document]:
    """Return the documents of a record.

    Args:
        row: the row of the record.
        with_turn: whether they include the turn of their conversation, which documents of older versions lack.
    """
    own = loaded(row.metadata)
    metadata = {**(_turn_of(row, own) if with_turn else {}), **own, "kind": row.kind, "record": row.id}
    attributes: dict[str, Any]
    if isinstance(row, FactRow):
        detail = detail_in(row)
        metadata["confidence"] = row.confidence
        attributes = {
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
        attributes = {"outcome": row.outcome, "task_type": row.task_type, "sensitivity": sensitivity_of(row)}
        created_at = begin_of_episode(row)
        times = ((created_at, None),)
    for name, value in attributes.items():
        if value:
            metadata[name] = value
    # All values were checked when they were written to the row, and are JSON types.
    fields: dict[str, Any] = {"metadata": metadata, "created_at": as_moment(created_at).isoformat()}
    expires_at = row.expires_at
    if expires_at is not None:
        fields["expires_at"] = as_moment(expires_at).isoformat()
    documents, scope, text = [], scope_in(row), row.text
    for id, (begin, end) in zip(_ids(row, len(times)), times, strict=True):
        metadata["valid_from"] = begin
        metadata.pop("valid_until", None)
        if end is not None:
            metadata["valid_until"] = end
        documents.append(Document(id, scope, text, payload.encode_fields(fields), (created_at, expires_at)))
    return documents


def _with_detail(metadata: dict[str, Any], detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a fact together with its detail."""
    value, importance = detail.get("value"), detail.get("importance")
    if isinstance(value, (str, int, float)):
        metadata["value"] = value
    if importance is not None:
        metadata["importance"] = importance
    combined: dict[str, Any] = with_entities(metadata, detail.get("entities"))
    return combined


def place_in_run(seq: int) -> str:
    """Return the provenance place of a record distilled from an event of its run."""
    return f"{_EVENT}{seq}"


def _turn_of(row: FactRow | EpisodeRow, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conversation turn of a record as metadata, if its source names one.

    A turn of a run is a question with its answers; a distilled record has a position of its own if it was spoken.
    """
    is_event = row.place is not None and row.place.startswith(_EVENT)
    position = own.get("position") if is_event else row.source_turn
    return as_turn(row.source_run, position, row.author)
