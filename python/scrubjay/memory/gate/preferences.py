"""Preferences: one in force for each key of a user, or of a tenant."""

from __future__ import annotations

import json
import sqlite3

from scrubjay.memory.gate.sources import provenance_columns
from scrubjay.memory.ledger.log import drop, log
from scrubjay.memory.ledger.rows import insert, new_id, rows_where, sealed_columns
from scrubjay.memory.model.candidates import Outcome, PreferenceCandidate
from scrubjay.memory.model.proposal import Proposal
from scrubjay.memory.model.refusal import Refusal
from scrubjay.memory.model.rows import PreferenceRow
from scrubjay.memory.model.values import is_same, kept_detail
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.writing.write_batches import Change


def write_preference(change: Change, proposal: Proposal) -> Outcome:
    """Write a preference in place of the one with its key, or return why the existing one stays."""
    candidate: PreferenceCandidate = proposal.candidate
    assert proposal.target is not None
    connection, now = change.connection, change.now
    tenant, user, _ = names_of(proposal.target)
    held: PreferenceRow | None = next(
        rows_where(
            connection,
            "preference",
            "tenant = ? AND user = ? AND key = ? AND status = 'active'",
            (tenant, user, candidate.key),
        ),
        None,
    )
    if held is not None and held.expires_at is not None and held.expires_at <= now:
        drop(change, held)
        held = None
    detail = kept_detail(value=candidate.value, type=candidate.type, sensitivity=candidate.sensitivity)
    if held is not None:
        says_the_same = is_same(held, candidate.text, detail)
        if candidate.source == "inferred" and held.source != "inferred":
            if says_the_same:
                return Outcome("deduplicated", "preference", held.id, f"{held.source} already")
            raise Refusal(
                f"key: {candidate.key!r} is {held.source}, which an inferred preference does not replace"
            )
        same = says_the_same and held.source == candidate.source
        if same and held.expires_at == proposal.expires_at and held.confidence >= candidate.confidence:
            _classify(change, held, candidate.sensitivity, proposal.source.author)
            return Outcome("deduplicated", "preference", held.id, "already known")
    id = new_id("preference")
    said_at = now if proposal.said_at is None else min(proposal.said_at, now)
    late = held is not None and said_at < held.created_at
    if held is not None and not late:
        connection.execute(
            "UPDATE memory_preference SET status = 'superseded', superseded_by = ?, updated_at = ? WHERE id = ?",
            (id, max(said_at, held.created_at), held.id),
        )
        log(change, held.id, "superseded", proposal.source.author, id)
    row = PreferenceRow(
        id=id,
        tenant=tenant,
        user=user,
        agent="",
        status="superseded" if late else "active",
        begins_at=None,
        expires_at=proposal.expires_at,
        created_at=said_at,
        **provenance_columns(change, tenant, proposal.source),
        key=candidate.key,
        text=candidate.text,
        source=candidate.source,
        confidence=candidate.confidence,
        superseded_by=held.id if held is not None and late else None,
        updated_at=_next_wish(connection, tenant, user, candidate.key, said_at) if late else now,
        detail=detail,
    )
    insert(connection, "memory_preference", row)
    log(change, id, "written", proposal.source.author)
    if late:
        return Outcome("written", "preference", id, "a later statement is in force", active=False)
    if held is None:
        return Outcome("written", "preference", id)
    return Outcome("superseded", "preference", id, f"replaces {held.text!r}", held.id)


def _classify(change: Change, held: PreferenceRow, sensitivity: str, by: str | None) -> None:
    """Add the sensitivity of a restatement to a preference that has none."""
    detail = {} if held.detail is None else json.loads(held.detail)
    if not sensitivity or detail.get("sensitivity"):
        return
    sealed = sealed_columns(
        change.connection, held, {"detail": kept_detail(**detail, sensitivity=sensitivity)}
    )
    change.connection.execute(
        "UPDATE memory_preference SET detail = ?, updated_at = ? WHERE id = ?",
        (sealed["detail"], change.now, held.id),
    )
    log(change, held.id, "restated", by)


def _next_wish(connection: sqlite3.Connection, tenant: str, user: str, key: str, said_at: int) -> int:
    """Return when the next preference of a key was said, for one that was said before it and is written after it."""
    (after,) = connection.execute(
        "SELECT min(created_at) FROM memory_preference "
        "WHERE tenant = ? AND user = ? AND key = ? AND created_at > ?",
        (tenant, user, key, said_at),
    ).fetchone()
    return int(after)
