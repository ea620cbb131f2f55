"""A candidate on its way through the gate: what is known about it without the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scrubjay._native import Scope
from scrubjay.documents import payload
from scrubjay.memory.model.candidates import Candidate, FactCandidate, PolicyCandidate, Provenance
from scrubjay.memory.model.cardinality import topics_of
from scrubjay.memory.model.checking import (
    checked_source,
    classify,
    content_of,
    encoded,
    encoded_detail,
    resolve,
    verify,
    with_values,
)
from scrubjay.memory.model.content import digest, value_digest
from scrubjay.memory.model.decoding import as_moment, expiry_of, moment_of
from scrubjay.memory.model.documents import Embedded
from scrubjay.memory.model.judge import Judge, cardinality
from scrubjay.memory.model.refusal import Refusal
from scrubjay.memory.model.sensitivity import classified
from scrubjay.memory.model.settings import Settings
from scrubjay.memory.model.values import fault, with_text

_DAY_US = 86_400_000_000

Window = tuple[int | None, int | None]
"""From when (None: now) until when (None: without end) a policy is in force."""


@dataclass
class Proposal:
    """A candidate on its way through the gate."""

    kind: str
    candidate: Any
    scope: Scope  # on whose behalf it is proposed
    source: Provenance
    target: Scope | None = None  # where it is to be written
    about_tenant: bool = False
    text: str = ""  # the searched text of a fact or episode
    unfit: str = ""  # the reason for its rejection
    begins_at: int | None = None
    expires_at: int | None = None
    metadata: bytes | None = None
    detail: bytes | None = None
    said_at: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    is_decided: bool = True  # whether the judge need not compare the fact with others
    digests: tuple[bytes, tuple[bytes, ...], bytes | None] = (b"", (), None)  # of content, topics, value
    # From the file: the same digests, keyed if the tenant is encrypted, and what is known there.
    hash: bytes = b""  # of the content in its target
    topic: bytes = b""  # the key of its slot; empty without subject or predicate
    topics: tuple[bytes, ...] = ()  # keys of its slot: the canonical one, and that of its own words
    value_hash: bytes | None = None
    is_new: bool = False  # whether no living record of its target had that hash when its change began
    embedded: Embedded | None = None
    contradicted: dict[str, bool] = field(default_factory=dict)  # id of a known fact -> the judge's answer


def prepared(
    candidate: Candidate | Mapping[str, Any] | str,
    scope: Scope,
    source: Provenance | str,
    settings: Settings,
    judge: Judge,
) -> Proposal:
    """Return the proposal, classified, verified and with its target scope; `unfit` has the reason if it is rejected.

    Raises:
        TypeError, ValueError: an argument has a wrong type, or metadata that cannot be stored.
    """
    kind, found = classify(candidate)
    typed: Any = with_text(found) if kind in ("policy", "preference") else found
    proposal = Proposal(kind, typed, scope, checked_source(source))
    try:
        proposal.candidate = classified(settings.classify, verify(kind, typed, proposal.source))
        proposal.target, proposal.about_tenant = resolve(kind, typed, scope)
    except Refusal as unfit:
        proposal.unfit = str(unfit)
        return proposal
    if kind in ("policy", "preference"):
        proposal.unfit = fault(settings.validate, proposal.candidate)
    if kind == "policy":
        proposal.begins_at, proposal.expires_at = window_of(typed, settings.clock())
    else:
        proposal.expires_at = expiry_of(typed.expires_at, typed.ttl, settings.clock)
        if proposal.expires_at is not None and proposal.expires_at <= settings.clock():
            proposal.unfit = f"expires_at: expected a future time, got {as_moment(proposal.expires_at)}"
            return proposal
    if kind == "preference":
        proposal.said_at = moment_of(proposal.source.at, "source.at")
    if kind == "fact":
        try:
            _check_times(proposal, settings.clock())
        except Refusal as unfit:
            proposal.unfit = str(unfit)
            return proposal
        proposal.detail = encoded_detail(proposal.candidate)
        if typed.vector is not None:
            proposal.embedded = Embedded(typed.vector)
    if kind in ("fact", "episode"):
        proposal.metadata = encoded(typed.metadata)
    if not proposal.unfit and kind in ("fact", "episode"):
        assert proposal.target is not None
        topics: tuple[bytes, ...] = ()
        value = None
        if kind == "fact":
            _decide_cardinality(proposal, judge)
            topics = topics_of(proposal.candidate.subject, proposal.candidate.predicate)
            value = None if proposal.candidate.value is None else value_digest(proposal.candidate.value)
        proposal.text = content_of(kind, proposal.candidate)
        proposal.digests = digest(proposal.target, proposal.text), topics, value
    return proposal


def window_of(candidate: PolicyCandidate, now: int) -> Window:
    """Return when a policy is in force.

    Raises:
        TypeError, ValueError: a value is not a time, or the end is not after the beginning.
    """
    since = payload.to_utc(candidate.effective_from, "effective_from")
    until = payload.to_utc(candidate.effective_until, "effective_until")
    since_us = None if since is None else payload.microseconds(since)
    ends_at = None if until is None else payload.microseconds(until)
    begins_at = now if since_us is None else since_us
    if ends_at is not None and ends_at <= begins_at:
        raise ValueError(
            f"effective_until: expected a time after {as_moment(begins_at)}, got {as_moment(ends_at)}"
        )
    return since_us, ends_at


def _check_times(proposal: Proposal, now: int) -> None:
    """Set when a fact was said, and the times of validity that it states."""
    candidate: FactCandidate = proposal.candidate
    moment = proposal.source.at if candidate.said_at is None else candidate.said_at
    proposal.said_at = moment_of(moment, "said_at")
    if proposal.said_at is not None and proposal.said_at > now + _DAY_US:
        raise Refusal(f"said_at: expected a past or present time, got {as_moment(proposal.said_at)}")
    proposal.valid_from = moment_of(candidate.valid_from, "valid_from")
    if proposal.valid_from is None and proposal.said_at is not None and proposal.said_at > now:
        proposal.valid_from = proposal.said_at
    proposal.valid_until = moment_of(candidate.valid_until, "valid_until")
    if (
        proposal.valid_until is not None
        and proposal.valid_from is not None
        and proposal.valid_until <= proposal.valid_from
    ):
        raise Refusal(
            f"valid_until: expected a time after {as_moment(proposal.valid_from)}, "
            f"got {as_moment(proposal.valid_until)}"
        )


def _decide_cardinality(proposal: Proposal, judge: Judge) -> None:
    """Set whether a fact's predicate has one value at a time, and whether that is final: the words decide, or else the
    projection compares the values."""
    candidate: FactCandidate = proposal.candidate
    if proposal.said_at is not None and candidate.said_at is None and candidate.single is None:
        candidate = replace(candidate, said_at=as_moment(proposal.said_at))
    single = cardinality(judge, candidate)
    is_single = None if single is None else bool(single)
    if proposal.candidate.single is not is_single:
        proposal.candidate = with_values(proposal.candidate, {"single": is_single})
    proposal.is_decided = (
        is_single is not None
        or proposal.candidate.relation not in ("asserts", "plans")
        or hasattr(judge, "is_single")
    )
