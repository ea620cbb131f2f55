"""A candidate on its way through the gate, with what was found out about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.ledger.documents import Embedded
from scrubjay.memory.model.candidates import Provenance
from scrubjay.store.together import Change

__all__ = ["Proposal", "policy_version", "provenance_columns"]


@dataclass
class Proposal:
    """A candidate on its way through the gate."""

    kind: str
    candidate: Any
    scope: Scope  # on whose behalf
    source: Provenance
    target: Scope | None = None  # where it is to be kept
    about_tenant: bool = False
    unfit: str = ""  # why it is refused
    begins_at: int | None = None
    expires_at: int | None = None
    metadata: bytes | None = None
    hash: bytes = b""  # of the content in its target
    is_new: bool = False  # whether nothing living in its target had that hash when its change began
    topics: tuple[bytes, ...] = ()  # of its slot: as it is written now, as the predicate's own words say it
    value_hash: bytes | None = None
    detail: bytes | None = None
    said_at: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    embedded: Embedded | None = None
    contradicted: dict[str, bool] = field(default_factory=dict)  # id of a known fact -> what the judge says

    @property
    def topic(self) -> bytes:
        """What it has in common with the statements of its slot; empty without subject or predicate."""
        return self.topics[0] if self.topics else b""


def provenance_columns(change: Change, tenant: str, source: Provenance) -> dict[str, Any]:
    """Return what a row says of its source."""
    return {
        "source_run": source.run,
        "source_turn": source.turn,
        "author": source.author,
        "place": source.place,
        "policy_version": policy_version(change, tenant, source),
    }


def policy_version(change: Change, tenant: str, source: Provenance) -> int:
    """Return the number of the newest policy in force for a source, looked up if the caller does not know it."""
    version = source.policy_version
    if version is None:
        version = change.known.get(("newest policy", tenant))
    if version is None:
        (version,) = change.connection.execute(
            "SELECT ifnull(max(number), 0) FROM memory_policy WHERE tenant IN (?, '') AND status = 'active' "
            "AND effective_from <= ? AND (effective_until IS NULL OR effective_until > ?)",
            (tenant, change.now, change.now),
        ).fetchone()
        change.known["newest policy", tenant] = version
    return int(version)
