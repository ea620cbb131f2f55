"""The gate: decides which proposals become records. Every durable write of memory passes it, in one transaction.

Before the file is locked: classify, resolve the scope, verify by kind (:mod:`scrubjay.memory.model.proposal`), then
read what is known, embed and judge (:mod:`scrubjay.memory.ledger.preparation`). In the writer's turn: deduplicate,
supersede, decide the status, and write row, document and log together; for each kind in
:mod:`scrubjay.memory.gate.facts`, `episodes`, `preferences` and `policies`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag
from scrubjay.base.errors import RejectedError
from scrubjay.documents.payload import CreatedAt
from scrubjay.memory.gate.confirmation import Confirmation
from scrubjay.memory.gate.episodes import write_episode
from scrubjay.memory.gate.facts import Facts, stands_alone
from scrubjay.memory.gate.policies import policy_of, write_policy
from scrubjay.memory.gate.preferences import write_preference
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.documents import documents_in
from scrubjay.memory.ledger.preparation import Preparation
from scrubjay.memory.ledger.rejections import write_rejection
from scrubjay.memory.model.candidates import (
    Candidate,
    Outcome,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.model.checking import (
    CANDIDATES,
    content_of,
)
from scrubjay.memory.model.content import as_kept, checked_str, named
from scrubjay.memory.model.names import RecordKind
from scrubjay.memory.model.new_facts import UNFELT
from scrubjay.memory.model.precedence import tenant_of
from scrubjay.memory.model.proposal import Proposal, prepared
from scrubjay.memory.model.refusal import Refusal
from scrubjay.memory.model.values import said
from scrubjay.store.writing.write_batches import Change

_log = logging.getLogger("scrubjay.memory")

Proposed = tuple[Candidate | Mapping[str, Any] | str, Scope, Provenance | str]


class Gate:
    """The gate of a memory."""

    def __init__(
        self, context: MemoryContext, preparation: Preparation, facts: Facts, confirmation: Confirmation
    ) -> None:
        self._context = context
        self._preparation = preparation
        self._facts = facts
        self._confirmation = confirmation

    def propose(
        self,
        candidate: Candidate | Mapping[str, Any] | str,
        scope: Scope,
        source: Provenance | str,
        raise_if_rejected: bool = False,
    ) -> Outcome:
        """Propose something to remember. The gate decides whether, where and with which status it is written.

        Args:
            candidate: a :class:`FactCandidate`, :class:`PreferenceCandidate`, :class:`EpisodeCandidate` or
                :class:`PolicyCandidate`, a mapping with its fields (and perhaps `kind`), or a str, which is a fact.
            scope: the scope on whose behalf it is proposed. The record is kept in the narrowest scope that fits: a
                preference by the user, a policy by the tenant, a fact or episode where it was proposed (a preference
                or episode in the tenant's own scope is for all of its users). Only a fact whose subject is the tenant
                itself can become the tenant's: it is provisional, and promoted when two independent sources (different
                runs, and different users or, outside of a user's scope, different authors) have observed it, or when
                it is confirmed. If it was proposed in the scope of a user or agent, it is kept there until then.
            source: the run it comes from, by name or as a :class:`Provenance`.
            raise_if_rejected: write nothing and raise instead of returning a `rejected` outcome.

        Returns:
            `written`, `deduplicated` (`id` names the record that already says so), `superseded` (written in place of
            `superseded`), or `rejected` with the reason, which is recorded (:meth:`rejections`) and logged as a warning
            by `scrubjay.memory`. A `rejected` outcome is false.

        Raises:
            RejectedError: it was rejected, and `raise_if_rejected` is set.
            TypeError, ValueError: an argument has a wrong type, or metadata that cannot be stored.
            EmbedderError, StoreError: nothing was written. An unavailable embedder is not an error: the record is
                found by keywords, and embedded later.
        """
        return self.propose_all([(candidate, scope, source)], raise_if_rejected=raise_if_rejected)[0]

    def propose_all(
        self,
        proposals: Iterable[Proposed],
        also: Callable[[Change, Sequence[Outcome]], None] | None = None,
        revoke: Iterable[tuple[str, Scope, str]] = (),
        raise_if_rejected: bool = False,
    ) -> list[Outcome]:
        """Propose several candidates in one transaction, in order; each sees those before it.

        Args:
            proposals: tuples (candidate, scope, source), as :meth:`propose` takes them.
            also: called with the change and the outcomes before the commit, to write rows of its own.
            revoke: tuples (id, scope, reason) of records to revoke before anything is proposed; missing records are
                skipped.
            raise_if_rejected: raise :class:`scrubjay.RejectedError` if a proposal is rejected.

        If anything raises, nothing is written.
        """
        raise_if_rejected = checked_flag(raise_if_rejected, "raise_if_rejected")
        if also is not None and not callable(also):
            raise TypeError(f"also: expected a function, got {type(also).__name__}")
        if isinstance(revoke, (str, bytes, Mapping)) or not isinstance(revoke, Iterable):
            raise TypeError(
                f"revoke: expected (id, scope, reason) in a sequence, got {type(revoke).__name__}"
            )
        proposals = _checked_proposals(proposals)
        proposed = [
            self._prepared(one, f"proposals[{place}]." if len(proposals) > 1 else "")
            for place, one in enumerate(proposals)
        ]
        revoke = [_checked_revocation(one, f"revoke[{place}]") for place, one in enumerate(revoke)]
        self._preparation.gather(proposed)
        outcomes: list[Outcome] = []
        tenants = [one.scope.tenant for one in proposed] + [scope.tenant for _, scope, _ in revoke]
        owners = _written(proposed) | {scope for _, scope, _ in revoke}
        if also is not None:  # it may write rows of the tenant
            owners |= {Scope(tenant) for tenant in tenants}
        is_keyed = self._context.store.cipher.ring is not None
        with self._context.changing("proposing", tenants, of=owners) as change:
            for id, scope, reason in revoke:
                self._confirmation.revoke_in(change, id, scope, reason, None)
            if is_keyed:
                self._preparation.hash_again(change, proposed)
            if len(proposed) > 1:
                self._preparation.note_new(change, proposed)
            for alone, some in groupby(proposed, stands_alone):
                if alone and not documents_in(change).has_changed:
                    outcomes += self._facts.write_alone(change, list(some))
                else:
                    outcomes += [self._decide(change, one) for one in some]
            if raise_if_rejected and not all(outcomes):
                raise _rejected(outcomes)
            if also is not None:
                also(change, outcomes)
        for outcome in outcomes:
            if not outcome:
                _log.warning("a %s was rejected: %s", outcome.kind, outcome.reason)
            elif outcome.reason in UNFELT.values():
                _log.warning("fact %r %s", outcome.id, outcome.reason)
        return outcomes

    def _prepared(self, proposal: Proposed, place: str) -> Proposal:
        """Validate one proposal; an error message starts with its place."""
        candidate, scope, source = proposal
        try:
            return prepared(
                candidate, checked_scope(scope), source, self._context.settings, self._context.judge
            )
        except (TypeError, ValueError) as error:
            if not place or type(error) not in (TypeError, ValueError):
                raise
            raise type(error)(f"{place}{error}") from None

    def add(
        self,
        content: Any,
        *,
        scope: Scope,
        kind: RecordKind = "fact",
        source: Provenance | str = "direct",
        **fields: Any,
    ) -> Outcome:
        """Write a record through the gate: proposes a candidate of this kind with these fields.

        Args:
            content: a fact's content, an episode's summary, or the text of a preference or policy (if it is not a
                str: its value).
            scope: the scope on whose behalf it is written.
            kind: "fact", "episode" (needs `outcome`), "preference" or "policy" (both need `key`).
            source: the run it comes from.
            fields: further fields of the candidate.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        if not isinstance(kind, str) or kind not in CANDIDATES:
            raise ValueError(f"kind: expected one of {sorted(CANDIDATES)}, got {kind!r}")
        if kind in ("policy", "preference"):
            content, value = said(content, fields.get("value"))
            fields = {**fields, "value": value}
        name = {"fact": "content", "episode": "summary"}.get(kind, "text")
        return self.propose({**fields, name: content, "kind": kind}, scope=scope, source=source)

    def policy(
        self,
        key: str,
        text: Any = "",
        *,
        tenant: str | Scope,
        value: Any = None,
        type: str = "",
        effective_from: CreatedAt | None = None,
        effective_until: CreatedAt | None = None,
        by: str | None = None,
        source: Provenance | str = "admin",
        sensitivity: str = "",
    ) -> Outcome:
        """Write the next version of a policy. It is provisional; with `by`, who confirms it, it is in force at once.

        Args:
            key: the subject of the policy. Of the confirmed versions of a key, the newest within its times is in force.
            text: the rule as prompts show it; if it is not a str: its value.
            tenant: the tenant that the policy belongs to.
            value: any JSON value for programs (``{"max_auto_approve_usd": 500}``); None: the text. Without a text,
                prompts show the value as JSON on one line.
            type: the type of the policy ("compliance", "guardrail", "approval").
            effective_from, effective_until: when it is in force; by default from now on, without end.
            by: the name of the person who is responsible; see :meth:`confirm`.
            source: the run it comes from.
            sensitivity: its class, a name of your choice; reading calls can exclude it (`without`).

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        scope = tenant_of(tenant)
        if by is not None:
            by = named(by, "by")
        candidate = policy_of(key, text, effective_from, effective_until, value, type, sensitivity)
        outcome = self.propose(candidate, scope=scope, source=source)
        _raised(outcome)
        if by is not None and not outcome.active and outcome.id is not None:
            return self._confirmation.confirm(outcome.id, by=by, scope=scope)
        return outcome

    def prefer(
        self,
        key: str,
        text: Any = "",
        *,
        scope: Scope,
        value: Any = None,
        type: str = "",
        source: str = "user_stated",
        confidence: float = 1.0,
        expires_at: CreatedAt | datetime | None = None,
        ttl: float | None = None,
        provenance: Provenance | str = "direct",
        sensitivity: str = "",
    ) -> Outcome:
        """Write a preference of a user or, if `scope` names no user, of the tenant: it then holds for all users who
        have no preference with its key. The same as proposing a :class:`PreferenceCandidate`.

        Args:
            key: the subject of the preference; a new one replaces the old one with its key.
            text: the preference as prompts show it; if it is not a str: its value.
            scope: the scope of the user, or the tenant's own.
            value, type: as for :meth:`policy`.
            source: "user_stated", "inferred" or "admin_set".
            confidence: 0 to 1; preferences need 0.5.
            expires_at, ttl: when it expires, as a time or as a duration from now.
            provenance: the run it comes from.
            sensitivity: as for :meth:`policy`.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        text, value = said(text, value)
        candidate = PreferenceCandidate(
            key, text, source, confidence, expires_at, ttl, value, type, sensitivity
        )
        return self.propose(candidate, scope=scope, source=provenance)

    # ------------------------------------------------------------------ in the writer's turn

    def _decide(self, change: Change, proposal: Proposal) -> Outcome:
        if proposal.unfit:
            return self._reject(change, proposal, proposal.unfit)
        try:
            if proposal.kind == "fact":
                return self._facts.write(change, proposal)
            if proposal.kind == "episode":
                return write_episode(change, proposal, self._preparation)
            if proposal.kind == "preference":
                return write_preference(change, proposal)
            window = proposal.begins_at, proposal.expires_at
            return write_policy(change, proposal.candidate, proposal.scope.tenant, window, proposal.source)
        except Refusal as unfit:
            return self._reject(change, proposal, str(unfit))

    def _reject(self, change: Change, proposal: Proposal, reason: str) -> Outcome:
        content = as_kept(content_of(proposal.kind, proposal.candidate))
        write_rejection(change, proposal.scope, proposal.kind, reason, content, proposal.source)
        return Outcome("rejected", proposal.kind, None, reason, active=False)


def _written(proposals: Iterable[Proposal]) -> set[str | Scope]:
    """Return the scopes and tenants whose rows decide proposals or are written by them, for
    :meth:`MemoryContext.changing`.

    A statement about the tenant is counted together with those of all its users, and may end their copies of it. The
    only other thing read from the tenant is the newest version of a policy, which a row records as of its own write.
    """
    owners: set[str | Scope] = set()
    for proposal in proposals:
        owners.add(proposal.scope)  # a rejection is recorded there
        if proposal.about_tenant:
            owners.add(proposal.scope.tenant)
        elif proposal.target is not None:
            owners.add(proposal.target)
    return owners


def _rejected(outcomes: Sequence[Outcome]) -> RejectedError:
    place, first = next((place, outcome) for place, outcome in enumerate(outcomes) if not outcome)
    where = f"proposals[{place}]: " if len(outcomes) > 1 else ""
    return RejectedError(f"{where}a {first.kind} was rejected: {first.reason}", outcomes)


def _checked_revocation(revocation: Any, name: str) -> tuple[str, Scope, str]:
    if not isinstance(revocation, (tuple, list)) or len(revocation) != 3:
        raise TypeError(f"{name}: expected (id, scope, reason), got {type(revocation).__name__}")
    return (
        checked_str(revocation[0], f"{name}.id"),
        checked_scope(revocation[1]),
        checked_str(revocation[2], f"{name}.reason"),
    )


def _raised(outcome: Outcome) -> None:
    if outcome.status == "rejected":
        raise ValueError(outcome.reason)


def _checked_proposals(proposals: Any) -> list[Proposed]:
    """Return the proposals of :meth:`Gate.propose_all` as a list.

    Raises:
        TypeError: not a sequence of (candidate, scope, source).
    """
    expected = "expected (candidate, scope, source)"
    if isinstance(proposals, (str, Mapping)) or not isinstance(proposals, Iterable):
        raise TypeError(f"proposals: {expected} of each in a sequence, got {type(proposals).__name__}")
    items = list(proposals)
    for place, item in enumerate(items):
        if not isinstance(item, (tuple, list)):
            raise TypeError(f"proposals[{place}]: {expected}, got {type(item).__name__}")
        if len(item) != 3:
            raise TypeError(f"proposals[{place}]: {expected}, got {len(item)} values")
    return items
