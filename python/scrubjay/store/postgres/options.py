"""Checks of the options that only a database uses, without importing what a database needs."""

from __future__ import annotations

_MAX_STALE_SECONDS = 3600


def checked_max_stale(given: object) -> float:
    """Return the seconds for which a search may rely on what was last heard of other processes.

    Raises:
        ValueError: it is no number from 0 to 3600.
    """
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= _MAX_STALE_SECONDS:
        raise ValueError(f"max_stale: expected 0 to {_MAX_STALE_SECONDS} seconds, got {given!r}")
    return float(given)


def checked_shared_feed(given: object) -> bool:
    """Return whether one process of a machine may ask for others what changed.

    Raises:
        TypeError: it is no bool.
    """
    if not isinstance(given, bool):
        raise TypeError(f"shared_feed: expected True or False, got {given!r}")
    return given
