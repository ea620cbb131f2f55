"""Validation of options that only databases have, without importing database libraries."""

from __future__ import annotations

_MAX_STALE_SECONDS = 3600


def checked_max_stale(given: object) -> float:
    """Return a valid `max_stale`: seconds for which a search may rely on the last message from other processes.

    Raises:
        ValueError: it is not a number from 0 to 3600.
    """
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= _MAX_STALE_SECONDS:
        raise ValueError(f"max_stale: expected 0 to {_MAX_STALE_SECONDS} seconds, got {given!r}")
    return float(given)


def checked_shared_feed(given: object) -> bool:
    """Return a valid `shared_feed`: whether one process of a machine may poll for the others.

    Raises:
        TypeError: it is not a bool.
    """
    if not isinstance(given, bool):
        raise TypeError(f"shared_feed: expected True or False, got {given!r}")
    return given
