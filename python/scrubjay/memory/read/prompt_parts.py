"""The parts of a prompt: records, turns, and the titled blocks that contain them.

One record is one item of a list. Lines after its first are indented, so that no record can begin a block of its own or
pass for a policy, whatever it contains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from scrubjay.documents.payload import as_json

TITLES = {
    "policies": "Policies (always follow)",
    "preferences": "Preferences of the user",
    "memories": "Memories (most relevant first)",
    "turns": "Recent turns",
}
RESERVED = ("policies", "preferences")


class Piece(NamedTuple):
    """One record in the form that assembly takes: kind, id, text, and the key that a reader should see."""

    kind: str
    id: str
    text: str
    label: str = ""


class Turn(NamedTuple):
    """One turn of the conversation: speaker and text."""

    author: str
    text: str


@dataclass(frozen=True)
class Block:
    """A titled part of the prompt, and the ids of the records in it (empty for recent turns)."""

    name: str
    text: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class PromptPrefix:
    """Policies and preferences, laid out: the beginning of every prompt until one of them changes."""

    policies: tuple[Piece, ...] = ()
    preferences: tuple[Piece, ...] = ()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """One block each, if not empty."""
        optional = (
            block_of(name, [item_of(*one) for one in pieces], pieces)
            for name, pieces in (("policies", self.policies), ("preferences", self.preferences))
        )
        return tuple(block for block in optional if block is not None)

    @cached_property
    def text(self) -> str:
        """The prefix of the prompt."""
        return "".join(block.text for block in self.blocks)

    @cached_property
    def encoded(self) -> dict[str, str]:
        """The records of each block as the JSON that a trace stores; cached, because every recorded prompt contains
        them."""
        return {"policies": as_json(self.policies), "preferences": as_json(self.preferences)}


def block_of(name: str, lines: Sequence[str], pieces: Sequence[Piece]) -> Block | None:
    """Return the lines as one block under its title; None without lines."""
    if not lines:
        return None
    return Block(name, f"# {TITLES[name]}\n{''.join(lines)}\n", tuple(piece.id for piece in pieces))


def item_of(kind: str, id: str, text: str, label: str = "") -> str:
    """Return one record as an item. Every line separator counts that any reader may take for one."""
    labelled = f"{label}: {text}" if label else f"Episode: {text}" if kind == "episode" else text
    if "\n" not in labelled and labelled.isprintable():
        return f"- {labelled}\n"
    return "- " + "\n  ".join(labelled.splitlines()) + "\n"
