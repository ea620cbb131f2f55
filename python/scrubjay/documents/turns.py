"""The metadata that mark a document as a turn of a conversation (:class:`scrubjay.Neighbours`)."""

from __future__ import annotations

from typing import Any

__all__ = ["FIELDS", "as_turn"]

FIELDS = ("run", "position", "speaker")
"""The metadata fields: the conversation, the number of the turn in it, the speaker."""


def as_turn(run: Any, position: Any, speaker: Any) -> dict[str, Any]:
    """Return the three fields, or nothing if one of them is missing, since such a turn has no neighbours. Run and
    speaker are texts or integers.

    >>> as_turn("monday", 3, "Ann"), as_turn(7, 3, "Ann"), as_turn("monday", 3, None), as_turn("monday", 3, "")
    ({'run': 'monday', 'position': 3, 'speaker': 'Ann'}, {'run': 7, 'position': 3, 'speaker': 'Ann'}, {}, {})
    """
    if not (_is_name(run) and _is_integer(position) and _is_name(speaker)):
        return {}
    return dict(zip(FIELDS, (run, position, speaker), strict=True))


def _is_name(value: Any) -> bool:
    return bool(value) if isinstance(value, str) else _is_integer(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
