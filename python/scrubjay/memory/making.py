"""Records from rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from scrubjay.errors import CorruptIndexError
from scrubjay.memory.decoding import as_moment, decoded, json_of
from scrubjay.memory.records import Episode, Fact, Policy, Preference, Provenance, Record
from scrubjay.memory.rows import EpisodeRow, FactRow, PolicyRow, PreferenceRow, Row, scope_in

__all__ = ["as_moment", "loaded", "record_of"]


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else as_moment(microseconds)


def record_of(row: Row) -> Record:
    """Return the record of a row.

    Raises:
        CorruptIndexError: its values are not what was written.
    """
    return decoded("its values", row.id, lambda: _MAKE[row.kind](row))


def _provenance(row: Row, at: datetime | None = None) -> Provenance:
    return Provenance(
        row.source_run,
        row.source_turn,
        row.author,
        row.place,
        row.policy_version,
        at or as_moment(row.created_at),
    )


def _policy(row: PolicyRow) -> Policy:
    return Policy(
        id=row.id,
        tenant=row.tenant,
        key=row.key,
        version=row.version,
        text=row.text,
        effective_from=as_moment(row.begins_at),
        effective_until=_moment(row.expires_at),
        status=row.status,
        provenance=_provenance(row),
        decided_by=row.decided_by,
    )


def _preference(row: PreferenceRow) -> Preference:
    at = as_moment(row.created_at)
    return Preference(
        id=row.id,
        scope=scope_in(row),
        key=row.key,
        text=row.text,
        source=row.source,
        confidence=row.confidence,
        status=row.status,
        created_at=at,
        expires_at=_moment(row.expires_at),
        superseded_by=row.superseded_by,
        provenance=_provenance(row, at),
    )


def _fact(row: FactRow) -> Fact:
    return Fact(
        id=row.id,
        scope=scope_in(row),
        content=row.content,
        subject=row.subject,
        predicate=row.predicate,
        confidence=row.confidence,
        status=row.status,
        created_at=as_moment(row.created_at),
        updated_at=as_moment(row.updated_at),
        expires_at=_moment(row.expires_at),
        superseded_by=row.superseded_by,
        decided_by=row.decided_by,
        uses=row.uses,
        last_used_at=as_moment(row.last_used_at),
        faded=bool(row.faded),
        evidence=row.evidence,
        provenance=_provenance(row),
        metadata=loaded(row.metadata),
    )


def _episode(row: EpisodeRow) -> Episode:
    return Episode(
        id=row.id,
        scope=scope_in(row),
        summary=row.summary,
        outcome=row.outcome,
        task_type=row.task_type,
        steps=_texts(row.steps, "its steps"),
        artifacts=_texts(row.artifacts, "its artifacts"),
        status=row.status,
        created_at=as_moment(row.created_at),
        updated_at=as_moment(row.updated_at),
        expires_at=_moment(row.expires_at),
        uses=row.uses,
        last_used_at=as_moment(row.last_used_at),
        provenance=_provenance(row),
        metadata=loaded(row.metadata),
    )


def loaded(data: bytes | None) -> dict[str, Any]:
    """Return metadata as it was given."""
    return {} if data is None else json_of(data, dict, "its metadata")


def _texts(data: bytes, what: str) -> tuple[str, ...]:
    texts = json_of(data, list, what)
    if not all(isinstance(text, str) for text in texts):
        raise CorruptIndexError(f"{what}: expected texts")
    return tuple(texts)


_MAKE: dict[str, Callable[[Any], Record]] = {
    "policy": _policy,
    "preference": _preference,
    "fact": _fact,
    "episode": _episode,
}
