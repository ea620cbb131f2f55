"""Filters: conditions on metadata, evaluated before anything is ranked.

A filter is a mapping; all of its entries must hold. `search`, `search_batch` and `count` of an index take one.

=================================  ====================================================================================
``{"field": value}``               short for ``{"field": {"$eq": value}}``
``$eq`` ``$ne``                    equal, not equal
``$in`` ``$nin``                   equal to one of a list (or set, tuple, array), to none of it; for a list field:
                                   one of its texts is in the list, or none is
``$gt`` ``$gte`` ``$lt`` ``$lte``  order: of numbers, of texts (by code point), of times
``$exists``                        True: the field has a value; False: it has none
``$contains``                      the field is a list that holds this text
``{"field": {"$not": {...}}}``     the operators do not all hold
``$and`` ``$or``                   of a list of filters; of an empty list `$and` holds and `$or` does not
``$not``                           of one filter
``$where``                         a function of a :class:`scrubjay.Record` that returns whether it matches (below)
=================================  ====================================================================================

Fields are the keys of `metadata`, and `created_at` and `expires_at`, where a memory's own times take precedence over
metadata of the same name. Each value has its own type, memory by memory, and a value of another type than the operand
does not match: numbers (int and float compare exactly, as in Python), texts, booleans (``True`` is not ``1``), lists
(`$contains` and `$in` look at their texts; a list equals nothing), objects (which equal nothing: no operator looks into
them, and a period in a field's name is part of the name), and times. A text that is an ISO 8601 date or time
(``2026-03-01``, ``2026-03-01T09:30:00+01:00``) is a time as well: it compares with a `datetime` (or a `date`, its
midnight in UTC) as an instant, with a text as a text. For `created_at` and `expires_at` an operand may be anything that
`upsert` takes: a datetime, an ISO 8601 text, seconds since 1970. None is not a value.

A memory without the field matches only the negative conditions (`$ne`, `$nin`, `$not`, ``$exists: False``): what does
not match `$eq` matches `$ne`.

A filter is not a scope: documents that do not match are not candidates, but BM25's statistics (number of documents,
document frequencies, average length) stay those of everything that the scope sees, so a filter changes which memories
are found and never how they score.

A function can express any other condition: ``{"category": "keys", "$where": lambda record: ...}``, or the function
alone as the filter. It is allowed at the top level and in parts of `$and`, not under `$or` and `$not`. It is slow:
every memory that matches the conditions beside it is read and passed to the function, without its vector, before
anything is ranked; add native conditions that leave few memories. Only `search`, `search_batch`, `list` and `count`
take functions. Memories written between the calls of the function and the search are not found. Exceptions of the
function propagate.

A filter is compiled natively at each call, which takes about a microsecond; :class:`scrubjay.Filter` is a compiled
filter.

>>> from scrubjay import Index, Scope
>>> index, acme = Index(), Scope("acme")
>>> index.upsert(1, "The staging key", scope=acme, metadata={"category": "keys", "uses": 3, "tags": ["staging"]})
>>> index.upsert(2, "The production key", scope=acme, metadata={"category": "keys", "uses": 12.5})
>>> index.upsert(3, "A spare key", scope=acme, created_at="2026-03-01")
>>> def found(filter):
...     return sorted(hit.id for hit in index.search("key", scope=acme, filter=filter))
>>> found({"category": "keys"}), found({"category": {"$ne": "keys"}})
([1, 2], [3])
>>> found({"uses": {"$gt": 2, "$lte": 12}}), found({"tags": {"$contains": "staging"}})
([1], [1])
>>> found({"$or": [{"uses": {"$gte": 10}}, {"created_at": {"$gte": "2026-01-01"}}]})
[2, 3]
>>> index.count(acme, filter={"uses": {"$exists": True}})
2
>>> found({"category": "keys", "$where": lambda record: record.metadata["uses"] % 2})
[1, 2]
>>> found(lambda record: len(record.text) < 12)
[3]
>>> index.search("key", scope=acme, filter={"uses": {"$gt": None}})
Traceback (most recent call last):
...
TypeError: uses.$gt: expected a str, number, bool or datetime, got NoneType None; None is no value, ask with $exists
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from scrubjay._native import Filter

__all__ = ["WHERE", "Filter", "FilterLike", "Ids", "both", "common", "lasting", "visible_to"]

FilterLike = Mapping[str, Any] | Filter | Callable[[Any], Any]
"""The types that `filter` accepts."""

WHERE = "$where"
"""The operator whose operand is a function."""

Ids = Iterable[Any]
"""The types that `ids` and `exclude` accept: a set, list, integer array, pyroaring bitmap, or another iterable of ids;
in a search and a count also pairs (scope, id), each of which names one memory."""


def visible_to(
    user: str | Iterable[str],
    *,
    owner: str = "owner",
    shared_with: str = "shared_with",
    is_public: str = "is_public",
) -> dict[str, Any]:
    """Return the filter for what `user`, or any of several users, may see among memories that users share within
    their tenant.

    Memories are written to the tenant's scope with an `owner`, optionally `shared_with` (a list of users) and
    `is_public`. A user sees her own memories, those shared with exactly this user, and the public ones. A list or set
    of users (a team, a user and her groups) sees what any of them sees; an empty one sees the public ones. The other
    arguments name the metadata fields.

    Raises:
        TypeError: a user is not a str.

    >>> from scrubjay import Index, Scope
    >>> index, acme = Index(), Scope("acme")
    >>> index.upsert(1, "Jane's plan", scope=acme, metadata={"owner": "jane"})
    >>> index.upsert(2, "Joe's plan", scope=acme, metadata={"owner": "joe", "shared_with": ["jane", "jim"]})
    >>> index.upsert(3, "Jim's plan", scope=acme, metadata={"owner": "jim", "shared_with": ["janet"]})
    >>> index.upsert(4, "The plan", scope=acme, metadata={"owner": "jim", "is_public": True})
    >>> sorted(hit.id for hit in index.search("plan", scope=acme, filter=visible_to("jane")))
    [1, 2, 4]
    >>> sorted(hit.id for hit in index.search("plan", scope=acme, filter=visible_to({"joe", "janet"})))
    [2, 3, 4]
    """
    one = isinstance(user, (str, Mapping)) or not isinstance(user, Iterable)
    users: list[Any] = [user] if one else list(user)
    for name in users:
        if not isinstance(name, str):
            raise TypeError(f"user: expected a str or several, got {type(name).__name__} {name!r}")
    for argument, field in (("owner", owner), ("shared_with", shared_with), ("is_public", is_public)):
        if not isinstance(field, str) or not field:
            raise TypeError(f"{argument}: expected the name of a field, got {type(field).__name__} {field!r}")
    return {"$or": [{owner: {"$in": users}}, {shared_with: {"$in": users}}, {is_public: True}]}


def both(*filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the filter that admits what all `filters` admit; None admits everything.

    >>> both({"category": "keys"}, None, {"uses": {"$gt": 2}})
    {'$and': [{'category': 'keys'}, {'uses': {'$gt': 2}}]}
    """
    return {"$and": [dict(filter) for filter in filters if filter is not None]}


def common(some: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    """Return the intersection: an id names the memories with this id in every scope, a pair (scope, id) one of them.

    Args:
        some, others: ids and pairs.

    >>> from scrubjay import Scope
    >>> acme = Scope("acme")
    >>> common(["m1", (acme, "m2")], ["m1", "m2"]), common(["m1", "m2"], [(acme, "m1")])
    (['m1', (Scope('acme'), 'm2')], [(Scope('acme'), 'm1')])
    """
    left, right = dict.fromkeys(some), dict.fromkeys(others)
    inside = [key for key in left if key in right or (isinstance(key, tuple) and key[1] in right)]
    return inside + [key for key in right if isinstance(key, tuple) and key[1] in left and key not in left]


def lasting(ids: Ids | None) -> Ids | None:
    """Return ids that can be iterated more than once: an iterator becomes a list.

    >>> lasting({1, 2}), lasting(iter([1, 2]))
    ({1, 2}, [1, 2])
    """
    return list(ids) if isinstance(ids, Iterator) else ids
