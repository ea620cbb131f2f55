"""Facts: written, restated; facts about the tenant: observed and promoted.

A fact is a statement of its slot: the facts of one subject and predicate in one scope
(:mod:`scrubjay.memory.ledger.slots`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.gate.promotion import Promotion
from scrubjay.memory.gate.sources import policy_version
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.documents import documents_in, remove
from scrubjay.memory.ledger.log import drop, insert_new, log
from scrubjay.memory.ledger.preparation import Preparation
from scrubjay.memory.ledger.rows import IN_SCOPE, hash_in, new_ids, rows_where, update_fact
from scrubjay.memory.ledger.schema import INDEPENDENT
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.ledger.statements import facts_of_slot, rows_beside
from scrubjay.memory.ledger.versions import delete_versions
from scrubjay.memory.model.candidates import FactCandidate, Outcome
from scrubjay.memory.model.content import value_words
from scrubjay.memory.model.details import detail_in, said_now, with_earlier
from scrubjay.memory.model.new_facts import alone, entered, fact_row, next_recorded, superseding
from scrubjay.memory.model.proposal import Proposal
from scrubjay.memory.model.refusal import Refusal
from scrubjay.memory.model.rows import FactRow, scope_in
from scrubjay.memory.model.statements import affirmed_of, has_documents, holds_at, holds_of, is_in_force
from scrubjay.memory.model.voices import says_more
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.writing.write_batches import Change

_DAY_US = 86_400_000_000
_INDEPENDENT = INDEPENDENT.format(tenant="?", hash="?")
_PROVISIONAL = "provisional: a tenant's fact needs a second independent source, or a confirmation"


class Facts:
    """The writer of facts, called by the gate in the writer's turn."""

    def __init__(
        self, context: MemoryContext, slots: Slots, promotion: Promotion, preparation: Preparation
    ) -> None:
        self._context = context
        self._slots = slots
        self._promotion = promotion
        self._preparation = preparation

    def write(self, change: Change, proposal: Proposal) -> Outcome:
        """Write a fact to its scope, unless it is known there; a fact about the tenant is also recorded as observed."""
        assert proposal.target is not None
        if not proposal.about_tenant:
            return self._fact_in(change, proposal, proposal.target)
        tenant = Scope(proposal.target.tenant)
        shared = proposal.target == tenant
        hash = proposal.hash if shared else hash_in(change.connection, tenant, proposal.candidate.content)
        observation = (tenant.tenant, hash, proposal.source.run, proposal.target.user or "")
        change.connection.execute(
            "INSERT OR IGNORE INTO memory_observation(tenant, hash, run, user, fact, at, author) "
            "VALUES (?, ?, ?, ?, '', ?, ?)",
            (*observation, change.now, proposal.source.author),
        )
        (n_independent,) = change.connection.execute(_INDEPENDENT, (tenant.tenant, hash)).fetchone()
        held, _ = self._living(change, proposal, tenant, hash)
        if held is not None and held.status == "active":
            outcome = self._restate(change, held, proposal)
        elif n_independent < 2:
            outcome = self._fact_in(change, proposal, proposal.target)
            if shared:
                status = "written" if held is None else "deduplicated"
                outcome = Outcome(status, "fact", outcome.id, _PROVISIONAL, active=False)
        else:
            if held is None:
                outcome = self._fact_in(change, proposal, tenant)
                held = next(rows_where(change.connection, "fact", "id = ?", (outcome.id,)))
                status = "written"
            else:
                status = "deduplicated"
            embedded = self._preparation.embedded(proposal)
            superseded, active = self._promotion.promote(change, held, proposal.contradicted, None, embedded)
            status = "superseded" if superseded else status
            reason = "promoted: independent sources observed it"
            outcome = Outcome(status, "fact", held.id, reason, superseded, active)
        change.connection.execute(
            "UPDATE memory_observation SET fact = ? WHERE tenant = ? AND hash = ? AND run = ? AND user = ?",
            (outcome.id, *observation),
        )
        return outcome

    def write_alone(self, change: Change, proposals: Sequence[Proposal]) -> list[Outcome]:
        """Write facts that stand alone (:func:`stands_alone`): the same result as :meth:`write` for each in turn."""
        is_single = self._context.is_single
        facts = []
        for proposal in proposals:
            assert proposal.target is not None
            facts.append(
                alone(
                    self._row(change, proposal, proposal.target, proposal.hash, proposal.detail),
                    change.now,
                    is_single,
                )
            )
        documents = documents_in(change)
        for proposal, fact in zip(proposals, facts, strict=True):
            documents.put(
                fact.row, proposal.embedded or self._preparation.embedded(proposal), documents=fact.documents
            )
        insert_new(change, "memory_fact", *[fact.row for fact in facts])
        return [fact.outcome for fact in facts]

    def _fact_in(self, change: Change, proposal: Proposal, scope: Scope) -> Outcome:
        """Write a fact into exactly this scope, unless it is known there; in the tenant's own scope as provisional."""
        candidate: FactCandidate = proposal.candidate
        connection, names = change.connection, names_of(scope)
        for id in candidate.replaces:
            if next(rows_where(connection, "fact", IN_SCOPE + "AND id = ?", (*names, id)), None) is None:
                raise Refusal(f"replaces: expected ids of facts of this scope, got {id!r}")
        hash = proposal.hash if scope == proposal.target else hash_in(connection, scope, candidate.content)
        held, extends = self._living(change, proposal, scope, hash)
        if held is not None:
            return self._restate(change, held, proposal)
        detail = proposal.detail
        if extends is not None:  # its sensitivity and its names also apply to the longer statement
            detail = _merged_detail(extends, detail, valued=True)
        if scope.user is None and scope.agent is None:
            row = self._row(change, proposal, scope, hash, detail)
            if proposal.topics:  # the latest recorded statement prevails when listed
                slot = facts_of_slot(connection, names, proposal.topics, with_provisional=True)
                row = row._replace(recorded_at=next_recorded(change.now, slot))
            insert_new(change, "memory_fact", row)
            return Outcome("written", "fact", row.id, _PROVISIONAL, active=False)
        is_assertion = (
            candidate.single is False and candidate.relation == "asserts" and not candidate.replaces
        )
        asserted = (hash, proposal.value_hash) if is_assertion else None
        rivals = self._slots.rivals(connection, names, proposal.topics, asserted=asserted)
        contradicted = () if proposal.is_decided else self._preparation.contradicted(proposal, rivals)
        beside = rows_beside(connection, rivals)
        embedded = proposal.embedded or self._preparation.embedded(proposal)
        row = self._row(change, proposal, scope, hash, detail)
        fact = entered(row, rivals, beside, contradicted, change.now, self._context.is_single)
        ended = self._slots.write(change, fact, rivals, embedded, proposal.source.author)
        if not ended:
            return fact.outcome
        extended = None if extends is None else extends.id
        return superseding(fact.outcome, candidate.relation, ended[0], extended)

    @staticmethod
    def _row(change: Change, proposal: Proposal, scope: Scope, hash: bytes, detail: bytes | None) -> FactRow:
        return fact_row(
            proposal,
            scope,
            ids=new_ids("fact", "slot"),
            now=change.now,
            policy_version=policy_version(change, scope.tenant, proposal.source),
            hash=hash,
            detail=detail,
        )

    def _living(
        self, change: Change, proposal: Proposal, scope: Scope, hash: bytes
    ) -> tuple[FactRow | None, FactRow | None]:
        """Return the living fact of this scope that says the same, or else (None, the fact of the same value that says
        less). An expired fact is not living: it is deleted."""
        connection, candidate, about = change.connection, proposal.candidate, proposal.topic
        by_value = proposal.value_hash is not None and bool(about)
        if (
            proposal.is_new
            and not by_value
            and scope == proposal.target
            and not documents_in(change).has_changed
        ):
            return None, None
        marks = ", ".join("?" * len(proposal.topics)) or "NULL"
        same, values = (
            f"hash = ? AND (topic IN ({marks}) OR length(topic) = 0 OR length(?) = 0)",
            [hash, *proposal.topics, about],
        )
        if proposal.value_hash is not None and about and candidate.relation == "asserts":
            same = f"({same} OR value_hash = ? AND topic IN ({marks}))"
            values += [proposal.value_hash, *proposal.topics]
        rows = rows_where(
            connection,
            "fact",
            f"{IN_SCOPE}AND {same} AND status IN ('provisional', 'active') "
            "ORDER BY hash = ? DESC, topic = ? DESC, created_at, id",
            (*names_of(scope), *values, hash, about),
        )
        said_at = change.now if proposal.said_at is None else proposal.said_at
        less = None
        for row in list(rows):
            if row.expires_at is not None and row.expires_at <= change.now:
                self._drop_fact(change, row)
            elif _says_the_same(row, proposal, said_at):
                more = False if row.hash == hash else _says_more(row, proposal)
                if more is False:
                    return row, None
                less = row if more and less is None else less
        return None, less

    def _drop_fact(self, change: Change, row: FactRow) -> None:
        drop(change, row)
        delete_versions(change, row, "expired")
        if has_documents(row):
            remove(change, row, "expired")
            self._promotion.unshare(change, row)

    def _restate(self, change: Change, held: FactRow, proposal: Proposal) -> Outcome:
        """Restate a fact: extend its expiry, raise its confidence, clear its fading, and fill in missing fields."""
        confidence = max(held.confidence, proposal.candidate.confidence)
        until = None
        if held.expires_at is not None and proposal.expires_at is not None:
            until = max(held.expires_at, proposal.expires_at)
        values: dict[str, Any] = {"confidence": confidence, "expires_at": until, "faded": 0}
        if not held.topic and proposal.topic:
            single = None if proposal.candidate.single is None else int(proposal.candidate.single)
            values.update(
                subject=proposal.candidate.subject,
                predicate=proposal.candidate.predicate,
                topic=proposal.topic,
                single=single,
            )
        valued = held.value_hash is None and proposal.value_hash is not None
        values["detail"] = _merged_detail(held, proposal.detail, valued=valued)
        if valued:
            values["value_hash"] = proposal.value_hash
        if held.status == "active":
            said_at = change.now if proposal.said_at is None else proposal.said_at
            joins, rivals = "topic" in values, [held]
            affirms = joins or _affirms(held, said_at)
            if affirms and proposal.topics:
                names = names_of(scope_in(held))
                rivals += facts_of_slot(change.connection, names, proposal.topics, with_provisional=True)
            recorded_at = next_recorded(change.now, rivals)
            if affirms:
                again = [said_at, recorded_at]
                values["affirmed"] = json.dumps([*affirmed_of(held), again], separators=(",", ":"))
            fresh = held._replace(**values)
            since = self._context.history_since(change.now)
            values["detail"] = with_earlier(held, fresh, recorded_at, since).detail
        if all(getattr(held, name) == value for name, value in values.items()):
            if change.now - held.last_used_at > _DAY_US:
                change.connection.execute(
                    "UPDATE memory_fact SET last_used_at = ? WHERE id = ?", (change.now, held.id)
                )
        else:
            fresh = held._replace(**values, last_used_at=change.now, updated_at=change.now)
            update_fact(change, held, fresh, ("last_used_at", "updated_at", *values))
            log(change, held.id, "restated", proposal.source.author, proposal.source.run)
            if held.status == "active":
                documents_in(change).put(fresh, before=held)
                if (fresh.affirmed, fresh.topic, fresh.expires_at, fresh.value_hash) != (
                    held.affirmed, held.topic, held.expires_at, held.value_hash,
                ):  # fmt: skip
                    if proposal.topics:
                        self._slots.project(change, names_of(scope_in(fresh)), proposal.topics, None)
                    else:
                        self._slots.project_around(change, fresh, None, None)
        fresh = next(rows_where(change.connection, "fact", "id = ?", (held.id,)))
        active = is_in_force(fresh, change.now)
        return Outcome("deduplicated", "fact", held.id, "already known", active=active)


