"""A memory at a glance, and its runs made again: what the page asks for beside the records themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory import Memory
from scrubjay.memory.exchange.plain import plain
from scrubjay.memory.model.records import Episode, Fact, Policy, Record
from scrubjay.memory.read.assembly import Assembled

__all__ = ["blocks_of", "overview", "replayed"]


def overview(memory: Memory, scope: Scope, limit: int) -> dict[str, Any]:
    """Return how many records a scope sees of each kind and status, and when they changed.

    Costs what listing all records of the scope, and all of their changes, costs.

    Args:
        memory: whose records.
        scope: who asks.
        limit: how many times of each list, the newest.
    """
    counts: dict[str, dict[str, int]] = {}
    changed: list[datetime] = []
    for record in memory.list(scope, hidden=True):
        statuses = counts.setdefault(record.kind, {})
        statuses[record.status] = statuses.get(record.status, 0) + 1
        changed += _edges(record)
    known = memory.known(scope)
    in_force = {"policy": len(known.policies), "preference": len(known.preferences), "fact": 0, "episode": 0}
    for record in memory.list(scope, kinds=("fact", "episode")):
        in_force[record.kind] += record.status != "provisional"  # listed, but not in force
    return {
        "counts": counts,
        "in_force": in_force,
        "runs": len(memory.runs(scope)),
        "changed": _newest(changed, limit),
        "learned": _newest(_told(memory, scope), limit),
    }


def replayed(memory: Memory, scope: Scope, run: str, after: int, limit: int) -> dict[str, Any]:
    """Return prompts of a run, made again, and the number of the event behind which the next ones come (None: the end).

    Args:
        memory: whose run.
        scope: whose run; only exactly this scope sees it.
        run: its name.
        after: number of the event behind which to begin; 0: with the first.
        limit: how many prompts.

    Raises:
        KeyError: exactly this scope has no such run.
    """
    replay = memory.replay(run, scope)
    recorded = {event.seq: event for event in replay.events if event.kind == "prompt"}
    later = [prompt for prompt in replay.prompts() if prompt.seq > after]
    prompts = []
    for prompt in later[:limit]:
        made, event = prompt.assembled, recorded[prompt.seq]
        prompts.append(
            {
                "seq": prompt.seq,
                "turn": prompt.turn,
                "at": event.at.isoformat(),
                "faithful": prompt.faithful,
                "recorded_sha256": event.data["sha256"],
                "sha256": None if made is None else made.sha256,
                "text": None if made is None else made.text,
                "blocks": [] if made is None else blocks_of(made),
                "trace": event.data["envelope"],
            }
        )
    return {"run": run, "prompts": prompts, "next_after": prompts[-1]["seq"] if len(later) > limit else None}


def blocks_of(made: Assembled) -> list[dict[str, Any]]:
    """Return the parts of a prompt with the ids of the records in each."""
    return [{"name": block.name, "text": block.text, "ids": list(block.ids)} for block in made.blocks]


def _edges(record: Record) -> Iterator[datetime]:
    """The times at which a record begins and ceases to be in force."""
    if isinstance(record, Fact):
        for begin, end in record.holds:
            yield begin
            if end is not None:
                yield end
    elif isinstance(record, Policy):
        yield record.effective_from
        if record.effective_until is not None:
            yield record.effective_until
    else:
        done = record.completed_at if isinstance(record, Episode) else None
        yield record.created_at if done is None else done


def _told(memory: Memory, scope: Scope) -> Iterator[datetime]:
    """The times at which the memory was told something of the records that a scope sees."""
    seen = 0
    while events := memory.feed.changes(seen, scope=scope):
        yield from (event.at for event in events)
        seen = events[-1].cursor


def _newest(times: Iterable[datetime], limit: int) -> list[str]:
    """The last of some times, each once, ascending, in ISO 8601."""
    return [str(plain(time)) for time in sorted(set(times))[-limit:]]
