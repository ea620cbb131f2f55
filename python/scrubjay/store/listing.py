"""Which documents does a search from a scope look at? The parts of listing that need neither rows nor an engine.

What a filter admits is decided by the native engine in every case, so that a listing and a search never disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from scrubjay._native import Engine, Filter, Scope
from scrubjay.store.partition import visible_from

__all__ = ["Asked", "admitted", "asked", "slices"]

T = TypeVar("T")

_SOMEBODY = Scope("-")
_FIRST_SLICE, _LARGEST_SLICE = 64, 4096


class Asked(NamedTuple):
    """A listing that was asked for, after its arguments were checked; `stop` None is the end."""

    scopes: list[Scope]
    filter: Filter | None
    newest: bool
    start: int
    stop: int | None


def asked(scope: Any, *, filter: Any, exact: bool, limit: Any, offset: Any, order: Any) -> Asked:
    """Check the arguments of a listing.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.
    """
    if not isinstance(scope, Scope):
        raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
    if order not in ("newest", "oldest"):
        raise ValueError(f"order: expected 'newest' or 'oldest', got {order!r}")
    start = _count(offset, "offset")
    return Asked(
        scopes=[scope] if exact else visible_from(scope),
        filter=filter if filter is None or isinstance(filter, Filter) else Filter(filter),
        newest=order == "newest",
        start=start,
        stop=None if limit is None else start + _count(limit, "limit"),
    )


def admitted(filter: Filter, payloads: Sequence[bytes | None]) -> list[int]:
    """Return the positions of the payloads that the filter admits, ascending.

    The engine keeps its columns by partition; here they are made for these payloads alone, which takes about a
    microsecond each and needs neither texts nor vectors.

    >>> admitted(Filter({"n": {"$gt": 1}}), [b'{"metadata":{"n":1}}', None, b'{"metadata":{"n":2}}'])
    [2]
    """
    n = len(payloads)
    if n == 0:
        return []
    engine = Engine(background=False)
    engine.upsert_many(range(n), ["x"] * n, scope=_SOMEBODY, payloads=payloads)
    found = engine.search("x", scope=_SOMEBODY, k=n, mode="lexical", filter=filter)
    return sorted(int(position) for position in found.ids)


def slices(items: Iterable[T]) -> Iterator[list[T]]:
    """Cut what may turn out to be enough early into lists of growing length.

    >>> [len(part) for part in slices(range(1000))]
    [64, 256, 680]
    """
    iterator = iter(items)
    size = _FIRST_SLICE
    while part := list(islice(iterator, size)):
        yield part
        size = min(4 * size, _LARGEST_SLICE)


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected an int, got {type(value).__name__}")
    if value < 0:
        raise ValueError(f"{name}: expected 0 or more, got {value}")
    return int(value)
