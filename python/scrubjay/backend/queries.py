"""Passing a :class:`scrubjay.Query` through interfaces that have no parameter for it.

An adapter takes a query in its constructor and, if the framework passes on further arguments, with each search, where
it is named `scrubjay_query`, since frameworks call the text `query`. If the adapter is stored or configured as JSON, it
also takes the settings of :meth:`scrubjay.Query.to_dict`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay.filters import common
from scrubjay.fusion import Query

USUAL = Query()


def as_query(given: Query | Mapping[str, Any] | None, name: str = "query", usual: Query = USUAL) -> Query:
    """Return a query unchanged, the query that settings describe, or the default for None.

    Args:
        given: a query, its settings, or None.
        name: of the argument, for messages.
        usual: the default, for None.

    Raises:
        TypeError, ValueError: anything else; the message names the argument or the setting.

    >>> as_query({"mode": "keyword"})
    Query(mode='lexical')
    """
    if isinstance(given, Query):
        return given
    if given is None:
        return usual
    if isinstance(given, Mapping):
        return Query.from_dict(given)
    raise TypeError(
        f"{name}: expected a scrubjay.Query or its settings, got {type(given).__name__} {given!r}"
    )


def narrowed(query: Query, ids: Sequence[Any] | None) -> Query:
    """Return the query restricted to these ids and keys, in addition to its own; None leaves it unchanged.

    >>> narrowed(Query(ids=["m1", "m2"]), ["m2", "m3"])
    Query(ids=['m2'])
    >>> from scrubjay import Scope
    >>> narrowed(Query(ids=["m1"]), [(Scope("acme"), "m1"), (Scope("acme"), "m2")]).ids
    [(Scope('acme'), 'm1')]
    """
    if ids is None:
        return query
    if query.ids is not None:
        ids = common(ids, query.ids)
    return query.replace(ids=ids)
