"""A memory at a glance, and its runs made again: what the page asks for beside the records themselves."""

from __future__ import annotations

from typing import Any

from scrubjay._native import Scope
from scrubjay.memory import Memory
from scrubjay.memory.model.decoding import as_moment
from scrubjay.memory.read.assembled import Assembled
from scrubjay.memory.read.overview import Overview


def overview(memory: Memory, scope: Scope, limit: int) -> dict[str, Any]:
    """Return how many records a scope sees of each kind and status, and when they changed.

    The database counts; of rows it reads about as many as it gives.

    Args:
        memory: whose records.
        scope: who asks.
        limit: how many times of each list, the newest.
    """
    found = Overview.of(memory).summary(scope, limit)
    return {
        "counts": found.counts,
        "in_force": found.in_force,
        "runs": found.runs,
        "changed": [as_moment(at).isoformat() for at in found.changed],
        "learned": [as_moment(at).isoformat() for at in found.learned],
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
