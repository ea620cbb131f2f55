"""The records of memory, and the rules that a scope has to follow (`Known`)."""

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
    """One version of a rule of a tenant, or of all tenants. `status` is "provisional", "active" or "revoked".

    Attributes:
        id: the id of this version.
        key: the key under which the rule is looked up.
        version: counted from 1 for each key.
        text: the text in prompts.
        effective_from, effective_until: when it applies; None: without end.
        provenance: its source: run, turn, author, place.
        decided_by: who confirmed or revoked it.
        type: a name of your choice, such as "compliance".
        sensitivity: a class of your choice, such as "personal".
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
    """Whether a global policy overrides tenants' policies with its key."""
    value_json: str | None = None
    """The value as JSON; None: no value was given."""
    sensitivity: str = ""

    kind = "policy"

    @property
    def scope(self) -> Scope | None:
        """The tenant; None for a global policy."""
        return None if self.tenant is None else Scope(self.tenant)

    @property
    def value(self) -> Any:
        """The value, a copy owned by the caller; the text if no value was given."""
        return self.text if self.value_json is None else json.loads(self.value_json)


@dataclass(frozen=True)
class Preference:
    """A preference of a user, or of a tenant (its scope has no user). `status` is "active", "superseded" or "revoked".

    Attributes:
        id: the id of the record.
        scope: the scope of the user or the tenant.
        key: the key under which it is looked up.
        text: the text in prompts.
        source: "user_stated", "inferred" or "admin_set".
        confidence: the confidence of the source, 0 to 1.
        created_at, expires_at: when it was written and when it expires; None: never.
        superseded_by: the id of the preference that replaced it.
        provenance: its source: run, turn, author, place.
        type: a name of your choice.
        sensitivity: a class of your choice.
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
    """The value as JSON; None: no value was given."""
    sensitivity: str = ""

    kind = "preference"

    @property
    def value(self) -> Any:
        """The value, a copy owned by the caller; the text if no value was given."""
        return self.text if self.value_json is None else json.loads(self.value_json)


@dataclass(frozen=True)
class Fact:
    """A statement.

    Attributes:
        status: "provisional" (a tenant's fact that needs a second source or a confirmation), "active" (in force),
            "planned" (it begins later), "ended" (its time is over), "superseded" (its time is over because of
            `superseded_by`) or "revoked".
        created_at, recorded_at: when the memory learned of it.
        said_at: when it was said.
        valid_from, valid_until: the times that it states; None: none stated.
        holds: when it is true, by all that is known: (from, until) in ascending order; until None: without end. Empty
            if it was corrected or revoked.
        superseded_by: the id of the fact that ended, cut or covers it.
        faded: whether it is ranked lower because of its age.
        id: the id of the record.
        scope: the scope that owns it.
        content: the statement as text.
        subject, predicate: the slot: the subject and its property.
        value: the property's value, if one was given.
        confidence: the confidence of the source, 0 to 1.
        updated_at, expires_at: when it last changed and when it expires; None: never.
        decided_by: who confirmed or revoked it.
        uses, last_used_at: how often and when it was last useful (`feedback`).
        evidence: the words from which it was extracted.
        provenance: its source: run, turn, author, place.
        metadata: the caller's metadata.
        relation: "asserts", "ends", "corrects" or "plans".
        single: whether the slot has one value at a time; None: the judge decides.
        entities: the people and things that it names.
        importance: 0 to 1, set by the caller.
        sensitivity: a class of your choice, such as "personal".
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
        """Whether it is true at `moment`, by all that is known."""
        return any(begin <= moment and (end is None or moment < end) for begin, end in self.holds)


@dataclass(frozen=True)
class Episode:
    """A completed task. `status` is "active" or "revoked".

    Attributes:
        id: the id of the record.
        scope: the scope that owns it.
        title, summary: a headline, and what was done.
        outcome: how the task ended, such as "success".
        task_type: a name shared by similar tasks.
        steps: what was done, in order.
        artifacts: the results: texts, objects, or one object.
        created_at, updated_at, expires_at: when it was written, last changed, and expires; None: never.
        completed_at: when the task was completed.
        uses, last_used_at: how often and when it was last useful (`feedback`).
        provenance: its source: run, turn, author, place.
        metadata: the caller's metadata.
        sensitivity: a class of your choice.
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
    """All policies in force and all preferences, each ordered by key.

    `known[key]` is the policy with a key, or else the preference with it; `key in known` tests for either, and
    iteration yields the records.

    >>> known = Known((), ())
    >>> known["refunds"]
    Traceback (most recent call last):
    ...
    KeyError: "key: no policy in force and no preference is 'refunds'"
    """

    policies: tuple[Policy, ...]
    preferences: tuple[Preference, ...]

    def policy(self, key: str) -> Policy:
        """Return the policy in force with a key.

        Raises:
            KeyError: no policy in force has this key.
        """
        try:
            return self._policies[key]
        except KeyError:
            raise KeyError(f"key: no policy in force is {key!r}") from None

    def preference(self, key: str) -> Preference:
        """Return the preference with a key.

        Raises:
            KeyError: no preference has this key.
        """
        try:
            return self._preferences[key]
        except KeyError:
            raise KeyError(f"key: no preference is {key!r}") from None

    def __getitem__(self, key: str) -> Policy | Preference:
        record = self._policies.get(key) or self._preferences.get(key)
        if record is None:
            raise KeyError(f"key: no policy in force and no preference is {key!r}")
        return record

    def __contains__(self, key: object) -> bool:
        return key in self._policies or key in self._preferences

    def __iter__(self) -> Iterator[Policy | Preference]:
        yield from self.policies
        yield from self.preferences

    def __len__(self) -> int:
        return len(self.policies) + len(self.preferences)

    @cached_property
    def _policies(self) -> dict[str, Policy]:
        return {policy.key: policy for policy in self.policies}

    @cached_property
    def _preferences(self) -> dict[str, Preference]:
        return {preference.key: preference for preference in self.preferences}
