"""New facts: their rows, intervals, documents, and the outcome for the caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scrubjay._native import Scope
from scrubjay.memory.model.candidates import FactCandidate, Outcome
from scrubjay.memory.model.details import changed_at
from scrubjay.memory.model.documents import Document, documents_of
from scrubjay.memory.model.projection import Validity
from scrubjay.memory.model.proposal import Proposal
from scrubjay.memory.model.rows import FactRow
from scrubjay.memory.model.statements import (
    IsSingle,
    affirmed_of,
    encoded_ids,
    holds_of,
    ids_of,
    is_in_force,
    projected_alone,
    projected_slot,
    with_held,
)
from scrubjay.store.rows.scopes import names_of

UNFELT = {
    "ends": "ends no known fact: it names no value of its slot",
    "corrects": "corrects no known fact: it names no value of its slot",
}
"""Relation -> the reason why a stored statement affected no other one."""


class NewFact(NamedTuple):
    """A fact to be written, and its effect on the other facts of its slot."""

    row: FactRow
    documents: Sequence[Document]
    replaces: Sequence[str]
    """The ids of the facts that it states to replace, or that it contradicts."""
    outcome: Outcome
    """The outcome of its proposal if it ends no other fact."""
    held: Mapping[str, Validity]
    """The intervals in which each fact of the slot holds."""


def fact_row(
    proposal: Proposal,
    scope: Scope,
    *,
    ids: Sequence[str],
    now: int,
    policy_version: int,
    hash: bytes,
    detail: bytes | None,
) -> FactRow:
    """Return the row of a fact in exactly this scope, provisional in the tenant's own. Its slot decides when it holds.

    Args:
        one: the proposal.
        scope: the scope to which it is written.
        ids: the ids of the record and of its documents.
        now: in microseconds since 1970.
        policy_version: the number of the newest policy in force for its source.
        hash: the hash of its content in the scope.
        detail: value, entities, importance and sensitivity.
    """
    candidate: FactCandidate = proposal.candidate
    tenant, user, agent = names_of(scope)
    source, (id, slot) = proposal.source, ids
    return FactRow(
        id=id,
        tenant=tenant,
        user=user,
        agent=agent,
        status="active" if user or agent else "provisional",
        begins_at=None,
        expires_at=proposal.expires_at,
        created_at=now,
        source_run=source.run,
        source_turn=source.turn,
        author=source.author,
        place=source.place,
        policy_version=policy_version,
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
        metadata=proposal.metadata,
        updated_at=now,
        slot=slot,
        hash=hash,
        topic=proposal.topic,
        relation=candidate.relation,
        single=None if candidate.single is None else int(candidate.single),
        said_at=now if proposal.said_at is None else proposal.said_at,
        recorded_at=now,
        valid_from=proposal.valid_from,
        valid_until=proposal.valid_until,
        replaces=encoded_ids(candidate.replaces),
        holds="[]",
        value_hash=proposal.value_hash,
        detail=detail,
    )


def alone(row: FactRow, now: int, is_single: IsSingle) -> NewFact:
    """Return a new fact that no other fact affects, with its intervals."""
    return _new(row, {row.id: projected_alone(row, is_single)}, now)


def entered(
    row: FactRow,
    rivals: Sequence[FactRow],
    beside: Sequence[FactRow],
    contradicted: Iterable[str],
    now: int,
    is_single: IsSingle,
) -> NewFact:
    """Return a new fact with its intervals in its slot.

    Args:
        row: the row of the fact.
        rivals: the other facts of the slot.
        beside: facts of other slots that replace some of these.
        contradicted: ids of the facts that it contradicts.
        now: in microseconds since 1970.
        is_single: the cardinality for rows that do not state it.
    """
    if rivals or row.replaces is not None:
        ids = [*ids_of(row, "replaces"), *contradicted]
        row = row._replace(replaces=encoded_ids(ids), recorded_at=next_recorded(now, rivals))
    return _new(row, projected_slot([*rivals, row], beside, is_single), now)


def _new(row: FactRow, held: Mapping[str, Validity], now: int) -> NewFact:
    row = with_held(row, held[row.id], now)
    is_felt = any(one.by == row.id for id, one in held.items() if id != row.id)
    in_force = is_in_force(row, now)
    reason = "" if in_force else _not_yet(row, now)
    if not is_felt and row.relation in UNFELT:
        reason = UNFELT[row.relation]
    outcome = Outcome("written", "fact", row.id, reason, active=in_force)
    return NewFact(row, documents_of(row), ids_of(row, "replaces"), outcome, held)


def next_recorded(now: int, rivals: Iterable[FactRow]) -> int:
    """Return the recorded time of a statement in a slot: later than those of the others, whatever the clock says."""
    return max([now, *(_recorded(rival) + 1 for rival in rivals)])


def _recorded(row: FactRow) -> int:
    """Return the latest recorded time of a row: of the statement, its restatements and its changes."""
    return max(
        row.created_at, row.recorded_at or 0, *(when for _, when in affirmed_of(row)), *changed_at(row)
    )


def superseding(fact: Outcome, relation: str, superseded: str, extended: str | None) -> Outcome:
    """Return the outcome of a proposal that ended a fact.

    Args:
        fact: its outcome if it had ended none.
        relation: the relation of the new fact.
        superseded: the id of the fact that it replaced.
        extended: the id of the fact with the same value about which it says more.
    """
    reason = "ends a known fact" if relation == "ends" else "contradicts a known fact"
    if superseded == extended:
        reason = "says more than a known fact"
    return Outcome("superseded", "fact", fact.id, reason, superseded, active=fact.active)


def _not_yet(row: FactRow, now: int) -> str:
    """Return why a stored fact is not in force."""
    times = holds_of(row)
    if times and times[0][0] > now:
        return "it begins later"
    return "it is over" if times else "another fact covers its time"
