"""What was the model told at each turn of a run? The prompts of a trace, made again from what the trace holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scrubjay._native import Scope
from scrubjay.errors import BudgetError
from scrubjay.memory.assembly import Assembled, Limits, Piece, Reserved, Turn, arrange
from scrubjay.memory.trace import TraceEvent
from scrubjay.retrieval.context import count_roughly

__all__ = ["Replay", "ReplayedPrompt"]


@dataclass(frozen=True)
class ReplayedPrompt:
    """A prompt made again, and whether it is what the model was given, byte for byte."""

    seq: int
    turn: int
    assembled: Assembled | None
    """None if with another `count` its records do not fit at all."""
    faithful: bool
    """False if another `count` was given than then, or retention has taken a turn that was in it."""


@dataclass(frozen=True)
class Replay:
    """A run from its trace: events in order."""

    run_id: str
    scope: Scope
    events: tuple[TraceEvent, ...]

    def prompts(self, count: Callable[[str], int] = count_roughly) -> list[ReplayedPrompt]:
        """Make each prompt of the run again, by the same function from the same records; `count` as it was then.

        What was recalled is taken from the trace, so records that changed or were deleted since make no difference.
        """
        said = {event.seq: Turn(event.author, event.content) for event in self.events}
        replayed = []
        for event in self.events:
            if event.kind != "prompt":
                continue
            data = event.data
            pieces = {name: [Piece(*one) for one in given] for name, given in data["pieces"].items()}
            turns = [said[seq] for seq in data["turns"] if seq in said]
            try:
                made = arrange(
                    Reserved(tuple(pieces["policies"]), tuple(pieces["preferences"])),
                    pieces["memories"],
                    turns,
                    Limits(**data["limits"], count=count),
                )
            except BudgetError:
                made = None
            faithful = made is not None and made.sha256 == data["sha256"]
            replayed.append(ReplayedPrompt(event.seq, event.turn, made, faithful))
        return replayed

    def __repr__(self) -> str:
        return f"<scrubjay.Replay {self.run_id!r}, {len(self.events)} events>"
