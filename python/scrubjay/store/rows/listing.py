"""Listings: the parts that need neither rows nor an engine.

Filters are always evaluated by the native engine, so that a listing and a search never disagree.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from scrubjay._native import Engine, Filter, Scope
from scrubjay.base.arguments import checked_flag, is_integer
from scrubjay.base.errors import CorruptDataWarning
from scrubjay.store.rows.values import StoredRow

T = TypeVar("T")

_SOMEBODY = Scope("-")
_MAX_NAMED = 10
_FIRST_SLICE, _LARGEST_SLICE = 64, 4096


class Listing(NamedTuple):
    """The checked arguments of a listing; `stop` None: no limit."""

    scope: Scope
    exact: bool
    filter: Filter | None = None
    newest: bool = False
    start: int = 0
    stop: int | None = None
    more: tuple[Scope, ...] = ()
    """Other exact scopes of the same tenant, listed along with `scope` if that is exact."""

    @property
    def scopes(self) -> list[Scope]:
        """The exact scopes of the documents."""
        return [self.scope, *self.more] if self.exact else self.scope.visible()


def listing_of(
    scope: Any,
    *,
    filter: Any = None,
    exact: bool = False,
    limit: Any = None,
    offset: Any = 0,
    order: Any = "newest",
) -> Listing:
    """Check the arguments of a listing, which are those of :meth:`scrubjay.Index.list`.

    Raises:
        TypeError, ValueError: an argument is invalid; the message names it, the expected and the given value.
    """
    if not isinstance(scope, Scope):
        raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
    if not isinstance(order, str) or order not in ("newest", "oldest"):
        raise ValueError(f"order: expected 'newest' or 'oldest', got {order!r}")
    start = checked_count(offset, "offset")
    return Listing(
        scope,
        checked_flag(exact, "exact"),
        filter=filter if filter is None or isinstance(filter, Filter) else Filter(filter),
        newest=order == "newest",
        start=start,
        stop=None if limit is None else start + checked_count(limit, "limit"),
    )


def admitted(filter: Filter, payloads: Sequence[bytes | None]) -> list[int]:
    """Return the positions of the payloads that the filter admits, ascending.

    The engine keeps its columns by partition; here they are built for these payloads alone, which takes about a
    microsecond each and needs neither texts nor vectors.

    >>> admitted(Filter({"n": {"$gt": 1}}), [b'{"metadata":{"n":1}}', None, b'{"metadata":{"n":2}}'])
    [2]
    """
    n = len(payloads)
    if n == 0:
        return []
    engine = Engine(background=False)
    engine.upsert_many(range(n), ["x"] * n, scope=_SOMEBODY, payloads=payloads)
    result = engine.search("x", scope=_SOMEBODY, k=n, filter=filter)
    return sorted(int(position) for position in result.ids)


def slices(items: Iterable[T], first: int = _FIRST_SLICE) -> Iterator[list[T]]:
    """Cut items into lists of growing length, the first one of `first` items, for a reader that may stop early.

    >>> [len(part) for part in slices(range(1000))]
    [64, 256, 680]
    """
    iterator = iter(items)
    size = min(first, _LARGEST_SLICE)
    while part := list(islice(iterator, size)):
        yield part
        size = min(4 * size, _LARGEST_SLICE)


def share_of(first: int, n_scopes: int) -> int:
    """Return how many rows of each scope to fetch for the first `first` of all scopes together: enough if the
    scopes were written to in turn, and a bound on unneeded rows.

    >>> share_of(100, 1), share_of(100, 60), share_of(1, 1000)
    (100, 4, 2)
    """
    return first if n_scopes <= 1 else 2 * -(-first // n_scopes)


def undamaged(
    rows: Iterable[tuple[StoredRow, Scope]], damaged: list[str]
) -> Iterator[tuple[StoredRow, Scope]]:
    """Yield the undamaged rows, and append a message to `damaged` for each other one."""
    for row, scope in rows:
        if row.damage is None:
            yield row, scope
        else:
            damaged.append(f"document {row.id!r} of {scope!r}: {row.damage}")


def warn_of(damaged: Sequence[str], path: object) -> None:
    """Warn that damaged documents were omitted."""
    if damaged:
        more = f" and {len(damaged) - _MAX_NAMED:,} more" if len(damaged) > _MAX_NAMED else ""
        message = (
            f"{path}: {len(damaged):,} damaged and left out: {'; '.join(damaged[:_MAX_NAMED])}{more} "
            f"(`scrubjay check --repair {path}` sets them aside, or restore a backup)"
        )
        warnings.warn(CorruptDataWarning(message, tuple(damaged)), stacklevel=4)


def checked_count(value: Any, name: str, *, at_least: int = 0) -> int:
    """Return a valid count, or raise TypeError or ValueError."""
    if not is_integer(value):
        raise TypeError(f"{name}: expected an int, got {type(value).__name__}")
    if value < at_least:
        raise ValueError(f"{name}: expected {at_least} or more, got {value}")
    if value >= 2**62:
        raise ValueError(f"{name}: expected less than 2**62, got {value}")
    return int(value)
