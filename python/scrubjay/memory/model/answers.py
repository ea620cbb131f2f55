"""Answers about records: their events, rejections and deletions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from scrubjay._native import Scope
from scrubjay.memory.model.candidates import Provenance
from scrubjay.memory.model.records import Record


@dataclass(frozen=True)
class Event:
    """An event in the life of a record.

    `action` is "written", "superseded", "limited" (by a fact that begins later), "resumed", "confirmed", "promoted",
    "revoked", "updated", "restated", "faded" or "revived".

    Attributes:
        at: the time of the event.
        record: the id of the record.
        by: the author of the event, if known.
        detail: such as the id of the successor.
    """

    at: datetime
    record: str
    action: str
    by: str | None
    detail: str | None


@dataclass(frozen=True)
class Why:
    """The provenance of a record: the record, its events, the records it replaced, the runs that observed it.

    Attributes:
        record: the record.
        events: its events, oldest first.
        supersedes: ids of the records that it replaced.
        superseded_by: the id of the record that replaced it.
        observed_in: the runs that said so.
    """

    record: Record
    events: tuple[Event, ...]
    supersedes: tuple[str, ...]
    superseded_by: str | None
    observed_in: tuple[str, ...]

    @property
    def provenance(self) -> Provenance:
        """The source of the record."""
        return self.record.provenance

    def __str__(self) -> str:
        source = self.provenance
        text = f"{self.record.kind} {self.record.id} ({self.record.status}): {self.record.text}\n"
        text += f"  from run {source.run}" + ("" if source.turn is None else f", turn {source.turn}")
        text += "".join(
            f", {name} {value}" for name, value in (("by", source.author), ("at", source.place)) if value
        )
        text += f", under policies up to {source.policy_version}, recorded {source.at}\n"
        if len(self.observed_in) > 1:
            text += f"  observed in {', '.join(self.observed_in)}\n"
        for event in self.events:
            text += f"  {event.at} {event.action}" + (f" by {event.by}" if event.by else "")
            text += f": {event.detail}\n" if event.detail else "\n"
        return text


@dataclass(frozen=True)
class Rejection:
    """A proposal that the gate rejected.

    Attributes:
        at: the time of the rejection.
        scope: the scope on whose behalf it was proposed.
        kind: "fact", "episode", "policy" or "preference".
        reason: the reason for the rejection.
        content: the proposed content.
        run, turn, author: the source of the proposal.
    """

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
    """A deletion event: time, scope, reason, author and counts by kind; never the content.

    Attributes:
        at: the time of the deletion.
        scope: the scope from which records were deleted.
        reason, by: the reason, and the name of the person who asked for it.
        counts: kind -> count.
    """

    at: datetime
    scope: Scope
    reason: str
    by: str | None
    counts: Mapping[str, int]
