"""Rows of memory's tables as values, and which of them a scope may see or change (`making` turns them into records)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.memory.model.decoding import RowTypes
from scrubjay.memory.model.names import Relation
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.scopes import names_of


class PolicyRow(NamedTuple):
    """A row of memory_policy."""

    id: str
    tenant: str  # '': global
    user: str  # ''
    agent: str  # ''
    status: str
    begins_at: int
    expires_at: int | None
    created_at: int
    source_run: str
    source_turn: int | None
    author: str | None
    place: str | None
    policy_version: int
    key: str
    version: int
    text: str
    decided_by: str | None
    detail: bytes | None

    @property
    def kind(self) -> str:
        """ "policy"."""
        return "policy"


class PreferenceRow(NamedTuple):
    """A row of memory_preference."""

    id: str
    tenant: str
    user: str  # '': of all users
    agent: str  # ''
    status: str
    begins_at: None
    expires_at: int | None
    created_at: int
    source_run: str
    source_turn: int | None
    author: str | None
    place: str | None
    policy_version: int
    key: str
    text: str
    source: str
    confidence: float
    superseded_by: str | None
    updated_at: int
    detail: bytes | None

    @property
    def kind(self) -> str:
        """ "preference"."""
        return "preference"


class FactRow(NamedTuple):
    """A row of memory_fact."""

    id: str
    tenant: str
    user: str
    agent: str
    status: str
    begins_at: None
    expires_at: int | None
    created_at: int
    source_run: str
    source_turn: int | None
    author: str | None
    place: str | None
    policy_version: int
    content: str
    subject: str
    predicate: str
    confidence: float
    superseded_by: str | None
    decided_by: str | None
    uses: int
    last_used_at: int
    faded: int
    evidence: str | None
    metadata: bytes | None
    updated_at: int
    slot: str
    hash: bytes
    topic: bytes
    relation: Relation | None = None  # this and the following columns: None in rows of format 1
    single: int | None = None
    said_at: int | None = None
    recorded_at: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    withdrawn_at: int | None = None
    affirmed: str | None = None
    replaces: str | None = None
    replaced_by: str | None = None
    shared_as: str | None = None
    holds: str | None = None
    value_hash: bytes | None = None
    detail: bytes | None = None

    @property
    def kind(self) -> str:
        """ "fact"."""
        return "fact"

    @property
    def text(self) -> str:
        """The searched text."""
        return self.content


class EpisodeRow(NamedTuple):
    """A row of memory_episode."""

    id: str
    tenant: str
    user: str
    agent: str
    status: str
    begins_at: None
    expires_at: int | None
    created_at: int
    source_run: str
    source_turn: int | None
    author: str | None
    place: str | None
    policy_version: int
    summary: str
    outcome: str
    task_type: str
    steps: bytes
    artifacts: bytes
    uses: int
    last_used_at: int
    metadata: bytes | None
    updated_at: int
    slot: str
    hash: bytes
    detail: bytes | None
    completed_at: int | None

    @property
    def kind(self) -> str:
        """ "episode"."""
        return "episode"

    @property
    def text(self) -> str:
        """The searched text."""
        return self.summary


Row = PolicyRow | PreferenceRow | FactRow | EpisodeRow


ROWS: dict[str, type[Any]] = {
    "policy": PolicyRow,
    "preference": PreferenceRow,
    "fact": FactRow,
    "episode": EpisodeRow,
}


TYPES = {kind: RowTypes(row) for kind, row in ROWS.items()}


def scope_in(row: Row) -> Scope:
    """Return the exact scope of a row."""
    return scope_of(row.tenant, row.user, row.agent)


def is_global(row: Row) -> bool:
    """Whether a row is a policy in force for every tenant; it has no scope."""
    return row.kind == "policy" and row.tenant == ""


def is_visible(row: Row, scope: Scope) -> bool:
    """Whether a search from `scope` may see the scope of the row; global policies are visible to all."""
    return is_among(row, names_seen(scope))


def is_among(row: Row, names: Collection[tuple[str, str, str]]) -> bool:
    """As :func:`is_visible`, with the result of :func:`names_seen`, for many rows."""
    return is_global(row) or row[1:4] in names


def names_seen(scope: Scope) -> frozenset[tuple[str, str, str]]:
    """Return the scopes visible from `scope`, in the form of rows."""
    return frozenset(map(names_of, scope.visible()))


def belongs_to(row: Row, scope: Scope) -> bool:
    """Whether `scope` may change a record: the record is visible to it and not shared with other users.

    A tenant's own records belong to the tenant's scope only; those of an agent for all users belong to no single user.
    """
    user, agent = scope.user or "", scope.agent or ""
    if row.tenant != scope.tenant or row.user != user:
        return False
    return row.agent == agent or (user != "" and row.agent == "")
