"""A summary of a memory, and its rebuilt prompts, for the page."""

from __future__ import annotations

from typing import Any

from scrubjay._native import Scope
from scrubjay.memory import Memory
from scrubjay.memory.model.decoding import as_moment
from scrubjay.memory.read.assembly_result import Assembled
from scrubjay.memory.read.overview import Overview


def overview(memory: Memory, scope: Scope, limit: int) -> dict[str, Any]:
    """Return the number of records that a scope sees by kind and status, and the times of changes.

    The database counts; it reads about as many rows as it returns.

    Args:
        memory: the memory.
        scope: the scope of the caller.
        limit: the length of each list of times, newest first.
    """
    summary = Overview.of(memory).summary(scope, limit)
    return {
        "counts": summary.counts,
        "in_force": summary.in_force,
        "runs": summary.runs,
        "changed": [as_moment(at).isoformat() for at in summary.changed],
        "learned": [as_moment(at).isoformat() for at in summary.learned],
    }


def replayed(memory: Memory, scope: Scope, run: str, after: int, limit: int) -> dict[str, Any]:
    """Return rebuilt prompts of a run, and the number of the event after which the next page begins (None: the end).

    Args:
        memory: the memory of the run.
        scope: exactly the run's scope.
        run: the name of the run.
        after: the number of the event after which to begin; 0: with the first.
        limit: the maximum number of prompts.

    Raises:
        KeyError: exactly this scope has no such run.
    """
    replay = memory.replay(run, scope)
    recorded = {event.seq: event for event in replay.events if event.kind == "prompt"}
    later = [prompt for prompt in replay.prompts() if prompt.seq > after]
    prompts = []
    for prompt in later[:limit]:
        assembled, event = prompt.assembled, recorded[prompt.seq]
        prompts.append(
            {
                "seq": prompt.seq,
                "turn": prompt.turn,
                "at": event.at.isoformat(),
                "faithful": prompt.faithful,
                "recorded_sha256": event.data["sha256"],
                "sha256": None if assembled is None else assembled.sha256,
                "text": None if assembled is None else assembled.text,
                "blocks": [] if assembled is None else blocks_of(assembled),
                "trace": event.data["envelope"],
            }
        )
    return {"run": run, "prompts": prompts, "next_after": prompts[-1]["seq"] if len(later) > limit else None}


def blocks_of(made: Assembled) -> list[dict[str, Any]]:
    """Return the parts of a prompt with the ids of their records."""
    return [{"name": block.name, "text": block.text, "ids": list(block.ids)} for block in made.blocks]
