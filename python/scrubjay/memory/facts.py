"""Facts: said, restated, superseding others, promoted to the tenant.

A fact is a statement of its slot, which is what one subject and one predicate say in one scope. Whatever changes a slot
lets the projection say anew when each of its statements holds (:mod:`scrubjay.memory.statements`), in the same
transaction, and writes the documents of those that changed. So no search, in any thread or process, sees a fact and
the one that superseded it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.base import Ground, checked_scope, documents_in, drop, log, remove
from scrubjay.memory.cardinality import canonical
from scrubjay.memory.checking import Unfit, content_of
from scrubjay.memory.documents import Embedded
from scrubjay.memory.making import record_of
from scrubjay.memory.projection import Held
from scrubjay.memory.records import Fact, FactCandidate, Outcome, Provenance
from scrubjay.memory.rows import (
    FactRow,
    hash_in,
    insert,
    new_id,
    rows_where,
    scope_in,
    sealed_columns,
    topic_in,
)
from scrubjay.memory.schema import INDEPENDENT, LIVING
from scrubjay.memory.sensitivity import merged_detail
from scrubjay.memory.statements import (
    affirmed_of,
    encoded_ids,
    facts_of_slot,
    has_documents,
    holds_at,
    holds_of,
    ids_of,
    is_in_force,
    projected,
    with_held,
)
from scrubjay.store.reading import names_of
from scrubjay.store.together import Change

__all__ = ["Facts", "Proposal", "provenance_columns", "topics_in"]

_DAY_US = 86_400_000_000
_IN_SCOPE = "tenant = ? AND user = ? AND agent = ? "
# In the words of each table's index on hashes: without them SQLite reads the whole scope.
_SAYS_SO = {
    kind: f"SELECT 1 FROM memory_{kind} WHERE {_IN_SCOPE}AND hash = ? AND {living}status = 'active'"
    for kind, living in (("fact", f"{LIVING} AND "), ("episode", ""))
}
_INDEPENDENT = INDEPENDENT.format(tenant="?", hash="?")
_PROVISIONAL = "provisional: a tenant's fact needs a second independent source, or somebody who confirms it"
_COMPUTED = (
    "slot",
    "status",
    "superseded_by",
    "replaced_by",
    "shared_as",
    "recorded_at",
    "holds",
    "updated_at",
)
"""Columns that change with other statements of a slot."""


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
    topics: tuple[bytes, ...] = ()  # of its slot: as it is written now, as the predicate's own words say it
    value_hash: bytes | None = None
    detail: bytes | None = None
    said_at: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    embedded: Embedded | None = None
    contradicted: dict[str, bool] = field(default_factory=dict)  # id of a known fact -> what the judge says

    @property
    def topic(self) -> bytes:
        """What it has in common with the statements of its slot; empty without subject or predicate."""
        return self.topics[0] if self.topics else b""


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


def topics_in(connection: sqlite3.Connection, tenant: str, subject: str, predicate: str) -> tuple[bytes, ...]:
    """Return by what the statements of a slot are found: under the predicate's usual name, and under its own."""
    usual = topic_in(connection, tenant, subject, canonical(predicate))
    return tuple(dict.fromkeys((usual, topic_in(connection, tenant, subject, predicate)))) if usual else ()


