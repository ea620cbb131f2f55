"""In-place edits of records and their documents.

The previous text of a fact stays for `known_at` (:mod:`scrubjay.memory.ledger.versions`). Episodes and preferences
are overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import ConflictError
from scrubjay.documents import payload
from scrubjay.documents.payload import CreatedAt
from scrubjay.memory.ledger.context import MemoryContext, absent, checked_scope
from scrubjay.memory.ledger.documents import documents_in, remove_documents
from scrubjay.memory.ledger.holds import check_hold
from scrubjay.memory.ledger.log import drop, log
from scrubjay.memory.ledger.rows import find_row, hash_in, rows_where, sealed_columns, value_hash_in
from scrubjay.memory.ledger.schema import KINDS
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.ledger.statements import facts_of_slot, topics_in
from scrubjay.memory.ledger.versions import is_edited, keep_version
from scrubjay.memory.model.candidates import EpisodeCandidate, FactCandidate, PreferenceCandidate, Provenance
from scrubjay.memory.model.checking import encoded, encoded_artifacts, encoded_detail, encoded_list, verify
from scrubjay.memory.model.decoding import as_moment, moment_of
from scrubjay.memory.model.details import detail_in, with_earlier
from scrubjay.memory.model.new_facts import next_recorded
from scrubjay.memory.model.records import Record
from scrubjay.memory.model.refusal import Refusal
from scrubjay.memory.model.row_records import loaded, record_of
from scrubjay.memory.model.rows import (
    EpisodeRow,
    FactRow,
    PolicyRow,
    PreferenceRow,
    Row,
    belongs_to,
    scope_in,
)
from scrubjay.memory.model.statements import is_in_force
from scrubjay.memory.model.values import fault, kept_detail, text_of, with_text
from scrubjay.store.writing.write_batches import Change

_CHANGEABLE = {
    "fact": (
        "content",
        "subject",
        "predicate",
        "confidence",
        "metadata",
        "expires_at",
        "ttl",
        "value",
        "single",
        "valid_from",
        "valid_until",
        "entities",
        "importance",
        "sensitivity",
    ),
    "episode": (
        "summary",
        "outcome",
        "task_type",
        "steps",
        "artifacts",
        "metadata",
        "title",
        "completed_at",
        "sensitivity",
        "expires_at",
        "ttl",
    ),
    "preference": ("text", "value", "type", "source", "confidence", "expires_at", "ttl", "sensitivity"),
}


_TOLD = ("topic", "value_hash", "valid_from", "valid_until", "single")


class Editing:
    """Edits facts, episodes and preferences, which keep their ids."""

    def __init__(self, context: MemoryContext, slots: Slots) -> None:
        self._context = context
        self._slots = slots

    def update(self, id: str, *, scope: Scope, by: str | None = None, **changes: Any) -> Record:
        """Change a fact, episode or preference; it keeps its id.

        For a fact this is a correction: the new statement holds for all of its time (`as_of`), and the old one stays
        what was known before (`known_at`, :meth:`history`) until the fact is deleted or forgotten; to remove the old
        text itself, use `delete` or `forget`. The previous text of an episode or preference is deleted.

        Args:
            id: the id of a record in force that belongs to exactly `scope` (a record shared with a scope can be changed
                only from its own).
            scope: the record's exact scope.
            by: the author of the change, for :meth:`why`.
            changes: fields of its candidate. `expires_at=None` removes its expiry.

        Raises:
            KeyError: exactly this scope has no such record.
            TypeError, ValueError: a field is unknown or has an invalid value; a policy never changes.
            ConflictError: another record of the scope has the same content.
            HeldError: it is under a legal hold.
        """
        checked_scope(scope)
        with self._context.reading() as connection:
            current = find_row(connection, id, scope)
        if (
            current is None
            or not belongs_to(current, scope)
            or not is_in_force(current, self._context.clock())
        ):
            raise absent(id)
        if isinstance(current, PolicyRow):
            raise ValueError("id: a version of a policy never changes; write the next one with policy()")
        known = _CHANGEABLE[current.kind]
        for name in changes:
            if name not in known:
                raise ValueError(f"{name}: expected a field of a {current.kind} ({', '.join(known)})")
        if not changes:
            raise ValueError(f"changes: expected some of {', '.join(known)}, got none")
        if "expires_at" in changes or "ttl" in changes:
            until = self._context.expiry(changes.pop("expires_at", None), changes.pop("ttl", None))
        else:
            until = current.expires_at
        if until is not None and until <= self._context.clock():
            raise ValueError("expires_at: expected a future time; to remove a record, delete or revoke it")
        candidate = self._changed(current, changes)
        metadata = encoded(candidate.metadata) if current.kind != "preference" else None
        embedded = None
        if isinstance(current, (FactRow, EpisodeRow)) and _text(candidate) != current.text:
            embedded = self._context.embed_texts([_text(candidate)])[0]
        with self._context.changing("updating", [scope.tenant], of=[scope]) as change:
            held = find_row(change.connection, id, scope)
            if held is None or _without_hashes(held) != _without_hashes(current):
                raise ConflictError(f"id: {id!r} was changed in the meantime; read it again")
            check_hold(change.connection, scope_in(held), within=False)
            fresh = self._rewrite(change, held, candidate, until, metadata)
            if isinstance(fresh, (FactRow, EpisodeRow)) and isinstance(held, (FactRow, EpisodeRow)):
                if isinstance(fresh, FactRow) and isinstance(held, FactRow) and is_edited(held, fresh):
                    assert fresh.recorded_at is not None
                    keep_version(change, held, fresh.recorded_at)
                documents_in(change).put(fresh, embedded, before=held)
            if isinstance(fresh, FactRow) and isinstance(held, FactRow):
                self._slots.project_slot_of(change, held, by)
                # The new statement may contradict other facts of its slot.
                self._slots.project_slot_of(change, fresh, by)
                if not fresh.topic:  # its times may have changed
                    self._slots.project_around(change, fresh, None, by)
                fresh = next(rows_where(change.connection, "fact", "id = ?", (id,)))
            log(change, id, "updated", by, ", ".join(sorted(changes)) or "expires_at")
        return record_of(fresh, self._context.clock())

    def _changed(self, row: Row, changes: Mapping[str, Any]) -> Any:
        candidate: Any
        if isinstance(row, FactRow):
            detail = detail_in(row)
            candidate = FactCandidate(
                row.content,
                row.subject,
                row.predicate,
                row.confidence,
                metadata=loaded(row.metadata),
                single=None if row.single is None or "predicate" in changes else bool(row.single),
                value=None if "content" in changes else detail.get("value"),  # the value of the old content
                relation=row.relation or "asserts",
                valid_from=None if row.valid_from is None else as_moment(row.valid_from),
                valid_until=None if row.valid_until is None else as_moment(row.valid_until),
                entities=detail.get("entities", ()),
                importance=detail.get("importance"),
                sensitivity=detail.get("sensitivity", ""),
            )
        elif isinstance(row, EpisodeRow):
            old: Any = record_of(row)
            candidate = EpisodeCandidate(
                row.summary,
                row.outcome,
                row.task_type,
                old.steps,
                old.artifacts,
                metadata=old.metadata,
                title=old.title,
                completed_at=old.completed_at,
                sensitivity=old.sensitivity,
            )
        else:
            assert isinstance(row, PreferenceRow)
            candidate = _preference(row, changes)
        names = {field.name for field in fields(candidate)}
        candidate = replace(candidate, **{name: value for name, value in changes.items() if name in names})
        try:
            if isinstance(row, PreferenceRow):
                candidate = verify(row.kind, with_text(candidate), Provenance(row.source_run))
                refused = fault(self._context.settings.validate, candidate)
                if refused:
                    raise Refusal(refused)
                return candidate
            return verify(row.kind, candidate, Provenance(row.source_run))
        except Refusal as unfit:
            raise ValueError(str(unfit)) from None

    def _rewrite(
        self, change: Change, row: Row, candidate: Any, until: int | None, metadata: bytes | None
    ) -> Row:
        values: dict[str, Any] = {"expires_at": until, "updated_at": change.now}
        if isinstance(row, FactRow):
            values.update(
                content=candidate.content,
                subject=candidate.subject,
                predicate=candidate.predicate,
                confidence=candidate.confidence,
                hash=hash_in(change.connection, scope_in(row), candidate.content),
                topic=(
                    topics_in(change.connection, row.tenant, candidate.subject, candidate.predicate) or (b"",)
                )[0],
                metadata=metadata,
                faded=0,
                last_used_at=change.now,
                single=self._context.cardinality(candidate),
                value_hash=value_hash_in(change.connection, row.tenant, candidate.value),
                detail=encoded_detail(candidate),
                valid_from=moment_of(candidate.valid_from, "valid_from"),
                valid_until=moment_of(candidate.valid_until, "valid_until"),
                relation=candidate.relation,
                said_at=row.created_at if row.said_at is None else row.said_at,
            )
            if is_edited(
                row, row._replace(content=candidate.content, **{name: values[name] for name in _TOLD})
            ):
                topics = [values["topic"]] if values["topic"] else []
                names = (row.tenant, row.user, row.agent)
                rivals = facts_of_slot(change.connection, names, topics) if topics else []
                values["recorded_at"] = next_recorded(change.now, [row, *rivals])
            elif row.status != "provisional":
                recorded_at, since = next_recorded(change.now, [row]), self._context.history_since(change.now)
                values["detail"] = with_earlier(row, row._replace(**values), recorded_at, since).detail
            if row.holds is None:
                values["holds"] = json.dumps([[row.created_at, None]])
        elif isinstance(row, EpisodeRow):
            values.update(
                summary=candidate.summary,
                outcome=candidate.outcome,
                task_type=candidate.task_type,
                steps=encoded_list(candidate.steps, "steps"),
                artifacts=encoded_artifacts(candidate.artifacts),
                hash=hash_in(change.connection, scope_in(row), candidate.summary),
                metadata=metadata,
                detail=kept_detail(title=candidate.title, sensitivity=candidate.sensitivity),
                completed_at=_time_of(candidate.completed_at),
            )
        else:
            values.update(
                text=candidate.text,
                source=candidate.source,
                confidence=candidate.confidence,
                detail=kept_detail(
                    value=candidate.value, type=candidate.type, sensitivity=candidate.sensitivity
                ),
            )
        if isinstance(row, (FactRow, EpisodeRow)):
            _make_room(change, row, values["hash"], values.get("topic"))
        values = sealed_columns(change.connection, row, values)
        assignments = ", ".join(f"{name} = ?" for name in values)
        change.connection.execute(
            f"UPDATE {KINDS[row.kind]} SET {assignments} WHERE id = ?", [*values.values(), row.id]
        )
        fresh: Row = next(rows_where(change.connection, row.kind, "id = ?", (row.id,)))
        return fresh


def _make_room(change: Change, row: FactRow | EpisodeRow, hash: bytes, topic: bytes | None) -> None:
    """Raise ConflictError if another record has the same content, rather than leave it to the UNIQUE constraint."""
    condition = "tenant = ? AND user = ? AND agent = ? AND hash = ? AND id <> ? "
    condition += "AND status IN ('active', 'provisional')"
    for other in rows_where(
        change.connection, row.kind, condition, (row.tenant, row.user, row.agent, hash, row.id)
    ):
        if topic is not None and other.topic != topic:
            continue
        if other.expires_at is None or other.expires_at > change.now:
            raise ConflictError(f"content: {other.id!r} of this scope already has this content")
        drop(change, other)
        remove_documents(change, other, "expired")


def _without_hashes(row: Row) -> Row:
    """The row without its hashes, which are derived, and change when the tenant is sealed."""
    if isinstance(row, FactRow):
        return row._replace(hash=b"", topic=b"", value_hash=None)
    return row._replace(hash=b"") if isinstance(row, EpisodeRow) else row


def _preference(row: PreferenceRow, changes: Mapping[str, Any]) -> PreferenceCandidate:
    """The candidate of a preference before `changes`: a text derived from the value is dropped with the value, and a
    value with the text derived from it."""
    held: Any = record_of(row)
    value = None if held.value_json is None else held.value
    text = held.text
    if value is not None and text == text_of(value):
        if "text" in changes:
            value = None
        elif "value" in changes:
            text = ""
    elif value is None and changes.get("value") is not None:
        text = text if "text" in changes else ""
    return PreferenceCandidate(
        row.key,
        text,
        row.source,
        row.confidence,
        value=value,
        type=held.type,
        sensitivity=held.sensitivity,
    )


def _time_of(created_at: CreatedAt | None) -> int | None:
    moment = payload.to_utc(created_at, "completed_at")
    return None if moment is None else payload.microseconds(moment)


def _text(candidate: Any) -> str:
    return str(candidate.content if isinstance(candidate, FactCandidate) else candidate.summary)
