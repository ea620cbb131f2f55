"""How does a framework's filter become what an index takes, if the native filter can express only a part of it?

A filter is translated into a tree of :class:`Native` conditions (mappings of :mod:`scrubjay.filters`) and :class:`Test`
s (functions of a memory, for a substring, say), under :class:`All`, :class:`Either` and :class:`Not`. :func:`admit`
turns the tree into arguments of a search or a listing: a filter where all of it is native, which costs next to
nothing; otherwise the exact set of ids, found by looking at the memories that the native conditions leave. Both are
applied before anything is ranked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from scrubjay._native import Scope
from scrubjay.index import Index
from scrubjay.records import Record

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "All",
    "Either",
    "Native",
    "Node",
    "Not",
    "Test",
    "admit",
    "admit_each",
    "exists",
    "is_text",
]


@dataclass(frozen=True)
class Native:
    """A condition that the index checks itself."""

    filter: dict[str, Any]


@dataclass(frozen=True)
class Test:
    """A condition that is checked memory by memory, among those that `where` admits; no other memory meets it."""

    where: dict[str, Any]
    holds: Callable[[Record], bool]

    __test__ = False  # for pytest, which takes the name for a test


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


Node: TypeAlias = "Native | Test | All | Either | Not"

_TOGETHER = 256

EVERYTHING = Native({"$and": []})
NOTHING = Native({"$or": []})


def exists(field: str) -> dict[str, Any]:
    """Return the native condition that a field has a value."""
    return {field: {"$exists": True}}


def is_text(field: str) -> dict[str, Any]:
    """Return the native condition that a field is a text: no other value compares with one."""
    return {field: {"$gte": ""}}


def is_composite(field: str) -> dict[str, Any]:
    """Return the native condition that a field is a list or a mapping: it has a value, and none of the others."""
    simple = [is_text(field), {field: {"$gte": -math.inf}}, {field: {"$in": [True, False]}}]
    return {"$and": [exists(field), {"$not": {"$or": simple}}]}


def admit(index: Index, scope: Scope, node: Node, *, exact: bool = False) -> dict[str, Any]:
    """Return `filter` and `ids` for :meth:`Index.search`, :meth:`Index.list` and the like from `scope`.

    With `exact` only what has precisely this scope is looked at. A memory that is written between this and the search
    may be missed by conditions that are not native.

    >>> index, acme = Index(), Scope("acme")
    >>> index.upsert("m1", "one", scope=acme, metadata={"city": "York", "n": 1})
    >>> index.upsert("m2", "two", scope=acme, metadata={"city": "New York", "n": 1})
    >>> new = Test(is_text("city"), lambda record: "New" in record.metadata["city"])
    >>> admit(index, acme, All([Native({"n": 1}), new]))
    {'filter': {'n': 1}, 'ids': ['m2']}
    >>> admit(index, acme, Not(Native({"n": 1})))
    {'filter': {'$not': {'n': 1}}}
    """
    node = _without_idle_tests(index, scope, node)
    native, rest = _split(node)
    narrowed: dict[str, Any] = {} if native is None else {"filter": native}
    if rest is None:
        return narrowed
    records = {record.id: record for record in index.list(scope, exact=exact, **narrowed)}
    admitted = _meeting(index, scope, rest, records)
    return {**narrowed, "ids": [id for id in records if id in admitted]}


def admit_each(
    index: Index, scopes: Sequence[Scope], node: Node, *, exact: bool = False
) -> Iterator[tuple[Sequence[Scope], dict[str, Any]]]:
    """Yield groups of scopes, each with what :func:`admit` returns for all of them; scopes without any are left out.

    A group is small enough for its partitions to be in memory together.
    """
    native = _native(node)
    if native is not None:
        for start in range(0, len(scopes), _TOGETHER):
            yield scopes[start : start + _TOGETHER], {"filter": native}
        return
    for scope in scopes:
        options = admit(index, scope, node, exact=exact)
        if options.get("ids") != []:
            yield [scope], options


def _without_idle_tests(index: Index, scope: Scope, node: Node) -> Node:
    """Put "no" in the place of tests that no memory would be put to, which counting finds out natively."""
    if isinstance(node, Test):
        return node if index.count(scope, filter=node.where) else NOTHING
    if isinstance(node, (All, Either)):
        return type(node)([_without_idle_tests(index, scope, part) for part in node.parts])
    return Not(_without_idle_tests(index, scope, node.part)) if isinstance(node, Not) else node


def _split(node: Node) -> tuple[dict[str, Any] | None, Node | None]:
    """Split into a native filter and what has to hold besides; None for nothing."""
    native = _native(node)
    if native is not None:
        return native, None
    if not isinstance(node, All):
        return None, node
    parts = [(part, _native(part)) for part in node.parts]
    filters = [found for _, found in parts if found is not None]
    together = None if not filters else filters[0] if len(filters) == 1 else {"$and": filters}
    return together, All([part for part, found in parts if found is None])


def _native(node: Node) -> dict[str, Any] | None:
    """Return the tree as one native filter; None if there is a test in it."""
    if isinstance(node, Native):
        return node.filter
    if isinstance(node, Test):
        return None
    if isinstance(node, Not):
        part = _native(node.part)
        return None if part is None else {"$not": part}
    parts = [_native(part) for part in node.parts]
    if any(part is None for part in parts):
        return None
    return {"$and" if isinstance(node, All) else "$or": parts}


def _meeting(index: Index, scope: Scope, node: Node, records: dict[str | int, Record]) -> set[str | int]:
    """Return the ids of the records that meet a tree; native parts are asked of the index."""
    native = _native(node)
    if native is not None or isinstance(node, Test):
        where = node.where if isinstance(node, Test) else native
        found: Iterable[Record] = index.list(scope, filter=where, ids=records.keys())
        return {record.id for record in found if not isinstance(node, Test) or node.holds(record)}
    if isinstance(node, Not):
        return records.keys() - _meeting(index, scope, node.part, records)
    met = records.keys() if isinstance(node, All) else set()
    for part in node.parts if isinstance(node, (All, Either)) else ():
        if isinstance(node, All):
            met = met & _meeting(index, scope, part, {id: records[id] for id in met})
        else:
            met = met | _meeting(index, scope, part, records)
    return set(met)
