"""Values that a framework passes as ids, reduced to those that can be ids of an index.

Frameworks look up, narrow and delete by whatever they are given; an index refuses what no document can have as an id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def valid_ids(ids: Iterable[Any]) -> list[str]:
    """Return those of `ids` that are non-empty strs that UTF-8 can encode; nothing has another id.

    >>> valid_ids(["m1", None, "", 7, "\\ud800", "m1"])
    ['m1', 'm1']
    """
    return [id for id in ids if isinstance(id, str) and id and id.encode(errors="ignore").decode() == id]
