"""The records of memory, and those that a scope has to follow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.model.candidates import Provenance
from scrubjay.memory.model.names import Relation


@dataclass(frozen=True)
class Policy:
    """One version of a rule of a tenant, or of all of them. `status` is "provisional", "active" or "revoked".

    Attributes:
        id: of this version.
        key: what the rule is looked up by.
        version: counted from 1 for each key.
        text: what a prompt shows.
        effective_from, effective_until: when it applies; None: without an end.
        provenance: where it comes from: run, turn, author, place.
        decided_by: who confirmed or revoked it.
        type: a name of yours, such as "compliance".
        sensitivity: a class of yours, such as "personal".
    """

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
    sensitivity: str = ""

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
    """A wish of a user, or of a tenant (its scope has no user). `status` is "active", "superseded" or "revoked".

    Attributes:
        id: of the record.
        scope: whose wish it is.
        key: what it is looked up by.
        text: what a prompt shows.
        source: "user_stated", "inferred" or "admin_set".
        confidence: how sure the source is, 0 to 1.
        created_at, expires_at: when it was written and when it ends; None: never.
        superseded_by: the id of the preference that took its place.
        provenance: where it comes from: run, turn, author, place.
        type: a name of yours.
        sensitivity: a class of yours.
    """

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
    sensitivity: str = ""

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
        id: of the record.
        scope: whose fact it is.
        content: the statement as text.
        subject, predicate: the slot: what it is about and which property it states.
        value: the property's value, if one was given.
        confidence: how sure the source is, 0 to 1.
        updated_at, expires_at: when it last changed and when it ends; None: never.
        decided_by: who confirmed or revoked it.
        uses, last_used_at: how often and when it was last of use (`feedback`).
        evidence: the words that it was taken from.
        provenance: where it comes from: run, turn, author, place.
        metadata: the caller's.
        relation: "asserts", "ends", "corrects" or "plans".
        single: whether the slot has one value at a time; None: the judge decides.
        entities: who and what it is about.
        importance: 0 to 1, of the caller's.
        sensitivity: a class of yours, such as "personal".
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
    relation: Relation = "asserts"
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
        """Whether it is so at `moment`, by all that is known."""
        return any(begin <= moment and (end is None or moment < end) for begin, end in self.holds)


@dataclass(frozen=True)
class Episode:
    """A task that was completed. `status` is "active" or "revoked".

    Attributes:
        id: of the record.
        scope: whose task it was.
        title, summary: a few words, and what was done.
        outcome: how it ended, such as "success".
        task_type: a name that alike tasks share.
        steps: what was done, in order.
        artifacts: what came of it: texts, objects, or one object.
        created_at, updated_at, expires_at: when it was written, last changed, and ends; None: never.
        completed_at: when the task was completed.
        uses, last_used_at: how often and when it was last of use (`feedback`).
        provenance: where it comes from: run, turn, author, place.
        metadata: the caller's.
        sensitivity: a class of yours.
    """

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
