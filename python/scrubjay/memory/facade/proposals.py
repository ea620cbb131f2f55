"""Validation of the proposals of `Memory.propose_all`, before the gate unpacks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scrubjay.memory.gate.gate import Proposed


def checked_proposals(proposals: Any) -> list[Proposed]:
    """Return the proposals as a list.

    Raises:
        TypeError: not a sequence of (candidate, scope, source).
    """
    expected = "expected (candidate, scope, source)"
    if isinstance(proposals, (str, Mapping)) or not isinstance(proposals, Iterable):
        raise TypeError(f"proposals: {expected} of each in a sequence, got {type(proposals).__name__}")
    found = list(proposals)
    for place, item in enumerate(found):
        if not isinstance(item, (tuple, list)):
            raise TypeError(f"proposals[{place}]: {expected}, got {type(item).__name__}")
        if len(item) != 3:
            raise TypeError(f"proposals[{place}]: {expected}, got {len(item)} values")
    return found
