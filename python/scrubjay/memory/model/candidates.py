"""Candidates for records, their provenance, and the outcome of proposing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from scrubjay.documents.payload import CreatedAt
from scrubjay.memory.model.names import Relation

SOURCES = ("user_stated", "inferred", "admin_set")


@dataclass(frozen=True)
class Provenance:
    """The source of a record.

    Attributes:
        run: the run (conversation, import, job) in which it was observed.
        turn: the turn of the run.
        author: the speaker: a user, a model's name, a tool.
        place: where it was read, such as "notes/travel.md:12".
        policy_version: the number of the newest policy in force at the time, 0 if none. Filled in by the gate.
        at: when it was said or observed; a fact holds from then on unless it states another time. None: now.
    """

    run: str
    turn: int | None = None
    author: str | None = None
    place: str | None = None
    policy_version: int | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class FactCandidate:
    """A statement that may become a fact. Its content must be understandable by itself ("Jane lives in Oslo").

    Args:
        content: the statement; it is searched and shown.
        subject, predicate: the slot of the statement ("Jane", "lives in"). Only statements of one slot can contradict
            each other; without a slot nothing is superseded.
        confidence: 0 to 1; facts need 0.7.
        evidence: the words from which it was extracted.
        expires_at, ttl: when it is deleted, as a time or as a duration from now. It holds no longer than that.
        metadata: JSON values for filters, returned with the record.
        single: whether the predicate has one value at a time, so that a statement that begins later supersedes the
            earlier one. None: the judge decides; the default judge knows "lives in" and the like, compares two
            statements where the words only resemble these ("born in", "appointment"), and lets all others coexist.
        value: the value in the slot ("Oslo"), a str or another JSON value. A statement with the same value restates
            the fact, unless its text says something else ("a son, Ali" and "a son, Karim" both hold); if the text
            says more, the statement supersedes the fact that said less.
        relation: "asserts" that it holds; "ends" a known fact from its day on ("not allergic any more"); "corrects" a
            fact that was never true, and replaces it for all of its time; "plans" a state from `valid_from` on, and
            supersedes nothing before. An end or a correction affects only facts that it names, by `replaces`, value
            or words.
        valid_from, valid_until: when it is true (datetime, ISO 8601, seconds since 1970). By default from when it was
            said, without end. A fact about the past takes its place in the past and supersedes nothing that begins
            later.
        said_at: when it was said; by default the time of its source (`Provenance.at`), or now.
        replaces: ids of facts of the same scope that it contradicts, in any slot: they end where it begins.
        entities: names of people and things in it; it is also found by them (see `entities` of
            :class:`scrubjay.Query`).
        importance: 0 to 1, for callers who rank by it; in the metadata of its hits.
        vector: its own vector; None: the embedder's.
        sensitivity: its class, a name of your choice such as "personal" or "secret", for filters (``{"sensitivity":
            {"$ne": "secret"}}``); "": the class from `Memory.open(classify=...)`, if any.
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
    relation: Relation = "asserts"
    valid_from: CreatedAt | None = None
    valid_until: CreatedAt | None = None
    said_at: CreatedAt | None = None
    replaces: Sequence[str] = ()
    entities: Sequence[str] = ()
    importance: float | None = None
    vector: Any = None
    sensitivity: str = ""

    @property
    def text(self) -> str:
        """The content."""
        return self.content


@dataclass(frozen=True)
class PreferenceCandidate:
    """A standing preference of a user, or of a whole tenant, under a key ("language", "tone").

    Args:
        key: the subject of the preference; a new one replaces the old one with its key.
        text: the preference as prompts show it; by default its value, as JSON on one line.
        source: "user_stated", "inferred" or "admin_set". An inferred one never replaces one that was stated or set.
        confidence: 0 to 1; preferences need 0.5.
        expires_at, ttl: when it expires, as a time or as a duration from now.
        value: any JSON value for programs (25, {"allow_personalization": True}); None: the text.
        type: the type of the preference.
        sensitivity: its class, as of a :class:`FactCandidate`; prompts and look-ups can exclude classes (`without`).
    """

    key: str
    text: str = ""
    source: str = "user_stated"
    confidence: float = 1.0
    expires_at: CreatedAt | None = None
    ttl: timedelta | float | None = None
    value: Any = None
    type: str = ""
    sensitivity: str = ""


@dataclass(frozen=True)
class EpisodeCandidate:
    """A completed task.

    Args:
        summary: what was done; it is searched and shown.
        outcome: how the task ended ("success", "gave up").
        task_type: the type of the task.
        steps: the key steps.
        artifacts: results: paths, links, ids, or JSON objects that describe them; or one object
            ({"ticket": "T-17", "files": ["a.pdf"]}).
        expires_at, ttl: when it is deleted, as a time or as a duration from now; None: never.
        metadata: JSON values for filters, returned with the record.
        title: a headline; only the summary is searched.
        completed_at: when the task was completed, for recency and for searches by time. None: when it is recorded.
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

    @property
    def text(self) -> str:
        """The summary."""
        return self.summary


@dataclass(frozen=True)
class PolicyCandidate:
    """A rule for a whole tenant, under a key. It has no effect until it is confirmed.

    Args:
        key: the subject of the policy; a new one is the next version of its key.
        text: the rule as prompts show it; by default its value, as JSON on one line.
        effective_from, effective_until: when it is in force; by default from now on, without end.
        value: any JSON value for programs ({"max_auto_approve_usd": 500}); None: the text.
        type: the type of the policy ("compliance", "guardrail", "approval").
        sensitivity: its class, as of a :class:`PreferenceCandidate`.
    """

    key: str
    text: str = ""
    effective_from: CreatedAt | None = None
    effective_until: CreatedAt | None = None
    value: Any = None
    type: str = ""
    sensitivity: str = ""


Candidate = FactCandidate | PreferenceCandidate | EpisodeCandidate | PolicyCandidate


@dataclass(frozen=True)
class Outcome:
    """The result of a proposal.

    Attributes:
        status: "written", "deduplicated", "superseded" (written in place of another record) or "rejected".
        kind: "policy", "preference", "fact" or "episode".
        id: the id of the record that holds the content now; None if it was rejected.
        reason: why it was rejected or deduplicated, or is not active yet; or that an end or a correction, which is
            written all the same, names no known fact.
        superseded: the id of the record that it replaced, or None.
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