class Facts(Ground):
    """The part of a memory that knows what facts do to each other."""

    # ------------------------------------------------------------------ before the file is locked

    def _embed(self, proposals: Sequence[Proposal]) -> None:
        """Embed what will probably be written, in one call of the embedder."""
        fresh = []
        with self.reading() as connection:
            for one in proposals:
                if one.kind in ("fact", "episode") and not one.unfit and one.embedded is None:
                    assert one.target is not None
                    known = connection.execute(
                        _SAYS_SO[one.kind], (*names_of(one.target), one.hash)
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

    def _is_single(self, predicate: str, content: str) -> bool:
        """Whether a predicate has one value at a time, if the judge knows."""
        ask = getattr(self.judge, "is_single", None)
        return bool(ask is not None and ask(FactCandidate(content, "", predicate)))

    def _cardinality(self, candidate: FactCandidate) -> int | None:
        """What a row says of a candidate's predicate: 1 for one value at a time, 0 for several, None: nobody knows."""
        if candidate.single is not None:
            return int(candidate.single)
        ask = getattr(self.judge, "is_single", None)
        return None if ask is None else int(bool(ask(candidate)))

    def _judge(self, proposals: Sequence[Proposal]) -> None:
        """Decide of each fact whether its predicate has one value at a time. A judge that does not know that compares
        the fact with those that are known, before the file is locked."""
        for one in proposals:
            if one.kind != "fact" or one.unfit:
                continue
            single = self._cardinality(one.candidate)
            one.candidate = replace(one.candidate, single=None if single is None else bool(single))
            if one.candidate.single is not None or one.candidate.relation not in ("asserts", "plans"):
                continue
            for target in {one.target, Scope(one.scope.tenant)} if one.about_tenant else {one.target}:
                assert target is not None
                with self.reading() as connection:
                    rivals = facts_of_slot(connection, names_of(target), one.topics)
                self._contradicted(one, rivals)

    def _contradicted(self, one: Proposal, rivals: Iterable[FactRow]) -> list[str]:
        """Return the ids of those of a slot that a candidate contradicts; the judge is asked once about each."""
        if one.candidate.single is not None or one.candidate.relation not in ("asserts", "plans"):
            return []
        found = []
        for rival in rivals:
            if rival.status != "active" or (rival.relation or "asserts") == "ends":
                continue
            if rival.id not in one.contradicted:
                known = record_of(rival)
                assert isinstance(known, Fact)
                one.contradicted[rival.id] = bool(self.judge.contradicts(known, one.candidate))
            if one.contradicted[rival.id]:
                found.append(rival.id)
        return found

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
            "INSERT OR IGNORE INTO memory_observation(tenant, hash, run, user, fact, at, author) "
            "VALUES (?, ?, ?, ?, '', ?, ?)",
            (*observation, change.now, one.source.author),
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
            superseded, active = self._promote(change, held, one.contradicted, None, embedded)
            status = "superseded" if superseded else status
            reason = "promoted: independent sources observed it"
            outcome = Outcome(status, "fact", held.id, reason, superseded, active)
        change.connection.execute(
            "UPDATE memory_observation SET fact = ? WHERE tenant = ? AND hash = ? AND run = ? AND user = ?",
            (outcome.id, *observation),
        )
        return outcome

    def _fact_in(self, change: Change, one: Proposal, scope: Scope) -> Outcome:
        """Write a fact into exactly this scope, unless it is known there; a tenant's own as provisional."""
        candidate: FactCandidate = one.candidate
        connection, now = change.connection, change.now
        for id in candidate.replaces:
            if (
                next(rows_where(connection, "fact", _IN_SCOPE + "AND id = ?", (*names_of(scope), id)), None)
                is None
            ):
                raise Unfit(f"replaces: expected ids of facts of this scope, got {id!r}")
        held = self._living(change, one, scope)
        if held is not None:
            return self._restate(change, held, one)
        tenant, user, agent = names_of(scope)
        active = bool(user or agent)
        id = new_id("fact")
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
            slot=new_id("slot"),
            hash=one.hash if scope == one.target else hash_in(connection, scope, candidate.content),
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
        if not active:
            insert(connection, "memory_fact", row)
            log(change, id, "written", one.source.author)
            return Outcome("written", "fact", id, _PROVISIONAL, active=False)
        row, superseded = self._enter(change, row, one.topics, one, one.source.author)
        documents_in(change).put(row, self._embedded(one))
        in_force = is_in_force(row, now)
        if superseded is not None:
            reason = "ends what was known" if candidate.relation == "ends" else "contradicts what was known"
            return Outcome("superseded", "fact", id, reason, superseded, active=in_force)
        return Outcome("written", "fact", id, _not_yet(row, now), active=in_force)

    def _living(self, change: Change, one: Proposal, scope: Scope) -> FactRow | None:
        """The living fact of this scope that says the same; one that has expired is deleted, it is not living."""
        connection, candidate, about = change.connection, one.candidate, one.topic
        hash = one.hash if scope == one.target else hash_in(connection, scope, candidate.content)
        marks = ", ".join("?" * len(one.topics)) or "NULL"
        same, values = (
            f"hash = ? AND (topic IN ({marks}) OR topic = x'' OR ? = x'')",
            [hash, *one.topics, about],
        )
        if one.value_hash is not None and about and candidate.relation == "asserts":
            same = f"({same} OR value_hash = ? AND topic IN ({marks}))"
            values += [one.value_hash, *one.topics]
        found = rows_where(
            connection,
            "fact",
            f"{_IN_SCOPE}AND {same} AND status IN ('provisional', 'active') "
            "ORDER BY hash = ? DESC, topic = ? DESC, created_at, id",
            (*names_of(scope), *values, hash, about),
        )
        said_at = change.now if one.said_at is None else one.said_at
        for row in list(found):
            if row.expires_at is not None and row.expires_at <= change.now:
                self._drop_fact(change, row)
            elif _says_the_same(row, one, said_at):
                return row  # type: ignore[no-any-return]
        return None

    def _drop_fact(self, change: Change, row: FactRow) -> None:
        drop(change, row)
        if has_documents(row):
            remove(change, row, "expired")
            self._unshare(change, row.id)

    def _restate(self, change: Change, held: FactRow, one: Proposal) -> Outcome:
        """What is said again holds at least as long and as surely, is not old, and gains what it lacked."""
        confidence = max(held.confidence, one.candidate.confidence)
        until = None if None in (held.expires_at, one.expires_at) else max(held.expires_at, one.expires_at)  # type: ignore[type-var]
        values: dict[str, Any] = {"confidence": confidence, "expires_at": until, "faded": 0}
        if not held.topic and one.topic:
            single = None if one.candidate.single is None else int(one.candidate.single)
            values.update(
                subject=one.candidate.subject,
                predicate=one.candidate.predicate,
                topic=one.topic,
                single=single,
            )
        valued = held.value_hash is None and one.value_hash is not None
        values["detail"] = merged_detail(held, one.detail, valued=valued)
        if valued:
            values["value_hash"] = one.value_hash
        if held.status == "active":
            said_at = change.now if one.said_at is None else one.said_at
            joins = "topic" in values
            if joins or _affirms(held, said_at):
                rivals = (
                    facts_of_slot(change.connection, names_of(scope_in(held)), one.topics)
                    if one.topics
                    else []
                )
                again = [said_at, _next_recorded(change, [held, *rivals])]
                values["affirmed"] = json.dumps([*affirmed_of(held), again], separators=(",", ":"))
        if all(getattr(held, name) == value for name, value in values.items()):
            if change.now - held.last_used_at > _DAY_US:
                change.connection.execute(
                    "UPDATE memory_fact SET last_used_at = ? WHERE id = ?", (change.now, held.id)
                )
        else:
            fresh = held._replace(**values, last_used_at=change.now, updated_at=change.now)
            self._update_row(change, held, fresh, ("last_used_at", "updated_at", *values))
            log(change, held.id, "restated", one.source.author, one.source.run)
            if held.status == "active":
                documents_in(change).put(fresh, before=held)
                if (fresh.affirmed, fresh.topic, fresh.expires_at, fresh.value_hash) != (
                    held.affirmed, held.topic, held.expires_at, held.value_hash,
                ):  # fmt: skip
                    self._project(change, names_of(scope_in(fresh)), one.topics or (fresh.topic,), None)
        fresh = next(rows_where(change.connection, "fact", "id = ?", (held.id,)))
        active = is_in_force(fresh, change.now)
        return Outcome("deduplicated", "fact", held.id, "the same is known", active=active)

    # ------------------------------------------------------------------ the projection of a slot

    def _enter(
        self, change: Change, row: FactRow, topics: Sequence[bytes], one: Proposal | None, by: str | None
    ) -> tuple[FactRow, str | None]:
        """Insert a fact and let its slot be projected; return it, and the id of the first that it ended."""
        connection, names = change.connection, (row.tenant, row.user, row.agent)
        if not topics or self._stands_alone(connection, row, topics):
            rivals: list[FactRow] = []
        else:
            rivals = facts_of_slot(connection, names, topics)
        ids = [*ids_of(row, "replaces"), *(self._contradicted(one, rivals) if one is not None else ())]
        row = row._replace(replaces=encoded_ids(ids), recorded_at=_next_recorded(change, rivals))
        held = projected(connection, [*rivals, row], self._is_single)
        row = with_held(row, held[row.id], change.now)
        ended = self._settle_rivals(change, rivals, held, row.id, by)
        insert(connection, "memory_fact", row)
        log(change, row.id, "written", by)
        ended += self._replace_elsewhere(change, row, {rival.id for rival in rivals}, by)
        return row, ended[0] if ended else None

    @staticmethod
    def _stands_alone(connection: sqlite3.Connection, row: FactRow, topics: Sequence[bytes]) -> bool:
        """Whether a fact cannot concern the others of its slot: all of them assert, and may be so at once."""
        if row.single != 0 or row.relation != "asserts" or row.replaces is not None:
            return False
        marks = ", ".join("?" * len(topics))
        found = connection.execute(
            f"SELECT 1 FROM memory_fact WHERE {_IN_SCOPE}AND topic IN ({marks}) AND status <> 'provisional' AND NOT ("
            "ifnull(single = 0 AND relation = 'asserts', 0) AND replaces IS NULL AND replaced_by IS NULL "
            "AND hash <> ? AND ifnull(value_hash <> ?, 1)) LIMIT 1",
            (row.tenant, row.user, row.agent, *topics, row.hash, row.value_hash),
        ).fetchone()
        return found is None

    def _settle_rivals(
        self,
        change: Change,
        rivals: Sequence[FactRow],
        held: Mapping[str, Any],
        cause: str | None,
        by: str | None,
    ) -> list[str]:
        """Write what the projection says of the other statements of a slot; return those that `cause` ended now."""
        changed = [(old, with_held(old, held[old.id], change.now)) for old in rivals if old.id in held]
        changed = [
            (old, new)
            for old, new in changed
            if (old.status, old.superseded_by, holds_of(old))
            != (new.status, new.superseded_by, holds_of(new))
        ]
        changed.sort(key=lambda pair: pair[1].status == "active")  # one living row of a content at a time
        ended = []
        for old, new in changed:
            new = new._replace(updated_at=change.now)
            self._update_row(change, old, new, _COMPUTED)
            documents_in(change).put(new, before=old)
            is_over = is_in_force(old, change.now) and not is_in_force(new, change.now)
            closer = new.superseded_by or (cause if is_over else None)  # None: it resumes later by itself
            if is_over and cause is not None:
                ended.append(old.id)
            if closer is not None and (is_over or closer != old.superseded_by):
                log(change, old.id, "superseded" if is_over else "limited", by, closer)
            elif old.status == "superseded" and new.status == "active":
                log(change, old.id, "resumed", by)
        return ended

    def _replace_elsewhere(self, change: Change, row: FactRow, near: set[str], by: str | None) -> list[str]:
        """Let a fact end those of other slots that it replaces; return those that it ended now."""
        ended = []
        names = (row.tenant, row.user, row.agent)
        for id in ids_of(row, "replaces"):
            if id in near or id == row.id:
                continue
            other = next(rows_where(change.connection, "fact", f"{_IN_SCOPE}AND id = ?", (*names, id)), None)
            if other is None:  # it was deleted since
                continue
            fresh = other._replace(replaced_by=encoded_ids([*ids_of(other, "replaced_by"), row.id]))
            self._update_row(change, other, fresh, ("replaced_by",))
            ended += self._project_around(change, fresh, row.id, by)
        return ended

    def _project(
        self,
        change: Change,
        names: Sequence[str],
        topics: Sequence[bytes],
        cause: str | None,
        by: str | None = None,
    ) -> list[str]:
        """Project a slot anew after one of its statements changed; return those that `cause` ended now."""
        topics = [topic for topic in topics if topic]
        if not topics:
            return []
        rows = facts_of_slot(change.connection, names, topics)
        return self._settle_rivals(
            change, rows, projected(change.connection, rows, self._is_single), cause, by
        )

    def _project_around(self, change: Change, row: FactRow, cause: str | None, by: str | None) -> list[str]:
        """The same for the slot that a row is in, or for the row alone if it is in none."""
        if not row.topic:
            held = projected(change.connection, [row], self._is_single)
            return self._settle_rivals(change, [row], held, cause, by)
        topics = topics_in(change.connection, row.tenant, row.subject, row.predicate) or (row.topic,)
        return self._project(change, (row.tenant, row.user, row.agent), topics, cause, by)

    def _project_slot_of(self, change: Change, row: FactRow, by: str | None = None) -> None:
        """The same for what a row concerns that changed, or is gone: its slot, and what it replaces elsewhere."""
        if row.topic:
            self._project_around(change, row, None, by)
        for id in ids_of(row, "replaces"):
            for other in rows_where(change.connection, "fact", "id = ?", (id,)):
                if other.topic != row.topic or not row.topic:
                    self._project_around(change, other, None, by)

    @staticmethod
    def _update_row(change: Change, old: FactRow, new: FactRow, columns: Iterable[str]) -> None:
        """Write the columns of a row that changed."""
        values = {name: getattr(new, name) for name in columns if getattr(new, name) != getattr(old, name)}
        if values:
            values = sealed_columns(change.connection, new, values)
            assignments = ", ".join(f"{name} = ?" for name in values)
            change.connection.execute(
                f"UPDATE memory_fact SET {assignments} WHERE id = ?", (*values.values(), old.id)
            )

    # ------------------------------------------------------------------ provisional -> active -> revoked

    def _promote(
        self,
        change: Change,
        row: FactRow,
        contradicted: Mapping[str, bool],
        by: str | None,
        embedded: Embedded,
    ) -> tuple[str | None, bool]:
        """Bring a tenant's provisional fact into force; the copies in the scopes that observed it make room.

        Return the first that it ended, and whether it is in force now.
        """
        connection = change.connection
        topics = topics_in(connection, row.tenant, row.subject, row.predicate) or (
            (row.topic,) if row.topic else ()
        )
        names = (row.tenant, row.user, row.agent)
        rivals = (
            [one for one in facts_of_slot(connection, names, topics) if one.id != row.id] if topics else []
        )
        if row.relation is None or (row.single is None and hasattr(self.judge, "is_single")):
            single = int(self._is_single(row.predicate, row.content))
            row = row._replace(
                relation=row.relation or "asserts", single=single, said_at=row.said_at or row.created_at
            )
        ids = [*ids_of(row, "replaces"), *(id for id, is_so in contradicted.items() if is_so)]
        recorded_at = _next_recorded(change, rivals)
        fresh = row._replace(
            status="active",
            decided_by=by,
            updated_at=change.now,
            recorded_at=recorded_at,
            replaces=encoded_ids(ids),
            holds="[]",
        )
        held = projected(connection, [*rivals, fresh], self._is_single)
        fresh = with_held(fresh, held[row.id], change.now)
        ended = self._settle_rivals(change, rivals, held, row.id, by)
        before = next(rows_where(connection, "fact", "id = ?", (row.id,)))
        self._update_row(
            change,
            before,
            fresh,
            (*_COMPUTED, "decided_by", "relation", "single", "said_at", "replaces"),
        )
        ended += self._replace_elsewhere(change, fresh, {rival.id for rival in rivals}, by)
        self._share(change, fresh, by)
        documents_in(change).put(fresh, embedded)
        log(change, row.id, "promoted" if by is None else "confirmed", by)
        return ended[0] if ended else None, is_in_force(fresh, change.now)

    def _share(self, change: Change, row: FactRow, by: str | None) -> None:
        """Let a tenant's fact speak for the copies of it in the scopes that observed it."""
        connection = change.connection
        observed = rows_where(
            connection,
            "fact",
            "id IN (SELECT fact FROM memory_observation WHERE tenant = ? AND hash = ?) AND id <> ?",
            (row.tenant, row.hash, row.id),
        )
        places = dict.fromkeys((one.tenant, one.user, one.agent, one.hash, one.topic) for one in observed)
        for place in places:
            condition = (
                _IN_SCOPE + "AND hash = ? AND topic = ? AND status IN ('active', 'superseded') AND id <> ?"
            )
            for copy in list(rows_where(connection, "fact", condition, (*place, row.id))):
                self._share_one(change, copy, row.id, by)

    def _share_one(self, change: Change, copy: FactRow, id: str, by: str | None) -> None:
        if copy.holds is None:
            copy = copy._replace(holds=json.dumps(holds_of(copy)))
        fresh = with_held(copy._replace(shared_as=id, updated_at=change.now), Held(), change.now)
        before = next(rows_where(change.connection, "fact", "id = ?", (copy.id,)))
        self._update_row(change, before, fresh, _COMPUTED)
        documents_in(change).put(fresh, before=before)
        if before.status == "active":
            log(change, copy.id, "superseded", by, id)

    def _unshare(self, change: Change, id: str) -> None:
        """Let the copies of a tenant's fact that is gone speak for themselves again."""
        for copy in list(rows_where(change.connection, "fact", "shared_as = ?", (id,))):
            fresh = copy._replace(shared_as=None, updated_at=change.now)
            self._update_row(change, copy, fresh, ("shared_as", "updated_at"))
            self._project_around(change, fresh, None, None)

    def facts_about(self, scope: Scope, subject: str, predicate: str) -> list[str]:
        """Return the ids of the facts in force of exactly this scope with this subject and predicate."""
        checked_scope(scope)
        if not self.is_readable(scope):
            return []
        with self.reading() as connection:
            topics = topics_in(connection, scope.tenant, subject, predicate)
            found = facts_of_slot(connection, names_of(scope), topics) if topics else []
        now = self.clock()
        return [row.id for row in found if is_in_force(row, now)]


def _says_the_same(row: FactRow, one: Proposal, said_at: int) -> bool:
    """Whether a living fact is what a candidate says again: the same relation, and no other time."""
    if (row.relation or "asserts") != one.candidate.relation:
        return False
    if row.status == "provisional":
        return (row.valid_from, row.valid_until) == (one.valid_from, one.valid_until)
    if one.valid_from is None and one.valid_until is None:
        if row.valid_from is not None or row.valid_until is not None:
            return holds_at(row, said_at)
        times = holds_of(row)
        return not times or times[-1][1] is None or said_at < times[-1][1]
    return (row.valid_from, row.valid_until) == (one.valid_from, one.valid_until)


def _affirms(row: FactRow, said_at: int) -> bool:
    """Whether it is kept that a fact was said again: where that can matter, and once a day.

    It matters if it is not in force then, because another value came between; if another value may come between, which
    only predicates with one value at a time know; or if it was said before it was told first.
    """
    if row.valid_from is not None or row.valid_until is not None:
        return False
    if not holds_at(row, said_at):
        return True
    first = row.created_at if row.said_at is None else row.said_at
    known = [first, *(said for said, _ in affirmed_of(row))]
    return row.single != 0 and all(said_at // _DAY_US != one // _DAY_US for one in known)


def _next_recorded(change: Change, rivals: Iterable[FactRow]) -> int:
    """When a statement is recorded beside others of its slot: later than they were, whatever the clock says."""
    return max([change.now, *(_recorded(rival) + 1 for rival in rivals)])


def _recorded(row: FactRow) -> int:
    """When the last was recorded of what a row says."""
    return max(row.created_at, row.recorded_at or 0, *(when for _, when in affirmed_of(row)))


def _not_yet(row: FactRow, now: int) -> str:
    """Why a fact that was written is not in force, if it is not."""
    times = holds_of(row)
    if is_in_force(row, now):
        return ""
    if times and times[0][0] > now:
        return "it begins later"
    return "it is over" if times else "another fact covers its time"
