"""Pages by offset that cost what they return, for interfaces that know no cursor.

A caller who goes through a listing asks for the offsets at which pages ended. So an :class:`Offsets` remembers where
that was, and the next page begins behind the last document of the one before, as one with a cursor does: late pages
cost as the first, and what others write or delete meanwhile neither repeats nor hides what stays. Any other offset is
counted from the beginning.

In the order of writing a place is a version. In another order the first page sorts everything anyway; its keys are
remembered, and later pages read theirs.
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
from scrubjay.backend.seam import Backend
from scrubjay.index import Index
from scrubjay.initialised import guarded
from scrubjay.locks import renew_in_children
from scrubjay.records import Record
from scrubjay.store.rows.listing import checked_count
from scrubjay.store.rows.scrolling import UNKNOWN, Position, Scroll, scroll_of

_SECONDS = 600.0
"""How long the end of a page is remembered; a later call counts from the start."""

_MOST_LISTINGS, _MOST_ENDS, _MOST_KEYS = 256, 1000, 1_000_000
_LEAST_PAGE = 256  # memories that are read at a time where few of them meet the conditions
_MOST_READ = 4096

Kept: TypeAlias = Callable[[Record], bool]


class _Listing(NamedTuple):
    """A listing that was asked for, after its arguments were checked."""

    scrolls: list[Scroll]
    rest: Node | None
    kept: Kept | None
    own: Kept | None
    question: Hashable | None
    """Equal for the pages of one listing; None: it cannot be told from others."""

    @property
    def is_native(self) -> bool:
        """Whether the index checks all conditions."""
        return self.rest is None and self.kept is None

    @property
    def n_scopes(self) -> int:
        """How many scopes are listed."""
        return sum(1 + len(scroll.more) for scroll in self.scrolls)


class _End(NamedTuple):
    """Where a page ended: behind a version or, in another order, before a place among keys."""

    place: int
    keys: list[Key] | None = None


@dataclass(eq=False)
class _Walk:
    """Where the pages of one listing ended, by the offset of the next one."""

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
        """Return the memories that several scopes see and that meet the conditions, without the first `offset` ones.

        Where a page of the same listing ended at `offset` in the last ten minutes, go on behind it. If it did not, a
        page in the order of writing costs what it passes over as well: some nanoseconds each where all are of one
        partition and the index checks all conditions, less than a microsecond where they are of several partitions and
        nothing is filtered or the index is in memory, and some microseconds otherwise.

        Args:
            index: the collection.
            scopes: of one tenant; each is listed as :meth:`Index.scroll` does. More than one only in the order of
                writing, which documents of several tenants do not have together in every store.
            where: conditions.
            offset, limit: how many to leave out, and how many at most.
            order_by, descending, exact: as for :meth:`Index.scroll`.
            kept: a cheap condition more, of the memories that are read.
            own: whether a memory is of the adapter's making. Others do not come, but an offset at which no page ended
                may count them.
            question: what tells this listing from others where `where` has a :class:`Test`, or `kept` is given: equal
                only for equal conditions. Without it nothing is remembered then.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        start, n = checked_count(offset, "offset"), checked_count(limit, "limit")
        order = {"order_by": order_by, "descending": descending, "exact": exact}
        wanted = _listing(scopes, where, order, kept, own, question, Backend.of(index).is_durable)
        if not wanted.scrolls or n == 0:
            return []
        if wanted.scrolls[0].by_writes:
            return self._written(index, wanted, start, n)
        if wanted.n_scopes > 1:
            raise ValueError(f"order_by: expected None for {wanted.n_scopes} scopes, got {order_by!r}")
        return self._ordered(index, wanted, start, n)

    def _written(self, index: Index, wanted: _Listing, offset: int, limit: int) -> list[Record]:
        end = self._end(wanted, offset) if offset else _End(0)
        after = _passed(index, wanted, offset) if end is None else end.place
        if after is None:
            return []
        found, last = _behind(index, wanted, after, limit)
        self._remember(wanted, offset, limit, len(found), _End(last))
        return found

    def _ordered(self, index: Index, wanted: _Listing, offset: int, limit: int) -> list[Record]:
        end = self._end(wanted, offset) if offset else None
        if end is None or end.keys is None:
            keys = Backend.of(index).engine.keys(wanted.scrolls[0])
            place = offset if wanted.is_native else _of_keys(index, wanted, keys, 0, offset)[1]
            end = _End(place, keys)
        found, last = _of_keys(index, wanted, end.keys or [], end.place, limit)
        self._remember(wanted, offset, limit, len(found), _End(last, end.keys))
        return found

    # ------------------------------------------------------------------ what is remembered

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
            # The latter for callers that add up limits: a listing that ended early may have grown.
            for ended in (offset + n_found, offset + limit):
                walk.ends.pop(ended, None)
                walk.ends[ended] = end
            while len(walk.ends) > _MOST_ENDS:
                del walk.ends[next(iter(walk.ends))]
            if end.keys is not None:
                known = {id(one.keys): len(one.keys or ()) for one in walk.ends.values()}
                walk.n_keys = sum(known.values())
            while self._walks and (
                len(self._walks) > _MOST_LISTINGS
                or sum(one.n_keys for one in self._walks.values()) > _MOST_KEYS
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
    tenants = {one.scope.tenant for one in scrolls}
    if len(tenants) > 1:
        raise ValueError(f"scope: expected scopes of one tenant, got those of {', '.join(sorted(tenants))}")
    if is_durable and len(scrolls) > 1 and scrolls[0].exact:
        # The rows of all are read by one listing, a few of each scope.
        scrolls = [scrolls[0]._replace(more=tuple(one.scope for one in scrolls[1:]))]
    told = None
    if question is not None or (rest is None and kept is None):
        said = None if native is None else json.dumps(native, default=repr)
        told = (tuple(scopes), said, *order.values(), question)
    return _Listing(scrolls, rest, kept, own, told)


# ---------------------------------------------------------------------- reading


def _behind(index: Index, wanted: _Listing, after: int, limit: int) -> tuple[list[Record], int]:
    """Return the first memories behind a version that meet all conditions, and the version behind which they end."""
    found: list[Record] = []
    n = limit
    source = _read(index, wanted, after, n)
    while (room := limit - len(found)) and (part := list(islice(source, n))):
        met = _met(index, wanted, part)[:room]
        found += met
        last = met[-1] if len(met) == room else part[-1][1]
        after = last.version or after
        n = min(max(2 * n, _LEAST_PAGE), _MOST_READ)  # few meet the conditions
    return found, after


def _read(index: Index, wanted: _Listing, after: int, n: int) -> Iterator[tuple[Scope, Record]]:
    """Yield what lies behind a version in any of the scopes, each memory once, with a scope that sees it."""
    scrolls = wanted.scrolls
    each = [_read_one(index, scroll, after, -(-n // len(scrolls))) for scroll in scrolls]
    if len(each) == 1:
        yield from each[0]
        return
    before = None
    merged = heapq.merge(*each, key=lambda one: one[1].version or 0, reverse=scrolls[0].descending)
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
    """Return those of some memories that meet the conditions which the index does not check, in their order."""
    checks = [check for check in (wanted.own, wanted.kept) if check is not None]
    kept = [(scope, one) for scope, one in part if all(check(one) for check in checks)]
    if wanted.rest is None:
        return [record for _, record in kept]
    seen: dict[Scope, list[Record]] = {}
    for scope, record in kept:
        seen.setdefault(scope, []).append(record)
    met = {
        (record.scope, record.id)
        for scope, records in seen.items()
        for record in met_by(index, scope, wanted.rest, records)
    }
    return [record for _, record in kept if (record.scope, record.id) in met]


def _passed(index: Index, wanted: _Listing, n: int) -> int | None:
    """Return the version of the n-th memory of a listing; None: it has fewer."""
    if wanted.is_native:
        version = Backend.of(index).engine.version_at(wanted.scrolls, n - 1)
        if version != UNKNOWN:
            return version
    after = 0
    while n > 0:
        found, after = _behind(index, wanted, after, some := min(n, _MOST_READ))
        if len(found) < some:
            return None
        n -= some
    return after


def _of_keys(
    index: Index, wanted: _Listing, keys: Sequence[Key], start: int, limit: int
) -> tuple[list[Record], int]:
    """Return the first of some keys' memories from a place on that are still there and meet the conditions, and the
    place behind the last one."""
    scroll = wanted.scrolls[0]
    found: list[Record] = []
    n = min(limit, _MOST_READ)
    while (room := limit - len(found)) and start < len(keys):
        part = keys[start : start + n]
        ids = {id for _, id in part}
        listed = index.list(scroll.scope, filter=scroll.filter, ids=ids, exact=scroll.exact)
        there = {(record.scope, record.id): record for record in listed}
        met = _met(index, wanted, [(scroll.scope, there[key]) for key in part if key in there])[:room]
        found += met
        if len(met) == room:
            last = (met[-1].scope, met[-1].id)
            start += part.index(last) + 1
        else:
            start += len(part)
        n = min(max(2 * n, _LEAST_PAGE), _MOST_READ)  # few are still there, or meet the conditions
    return found, start
