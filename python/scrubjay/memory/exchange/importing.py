"""Importing the statements of another memory system, through the gate or as notes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.whole_files import in_utf8
from scrubjay.documents import payload
from scrubjay.index import Index
from scrubjay.memory.exchange.other_systems import READERS, ForeignDump, ForeignStatement
from scrubjay.memory.gate.gate import Gate
from scrubjay.memory.model.candidates import FactCandidate, Outcome, Provenance
from scrubjay.memory.model.documents import RESERVED


@dataclass
class TakenOver:
    """The result of importing another memory system's statements."""

    found: int = 0
    """Statements in the dump."""
    outcomes: list[Outcome] = field(default_factory=list)
    """The gate's outcome of each proposal, in order; empty for notes, and in a dry run."""
    notes: int = 0
    """The number of notes written."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Reason -> number of parts of the dump that were not imported; `refused` has the gate's rejections."""

    @property
    def refused(self) -> dict[str, int]:
        """Reason -> number of the gate's rejections."""
        reasons = [outcome.reason for outcome in self.outcomes if outcome.status == "rejected"]
        return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}

    @property
    def written(self) -> int:
        """The number of statements written; existing ones are not written again."""
        return self.notes + sum(outcome.status in ("written", "superseded") for outcome in self.outcomes)


def take_over(
    gate: Gate, index: Index, path: Path, kind: str, scope: Scope, *, as_notes: bool, dry_run: bool
) -> TakenOver:
    """See :meth:`scrubjay.memory.Files.import_from`."""
    reader = READERS.get(kind)
    if reader is None:
        raise ValueError(f"kind: expected one of {', '.join(READERS)}, got {kind!r}")
    foreign = ForeignDump()
    with in_utf8(path) as file:
        text = file.read()
    try:
        dump = json.loads(text)
    except (ValueError, RecursionError) as error:
        try:
            # not splitlines(): JSON strings may contain U+2028 and other separators
            dump = [json.loads(line) for line in text.split("\n") if line.strip()]
        except (ValueError, RecursionError):
            raise ValueError(
                f"path: expected JSON, or JSON on each line, got {text[:80]!r}: {error}"
            ) from None
    reader(dump, foreign)
    done = TakenOver(len(foreign.said), left_out=dict(foreign.left_out))
    taken = [
        (statement, where)
        for statement in foreign.said
        if (where := _scope_of(statement, scope, foreign)) is not None
    ]
    proposals = [
        proposal
        for statement, where in taken
        if (proposal := _proposal(statement, where, kind, foreign)) is not None
    ]
    done.left_out = dict(foreign.left_out)
    if dry_run:
        return done
    if as_notes:
        done.notes = _note(index, proposals, kind)
    else:
        done.outcomes = gate.propose_all(proposals) if proposals else []
    return done


def _scope_of(statement: ForeignStatement, scope: Scope, foreign: ForeignDump) -> Scope | None:
    """Return the scope of a statement: that of the call, narrowed by the dump; None: its owner is another one."""
    user, agent = scope.user, scope.agent
    for name, value in (("user", statement.user), ("agent", statement.agent)):
        if value == "":  # the owner is unknown: the statement must not be shared with all
            foreign.leave(f"with an empty {name}")
            return None
    if isinstance(statement.user, str) and statement.user:
        if user is not None and statement.user != user:
            foreign.leave("of another user")
            return None
        user = statement.user
    if isinstance(statement.agent, str) and statement.agent:
        if agent is not None and statement.agent != agent:
            foreign.leave("of another agent")
            return None
        agent = statement.agent
    return Scope(scope.tenant, user, agent)


def _proposal(
    statement: ForeignStatement, scope: Scope, kind: str, foreign: ForeignDump
) -> tuple[FactCandidate, Scope, Provenance] | None:
    try:
        at, begin, end = (
            payload.to_utc(_time(when), "time")
            for when in (statement.at, statement.valid_from, statement.valid_until)
        )
    except (TypeError, ValueError):
        foreign.leave("an invalid time")
        return None
    if begin is not None and end is not None and end <= begin:
        foreign.leave("an empty interval")
        return None
    imported = statement.metadata or {}
    metadata = {f"imported_{name}" if name in RESERVED else name: value for name, value in imported.items()}
    metadata |= {"imported_from": kind, "imported_id": statement.id}
    candidate = FactCandidate(
        statement.text,
        statement.subject,
        statement.predicate,
        value=statement.value,
        valid_from=begin,
        valid_until=end,
        metadata=metadata,
    )
    place = f"{kind}:{statement.id}"[:500] if statement.id else None
    return candidate, scope, Provenance(f"import from {kind}", place=place, at=at)


def _time(value: Any) -> Any:
    """Return a time of a dump; numbers beyond the year 5138 are milliseconds."""
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 1e11:
        return value / 1000
    return value


def _note(index: Index, proposals: Sequence[tuple[FactCandidate, Scope, Provenance]], kind: str) -> int:
    records: list[dict[str, Any]] = []
    for n, (candidate, scope, source) in enumerate(proposals):
        id = (candidate.metadata or {}).get("imported_id") or str(n)
        records.append(
            {
                "id": f"{kind}:{id}",
                "text": candidate.content,
                "scope": scope,
                "metadata": dict(candidate.metadata or {}),
                "created_at": source.at,
            }
        )
    fresh = [record for record in records if not _is_there(index, record)]
    if fresh:
        index.upsert_many(fresh, progress=False)
    return len(fresh)


def _is_there(index: Index, record: dict[str, Any]) -> bool:
    """Whether exactly this note already exists."""
    found = index.get(record["id"], scope=record["scope"])
    return (
        found is not None
        and found.scope == record["scope"]
        and (found.text, dict(found.metadata or {})) == (record["text"], record["metadata"])
    )
