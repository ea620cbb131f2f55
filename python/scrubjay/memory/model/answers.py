"""What a memory says of its records: what happened to them, and what was refused or deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from scrubjay._native import Scope
from scrubjay.memory.model.candidates import Provenance
from scrubjay.memory.model.records import Record


@dataclass(frozen=True)
class Event:
    """Something that happened to a record; who did it, and a detail such as the id of the successor.

    `what` is "written", "superseded", "limited" (by a fact that begins later), "resumed", "confirmed", "promoted",
    "revoked", "updated", "restated", "faded" or "revived".

    Attributes:
        at: when.
        record: the id of the record.
        by: who did it, if it is known.
        detail: such as the id of the successor.
    """

    at: datetime
    record: str
    what: str
    by: str | None
    detail: str | None


@dataclass(frozen=True)
class Why:
    """Why a record is known: itself, what happened to it, what it took the place of, which runs observed it.

    Attributes:
        record: the record.
        events: what happened to it, oldest first.
        supersedes: ids of those whose place it took.
        superseded_by: the id of the one that took its place.
        observed_in: the runs that said so.
    """

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
    """A proposal that the gate refused.

    Attributes:
        at: when.
        scope: for whom it was proposed.
        kind: "fact", "episode", "policy" or "preference".
        reason: why it was refused.
        content: what was proposed.
        run, turn, author: of its source.
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
    """A deletion event: when, which scope, why, by whom, how many of each kind; never the content.

    Attributes:
        at: when.
        scope: what was deleted from.
        reason, by: why, and by whom.
        counts: kind -> how many.
    """

    at: datetime
    scope: Scope
    reason: str
    by: str | None
    counts: Mapping[str, int]
