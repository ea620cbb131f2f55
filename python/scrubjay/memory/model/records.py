"""The records of memory, the candidates for them, and the outcome of a proposal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from scrubjay._native import Scope
from scrubjay.payload import CreatedAt

__all__ = [
    "SOURCES",
    "Candidate",
    "Deletion",
    "Episode",
    "EpisodeCandidate",
    "Event",
    "Fact",
    "FactCandidate",
    "Known",
    "Outcome",
    "Policy",
    "PolicyCandidate",
    "Preference",
    "PreferenceCandidate",
    "Provenance",
    "Record",
    "Rejection",
    "Why",
]

SOURCES = ("user_stated", "inferred", "admin_set")


@dataclass(frozen=True)
class Provenance:
    """Where a record comes from.

    Attributes:
        run: the run (conversation, import, job) that it was observed in.
        turn: of the run.
        author: who said it: a user, a model's name, a tool.
        place: where it was read, such as "notes/travel.md:12".
        policy_version: number of the newest policy in force then, 0 if there was none. Filled in by the gate.
        at: when it was said or observed; a fact holds from then on unless it states another time. None: now.
    """

    run: str
    turn: int | None = None
    author: str | None = None
    place: str | None = None
    policy_version: int | None = None
    at: datetime | None = None


# ---------------------------------------------------------------------- candidates


@dataclass(frozen=True)
class FactCandidate:
    """A statement that may become a fact. Its content is to be understood by itself ("Jane lives in Oslo").

    Args:
        content: the statement; what is searched and shown.
        subject, predicate: what it is about ("Jane", "lives in"): its slot. Only statements of one slot can contradict
            each other; without them nothing is superseded.
        confidence: 0 to 1; facts need 0.7.
        evidence: the words that it was taken from.
        expires_at, ttl: from when on it is to be deleted. It holds no longer than that.
        metadata: JSON values for filters, returned with the record.
        single: whether the predicate has one value at a time, so that what begins later takes the place of what is
            known. None: the judge decides; its default knows "lives in" and the like, and lets all else stand side by
            side.
        value: what it says of the slot ("Oslo"), a str or another JSON value. The same value said again, in whatever
            words, is the same statement.
        relation: "asserts" that it holds; "ends" what was known from its day on ("not allergic any more"); "corrects"
            what was never so, and takes its place for all of its time; "plans" what will be so from `valid_from` on,
            and supersedes nothing before.
        valid_from, valid_until: when it is so (datetime, ISO 8601, seconds since 1970). By default from when it was
            said on, for good. A fact of the past goes to its place in the past and supersedes nothing that begins
            later.
        said_at: when it was said; by default the time of its source (`Provenance.at`), or now.
        replaces: ids of facts of the same scope that it contradicts, whatever their slots: they end where it begins.
        entities: whom and what it names; found by these names, too (see `entities` of :class:`scrubjay.Query`).
        importance: 0 to 1, for callers who rank by it; in the metadata of its hits.
        vector: its own; None: the embedder's.
        sensitivity: its class, a name of yours such as "personal" or "secret", for filters (``{"sensitivity": {"$ne":
            "secret"}}``); "": what `Memory.open(classify=...)` says, if anything.
    """

    content: str
    subject: str = ""
    predicate: str = ""
    confidence: float = 1.0
    evidence: str | None = None
    expires_at: CreatedAt | None = None
    ttl: timedelta | float | None = None
    metadata: Mapping[str, Any] | None = None
    single: bool | None = None
    value: Any = None
    relation: str = "asserts"
    valid_from: CreatedAt | None = None
    valid_until: CreatedAt | None = None
    said_at: CreatedAt | None = None
    replaces: Sequence[str] = ()
    entities: Sequence[str] = ()
    importance: float | None = None
    vector: Any = None
    sensitivity: str = ""


@dataclass(frozen=True)
class PreferenceCandidate:
    """A wish of a user, or of a whole tenant, that always holds, under a key ("language", "tone").

    Args:
        key: what it is about; a new one replaces the old one of its key.
        text: the wish as prompts show it; by default its value, as JSON on one line.
        source: "user_stated", "inferred" or "admin_set". What was inferred never replaces what was stated or set.
        confidence: 0 to 1; preferences need 0.5.
        expires_at, ttl: from when on it does not hold any more.
        value: any JSON value for programs (25, {"allow_personalization": True}); None: the text.
        type: what sort of preference it is.
    """

    key: str
    text: str = ""
    source: str = "user_stated"
    confidence: float = 1.0
    expires_at: CreatedAt | None = None
    ttl: timedelta | float | None = None
    value: Any = None
    type: str = ""


@dataclass(frozen=True)
class EpisodeCandidate:
    """A task that was completed.

    Args:
        summary: what was done; what is searched and shown.
        outcome: how it ended ("success", "gave up").
        task_type: what kind of task.
        steps: the key steps.
        artifacts: what came of it: paths, links, ids, or JSON objects that describe them; or one object
            ({"ticket": "T-17", "files": ["a.pdf"]}).
        expires_at, ttl: episodes are long-lived; None: for good.
        metadata: JSON values for filters, returned with the record.
        title: a headline; the summary is what is searched.
        completed_at: when the task was completed; recency and times of searches go by it. None: when it is recorded.
        sensitivity: its class, as of a :class:`FactCandidate`.
    """

    summary: str
    outcome: str
    task_type: str = ""
    steps: Sequence[str] = ()
    artifacts: Sequence[str | Mapping[str, Any]] | Mapping[str, Any] = ()
    expires_at: CreatedAt | None = None
    ttl: timedelta | float | None = None
    metadata: Mapping[str, Any] | None = None
    title: str = ""
    completed_at: CreatedAt | None = None
    sensitivity: str = ""


@dataclass(frozen=True)
class PolicyCandidate:
    """A rule for a whole tenant, under a key. It has no effect until it is confirmed.

    Args:
        key: what it is about; a new one is the next version of its key.
        text: the rule as prompts show it; by default its value, as JSON on one line.
        effective_from, effective_until: when it is in force; by default from now on, for good.
        value: any JSON value for programs ({"max_auto_approve_usd": 500}); None: the text.
        type: what sort of policy it is ("compliance", "guardrail", "approval").
    """

    key: str
    text: str = ""
    effective_from: CreatedAt | None = None
    effective_until: CreatedAt | None = None
    value: Any = None
    type: str = ""


Candidate = FactCandidate | PreferenceCandidate | EpisodeCandidate | PolicyCandidate


@dataclass(frozen=True)
class Outcome:
    """What became of a proposal.

    Attributes:
        status: "written", "deduplicated", "superseded" (written, in the place of another) or "rejected".
        kind: "policy", "preference", "fact" or "episode".
        id: of the record that holds it now; None if it was rejected.
        reason: why it was rejected or deduplicated, or is not active yet.
        superseded: id of the record that it took the place of, or None.
        active: whether the record is in force now; a provisional one is not.
    """

    status: str
    kind: str
    id: str | None
    reason: str = ""
    superseded: str | None = None
    active: bool = True

    def __bool__(self) -> bool:
        return self.status != "rejected"


# ---------------------------------------------------------------------- records


@dataclass(frozen=True)
class Policy:
    """One version of a rule of a tenant, or of all of them. `status` is "provisional", "active" or "revoked"."""

    id: str
    tenant: str | None
    """None: a global policy."""
    key: str
    version: int
    text: str
    effective_from: datetime
    effective_until: datetime | None
    status: str
    provenance: Provenance
    decided_by: str | None = None
    type: str = ""
    mandatory: bool = False
    """Whether a global policy goes before tenants' policies of its key."""
    value_json: str | None = None
    """The value as JSON; None: none was given."""

    kind = "policy"

    @property
    def scope(self) -> Scope | None:
        """The tenant; None for a global policy."""
        return None if self.tenant is None else Scope(self.tenant)

    @property
    def value(self) -> Any:
        """The value, the caller's own copy; the text if none was given."""
        return self.text if self.value_json is None else json.loads(self.value_json)


