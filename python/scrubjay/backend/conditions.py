"""Partly native filters: trees of conditions, and their evaluation by an index.

A filter is translated into a tree of :class:`Native` conditions (mappings of :mod:`scrubjay.filters`) and :class:`Test`
conditions (functions of a memory, for example for a substring), under :class:`All`, :class:`Either` and :class:`Not`.
:func:`admit` turns the tree into arguments of a search or a listing: a filter if all of it is native, at almost no
cost; otherwise the ids of the memories that match, found by testing those that match the native conditions. Both apply
before anything is ranked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from scrubjay._native import Scope
from scrubjay.backend.queries import USUAL, narrowed
from scrubjay.documents.records import Record
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query
from scrubjay.index import Hit, Index

T = TypeVar("T", Record, Hit)
Key: TypeAlias = "tuple[Scope, str | int]"


@dataclass(frozen=True)
class Native:
    """A condition that the index checks.

    Attributes:
        filter: as in :mod:`scrubjay.filters`.
    """

    filter: dict[str, Any]


@dataclass(frozen=True)
class Test:
    """A condition that is checked memory by memory, among those that match `where`; no other memory matches.

    Attributes:
        where: a filter that restricts the memories to test.
        holds: returns whether a memory matches.
    """

    where: dict[str, Any]
    holds: Callable[[Record], bool]

    __test__ = False  # pytest must not collect it


@dataclass(frozen=True)
class Ids:
    """The id is one of these. Under :class:`All` only the memories with these ids are read."""

    ids: frozenset[str | int]


@dataclass(frozen=True)
class All:
    """All parts hold; true if there are no parts."""

    parts: Sequence[Node]


@dataclass(frozen=True)
class Either:
    """At least one part holds; false if there are no parts."""

    parts: Sequence[Node]


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: Node


Node: TypeAlias = Native | Test | Ids | All | Either | Not

_TOGETHER = 256


@dataclass(frozen=True)
class Admitted:
    """The arguments of a search or a listing that restrict it to the memories that match a tree.

    Attributes:
        filter: the native conditions.
        ids: the ids and exact keys (scope, id) that may be found; None: all that match `filter`.
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
    """Return the native condition that a field is a text: no other value compares with a text."""
    return {field: {"$gte": ""}}


def is_composite(field: str) -> dict[str, Any]:
    """Return the native condition that a field is a list or a mapping: it has a value that is of no other type."""
    simple = [is_text(field), {field: {"$gte": -math.inf}}, {field: {"$in": [True, False]}}]
    return {"$and": [exists(field), {"$not": {"$or": simple}}]}


def only(records: Iterable[Record]) -> Admitted:
    """Return the conditions for exactly these records."""
    return Admitted(None, list(_by_key(records)))


