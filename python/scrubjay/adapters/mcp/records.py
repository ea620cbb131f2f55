"""The tools for the facts and episodes of a memory, which complement the notes of its index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, Field

from scrubjay._native import Scope
from scrubjay.adapters._dataclass_models import request_of
from scrubjay.adapters._typed import LazyMemory, page
from scrubjay.adapters.mcp.tools import (
    MAX_TEXT,
    Arguments,
    Id,
    ListMemories,
    Metadata,
    OneMemory,
    SearchMemories,
    bounded,
)
from scrubjay.backend import ReadOnlyMemoryError, UnknownMemoryError
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query
from scrubjay.memory import Episode, Fact, FactCandidate, Provenance, Recalled
from scrubjay.memory.ledger.rows import kind_of
from scrubjay.memory.model.names import RecordKind

_KINDS: tuple[RecordKind, ...] = ("fact", "episode")
_SOURCE = "mcp"
_LEAVES: dict[Any, Any] = {
    str: Annotated[str, Field(max_length=MAX_TEXT)],
    int: int,
    float: float,
    bool: bool,
    datetime: Annotated[str, Field(description="ISO 8601")],
    timedelta: Annotated[float, Field(description="seconds")],
    Mapping: Metadata,
    Any: Any,
}

Remember: Any = request_of(FactCandidate, "Remember", Arguments, _LEAVES)
"""Arguments of remember: the fields of a fact."""


class RevokeMemory(Arguments):
    """Arguments of revoke_memory."""

    id: Id
    reason: Annotated[str, Field(min_length=1, max_length=1000, description="why it is wrong, or not wanted")]


class GiveFeedback(Arguments):
    """Arguments of give_feedback."""

    id: Id
    used: Annotated[bool, Field(description="whether it was useful")] = True


class Revoked(BaseModel):
    """The result of revoke_memory."""

    revoked: bool


class Noted(BaseModel):
    """The result of give_feedback."""

    noted: bool


class Remembered(BaseModel):
    """The outcome of a proposed fact."""

    status: Annotated[str, Field(description="written, superseded, deduplicated or rejected")]
    id: Annotated[str | None, Field(description="id of the memory that says so now")]
    reason: str
    superseded: Annotated[str | None, Field(description="id of the memory that it superseded")]
    active: Annotated[bool, Field(description="whether it is in force")]


class WhyMemory(BaseModel):
    """Why a memory is known."""

    id: str
    kind: str
    status: str
    text: str
    run: Annotated[str, Field(description="the conversation that it comes from")]
    events: Annotated[list[str], Field(description="its history, oldest first")]
    supersedes: list[str]
    superseded_by: str | None


class RecordTools:
    """The facts and episodes of one scope, in the file of an index.

    Args:
        memory: the memory in that file.
        scope: the scope of the server.
    """

    def __init__(self, memory: LazyMemory, scope: Scope) -> None:
        self._memory, self._scope = memory, scope

    def remember(self, given: Any) -> dict[str, Any]:
        """Propose a fact and return the gate's outcome."""
        fields = given.model_dump(exclude_none=True)
        if "metadata" in fields:
            bounded("metadata", fields["metadata"])
        candidate = FactCandidate(**fields)
        outcome = self._memory.make().propose(candidate, scope=self._scope, source=Provenance(_SOURCE))
        return {name: getattr(outcome, name) for name in Remembered.model_fields}

    def why(self, given: OneMemory) -> dict[str, Any] | None:
        """Return the provenance of a record, or None."""
        memory = self._memory.find()
        why = None if memory is None else memory.why(given.id, scope=self._scope)
        if why is None:
            return None
        events = [
            " ".join(
                filter(
                    None, [event.at.isoformat(), event.action, event.by and f"by {event.by}", event.detail]
                )
            )
            for event in why.events
        ]
        return {
            "id": why.record.id,
            "kind": why.record.kind,
            "status": why.record.status,
            "text": why.record.text,
            "run": why.provenance.run,
            "events": events,
            "supersedes": list(why.supersedes),
            "superseded_by": why.superseded_by,
        }

    def recall(self, given: SearchMemories, filter: FilterLike | None, query: Query) -> Recalled | None:
        """Search facts, episodes and notes; None if the file has no memory."""
        memory = self._memory.find()
        if memory is None:
            return None
        options: dict[str, Any] = {"filter": filter, "as_of": given.as_of, "known_at": given.known_at}
        return memory.recall(given.query, self._scope, k=given.limit, query=query, **options)

    def find(self, id: str) -> Fact | Episode | None:
        """Return the fact or episode with an id if it is in force, or None."""
        if kind_of(id) not in _KINDS:
            return None
        memory = self._memory.find()
        record = None if memory is None else memory.get(id, scope=self._scope)
        return record if isinstance(record, (Fact, Episode)) else None

    def update(self, id: str, text: str | None, metadata: dict[str, Any] | None) -> Fact | Episode | None:
        """Change a fact or episode of this scope and return it, or None if it does not exist.

        Raises:
            ReadOnlyMemoryError: the record is shared with the scope.
        """
        record = self._own(id)
        if record is None:
            return None
        changes: dict[str, Any] = {} if metadata is None else {"metadata": metadata}
        if text is not None:
            changes["content" if record.kind == "fact" else "summary"] = text
        changed = self._memory.make().update(id, scope=self._scope, by=_SOURCE, **changes)
        return changed if isinstance(changed, (Fact, Episode)) else None

    def delete(self, id: str, kinds: Sequence[str] = _KINDS) -> bool:
        """Delete a fact, an episode or another of `kinds` of this scope; return False if it does not exist.

        Raises:
            ReadOnlyMemoryError: the record is shared with the scope.
        """
        memory = self._memory.find()
        if memory is None or kind_of(id) not in kinds:
            return False
        self._own(id)
        return memory.delete(id, scope=self._scope, by=_SOURCE)

    def feedback(self, given: GiveFeedback) -> dict[str, Any]:
        """Record whether a fact or episode was useful.

        Raises:
            KeyError: the scope sees no such record.
        """
        self._memory.make().feedback(given.id, given.used, scope=self._scope)
        return {"noted": True}

    def revoke(self, given: RevokeMemory) -> dict[str, Any]:
        """Take a fact, episode or preference of this scope out of force; its history remains.

        Raises:
            ReadOnlyMemoryError: the record is shared with the scope.
            KeyError: the scope has no such record in force.
        """
        if kind_of(given.id) not in (*_KINDS, "preference"):
            raise UnknownMemoryError(given.id)
        self._own(given.id)
        self._memory.make().revoke(given.id, reason=given.reason, scope=self._scope, by=_SOURCE)
        return {"revoked": True}

    def delete_all(self) -> int:
        """Delete all facts and episodes of exactly this scope, of any status; return their number."""
        memory = self._memory.find()
        if memory is None:
            return 0
        records = memory.list(self._scope, kinds=_KINDS, hidden=True, exact=True)
        return sum(memory.delete(record.id, scope=self._scope, by=_SOURCE) for record in records)

    def page(self, given: ListMemories, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """Return a page of the facts and episodes that the scope sees, or of the facts about a subject."""
        memory = self._memory.find()
        if memory is None:
            return [], None
        kinds = _KINDS if given.subject is None else _KINDS[:1]
        options = {name: getattr(given, name) for name in ("subject", "as_of", "known_at")}
        records, next_cursor = page(
            memory, self._scope, limit=given.limit, cursor=cursor, kinds=kinds, **options
        )
        return [self.shown(record) for record in records if isinstance(record, (Fact, Episode))], next_cursor

    def shown(self, record: Fact | Episode) -> dict[str, Any]:
        """Return a record in the form of the tools."""
        return {
            "id": record.id,
            "kind": record.kind,
            "text": record.text,
            "metadata": dict(record.metadata),
            "created_at": record.created_at.isoformat(),
            "expires_at": None if record.expires_at is None else record.expires_at.isoformat(),
            "shared": record.scope != self._scope,
        }

    def _own(self, id: str) -> Fact | Episode | None:
        record = self.find(id)
        if record is not None and record.scope != self._scope:
            raise ReadOnlyMemoryError(id)
        return record
