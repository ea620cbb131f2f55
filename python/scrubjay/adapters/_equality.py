"""Equality of metadata as Python sees it, for frameworks whose filters are mappings that are compared with `==`."""

from __future__ import annotations

import math
from typing import Any

from scrubjay.backend import Native, Node, Test, exists

__all__ = ["equal"]

# What a filter takes for the document's own times, and not for metadata.
_OWN_TIMES = ("created_at", "expires_at")
_EXACT = 2**53


def equal(name: Any, value: Any, *, what: str, absent_is_none: bool) -> Node:
    """Return the condition that a field of the metadata equals a value, where ``True == 1`` and lists and mappings
    equal as wholes.

    Args:
        name, value: of the field.
        what: the argument that they come from, for the message of an error.
        absent_is_none: whether a document without the field equals None.

    Texts and numbers are compared by the index; other values are looked at document by document.

    Raises:
        TypeError: the name is not a str.

    >>> equal("city", "York", what="filters", absent_is_none=True)
    Native(filter={'city': 'York'})
    """
    if not isinstance(name, str):
        raise TypeError(f"{what}: expected keys of type str, got {type(name).__name__}")
    addressable = bool(name) and not name.startswith("$") and name not in _OWN_TIMES
    if addressable:
        if value is None and absent_is_none:
            return Native({name: {"$exists": False}})
        if isinstance(value, str):
            return Native({name: value})
        if isinstance(value, (bool, int, float)) and math.isfinite(value) and abs(value) < _EXACT:
            same: list[Any] = [bool(value)] if value in (0, 1) else []
            return Native({name: {"$in": [value + 0, *same]}})
    if value is None and absent_is_none:
        return Test({}, lambda record: dict(record.metadata or {}).get(name) is None)
    where = exists(name) if addressable and value is not None else {}
    return Test(where, lambda record: name in (held := dict(record.metadata or {})) and held[name] == value)
