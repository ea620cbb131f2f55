"""What is proposed to a memory, where it comes from, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from scrubjay.memory.model.names import Relation
from scrubjay.payload import CreatedAt

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
            known. None: the judge decides; its default knows "lives in" and the like, compares two statements where
            words only resemble these ("born in", "appointment"), and lets all else stand side by side.
        value: what it says of the slot ("Oslo"), a str or another JSON value. The same value said again is the same
            statement, unless its text says something else ("a son, Ali" and "a son, Karim" both hold); if it says more,
            it takes the place of what said less.
        relation: "asserts" that it holds; "ends" what was known from its day on ("not allergic any more"); "corrects"
            what was never so, and takes its place for all of its time. Both touch what they name, by `replaces`, value
            or words, and nothing else; "plans" what will be so from `valid_from` on,
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
    """A wish of a user, or of a whole tenant, that always holds, under a key ("language", "tone").

    Args:
        key: what it is about; a new one replaces the old one of its key.
        text: the wish as prompts show it; by default its value, as JSON on one line.
        source: "user_stated", "inferred" or "admin_set". What was inferred never replaces what was stated or set.
        confidence: 0 to 1; preferences need 0.5.
        expires_at, ttl: from when on it does not hold any more.
        value: any JSON value for programs (25, {"allow_personalization": True}); None: the text.
        type: what sort of preference it is.
        sensitivity: its class, as of a :class:`FactCandidate`; prompts and look-ups can leave classes out
            (`without`).
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

    @property
    def text(self) -> str:
        """The summary."""
        return self.summary


@dataclass(frozen=True)
class PolicyCandidate:
    """A rule for a whole tenant, under a key. It has no effect until it is confirmed.

    Args:
        key: what it is about; a new one is the next version of its key.
        text: the rule as prompts show it; by default its value, as JSON on one line.
        effective_from, effective_until: when it is in force; by default from now on, for good.
        value: any JSON value for programs ({"max_auto_approve_usd": 500}); None: the text.
        type: what sort of policy it is ("compliance", "guardrail", "approval").
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
    """What became of a proposal.

    Attributes:
        status: "written", "deduplicated", "superseded" (written, in the place of another) or "rejected".
        kind: "policy", "preference", "fact" or "episode".
        id: of the record that holds it now; None if it was rejected.
        reason: why it was rejected or deduplicated, or is not active yet; or that an end or a correction, which is
            written all the same, names nothing that is known.
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
