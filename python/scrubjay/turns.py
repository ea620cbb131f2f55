"""The metadata that mark a document as a turn of a conversation (:class:`scrubjay.Neighbours`)."""

from __future__ import annotations

from typing import Any

__all__ = ["FIELDS", "as_turn"]

FIELDS = ("run", "position", "speaker")
"""The metadata fields: the conversation, the number of the turn in it, the speaker."""


def as_turn(run: Any, position: Any, speaker: Any) -> dict[str, Any]:
    """Return the three fields, or nothing if one of them is missing, since such a turn has no neighbours.

    >>> as_turn("monday", 3, "Ann"), as_turn("monday", 3, None), as_turn("monday", 3, "")
    ({'run': 'monday', 'position': 3, 'speaker': 'Ann'}, {}, {})
    """
    texts = isinstance(run, str) and run and isinstance(speaker, str) and speaker
    if not texts or isinstance(position, bool) or not isinstance(position, int):
        return {}
    return dict(zip(FIELDS, (run, position, speaker), strict=True))
