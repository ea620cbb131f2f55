"""Replay: the prompts of a run, rebuilt from its trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import BudgetError
from scrubjay.memory.ledger.trace import TraceEvent
from scrubjay.memory.model.decoding import decoded
from scrubjay.memory.read.assembly import arrange
from scrubjay.memory.read.assembly_result import Assembled, Limits
from scrubjay.memory.read.prompt_parts import Piece, PromptPrefix, Turn
from scrubjay.retrieval.context import count_roughly
from scrubjay.store.rows.decoding import integer


@dataclass(frozen=True)
class ReplayedPrompt:
    """A rebuilt prompt, and whether it equals the one given to the model, byte for byte."""

    seq: int
    turn: int
    assembled: Assembled | None
    """None if with another `count` its records do not fit at all."""
    faithful: bool
    """False if another `count` was given than originally, or retention has deleted a turn that was in it."""


@dataclass(frozen=True)
class Replay:
    """A run from its trace: events in order."""

    run_id: str
    scope: Scope
    events: tuple[TraceEvent, ...]

    def prompts(self, count: Callable[[str], int] = count_roughly) -> list[ReplayedPrompt]:
        """Rebuild each prompt of the run by the same function from the same records; pass the original `count`.

        Recalled records are taken from the trace, so later changes or deletions of records make no difference.
        """
        turn_of = {event.seq: Turn(event.author, event.content) for event in self.events}
        replayed = []
        for event in self.events:
            if event.kind != "prompt":
                continue
            prompt = decoded(f"prompt {event.seq} of run {self.run_id!r}", None, partial(_read, event.data))
            turns = [turn_of[seq] for seq in prompt.turns if seq in turn_of]
            try:
                assembled = arrange(
                    prompt.reserved,
                    prompt.memories,
                    turns,
                    replace(prompt.limits, count=count),
                    prompt.summary,
                )
            except BudgetError:
                assembled = None
            faithful = assembled is not None and assembled.sha256 == prompt.sha256
            replayed.append(ReplayedPrompt(event.seq, event.turn, assembled, faithful))
        return replayed

    def __repr__(self) -> str:
        return f"<scrubjay.Replay {self.run_id!r}, {len(self.events)} events>"


class _Prompt(NamedTuple):
    """The recorded data of a prompt (see `session.prompt_data`)."""

    reserved: PromptPrefix
    memories: list[Piece]
    turns: list[int]
    limits: Limits
    summary: str | None
    sha256: str


def _read(data: Mapping[str, Any]) -> _Prompt:
    pieces = {name: [_piece(fields) for fields in items] for name, items in data["pieces"].items()}
    reserved = PromptPrefix(tuple(pieces["policies"]), tuple(pieces["preferences"]))
    turns = [integer(seq, "a turn in it") for seq in data["turns"]]
    summary = data.get("summary")  # absent in prompts that earlier releases recorded
    if not isinstance(summary, (str, type(None))):
        raise TypeError("the summary is not a text")
    return _Prompt(reserved, pieces["memories"], turns, Limits(**data["limits"]), summary, data["sha256"])


def _piece(fields: Any) -> Piece:
    piece = Piece(*fields)
    if not all(isinstance(text, str) for text in piece):
        raise TypeError("a record in the prompt is not a text")
    return piece