def stands_alone(proposal: Proposal) -> bool:
    """Whether a proposal is a fact that cannot affect another, provided that its change has changed no document: a fact
    without a slot that replaces nothing and whose content is not known yet. Those of one batch are inserted together.
    """
    return (
        proposal.is_new
        and not proposal.topics
        and not proposal.about_tenant
        and not proposal.candidate.replaces
    )


def _says_the_same(row: FactRow, proposal: Proposal, said_at: int) -> bool:
    """Whether a candidate restates a living fact: the same relation and the same time."""
    if (row.relation or "asserts") != proposal.candidate.relation:
        return False
    if row.status == "provisional":
        return (row.valid_from, row.valid_until) == (proposal.valid_from, proposal.valid_until)
    if proposal.valid_from is None and proposal.valid_until is None:
        if row.valid_from is not None or row.valid_until is not None:
            return holds_at(row, said_at)
        times = holds_of(row)
        return not times or times[-1][1] is None or said_at < times[-1][1]
    return (row.valid_from, row.valid_until) == (proposal.valid_from, proposal.valid_until)


def _says_more(row: FactRow, proposal: Proposal) -> bool | None:
    """Whether a candidate says more about a value than a fact does. False: it says no more; None: something else."""
    return says_more(
        row.content,
        proposal.candidate.content,
        value=value_words(proposal.candidate.value),
        subject=row.subject,
        predicate=row.predicate,
    )


