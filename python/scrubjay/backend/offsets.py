"""Pages by offset that cost what they return, for interfaces without cursors.

A caller that iterates over a listing requests the offsets at which pages ended. So an :class:`Offsets` remembers these
positions, and the next page begins after the last document of the previous one, as with a cursor: late pages cost no
more than the first, and concurrent writes and deletions neither repeat nor hide documents that stay. Any other offset
is counted from the start.

In the order of writing a position is a version. In any other order the first page sorts everything anyway; the sorted
keys are cached, and later pages read theirs.
"""

from __future__ import annotations

import heapq
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from scrubjay._native import Filter, Scope
from scrubjay.backend.conditions import Key, Node, met_by, split
from scrubjay.base.initialised import guarded
from scrubjay.base.locks import renew_in_children
from scrubjay.documents.records import Record
from scrubjay.index import Index
from scrubjay.index.backend import Backend
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.scrolling import UNKNOWN, Position, Scroll, scroll_of

_SECONDS = 600.0
"""Lifetime of a remembered end of a page; a later call counts from the start."""

_MOST_LISTINGS, _MOST_ENDS, _MOST_KEYS = 256, 1000, 1_000_000
_LEAST_PAGE = 256  # memories per read if few of them match the conditions
_MOST_READ = 4096

Kept: TypeAlias = Callable[[Record], bool]


class _Listing(NamedTuple):
    """The arguments of a listing, checked."""

    scrolls: list[Scroll]
    rest: Node | None
    kept: Kept | None
    own: Kept | None
    question: Hashable | None
    """Equal for the pages of one listing; None: it cannot be distinguished from others."""

    @property
    def is_native(self) -> bool:
        """Whether the index checks all conditions."""
        return self.rest is None and self.kept is None

    @property
    def n_scopes(self) -> int:
        """The number of listed scopes."""
        return sum(1 + len(scroll.more) for scroll in self.scrolls)


class _End(NamedTuple):
    """The end of a page: after a version or, in any other order, before an index into keys."""

    place: int
    keys: list[Key] | None = None


@dataclass(eq=False)
class _Walk:
    """The ends of the pages of one listing, by the offset of the next page."""

    until: float = 0.0
    ends: dict[int, _End] = field(default_factory=dict)
    n_keys: int = 0