@dataclass(frozen=True)
class Preference:
    """A wish of a user, or of a tenant (its scope has no user). `status` is "active", "superseded" or "revoked"."""

    id: str
    scope: Scope
    key: str
    text: str
    source: str
    confidence: float
    status: str
    created_at: datetime
    expires_at: datetime | None
    superseded_by: str | None
    provenance: Provenance
    type: str = ""
    value_json: str | None = None
    """The value as JSON; None: none was given."""

    kind = "preference"

    @property
    def value(self) -> Any:
        """The value, the caller's own copy; the text if none was given."""
        return self.text if self.value_json is None else json.loads(self.value_json)


@dataclass(frozen=True)
class Fact:
    """A statement.

    Attributes:
        status: "provisional" (a tenant's, that waits for a second source or a confirmation), "active" (in force),
            "planned" (it begins later), "ended" (its time is over), "superseded" (its time is over because of
            `superseded_by`) or "revoked".
        created_at, recorded_at: when the memory learned of it.
        said_at: when it was said.
        valid_from, valid_until: the times that it states; None: it states none.
        holds: when it is so, by all that is known: (from, until) in ascending order, until None for good. Empty for
            what was corrected or revoked.
        superseded_by: the id of the fact that ended, cut or covers it.
        faded: a faded fact sinks in rankings.
    """

    id: str
    scope: Scope
    content: str
    subject: str
    predicate: str
    confidence: float
    status: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    superseded_by: str | None
    decided_by: str | None
    uses: int
    last_used_at: datetime
    faded: bool
    evidence: str | None
    provenance: Provenance
    metadata: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    relation: str = "asserts"
    single: bool | None = None
    said_at: datetime | None = None
    recorded_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    holds: tuple[tuple[datetime, datetime | None], ...] = ()
    entities: tuple[str, ...] = ()
    importance: float | None = None
    sensitivity: str = ""

    kind = "fact"

    @property
    def text(self) -> str:
        """The content."""
        return self.content

    def at(self, moment: datetime) -> bool:
        """Whether it is so at a time, by all that is known."""
        return any(begin <= moment and (end is None or moment < end) for begin, end in self.holds)


