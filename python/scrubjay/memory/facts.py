"""Facts: written, superseding another, promoted to the tenant.

A fact that supersedes another takes over its slot, the id of its document in the index. So the change is one write of
one document, and no search, in any thread or process, sees both or neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.base import Embedded, Ground, checked_scope, drop, log, remove
from scrubjay.memory.checking import content_of
from scrubjay.memory.making import record_of
from scrubjay.memory.records import Fact, FactCandidate, Outcome, Provenance
from scrubjay.memory.rows import FactRow, hash_in, insert, is_in_force, new_id, rows_where, scope_in, topic_in
from scrubjay.store.reading import names_of
from scrubjay.store.together import Change

__all__ = ["Facts", "Proposal", "provenance_columns"]

_DAY_US = 86_400_000_000
_IN_SCOPE = "tenant = ? AND user = ? AND agent = ? "
_INDEPENDENT = (
    "SELECT min(count(DISTINCT run), count(DISTINCT CASE user WHEN '' THEN 'run ' || run ELSE 'user ' || user END)) "
    "FROM memory_observation WHERE tenant = ? AND hash = ?"
)
_PROVISIONAL = "provisional: a tenant's fact needs a second independent run, or somebody who confirms it"


@dataclass
class Proposal:
    """A candidate on its way through the gate."""

    kind: str
    candidate: Any
    scope: Scope  # on whose behalf
    source: Provenance
    target: Scope | None = None  # where it is to be kept
    about_tenant: bool = False
    unfit: str = ""  # why it is refused
    begins_at: int | None = None
    expires_at: int | None = None
    metadata: bytes | None = None
    hash: bytes = b""  # of the content in its target
    topic: bytes = b""
    embedded: Embedded | None = None
    verdicts: dict[str, bool] = field(default_factory=dict)  # id of a known fact -> contradicted?


def provenance_columns(change: Change, tenant: str, source: Provenance) -> dict[str, Any]:
    """Return what a row says of its source; the policies in force are looked up if the caller does not know them."""
    version = source.policy_version
    if version is None:
        (version,) = change.connection.execute(
            "SELECT ifnull(max(number), 0) FROM memory_policy WHERE tenant IN (?, '') AND status = 'active' "
            "AND effective_from <= ? AND (effective_until IS NULL OR effective_until > ?)",
            (tenant, change.now, change.now),
        ).fetchone()
    return {
        "source_run": source.run,
        "source_turn": source.turn,
        "author": source.author,
        "place": source.place,
        "policy_version": version,
    }


class Facts(Ground):
    """The part of a memory that knows what facts do to each other."""

    # ------------------------------------------------------------------ before the file is locked

    def _embed(self, proposals: Sequence[Proposal]) -> None:
        """Embed what will probably be written, in one call of the embedder."""
        fresh = []
        with self.reading() as connection:
            for one in proposals:
                if one.kind in ("fact", "episode") and not one.unfit:
                    assert one.target is not None
                    known = connection.execute(
                        f"SELECT 1 FROM memory_{one.kind} WHERE {_IN_SCOPE}AND hash = ? AND status = 'active'",
                        (*names_of(one.target), one.hash),
                    ).fetchone()
                    if known is None:
                        fresh.append(one)
        if fresh:
            texts = [content_of(one.kind, one.candidate) for one in fresh]
            for one, embedded in zip(fresh, self._embed_texts(texts), strict=True):
                one.embedded = embedded

    def _embedded(self, one: Proposal) -> Embedded:
        """Return what a proposal's text became; embedded now if it was taken for a duplicate before."""
        if one.embedded is None:
            one.embedded = self._embed_texts([content_of(one.kind, one.candidate)])[0]
        return one.embedded

    def _judge(self, proposals: Sequence[Proposal]) -> None:
        """Have the judge compare known facts, before the file is locked."""
        for one in proposals:
            if one.kind == "fact" and not one.unfit:
                for target in {one.target, Scope(one.scope.tenant)} if one.about_tenant else {one.target}:
                    assert target is not None
                    with self.reading() as connection:
                        rivals = list(self._rivals(connection, target, one.topic))
                    for rival in rivals:
                        self._contradicts(rival, one.candidate, one.verdicts)

    def _contradicts(self, rival: FactRow, candidate: FactCandidate, verdicts: dict[str, bool]) -> bool:
        verdict = verdicts.get(rival.id)
        if verdict is None:
            known = record_of(rival)
            assert isinstance(known, Fact)
            verdict = verdicts[rival.id] = bool(self.judge.contradicts(known, candidate))
        return verdict

    @staticmethod
    def _rivals(connection: Any, scope: Scope, about: bytes) -> Iterable[FactRow]:
        if not about:
            return ()
        return rows_where(
            connection,
            "fact",
            _IN_SCOPE + "AND topic = ? AND status = 'active' ORDER BY created_at, id",
            (*names_of(scope), about),
        )

    # ------------------------------------------------------------------ in the writer's turn

    def _fact(self, change: Change, one: Proposal) -> Outcome:
        assert one.target is not None
        if not one.about_tenant:
            return self._fact_in(change, one, one.target)
        tenant = Scope(one.target.tenant)
        shared = one.target == tenant
        hash = one.hash if shared else hash_in(change.connection, tenant, one.candidate.content)
        observation = (tenant.tenant, hash, one.source.run, one.target.user or "")
        change.connection.execute(
            "INSERT OR IGNORE INTO memory_observation(tenant, hash, run, user, fact, at) VALUES (?, ?, ?, ?, '', ?)",
            (*observation, change.now),
        )
        (n_independent,) = change.connection.execute(_INDEPENDENT, (tenant.tenant, hash)).fetchone()
        held = self._living(change, one, tenant)
        if held is not None and held.status == "active":
            outcome = self._restate(change, held, one)
        elif n_independent < 2:
            outcome = self._fact_in(change, one, one.target)
            if shared:
                status = "written" if held is None else "deduplicated"
                outcome = Outcome(status, "fact", outcome.id, _PROVISIONAL, active=False)
        else:
            if held is None:
                outcome = self._fact_in(change, one, tenant)
                held = next(rows_where(change.connection, "fact", "id = ?", (outcome.id,)))
                status = "written"
            else:
                status = "deduplicated"
            embedded = self._embedded(one)
            superseded = self._promote(change, held, one.candidate, one.verdicts, None, embedded)
            status = "superseded" if superseded else status
            outcome = Outcome(status, "fact", held.id, "promoted: independent runs observed it", superseded)
        change.connection.execute(
            "UPDATE memory_observation SET fact = ? WHERE tenant = ? AND hash = ? AND run = ? AND user = ?",
            (outcome.id, *observation),
        )
        return outcome

    def _fact_in(self, change: Change, one: Proposal, scope: Scope) -> Outcome:
        """Write a fact into exactly this scope, unless it is known there; a tenant's own as provisional."""
        candidate: FactCandidate = one.candidate
        connection, now = change.connection, change.now
        held = self._living(change, one, scope)
        if held is not None:
            return self._restate(change, held, one)
        tenant, user, agent = names_of(scope)
        active = bool(user or agent)
        id = new_id("fact")
        slot, superseded = new_id("slot"), None
        if active:
            slot, superseded = self._supersede(
                change, id, slot, scope, candidate, one.topic, one.verdicts, one.source.author
            )
        row = FactRow(
            id=id,
            tenant=tenant,
            user=user,
            agent=agent,
            status="active" if active else "provisional",
            begins_at=None,
            expires_at=one.expires_at,
            created_at=now,
            **provenance_columns(change, tenant, one.source),
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
            hash=one.hash if scope == one.target else hash_in(connection, scope, candidate.content),
            topic=one.topic,
        )
        insert(connection, "memory_fact", row)
        log(change, id, "written", one.source.author)
        if not active:
            return Outcome("written", "fact", id, _PROVISIONAL, active=False)
        self.put(change, row, self._embedded(one))
        if superseded is None:
            return Outcome("written", "fact", id)
        return Outcome("superseded", "fact", id, "contradicts what was known", superseded)

    def _living(self, change: Change, one: Proposal, scope: Scope) -> FactRow | None:
        """The living fact of this scope that says the same; one that has expired is deleted, it is not living."""
        hash = one.hash if scope == one.target else hash_in(change.connection, scope, one.candidate.content)
        about = one.topic
        found = rows_where(
            change.connection,
            "fact",
            _IN_SCOPE + "AND hash = ? AND status IN ('provisional', 'active') "
            "AND (topic = ? OR topic = x'' OR ? = x'') ORDER BY topic = ? DESC, created_at, id",
            (*names_of(scope), hash, about, about, about),
        )
        for row in found:
            if row.expires_at is None or row.expires_at > change.now:
                return row  # type: ignore[no-any-return]
            self._drop_fact(change, row)
        return None

    def _drop_fact(self, change: Change, row: FactRow) -> None:
        drop(change, "fact", row.id)
        if row.status == "active":
            remove(change, row, "expired")

    def _supersede(
        self,
        change: Change,
        id: str,
        slot: str,
        scope: Scope,
        candidate: FactCandidate,
        about: bytes,
        verdicts: dict[str, bool],
        by: str | None,
    ) -> tuple[str, str | None]:
        """Let fact `id` take the place of those that it contradicts; return its slot, and which the first was."""
        first: FactRow | None = None
        for rival in self._rivals(change.connection, scope, about):
            if rival.id == id or not self._contradicts(rival, candidate, verdicts):
                continue
            change.connection.execute(
                "UPDATE memory_fact SET status = 'superseded', superseded_by = ?, updated_at = ? WHERE id = ?",
                (id, change.now, rival.id),
            )
            log(change, rival.id, "superseded", by, id)
            if first is None:
                first = rival
            else:
                remove(change, rival, "superseded")
        return (slot, None) if first is None else (first.slot, first.id)

    def _restate(self, change: Change, held: FactRow, one: Proposal) -> Outcome:
        """What is said again holds at least as long and as surely, and is not old."""
        confidence = max(held.confidence, one.candidate.confidence)
        until = None if None in (held.expires_at, one.expires_at) else max(held.expires_at, one.expires_at)  # type: ignore[type-var]
        if (confidence, until, 0) != (held.confidence, held.expires_at, held.faded):
            change.connection.execute(
                "UPDATE memory_fact SET confidence = ?, expires_at = ?, faded = 0, last_used_at = ?, updated_at = ? "
                "WHERE id = ?",
                (confidence, until, change.now, change.now, held.id),
            )
            log(change, held.id, "restated", one.source.author, one.source.run)
            if held.status == "active":
                self.put_again(change, held._replace(confidence=confidence, expires_at=until, faded=0))
        elif change.now - held.last_used_at > _DAY_US:
            change.connection.execute(
                "UPDATE memory_fact SET last_used_at = ? WHERE id = ?", (change.now, held.id)
            )
        active = held.status == "active"
        return Outcome("deduplicated", "fact", held.id, "the same is known", active=active)

    # ------------------------------------------------------------------ provisional -> active -> revoked

    def _promote(
        self,
        change: Change,
        row: FactRow,
        candidate: FactCandidate,
        verdicts: dict[str, bool],
        by: str | None,
        embedded: Embedded,
    ) -> str | None:
        """Bring a tenant's provisional fact into force; the copies in the scopes that observed it make room."""
        tenant = scope_in(row)
        slot, superseded = self._supersede(
            change, row.id, row.slot, tenant, candidate, row.topic, verdicts, by
        )
        change.connection.execute(
            "UPDATE memory_fact SET status = 'active', slot = ?, decided_by = ?, updated_at = ? WHERE id = ?",
            (slot, by, change.now, row.id),
        )
        copies = rows_where(
            change.connection,
            "fact",
            "id IN (SELECT fact FROM memory_observation WHERE tenant = ? AND hash = ?) AND id <> ? "
            "AND status = 'active'",
            (row.tenant, row.hash, row.id),
        )
        for copy in list(copies):
            change.connection.execute(
                "UPDATE memory_fact SET status = 'superseded', superseded_by = ?, updated_at = ? WHERE id = ?",
                (row.id, change.now, copy.id),
            )
            remove(change, copy, "promoted")
            log(change, copy.id, "superseded", by, row.id)
        self.put(change, row._replace(status="active", slot=slot, decided_by=by), embedded)
        log(change, row.id, "promoted" if by is None else "confirmed", by)
        return superseded

    def facts_about(self, scope: Scope, subject: str, predicate: str) -> list[str]:
        """Return the ids of the facts in force of exactly this scope with this subject and predicate."""
        checked_scope(scope)
        if not self.is_readable(scope):
            return []
        with self.reading() as connection:
            found = list(
                self._rivals(connection, scope, topic_in(connection, scope.tenant, subject, predicate))
            )
        now = self.clock()
        return [row.id for row in found if is_in_force(row, now)]