@guarded
class Offsets:
    """The pages by offset of one collection, for one adapter. Thread-safe.

    >>> index, acme, offsets = Index(), Scope("acme"), Offsets()
    >>> for number in range(5):
    ...     index.upsert(number, "A note", scope=acme)
    >>> [record.id for record in offsets.page(index, [acme], offset=0, limit=2, descending=True)]
    [4, 3]
    >>> index.upsert(5, "Written meanwhile", scope=acme)
    >>> [record.id for record in offsets.page(index, [acme], offset=2, limit=2, descending=True)]
    [2, 1]
    """

    def __init__(self) -> None:
        self._walks: OrderedDict[Hashable, _Walk] = OrderedDict()
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")

    def page(
        self,
        index: Index,
        scopes: Sequence[Scope],
        where: Node | None = None,
        *,
        offset: int = 0,
        limit: int = 100,
        order_by: str | None = None,
        descending: bool = False,
        exact: bool = False,
        kept: Kept | None = None,
        own: Kept | None = None,
        question: Hashable = None,
    ) -> list[Record]:
        """Return the memories that several scopes see and that match the conditions, without the first `offset` ones.

        If a page of the same listing ended at `offset` in the last ten minutes, continue there. Otherwise a page in the
        order of writing also costs what it skips: some nanoseconds per memory if all are in one partition and the index
        checks all conditions, less than a microsecond if they are in several partitions and nothing is filtered or the
        index is in memory, and some microseconds otherwise.

        Args:
            index: the collection.
            scopes: of one tenant; each is listed as by :meth:`Index.scroll`. Several are allowed only in the order of
                writing, which not every store has across documents of several tenants.
            where: conditions.
            offset, limit: the number of memories to skip, and the maximum number to return.
            order_by, descending, exact: as for :meth:`Index.scroll`.
            kept: a further, cheap condition on the memories that are read.
            own: whether the adapter wrote a memory. Others are not returned, but an offset at which no page ended may
                count them.
            question: distinguishes this listing from others if `where` has a :class:`Test`, or `kept` is given: equal
                only for equal conditions. Without it nothing is remembered in these cases.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        start, n = checked_count(offset, "offset"), checked_count(limit, "limit")
        order = {"order_by": order_by, "descending": descending, "exact": exact}
        listing = _listing(scopes, where, order, kept, own, question, Backend.of(index).is_durable)
        if not listing.scrolls or n == 0:
            return []
        if listing.scrolls[0].by_writes:
            return self._written(index, listing, start, n)
        if listing.n_scopes > 1:
            raise ValueError(f"order_by: expected None for {listing.n_scopes} scopes, got {order_by!r}")
        return self._ordered(index, listing, start, n)

    def _written(self, index: Index, wanted: _Listing, offset: int, limit: int) -> list[Record]:
        end = self._end(wanted, offset) if offset else _End(0)
        after = _passed(index, wanted, offset) if end is None else end.place
        if after is None:
            return []
        records, last = _behind(index, wanted, after, limit)
        self._remember(wanted, offset, limit, len(records), _End(last))
        return records

    def _ordered(self, index: Index, wanted: _Listing, offset: int, limit: int) -> list[Record]:
        end = self._end(wanted, offset) if offset else None
        if end is None or end.keys is None:
            keys = Backend.of(index).engine.keys(wanted.scrolls[0])
            place = offset if wanted.is_native else _of_keys(index, wanted, keys, 0, offset)[1]
            end = _End(place, keys)
        records, last = _of_keys(index, wanted, end.keys or [], end.place, limit)
        self._remember(wanted, offset, limit, len(records), _End(last, end.keys))
        return records

    # ------------------------------------------------------------------ remembered ends

    def _end(self, wanted: _Listing, offset: int) -> _End | None:
        with self._lock:
            walk = None if wanted.question is None else self._walks.get(wanted.question)
            return None if walk is None or walk.until < time.monotonic() else walk.ends.get(offset)

    def _remember(self, wanted: _Listing, offset: int, limit: int, n_found: int, end: _End) -> None:
        if wanted.question is None:
            return
        now = time.monotonic()
        with self._lock:
            walk = self._walks.setdefault(wanted.question, _Walk())
            self._walks.move_to_end(wanted.question)
            if walk.until < now:
                walk.ends.clear()
            walk.until = now + _SECONDS
            # The second is for callers that add up limits: a listing that ended early may have grown.
            for ended in (offset + n_found, offset + limit):
                walk.ends.pop(ended, None)
                walk.ends[ended] = end
            while len(walk.ends) > _MOST_ENDS:
                del walk.ends[next(iter(walk.ends))]
            if end.keys is not None:
                known = {id(known_end.keys): len(known_end.keys or ()) for known_end in walk.ends.values()}
                walk.n_keys = sum(known.values())
            while self._walks and (
                len(self._walks) > _MOST_LISTINGS
                or sum(other.n_keys for other in self._walks.values()) > _MOST_KEYS
            ):
                self._walks.popitem(last=False)


def _listing(
    scopes: Sequence[Scope],
    where: Node | None,
    order: dict[str, Any],
    kept: Kept | None,
    own: Kept | None,
    question: Hashable | None,
    is_durable: bool,
) -> _Listing:
    native, rest = (None, None) if where is None else split(where)
    compiled = None if native is None else Filter(native)
    scrolls = [scroll_of(scope, filter=compiled, **order) for scope in dict.fromkeys(scopes)]
    tenants = {scroll.scope.tenant for scroll in scrolls}
    if len(tenants) > 1:
        raise ValueError(f"scope: expected scopes of one tenant, got those of {', '.join(sorted(tenants))}")
    if is_durable and len(scrolls) > 1 and scrolls[0].exact:
        # One listing reads the rows of all scopes, a few of each.
        scrolls = [scrolls[0]._replace(more=tuple(scroll.scope for scroll in scrolls[1:]))]
    key = None
    if question is not None or (rest is None and kept is None):
        native_json = None if native is None else json.dumps(native, default=repr)
        key = (tuple(scopes), native_json, *order.values(), question)
    return _Listing(scrolls, rest, kept, own, key)


# ---------------------------------------------------------------------- reading


def _behind(index: Index, wanted: _Listing, after: int, limit: int) -> tuple[list[Record], int]:
    """Return the first memories after a version that match all conditions, and the version at which they end."""
    records: list[Record] = []
    n = limit
    source = _read(index, wanted, after, n)
    while (room := limit - len(records)) and (part := list(islice(source, n))):
        met = _met(index, wanted, part)[:room]
        records += met
        last = met[-1] if len(met) == room else part[-1][1]
        after = last.version or after
        n = min(max(2 * n, _LEAST_PAGE), _MOST_READ)  # few match the conditions
    return records, after


def _read(index: Index, wanted: _Listing, after: int, n: int) -> Iterator[tuple[Scope, Record]]:
    """Yield the memories after a version in any of the scopes, each once, with a scope that sees it."""
    scrolls = wanted.scrolls
    each = [_read_one(index, scroll, after, -(-n // len(scrolls))) for scroll in scrolls]
    if len(each) == 1:
        yield from each[0]
        return
    before = None
    merged = heapq.merge(*each, key=lambda pair: pair[1].version or 0, reverse=scrolls[0].descending)
    for scope, record in merged:
        if record.version != before:
            yield scope, record
        before = record.version


def _read_one(index: Index, scroll: Scroll, after: int, n: int) -> Iterator[tuple[Scope, Record]]:
    backend, position = Backend.of(index), Position(None, after) if after else None
    while True:
        records, position = backend.page(scroll._replace(limit=n), position)
        for record in records:
            yield record.scope if scroll.more else scroll.scope, record
        if position is None:
            return
        n = min(4 * n, _MOST_READ)


def _met(index: Index, wanted: _Listing, part: Sequence[tuple[Scope, Record]]) -> list[Record]:
    """Return those of the memories that match the conditions which the index does not check, in order."""
    checks = [check for check in (wanted.own, wanted.kept) if check is not None]
    pairs = [(scope, record) for scope, record in part if all(check(record) for check in checks)]
    if wanted.rest is None:
        return [record for _, record in pairs]
    seen: dict[Scope, list[Record]] = {}
    for scope, record in pairs:
        seen.setdefault(scope, []).append(record)
    met = {
        (record.scope, record.id)
        for scope, records in seen.items()
        for record in met_by(index, scope, wanted.rest, records)
    }
    return [record for _, record in pairs if (record.scope, record.id) in met]


def _passed(index: Index, wanted: _Listing, n: int) -> int | None:
    """Return the version of the n-th memory of a listing; None if it has fewer."""
    if wanted.is_native:
        version = Backend.of(index).engine.version_at(wanted.scrolls, n - 1)
        if version != UNKNOWN:
            return version
    after = 0
    while n > 0:
        records, after = _behind(index, wanted, after, some := min(n, _MOST_READ))
        if len(records) < some:
            return None
        n -= some
    return after


def _of_keys(
    index: Index, wanted: _Listing, keys: Sequence[Key], start: int, limit: int
) -> tuple[list[Record], int]:
    """Return the first memories, by keys from an index on, that still exist and match the conditions, and the index
    after the last one."""
    scroll = wanted.scrolls[0]
    records: list[Record] = []
    n = min(limit, _MOST_READ)
    while (room := limit - len(records)) and start < len(keys):
        part = keys[start : start + n]
        ids = {id for _, id in part}
        listed = index.list(scroll.scope, filter=scroll.filter, ids=ids, exact=scroll.exact)
        there = {(record.scope, record.id): record for record in listed}
        met = _met(index, wanted, [(scroll.scope, there[key]) for key in part if key in there])[:room]
        records += met
        if len(met) == room:
            last = (met[-1].scope, met[-1].id)
            start += part.index(last) + 1
        else:
            start += len(part)
        n = min(max(2 * n, _LEAST_PAGE), _MOST_READ)  # few still exist, or match the conditions
    return records, start