def admit(index: Index, scope: Scope, node: Node, *, exact: bool = False) -> Admitted:
    """Return the restriction of the memories that `scope` sees to those that match the tree `node`.

    With `exact` only memories of exactly this scope are read. Conditions that are not native may miss a memory that is
    written between this call and the search.

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
    if isinstance(rest, Ids) or (isinstance(rest, All) and all(isinstance(part, Ids) for part in rest.parts)):
        return Admitted(native, ids)
    if isinstance(rest, All) and len(rest.parts) == 1:
        rest = rest.parts[0]
    if isinstance(rest, Test):  # one listing returns the memories to test
        native = rest.where if native is None else {"$and": [native, rest.where]}
        tested = index.list(scope, exact=exact, filter=native)
        return only(filter(rest.holds, tested))
    records = _by_key(index.list(scope, exact=exact, filter=native, ids=ids))
    met = _matching_keys(index, scope, rest, records)
    return only(record for key, record in records.items() if key in met)


def admit_all(index: Index, scopes: Sequence[Scope], node: Node) -> Admitted:
    """Return the same as :func:`scrubjay.backend.admit`, for one search of several scopes.

    Conditions that are not native cost one listing per scope.

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
    if isinstance(rest, Ids) or (isinstance(rest, All) and all(isinstance(part, Ids) for part in rest.parts)):
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
    """Yield groups of scopes, each with the result of :func:`scrubjay.backend.admit` for `node` and all of them; scopes
    without matches are left out.

    The partitions of a group fit into memory together.
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
    """Replace tests that no memory would reach by false; a native count finds them."""
    if isinstance(node, Test):
        return node if index.count(scope, filter=node.where) else NOTHING
    if isinstance(node, (All, Either)):
        return type(node)([_without_idle_tests(index, scope, part) for part in node.parts])
    return Not(_without_idle_tests(index, scope, node.part)) if isinstance(node, Not) else node


def split(node: Node) -> tuple[dict[str, Any] | None, Node | None]:
    """Return a native filter and the remaining conditions; either may be None.

    >>> split(All([Native({"n": 1}), Test({"n": 1}, bool)]))[0]
    {'n': 1}
    """
    native = native_part(node)
    if native is not None:
        return native, None
    if not isinstance(node, All):
        return None, node
    parts = [(part, native_part(part)) for part in node.parts]
    filters = [filter_ for _, filter_ in parts if filter_ is not None]
    together = None if not filters else filters[0] if len(filters) == 1 else {"$and": filters}
    return together, All([part for part, filter_ in parts if filter_ is None])


def _only_ids(node: Node) -> list[str | int] | None:
    """Return the only ids that can match a tree, if they are obvious; None: any."""
    if isinstance(node, Ids):
        return list(node.ids)
    id_sets = [_only_ids(part) for part in node.parts] if isinstance(node, All) else []
    sets = [set(ids) for ids in id_sets if ids is not None]
    return list(set.intersection(*sets)) if sets else None


def native_part(node: Node) -> dict[str, Any] | None:
    """Return the tree below `node` as one native filter; None if it contains tests or ids."""
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
    """Return conditions as a tree: a mapping of :mod:`scrubjay.filters` becomes a native condition.

    Args:
        given: a mapping, a tree, or None, which stays None.

    Raises:
        TypeError: any other type.

    >>> where_of({"n": 1})
    Native(filter={'n': 1})
    """
    if given is None or isinstance(given, (Native, Test, Ids, All, Either, Not)):
        return given
    if isinstance(given, Mapping):
        return Native(dict(given))
    raise TypeError(f"where: expected a mapping or conditions, got {type(given).__name__}")


def met_by(index: Index, scope: Scope, node: Node, records: Sequence[Record]) -> list[Record]:
    """Return those of the records, which are from one page, that match conditions, in order."""
    met = _matching_keys(index, scope, node, _by_key(records))
    return [record for record in records if (record.scope, record.id) in met]


def _by_key(records: Iterable[Record]) -> dict[Key, Record]:
    return {(record.scope, record.id): record for record in records}


def _matching_keys(index: Index, scope: Scope, node: Node, records: dict[Key, Record]) -> set[Key]:
    """Return the keys of the records that match a tree; the index evaluates native parts."""
    native = native_part(node)
    if native is not None or isinstance(node, Test):
        where = node.where if isinstance(node, Test) else native
        matching = _by_key(index.list(scope, filter=where, ids={id for _, id in records}))
        return {
            key
            for key, record in matching.items()
            if key in records and (not isinstance(node, Test) or node.holds(record))
        }
    if isinstance(node, Ids):
        return {key for key in records if key[1] in node.ids}
    if isinstance(node, Not):
        return records.keys() - _matching_keys(index, scope, node.part, records)
    met = records.keys() if isinstance(node, All) else set()
    for part in node.parts if isinstance(node, (All, Either)) else ():
        if isinstance(node, All):
            met = met & _matching_keys(index, scope, part, {key: records[key] for key in met})
        else:
            met = met | _matching_keys(index, scope, part, records)
    return set(met)
