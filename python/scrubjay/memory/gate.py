"""The gate: decides which proposals become records. Every durable write of memory passes it, in one transaction.

Classify, resolve the scope, verify by kind: before the file is locked, and so are embedding and judging. Then, in the
writer's turn: deduplicate, supersede, decide the status, write row, document and log together. Facts are in
:mod:`scrubjay.memory.facts`.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scrubjay import payload
from scrubjay._native import Scope
from scrubjay.errors import RejectedError
from scrubjay.memory.base import checked_scope, documents_in, drop, log, remove
from scrubjay.memory.checking import (
    Unfit,
    checked_source,
    classify,
    content_of,
    encoded,
    encoded_artifacts,
    encoded_detail,
    encoded_list,
    moment_of,
    resolve,
    verify,
)
from scrubjay.memory.content import as_kept, checked_str
from scrubjay.memory.documents import Embedded
from scrubjay.memory.facts import Proposal, provenance_columns, topics_in
from scrubjay.memory.making import as_moment
from scrubjay.memory.policies import window_of, write_policy
from scrubjay.memory.records import (
    Candidate,
    EpisodeCandidate,
    FactCandidate,
    Outcome,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.rows import (
    EpisodeRow,
    PreferenceRow,
    hash_in,
    insert,
    new_id,
    rows_where,
    value_hash_in,
)
from scrubjay.memory.sealing import next_number, sealed_values, settle
from scrubjay.memory.sensitivity import classified
from scrubjay.memory.standing import Standing
from scrubjay.memory.values import fault, is_same, kept_detail, with_text
from scrubjay.store.reading import names_of
from scrubjay.store.together import Change

__all__ = ["Gate"]

_log = logging.getLogger("scrubjay.memory")

_DAY_US = 86_400_000_000

Proposed = tuple[Candidate | Mapping[str, Any] | str, Scope, Provenance | str]


class Gate(Standing):
    """The part of a memory that decides what is remembered."""

    def propose(
        self,
        candidate: Candidate | Mapping[str, Any] | str,
        *,
        scope: Scope,
        source: Provenance | str,
        raise_if_rejected: bool = False,
    ) -> Outcome:
        """Propose something to remember. The gate decides whether, where and with which status.

        Args:
            candidate: a :class:`FactCandidate`, :class:`PreferenceCandidate`, :class:`EpisodeCandidate` or
                :class:`PolicyCandidate`, a mapping with its fields (and perhaps `kind`), or a str, which is a fact.
            scope: on whose behalf. The record is kept in the narrowest scope that fits: a preference by the user, a
                policy by the tenant, a fact or episode where it was proposed (a preference or episode in the tenant's
                own scope is for all of its users). Only a fact whose subject is the tenant
                itself can become the tenant's: it is provisional, and promoted when two independent sources (other
                runs, and other users or, outside of a user's scope, other authors) have observed it, or when it is
                confirmed. Proposed in the scope of a user or agent it is kept there until then.
            source: the run it comes from, by name or as a :class:`Provenance`.
            raise_if_rejected: write nothing and raise instead of returning an outcome that is `rejected`.

        Returns:
            `written`, `deduplicated` (`id` is of the record that says so already), `superseded` (written in the place
            of `superseded`), or `rejected` with the reason, which is recorded (:meth:`rejections`) and logged as a
            warning by `scrubjay.memory`. An outcome that is `rejected` is false.

        Raises:
            RejectedError: it was refused, and `raise_if_rejected` is set.
            TypeError, ValueError: an argument of a wrong type, metadata that cannot be kept.
            EmbedderError, StoreError: nothing was written. An embedder that does not answer is no error: words find the
                record, and it is embedded later.
        """
        return self.propose_all([(candidate, scope, source)], raise_if_rejected=raise_if_rejected)[0]

    def propose_all(
        self,
        proposals: Iterable[Proposed],
        *,
        also: Callable[[Change, Sequence[Outcome]], None] | None = None,
        revoke: Iterable[tuple[str, Scope, str]] = (),
        raise_if_rejected: bool = False,
    ) -> list[Outcome]:
        """Propose several things in one transaction, in their order; each sees those before it.

        Args:
            proposals: (candidate, scope, source) each, as :meth:`propose` takes them.
            also: is called with the change and the outcomes before they are committed, to write rows of its own.
            revoke: (id, scope, reason) of records that are revoked before anything is proposed; those that are not
                there (any more) are passed over.
            raise_if_rejected: raise :class:`scrubjay.RejectedError` if one of them is refused.

        What any of it raises leaves nothing written.
        """
        prepared = [self._prepare(*one) for one in proposals]
        revoke = [_checked_revocation(one, f"revoke[{place}]") for place, one in enumerate(revoke)]
        self._embed(prepared)
        self._judge(prepared)
        outcomes: list[Outcome] = []
        tenants = [one.scope.tenant for one in prepared] + [scope.tenant for _, scope, _ in revoke]
        with self.changing("proposing", tenants) as change:
            for id, scope, reason in revoke:
                self._revoke(change, id, scope, reason, None)
            for one in prepared:
                outcomes.append(self._decide(change, one))
            if raise_if_rejected and not all(outcomes):
                raise _rejected(outcomes)
            if also is not None:
                also(change, outcomes)
        for outcome in outcomes:
            if not outcome:
                _log.warning("a %s was rejected: %s", outcome.kind, outcome.reason)
        return outcomes

    def _prepare(self, candidate: Any, scope: Any, source: Any) -> Proposal:
        checked_scope(scope)
        kind, found = classify(candidate)
        typed: Any = with_text(found) if kind in ("policy", "preference") else found
        one = Proposal(kind, typed, scope, checked_source(source))
        try:
            one.candidate = classified(self.classify, verify(kind, typed, one.source))
            one.target, one.about_tenant = resolve(kind, typed, scope)
        except Unfit as unfit:
            one.unfit = str(unfit)
            return one
        if kind in ("policy", "preference"):
            one.unfit = fault(self.validate, one.candidate)
        if kind == "policy":
            one.begins_at, one.expires_at = window_of(typed, self.clock())
        else:
            one.expires_at = self.expiry(typed.expires_at, typed.ttl)
            if one.expires_at is not None and one.expires_at <= self.clock():
                one.unfit = f"expires_at: expected a time to come, got {as_moment(one.expires_at)}"
                return one
        if kind == "preference":
            one.said_at = moment_of(one.source.at, "source.at")
        if kind == "fact":
            try:
                self._check_times(one)
            except Unfit as unfit:
                one.unfit = str(unfit)
                return one
            one.detail = encoded_detail(one.candidate)
            if typed.vector is not None:
                one.embedded = Embedded(typed.vector)
        if kind in ("fact", "episode"):
            one.metadata = encoded(typed.metadata)
            with self.reading() as connection:
                self._hash(connection, one)
        return one

    def _check_times(self, one: Proposal) -> None:
        """Note when a fact was said, and when it says that it holds."""
        candidate: FactCandidate = one.candidate
        told = one.source.at if candidate.said_at is None else candidate.said_at
        one.said_at = moment_of(told, "said_at")
        if one.said_at is not None and one.said_at > self.clock() + _DAY_US:
            raise Unfit(f"said_at: expected a time that has come, got {as_moment(one.said_at)}")
        one.valid_from = moment_of(candidate.valid_from, "valid_from")
        if one.valid_from is None and one.said_at is not None and one.said_at > self.clock():
            one.valid_from = one.said_at
        one.valid_until = moment_of(candidate.valid_until, "valid_until")
        if one.valid_until is not None and one.valid_from is not None and one.valid_until <= one.valid_from:
            raise Unfit(
                f"valid_until: expected a time after {as_moment(one.valid_from)}, got {as_moment(one.valid_until)}"
            )

    @staticmethod
    def _hash(connection: sqlite3.Connection, one: Proposal) -> None:
        """Note by what a fact or episode is known again; in the change once more, as the tenant may be sealed since."""
        assert one.target is not None
        one.hash = hash_in(connection, one.target, content_of(one.kind, one.candidate))
        if one.kind == "fact":
            tenant, candidate = one.target.tenant, one.candidate
            one.topics = topics_in(connection, tenant, candidate.subject, candidate.predicate)
            one.value_hash = value_hash_in(connection, tenant, candidate.value)

    def _decide(self, change: Change, one: Proposal) -> Outcome:
        if one.unfit:
            return self._reject(change, one, one.unfit)
        if one.kind in ("fact", "episode") and self.store.cipher.ring is not None:
            self._hash(change.connection, one)
        try:
            if one.kind == "fact":
                return self._fact(change, one)
            if one.kind == "episode":
                return self._episode(change, one)
            if one.kind == "preference":
                return self._preference(change, one)
            window = one.begins_at, one.expires_at
            return write_policy(change, one.candidate, one.scope.tenant, window, one.source)
        except Unfit as unfit:
            return self._reject(change, one, str(unfit))

    def _reject(self, change: Change, one: Proposal, reason: str) -> Outcome:
        connection, (tenant, *names) = change.connection, names_of(one.scope)
        said = {"reason": reason, "content": as_kept(content_of(one.kind, one.candidate))}
        number = next_number(connection, "memory_rejection", wanted=settle(connection, tenant))
        said = sealed_values(connection, "memory_rejection", tenant, number, names, said)
        connection.execute(
            "INSERT INTO memory_rejection"
            "(number, at, tenant, user, agent, kind, reason, content, source_run, source_turn, author) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                change.now,
                tenant,
                *names,
                one.kind,
                said["reason"],
                said["content"],
                one.source.run,
                one.source.turn,
                one.source.author,
            ),
        )
        return Outcome("rejected", one.kind, None, reason, active=False)

    # ------------------------------------------------------------------ preferences

    def _preference(self, change: Change, one: Proposal) -> Outcome:
        candidate: PreferenceCandidate = one.candidate
        assert one.target is not None
        connection, now = change.connection, change.now
        tenant, user, _ = names_of(one.target)
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
        detail = kept_detail(value=candidate.value, type=candidate.type)
        if held is not None:
            says_the_same = is_same(held, candidate.text, detail)
            if candidate.source == "inferred" and held.source != "inferred":
                if says_the_same:
                    return Outcome("deduplicated", "preference", held.id, f"{held.source} already")
                raise Unfit(
                    f"key: {candidate.key!r} is {held.source}, which is not replaced by what was inferred"
                )
            same = says_the_same and held.source == candidate.source
            if same and held.expires_at == one.expires_at and held.confidence >= candidate.confidence:
                return Outcome("deduplicated", "preference", held.id, "the same is known")
        id = new_id("preference")
        said_at = now if one.said_at is None else min(one.said_at, now)
        late = held is not None and said_at < held.created_at
        if held is not None and not late:
            connection.execute(
                "UPDATE memory_preference SET status = 'superseded', superseded_by = ?, updated_at = ? WHERE id = ?",
                (id, max(said_at, held.created_at), held.id),
            )
            log(change, held.id, "superseded", one.source.author, id)
        row = PreferenceRow(
            id=id,
            tenant=tenant,
            user=user,
            agent="",
            status="superseded" if late else "active",
            begins_at=None,
            expires_at=one.expires_at,
            created_at=said_at,
            **provenance_columns(change, tenant, one.source),
            key=candidate.key,
            text=candidate.text,
            source=candidate.source,
            confidence=candidate.confidence,
            superseded_by=held.id if held is not None and late else None,
            updated_at=self._next_wish(connection, tenant, user, candidate.key, said_at) if late else now,
            detail=detail,
        )
        insert(connection, "memory_preference", row)
        log(change, id, "written", one.source.author)
        if late:
            return Outcome("written", "preference", id, "what was said later holds", active=False)
        if held is None:
            return Outcome("written", "preference", id)
        return Outcome("superseded", "preference", id, f"replaces {held.text!r}", held.id)

    @staticmethod
    def _next_wish(connection: sqlite3.Connection, tenant: str, user: str, key: str, said_at: int) -> int:
        """When the next preference of a key was said after another that is told late."""
        (after,) = connection.execute(
            "SELECT min(created_at) FROM memory_preference "
            "WHERE tenant = ? AND user = ? AND key = ? AND created_at > ?",
            (tenant, user, key, said_at),
        ).fetchone()
        return int(after)

    # ------------------------------------------------------------------ episodes

    def _episode(self, change: Change, one: Proposal) -> Outcome:
        candidate: EpisodeCandidate = one.candidate
        assert one.target is not None
        connection, now = change.connection, change.now
        tenant, user, agent = names_of(one.target)
        twin: EpisodeRow | None = next(
            rows_where(
                connection,
                "episode",
                "tenant = ? AND user = ? AND agent = ? AND hash = ? AND status = 'active'",
                (tenant, user, agent, one.hash),
            ),
            None,
        )
        if twin is not None and twin.expires_at is not None and twin.expires_at <= now:
            drop(change, twin)
            remove(change, twin, "expired")
            twin = None
        if twin is not None:
            return Outcome("deduplicated", "episode", twin.id, "the same is known")
        id = new_id("episode")
        told = one.source.at if candidate.completed_at is None else candidate.completed_at
        completed_at = payload.to_utc(told, "completed_at")
        row = EpisodeRow(
            id=id,
            tenant=tenant,
            user=user,
            agent=agent,
            status="active",
            begins_at=None,
            expires_at=one.expires_at,
            created_at=now,
            **provenance_columns(change, tenant, one.source),
            summary=candidate.summary,
            outcome=candidate.outcome,
            task_type=candidate.task_type,
            steps=encoded_list(candidate.steps, "steps"),
            artifacts=encoded_artifacts(candidate.artifacts),
            uses=0,
            last_used_at=now,
            metadata=one.metadata,
            updated_at=now,
            slot=new_id("slot"),
            hash=one.hash,
            detail=kept_detail(title=candidate.title, sensitivity=candidate.sensitivity),
            completed_at=None if completed_at is None else payload.microseconds(completed_at),
        )
        insert(connection, "memory_episode", row)
        documents_in(change).put(row, self._embedded(one))
        log(change, id, "written", one.source.author)
        return Outcome("written", "episode", id)


def _rejected(outcomes: Sequence[Outcome]) -> RejectedError:
    place, first = next((place, one) for place, one in enumerate(outcomes) if not one)
    where = f"proposals[{place}]: " if len(outcomes) > 1 else ""
    return RejectedError(f"{where}a {first.kind} was rejected: {first.reason}", outcomes)


def _checked_revocation(one: Any, name: str) -> tuple[str, Scope, str]:
    if not isinstance(one, (tuple, list)) or len(one) != 3:
        raise TypeError(f"{name}: expected (id, scope, reason), got {type(one).__name__}")
    return checked_str(one[0], f"{name}.id"), checked_scope(one[1]), checked_str(one[2], f"{name}.reason")