def _affirms(row: FactRow, said_at: int) -> bool:
    """Whether to record that a fact was said again: only where it can matter, and at most once a day.

    It matters if the fact is not in force at that time, because another value came between; if another value may still
    come between, which is possible only for predicates with one value at a time; or if it was said before the first
    known time.
    """
    if row.valid_from is not None or row.valid_until is not None:
        return False
    if not holds_at(row, said_at):
        return True
    first = row.created_at if row.said_at is None else row.said_at
    known = [first, *(said for said, _ in affirmed_of(row))]
    return row.single != 0 and all(said_at // _DAY_US != time // _DAY_US for time in known)


def _merged_detail(held: FactRow, restated: bytes | None, *, valued: bool) -> bytes | None:
    """Return the detail of a fact that is said again.

    Args:
        held: the known fact.
        restated: the detail of the new statement.
        valued: whether the new statement supplies the value that the fact lacked, and with it the rest of the detail.

    A sensitivity that the fact has stays; a missing one is taken over. The recorded earlier states are left out.
    """
    before, again = said_now(held), {} if restated is None else json.loads(restated)
    merged = {**before, **again} if valued else dict(before)
    sensitivity = before.get("sensitivity") or again.get("sensitivity")
    if sensitivity:
        merged["sensitivity"] = sensitivity
    if merged == detail_in(held):
        return held.detail
    return json.dumps(merged, separators=(",", ":")).encode() if merged else None
