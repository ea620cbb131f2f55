"""Episodes: completed tasks, each stored once in its scope."""

from __future__ import annotations

from scrubjay.documents import payload
from scrubjay.memory.gate.sources import provenance_columns
from scrubjay.memory.ledger.documents import documents_in, remove
from scrubjay.memory.ledger.log import drop, insert_new
from scrubjay.memory.ledger.preparation import Preparation
from scrubjay.memory.ledger.rows import new_id, rows_where
from scrubjay.memory.model.candidates import EpisodeCandidate, Outcome
from scrubjay.memory.model.checking import encoded_artifacts, encoded_list
from scrubjay.memory.model.proposal import Proposal
from scrubjay.memory.model.rows import EpisodeRow
from scrubjay.memory.model.values import kept_detail
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.writing.write_batches import Change


def write_episode(change: Change, proposal: Proposal, preparation: Preparation) -> Outcome:
    """Write an episode, unless its scope already has the same one."""
    candidate: EpisodeCandidate = proposal.candidate
    assert proposal.target is not None
    connection, now = change.connection, change.now
    tenant, user, agent = names_of(proposal.target)
    twin: EpisodeRow | None = next(
        rows_where(
            connection,
            "episode",
            "tenant = ? AND user = ? AND agent = ? AND hash = ? AND status = 'active'",
            (tenant, user, agent, proposal.hash),
        ),
        None,
    )
    if twin is not None and twin.expires_at is not None and twin.expires_at <= now:
        drop(change, twin)
        remove(change, twin, "expired")
        twin = None
    if twin is not None:
        return Outcome("deduplicated", "episode", twin.id, "already known")
    id = new_id("episode")
    moment = proposal.source.at if candidate.completed_at is None else candidate.completed_at
    completed_at = payload.to_utc(moment, "completed_at")
    row = EpisodeRow(
        id=id,
        tenant=tenant,
        user=user,
        agent=agent,
        status="active",
        begins_at=None,
        expires_at=proposal.expires_at,
        created_at=now,
        **provenance_columns(change, tenant, proposal.source),
        summary=candidate.summary,
        outcome=candidate.outcome,
        task_type=candidate.task_type,
        steps=encoded_list(candidate.steps, "steps"),
        artifacts=encoded_artifacts(candidate.artifacts),
        uses=0,
        last_used_at=now,
        metadata=proposal.metadata,
        updated_at=now,
        slot=new_id("slot"),
        hash=proposal.hash,
        detail=kept_detail(title=candidate.title, sensitivity=candidate.sensitivity),
        completed_at=None if completed_at is None else payload.microseconds(completed_at),
    )
    documents_in(change).put(row, proposal.embedded or preparation.embedded(proposal))
    insert_new(change, "memory_episode", row)
    return Outcome("written", "episode", id)
