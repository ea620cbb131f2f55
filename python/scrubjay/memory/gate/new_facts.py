"""New facts: their rows, and what is written of several that concern no other fact.

A fact in no slot that replaces nothing concerns no other one, unless its content is known. Those of one batch that
stand alone are inserted together.
"""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.memory.gate.proposal import Proposal, policy_version
from scrubjay.memory.ledger.rows import FactRow, hash_in, new_ids
from scrubjay.memory.ledger.statements import encoded_ids, holds_of, is_in_force
from scrubjay.memory.model.candidates import FactCandidate, Outcome
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.together import Change

__all__ = ["UNFELT", "new_row", "outcome_of", "stands_alone"]

UNFELT = {
    "ends": "ends nothing that is known: it names no value of its slot",
    "corrects": "corrects nothing that is known: it names no value of its slot",
}
"""Relation -> why a statement that was written touched no other one; what it says is kept."""


def stands_alone(one: Proposal) -> bool:
    """Whether a proposal is a fact that concerns no other one, as long as no document of its change was changed."""
    return one.is_new and not one.topics and not one.about_tenant and not one.candidate.replaces


def new_row(change: Change, one: Proposal, scope: Scope) -> FactRow:
    """Return the row of a fact in exactly this scope; a tenant's own is provisional. When it holds, its slot says."""
    candidate: FactCandidate = one.candidate
    tenant, user, agent = names_of(scope)
    now, source = change.now, one.source
    id, slot = new_ids("fact", "slot")
    return FactRow(
        id=id,
        tenant=tenant,
        user=user,
        agent=agent,
        status="active" if user or agent else "provisional",
        begins_at=None,
        expires_at=one.expires_at,
        created_at=now,
        source_run=source.run,
        source_turn=source.turn,
        author=source.author,
        place=source.place,
        policy_version=policy_version(change, tenant, source),
        content=candidate.content,
        subject=candidate.subject,
        predicate=candidate.predicate,
        confidence=candidate.confidence,
        superseded_by=None,
        decided_by=None,
        uses=0,
        last_used_at=now,
        faded=0,
        evidence=candidate.evidence or None,
        metadata=one.metadata,
        updated_at=now,
        slot=slot,
        hash=one.hash if scope == one.target else hash_in(change.connection, scope, candidate.content),
        topic=one.topic,
        relation=candidate.relation,
        single=None if candidate.single is None else int(candidate.single),
        said_at=now if one.said_at is None else one.said_at,
        recorded_at=now,
        valid_from=one.valid_from,
        valid_until=one.valid_until,
        replaces=encoded_ids(candidate.replaces),
        holds="[]",
        value_hash=one.value_hash,
        detail=one.detail,
    )


def outcome_of(
    row: FactRow, superseded: str | None, now: int, *, is_felt: bool = False, extended: str | None = None
) -> Outcome:
    """Return what became of a proposal whose row was written, and believed.

    Args:
        row: of it.
        superseded: the id of the record that it took the place of.
        now: in microseconds since 1970.
        is_felt: whether it changed when any other fact holds.
        extended: the id of a record of its value of which it says more.
    """
    in_force = is_in_force(row, now)
    if superseded is None and not is_felt and row.relation in UNFELT:
        return Outcome("written", "fact", row.id, UNFELT[row.relation], active=in_force)
    if superseded is not None:
        reason = "ends what was known" if row.relation == "ends" else "contradicts what was known"
        if superseded == extended:
            reason = "says more than what was known"
        return Outcome("superseded", "fact", row.id, reason, superseded, active=in_force)
    return Outcome("written", "fact", row.id, "" if in_force else _not_yet(row, now), active=in_force)


def _not_yet(row: FactRow, now: int) -> str:
    """Why a fact that was written is not in force."""
    times = holds_of(row)
    if times and times[0][0] > now:
        return "it begins later"
    return "it is over" if times else "another fact covers its time"
