"""How a recalled record stands in a prompt: its text, since when it is so, and how much speaks for it."""

from __future__ import annotations

from typing import Protocol

from scrubjay.memory.decoding import as_moment
from scrubjay.memory.recall import RecalledHit

__all__ = ["Line", "dated"]


class Line(Protocol):
    """Writes what a prompt shows of a hit."""

    def __call__(self, hit: RecalledHit) -> str:
        """Return the text of one item; several lines are indented as one."""
        ...


def dated(hit: RecalledHit) -> str:
    """Return the text of a hit with the day from which it is so, the day on which it ends, if it does, and its tier:
    "Jane lives in Oslo (since 2026-03-01; high)". A note that has no time shows none."""
    said = [one for one in (_when(hit), hit.tier) if one]
    return f"{hit.text} ({'; '.join(said)})"


def _when(hit: RecalledHit) -> str:
    if hit.kind == "note":
        made = hit.hit.created_at
        return "" if made is None else made.date().isoformat()
    begin, end = (_day(hit.metadata.get(name)) for name in ("valid_from", "valid_until"))
    if hit.kind == "episode":
        return begin
    return f"{begin} to {end}" if end else f"since {begin}" if begin else ""


def _day(moment: object) -> str:
    return as_moment(moment).date().isoformat() if type(moment) is int else ""
