"""Records from rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.model.candidates import Provenance
from scrubjay.memory.model.decoding import as_moment, decoded, json_of
from scrubjay.memory.model.details import detail_in
from scrubjay.memory.model.records import Episode, Fact, Policy, Preference, Record
from scrubjay.memory.model.rows import EpisodeRow, FactRow, PolicyRow, PreferenceRow, Row, scope_in
from scrubjay.memory.model.statements import holds_of
from scrubjay.store.rows.decoding import shown

_T = TypeVar("_T")


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else as_moment(microseconds)


def record_of(row: Row, now: int | None = None) -> Record:
    """Return the record of a row.

    Args:
        row: the decrypted row.
        now: in microseconds since 1970; None: the status is the stored one, whatever the time.

    Raises:
        CorruptIndexError: its values are not what was written.
    """
    if isinstance(row, FactRow):
        return decoded("its values", row.id, lambda: _fact(row, now))
    return decoded("its values", row.id, lambda: _MAKE[row.kind](row))


def made_again(record: Record, row: Row, now: int) -> Record:
    """Return a copy of a record that :func:`record_of` made of the same row at another time with the same status; the
    copy shares no mutable value with it."""
    if (
        isinstance(record, Fact)
        and not record.metadata
        and isinstance(record.value, (str, int, float, type(None)))
    ):
        return _made(Fact, {**vars(record), "metadata": {}})
    return record_of(row, now)


def _made(cls: type[_T], fields: dict[str, Any]) -> _T:
    """Return an object of a frozen dataclass that takes over a dict of all its fields.

    The dataclass constructor sets them one by one through `object.__setattr__`, which takes longer than everything else
    here.
    """
    record = object.__new__(cls)
    object.__setattr__(record, "__dict__", fields)
    return record


def _provenance(row: Row, at: datetime | None = None) -> Provenance:
    return _made(
        Provenance,
        {
            "run": row.source_run,
            "turn": row.source_turn,
            "author": row.author,
            "place": row.place,
            "policy_version": row.policy_version,
            "at": at or as_moment(row.created_at),
        },
    )


def _policy(row: PolicyRow) -> Policy:
    detail = _detail(row)
    return Policy(
        id=row.id,
        tenant=row.tenant or None,
        key=row.key,
        version=row.version,
        text=row.text,
        effective_from=as_moment(row.begins_at),
        effective_until=_moment(row.expires_at),
        status=row.status,
        provenance=_provenance(row),
        decided_by=row.decided_by,
        type=_of_type(detail, "type", str, ""),
        mandatory=_of_type(detail, "mandatory", bool, False),
        value_json=_value_json(detail),
        sensitivity=_of_type(detail, "sensitivity", str, ""),
    )


def _preference(row: PreferenceRow) -> Preference:
    at, detail = as_moment(row.created_at), _detail(row)
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
        type=_of_type(detail, "type", str, ""),
        value_json=_value_json(detail),
        sensitivity=_of_type(detail, "sensitivity", str, ""),
    )


def _fact(row: FactRow, now: int | None) -> Fact:
    holds = holds_of(row)
    status = row.status
    if (
        now is not None
        and status == "active"
        and holds
        and not any(end is None or now < end for _, end in holds)
    ):
        status = "ended" if row.superseded_by is None else "superseded"
    elif now is not None and status == "active" and holds and now < holds[0][0]:
        status = "planned"
    detail = detail_in(row)
    said_at = as_moment(row.created_at if row.said_at is None else row.said_at)
    return _made(
        Fact,
        {
            "id": row.id,
            "scope": scope_in(row),
            "content": row.content,
            "subject": row.subject,
            "predicate": row.predicate,
            "confidence": row.confidence,
            "status": status,
            "created_at": as_moment(row.created_at),
            "updated_at": as_moment(row.updated_at),
            "expires_at": _moment(row.expires_at),
            "superseded_by": row.superseded_by,
            "decided_by": row.decided_by,
            "uses": row.uses,
            "last_used_at": as_moment(row.last_used_at),
            "faded": bool(row.faded),
            "evidence": row.evidence,
            "provenance": _provenance(row, said_at),
            "metadata": loaded(row.metadata),
            "value": detail.get("value"),
            "relation": row.relation or "asserts",
            "single": None if row.single is None else bool(row.single),
            "said_at": said_at,
            "recorded_at": as_moment(row.created_at if row.recorded_at is None else row.recorded_at),
            "valid_from": _moment(row.valid_from),
            "valid_until": _moment(row.valid_until),
            "holds": tuple([(as_moment(begin), _moment(end)) for begin, end in holds]),
            "entities": tuple(detail.get("entities", ())),
            "importance": detail.get("importance"),
            "sensitivity": _of_type(detail, "sensitivity", str, ""),
        },
    )


def _episode(row: EpisodeRow) -> Episode:
    return Episode(
        id=row.id,
        scope=scope_in(row),
        summary=row.summary,
        outcome=row.outcome,
        task_type=row.task_type,
        steps=_texts(row.steps, "its steps"),
        artifacts=_artifacts(row.artifacts),
        status=row.status,
        created_at=as_moment(row.created_at),
        updated_at=as_moment(row.updated_at),
        expires_at=_moment(row.expires_at),
        uses=row.uses,
        last_used_at=as_moment(row.last_used_at),
        provenance=_provenance(row),
        metadata=loaded(row.metadata),
        title=_of_type(_detail(row), "title", str, ""),
        completed_at=_moment(row.completed_at),
        sensitivity=sensitivity_of(row),
    )


def sensitivity_of(row: EpisodeRow) -> str:
    """Return the sensitivity of an episode.

    Raises:
        CorruptIndexError: the row is not what was written.
    """
    return decoded("its sensitivity", row.id, lambda: _of_type(_detail(row), "sensitivity", str, ""))


def _detail(row: PolicyRow | PreferenceRow | EpisodeRow) -> Mapping[str, Any]:
    return {} if row.detail is None else json_of(row.detail, dict, "its detail")


def _of_type(detail: Mapping[str, Any], name: str, kind: type[_T], default: _T) -> _T:
    value = detail.get(name, default)
    if not isinstance(value, kind):
        raise CorruptIndexError(f"its {name}: expected a {kind.__name__}, got {shown(value)}")
    return value


def _value_json(detail: Mapping[str, Any]) -> str | None:
    return json.dumps(detail["value"]) if "value" in detail else None


def loaded(data: bytes | None) -> dict[str, Any]:
    """Return decoded metadata."""
    return {} if data is None else json_of(data, dict, "its metadata")


def _texts(data: bytes, label: str) -> tuple[str, ...]:
    texts = json_of(data, list, label)
    if not all(isinstance(text, str) for text in texts):
        raise CorruptIndexError(f"{label}: expected texts")
    return tuple(texts)


def _artifacts(data: bytes) -> tuple[Any, ...] | dict[str, Any]:
    artifacts = json_of(data, (list, dict), "its artifacts")
    if isinstance(artifacts, dict):
        return artifacts
    if not all(isinstance(artifact, (str, dict)) for artifact in artifacts):
        raise CorruptIndexError("its artifacts: expected texts or objects")
    return tuple(artifacts)


_MAKE: dict[str, Callable[[Any], Record]] = {
    "policy": _policy,
    "preference": _preference,
    "episode": _episode,
}
"""Constructors by kind; a fact also needs the time."""
