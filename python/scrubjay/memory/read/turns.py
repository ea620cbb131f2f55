"""Turns of a conversation, in any form that a caller has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scrubjay.memory.ledger.trace import TraceEvent
from scrubjay.memory.read.prompt_parts import Turn

N_TURNS = 8
"""The number of last turns that the block of recent turns may contain."""


def as_turns(turns: Iterable[Any]) -> list[Turn]:
    """Read turns: events of a trace, :class:`Turn`, (author, text) pairs, or mappings with "role" and "content".

    Raises:
        TypeError: one is not of these types.
    """
    read = []
    for position, turn in enumerate(turns):
        author: Any
        text: Any
        if isinstance(turn, TraceEvent):
            author, text = turn.author, turn.content
        elif isinstance(turn, (tuple, list)):
            author, text = turn if len(turn) == 2 else (None, None)
        elif isinstance(turn, Mapping):
            author, text = turn.get("role"), turn.get("content")
        else:
            author = text = None
        if not isinstance(author, str) or not isinstance(text, str):
            raise TypeError(
                f"turns[{position}]: expected an event, (author, text) or a mapping with role and content, both str, "
                f"got {type(turn).__name__}"
            )
        read.append(Turn(author, text))
    return read
