"""A candidate on its way through the gate: what is known about it without the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scrubjay import payload
from scrubjay._native import Scope
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
from scrubjay.memory.model.refusal import Unfit
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
    one = Proposal(kind, typed, scope, checked_source(source))
    try:
        one.candidate = classified(settings.classify, verify(kind, typed, one.source))
        one.target, one.about_tenant = resolve(kind, typed, scope)
    except Unfit as unfit:
        one.unfit = str(unfit)
        return one
    if kind in ("policy", "preference"):
        one.unfit = fault(settings.validate, one.candidate)
    if kind == "policy":
        one.begins_at, one.expires_at = window_of(typed, settings.clock())
    else:
        one.expires_at = expiry_of(typed.expires_at, typed.ttl, settings.clock)
        if one.expires_at is not None and one.expires_at <= settings.clock():
            one.unfit = f"expires_at: expected a future time, got {as_moment(one.expires_at)}"
            return one
    if kind == "preference":
        one.said_at = moment_of(one.source.at, "source.at")
    if kind == "fact":
        try:
            _check_times(one, settings.clock())
        except Unfit as unfit:
            one.unfit = str(unfit)
            return one
        one.detail = encoded_detail(one.candidate)
        if typed.vector is not None:
            one.embedded = Embedded(typed.vector)
    if kind in ("fact", "episode"):
        one.metadata = encoded(typed.metadata)
    if not one.unfit and kind in ("fact", "episode"):
        assert one.target is not None
        topics: tuple[bytes, ...] = ()
        value = None
        if kind == "fact":
            _decide_cardinality(one, judge)
            topics = topics_of(one.candidate.subject, one.candidate.predicate)
            value = None if one.candidate.value is None else value_digest(one.candidate.value)
        one.text = content_of(kind, one.candidate)
        one.digests = digest(one.target, one.text), topics, value
    return one


def window_of(candidate: PolicyCandidate, now: int) -> Window:
    """Return when a policy is in force.

    Raises:
        TypeError, ValueError: a value is not a time, or the end is not after the beginning.
    """
    since = payload.to_utc(candidate.effective_from, "effective_from")
    until = payload.to_utc(candidate.effective_until, "effective_until")
    given = None if since is None else payload.microseconds(since)
    ends_at = None if until is None else payload.microseconds(until)
    begins_at = now if given is None else given
    if ends_at is not None and ends_at <= begins_at:
        raise ValueError(
            f"effective_until: expected a time after {as_moment(begins_at)}, got {as_moment(ends_at)}"
        )
    return given, ends_at


def _check_times(one: Proposal, now: int) -> None:
    """Set when a fact was said, and the times of validity that it states."""
    candidate: FactCandidate = one.candidate
    told = one.source.at if candidate.said_at is None else candidate.said_at
    one.said_at = moment_of(told, "said_at")
    if one.said_at is not None and one.said_at > now + _DAY_US:
        raise Unfit(f"said_at: expected a past or present time, got {as_moment(one.said_at)}")
    one.valid_from = moment_of(candidate.valid_from, "valid_from")
    if one.valid_from is None and one.said_at is not None and one.said_at > now:
        one.valid_from = one.said_at
    one.valid_until = moment_of(candidate.valid_until, "valid_until")
    if one.valid_until is not None and one.valid_from is not None and one.valid_until <= one.valid_from:
        raise Unfit(
            f"valid_until: expected a time after {as_moment(one.valid_from)}, got {as_moment(one.valid_until)}"
        )


def _decide_cardinality(one: Proposal, judge: Judge) -> None:
    """Set whether a fact's predicate has one value at a time, and whether that is final: the words decide, or else the
    projection compares the values."""
    candidate: FactCandidate = one.candidate
    if one.said_at is not None and candidate.said_at is None and candidate.single is None:
        candidate = replace(candidate, said_at=as_moment(one.said_at))
    single = cardinality(judge, candidate)
    is_single = None if single is None else bool(single)
    if one.candidate.single is not is_single:
        one.candidate = with_values(one.candidate, {"single": is_single})
    one.is_decided = (
        is_single is not None
        or one.candidate.relation not in ("asserts", "plans")
        or hasattr(judge, "is_single")
    )