@dataclass(frozen=True)
class Episode:
    """A task that was completed. `status` is "active" or "revoked"."""

    id: str
    scope: Scope
    summary: str
    outcome: str
    task_type: str
    steps: tuple[str, ...]
    artifacts: tuple[Any, ...] | dict[str, Any]
    status: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    uses: int
    last_used_at: datetime
    provenance: Provenance
    metadata: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    completed_at: datetime | None = None
    sensitivity: str = ""

    kind = "episode"

    @property
    def text(self) -> str:
        """The summary."""
        return self.summary


Record = Policy | Preference | Fact | Episode


@dataclass(frozen=True)
class Known:
    """All policies in force and all preferences, each in the order of their keys.

    `known[key]` is the policy of a key or else the preference of it, `key in known` says whether there is one, and
    iteration gives the records.

    >>> known = Known((), ())
    >>> known["refunds"]
    Traceback (most recent call last):
    ...
    KeyError: "key: no policy in force and no preference is 'refunds'"
    """

    policies: tuple[Policy, ...]
    preferences: tuple[Preference, ...]

    def policy(self, key: str) -> Policy:
        """Return the policy in force of a key.

        Raises:
            KeyError: no policy in force has it.
        """
        try:
            return self._policies[key]
        except KeyError:
            raise KeyError(f"key: no policy in force is {key!r}") from None

    def preference(self, key: str) -> Preference:
        """Return the preference of a key.

        Raises:
            KeyError: no preference has it.
        """
        try:
            return self._preferences[key]
        except KeyError:
            raise KeyError(f"key: no preference is {key!r}") from None

    def __getitem__(self, key: str) -> Policy | Preference:
        found = self._policies.get(key) or self._preferences.get(key)
        if found is None:
            raise KeyError(f"key: no policy in force and no preference is {key!r}")
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._policies or key in self._preferences

    def __iter__(self) -> Iterator[Policy | Preference]:
        yield from self.policies
        yield from self.preferences

    def __len__(self) -> int:
        return len(self.policies) + len(self.preferences)

    @cached_property
    def _policies(self) -> dict[str, Policy]:
        return {one.key: one for one in self.policies}

    @cached_property
    def _preferences(self) -> dict[str, Preference]:
        return {one.key: one for one in self.preferences}


@dataclass(frozen=True)
class Event:
    """Something that happened to a record; who did it, and a detail such as the id of the successor.

    `what` is "written", "superseded", "limited" (by a fact that begins later), "resumed", "confirmed", "promoted",
    "revoked", "updated", "restated", "faded" or "revived".
    """

    at: datetime
    record: str
    what: str
    by: str | None
    detail: str | None


@dataclass(frozen=True)
class Why:
    """Why a record is known: itself, what happened to it, what it took the place of, which runs observed it."""

    record: Record
    events: tuple[Event, ...]
    supersedes: tuple[str, ...]
    superseded_by: str | None
    observed_in: tuple[str, ...]

    @property
    def provenance(self) -> Provenance:
        """Where it comes from."""
        return self.record.provenance

    def __str__(self) -> str:
        source = self.provenance
        said = f"{self.record.kind} {self.record.id} ({self.record.status}): {self.record.text}\n"
        said += f"  from run {source.run}" + ("" if source.turn is None else f", turn {source.turn}")
        said += "".join(
            f", {name} {value}" for name, value in (("by", source.author), ("at", source.place)) if value
        )
        said += f", under policies up to {source.policy_version}, recorded {source.at}\n"
        if len(self.observed_in) > 1:
            said += f"  observed in {', '.join(self.observed_in)}\n"
        for event in self.events:
            said += f"  {event.at} {event.what}" + (f" by {event.by}" if event.by else "")
            said += f": {event.detail}\n" if event.detail else "\n"
        return said


@dataclass(frozen=True)
class Rejection:
    """A proposal that the gate refused."""

    at: datetime
    scope: Scope
    kind: str
    reason: str
    content: str
    run: str | None
    turn: int | None
    author: str | None


@dataclass(frozen=True)
class Deletion:
    """A deletion event: when, which scope, why, by whom, how many of each kind; never the content."""

    at: datetime
    scope: Scope
    reason: str
    by: str | None
    counts: Mapping[str, int]
