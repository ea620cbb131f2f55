"""Partly native filters: trees of conditions, and how an index evaluates them.

A filter is translated into a tree of :class:`Native` conditions (mappings of :mod:`scrubjay.filters`) and :class:`Test`
s (functions of a memory, for a substring, say), under :class:`All`, :class:`Either` and :class:`Not`. :func:`admit`
turns the tree into arguments of a search or a listing: a filter where all of it is native, which costs next to
nothing; otherwise the ids of the memories that meet it, found by testing those that the native conditions admit.
Both are applied before anything is ranked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from scrubjay._native import Scope
from scrubjay.backend.queries import USUAL, narrowed
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index
from scrubjay.records import Record

T = TypeVar("T", Record, Hit)
Key: TypeAlias = "tuple[Scope, str | int]"


@dataclass(frozen=True)
class Native:
    """A condition that the index checks itself.

    Attributes:
        filter: as in :mod:`scrubjay.filters`.
    """

    filter: dict[str, Any]


@dataclass(frozen=True)
class Test:
    """A condition that is checked memory by memory, among those that `where` admits; no other memory meets it.

    Attributes:
        where: a filter that bounds what is looked at.
        holds: whether a memory meets the condition.
    """

    where: dict[str, Any]
    holds: Callable[[Record], bool]

    __test__ = False  # for pytest, which takes the name for a test


@dataclass(frozen=True)
class Ids:
    """The id is one of these. Under :class:`All` only the memories with these ids are looked at."""

    ids: frozenset[str | int]


@dataclass(frozen=True)
class All:
    """All parts hold; of no parts this is true."""

    parts: Sequence[Node]


@dataclass(frozen=True)
class Either:
    """One part holds at least; of no parts this is false."""

    parts: Sequence[Node]


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: Node


Node: TypeAlias = Native | Test | Ids | All | Either | Not

_TOGETHER = 256


@dataclass(frozen=True)
class Admitted:
    """What a scope sees of its memories, narrowed by conditions: what a search or a listing takes.

    Attributes:
        filter: what the index checks itself.
        ids: the ids and exact keys (scope, id) that may be found; None: all that `filter` admits.
    """

    filter: FilterLike | None = None
    ids: Sequence[str | int | Key] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """`filter` and `ids` for :meth:`Index.list` and :meth:`Index.count`."""
        return {"filter": self.filter, "ids": self.ids}

    def asked(self, query: Query = USUAL) -> dict[str, Any]:
        """`filter` and `query` for :meth:`Index.search` and :meth:`Index.search_batch`."""
        return {"filter": self.filter, "query": narrowed(query, self.ids)}


EVERYTHING = Native({"$and": []})
NOTHING = Native({"$or": []})


def exists(field: str) -> dict[str, Any]:
    """Return the native condition that a field has a value."""
    return {field: {"$exists": True}}


def is_text(field: str) -> dict[str, Any]:
    """Return the native condition that a field is a text: no other value compares with one."""
    return {field: {"$gte": ""}}


def is_composite(field: str) -> dict[str, Any]:
    """Return the native condition that a field is a list or a mapping: it has a value of no other type."""
    simple = [is_text(field), {field: {"$gte": -math.inf}}, {field: {"$in": [True, False]}}]
    return {"$and": [exists(field), {"$not": {"$or": simple}}]}


def only(records: Iterable[Record]) -> Admitted:
    """Return the conditions for exactly these records."""
    return Admitted(None, list(_by_key(records)))


def admit(index: Index, scope: Scope, node: Node, *, exact: bool = False) -> Admitted:
    """Return what the tree of conditions `node` leaves of the memories that `scope` sees.

    With `exact` only what has precisely this scope is looked at. A memory that is written between this and the search
    may be missed by conditions that are not native.

    >>> index, acme = Index(), Scope("acme")
    >>> index.upsert("m1", "one", scope=acme, metadata={"city": "York", "n": 1})
    >>> index.upsert("m2", "two", scope=acme, metadata={"city": "New York", "n": 1})
    >>> new = Test(is_text("city"), lambda record: "New" in record.metadata["city"])
    >>> admit(index, acme, All([Native({"n": 1}), new])).options
    {'filter': None, 'ids': [(Scope('acme'), 'm2')]}
    >>> admit(index, acme, Not(Native({"n": 1}))).options
    {'filter': {'$not': {'n': 1}}, 'ids': None}
    """
    node = _without_idle_tests(index, scope, node)
    native, rest = split(node)
    if rest is None:
        return Admitted(native)
    ids = _only_ids(rest)
    if isinstance(rest, Ids) or (isinstance(rest, All) and all(isinstance(one, Ids) for one in rest.parts)):
        return Admitted(native, ids)
    if isinstance(rest, All) and len(rest.parts) == 1:
        rest = rest.parts[0]
    if isinstance(rest, Test):  # one listing has those to be tested
        native = rest.where if native is None else {"$and": [native, rest.where]}
        tested = index.list(scope, exact=exact, filter=native)
        return only(filter(rest.holds, tested))
    records = _by_key(index.list(scope, exact=exact, filter=native, ids=ids))
    met = _meeting(index, scope, rest, records)
    return only(record for key, record in records.items() if key in met)


def admit_all(index: Index, scopes: Sequence[Scope], node: Node) -> Admitted:
    """Return what :func:`scrubjay.backend.admit` returns, for one search of several scopes.

    Conditions that are not native cost a listing for each scope.

    >>> index, jane, joe = Index(), Scope("acme", "jane"), Scope("acme", "joe")
    >>> index.upsert("m1", "one", scope=jane, metadata={"city": "York"})
    >>> index.upsert("m1", "two", scope=joe, metadata={"city": "New York"})
    >>> new = Test(is_text("city"), lambda record: "New" in record.metadata["city"])
    >>> admit_all(index, [jane, joe], new).ids
    [(Scope('acme', user='joe'), 'm1')]
    """
    native, rest = split(node)
    if rest is None:
        return Admitted(native)
    if len(scopes) == 1:
        return admit(index, scopes[0], node)
    if isinstance(rest, Ids) or (isinstance(rest, All) and all(isinstance(one, Ids) for one in rest.parts)):
        return Admitted(native, _only_ids(rest))
    keys: dict[Key, None] = {}
    for scope in scopes:
        admitted = admit(index, scope, node)
        if admitted.ids != []:
            keys.update(dict.fromkeys(_by_key(index.list(scope, **admitted.options))))
    return Admitted(None, list(keys))


def admit_each(
    index: Index, scopes: Sequence[Scope], node: Node, *, exact: bool = False
) -> Iterator[tuple[Sequence[Scope], Admitted]]:
    """Yield groups of scopes, each with what :func:`scrubjay.backend.admit` returns
    for `node` and all of them; scopes without any are left out.

    A group is small enough for its partitions to be in memory together.
    """
    native = native_part(node)
    if native is not None:
        for start in range(0, len(scopes), _TOGETHER):
            yield scopes[start : start + _TOGETHER], Admitted(native)
        return
    for scope in scopes:
        admitted = admit(index, scope, node, exact=exact)
        if admitted.ids != []:
            yield [scope], admitted


def _without_idle_tests(index: Index, scope: Scope, node: Node) -> Node:
    """Put "no" in the place of tests that no memory would be put to, which counting finds out natively."""
    if isinstance(node, Test):
        return node if index.count(scope, filter=node.where) else NOTHING
    if isinstance(node, (All, Either)):
        return type(node)([_without_idle_tests(index, scope, part) for part in node.parts])
    return Not(_without_idle_tests(index, scope, node.part)) if isinstance(node, Not) else node


def split(node: Node) -> tuple[dict[str, Any] | None, Node | None]:
    """Return a native filter and the conditions that remain; either may be None.

    >>> split(All([Native({"n": 1}), Test({"n": 1}, bool)]))[0]
    {'n': 1}
    """
    native = native_part(node)
    if native is not None:
        return native, None
    if not isinstance(node, All):
        return None, node
    parts = [(part, native_part(part)) for part in node.parts]
    filters = [found for _, found in parts if found is not None]
    together = None if not filters else filters[0] if len(filters) == 1 else {"$and": filters}
    return together, All([part for part, found in parts if found is None])


def _only_ids(node: Node) -> list[str | int] | None:
    """Return the only ids that can meet a tree, as far as that is plain; None: any."""
    if isinstance(node, Ids):
        return list(node.ids)
    found = [_only_ids(part) for part in node.parts] if isinstance(node, All) else []
    sets = [set(ids) for ids in found if ids is not None]
    return list(set.intersection(*sets)) if sets else None


def native_part(node: Node) -> dict[str, Any] | None:
    """Return the tree below `node` as one native filter; None if it holds tests or ids."""
    if isinstance(node, Native):
        return node.filter
    if isinstance(node, (Test, Ids)):
        return None
    if isinstance(node, Not):
        part = native_part(node.part)
        return None if part is None else {"$not": part}
    parts = [native_part(part) for part in node.parts]
    if any(part is None for part in parts):
        return None
    return {"$and" if isinstance(node, All) else "$or": parts}


def where_of(given: Node | FilterLike | None) -> Node | None:
    """Return conditions as a tree: a mapping of :mod:`scrubjay.filters` is a native one.

    Args:
        given: a mapping, a tree, or None, which stays None.

    Raises:
        TypeError: it is something else.

    >>> where_of({"n": 1})
    Native(filter={'n': 1})
    """
    if given is None or isinstance(given, (Native, Test, Ids, All, Either, Not)):
        return given
    if isinstance(given, Mapping):
        return Native(dict(given))
    raise TypeError(f"where: expected a mapping or conditions, got {type(given).__name__}")


def met_by(index: Index, scope: Scope, node: Node, records: Sequence[Record]) -> list[Record]:
    """Return those of some records of one page that meet conditions, in their order."""
    met = _meeting(index, scope, node, _by_key(records))
    return [record for record in records if (record.scope, record.id) in met]


def _by_key(records: Iterable[Record]) -> dict[Key, Record]:
    return {(record.scope, record.id): record for record in records}


def _meeting(index: Index, scope: Scope, node: Node, records: dict[Key, Record]) -> set[Key]:
    """Return the keys of the records that meet a tree; the index evaluates native parts."""
    native = native_part(node)
    if native is not None or isinstance(node, Test):
        where = node.where if isinstance(node, Test) else native
        found = _by_key(index.list(scope, filter=where, ids={id for _, id in records}))
        return {
            key
            for key, record in found.items()
            if key in records and (not isinstance(node, Test) or node.holds(record))
        }
    if isinstance(node, Ids):
        return {key for key in records if key[1] in node.ids}
    if isinstance(node, Not):
        return records.keys() - _meeting(index, scope, node.part, records)
    met = records.keys() if isinstance(node, All) else set()
    for part in node.parts if isinstance(node, (All, Either)) else ():
        if isinstance(node, All):
            met = met & _meeting(index, scope, part, {key: records[key] for key in met})
        else:
            met = met | _meeting(index, scope, part, records)
    return set(met)
