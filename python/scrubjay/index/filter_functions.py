"""Functions in filters: conditions that native code cannot check, tested record by record before ranking.

A listing applies the native conditions first; the function is called for the documents that match, and the search is
restricted to those for which it holds. So the order of results is the same as with any other filter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scrubjay._native import Filter, Scope
from scrubjay.documents.records import Record, to_record
from scrubjay.filters import WHERE, FilterLike, Ids, common
from scrubjay.store.rows.listing import listing_of

if TYPE_CHECKING:
    from scrubjay.index.open_collection import OpenCollection

Key = tuple[Scope, str | int]
Holds = Callable[[Record], Any]


def has_functions(filter: Any) -> bool:
    """Whether a filter is a function, or contains one where `split` looks for it.

    >>> has_functions({"kind": "note"}), has_functions(bool), has_functions({"$and": [{"$where": bool}]})
    (False, True, True)
    """
    if isinstance(filter, Filter):
        return False
    if not isinstance(filter, Mapping):
        return callable(filter)
    parts = filter.get("$and")
    return WHERE in filter or (isinstance(parts, (list, tuple)) and any(map(has_functions, parts)))


def split(filter: Any) -> tuple[FilterLike | None, list[Holds]]:
    """Return the native conditions of a filter, and its functions; all of them must hold.

    Raises:
        TypeError: the value of `$where` is not a function.

    >>> split({"kind": "note", "$where": bool})
    ({'kind': 'note'}, [<class 'bool'>])
    """
    if not has_functions(filter):
        return filter, []
    if not isinstance(filter, Mapping):
        return None, [filter]
    native = {name: value for name, value in filter.items() if name != WHERE}
    functions: list[Holds] = []
    if WHERE in filter:
        if not callable(filter[WHERE]):
            raise TypeError(f"{WHERE}: expected a function of a record, got {type(filter[WHERE]).__name__}")
        functions.append(filter[WHERE])
    if isinstance(together := filter.get("$and"), (list, tuple)):  # native code refuses other types
        parts = list(map(split, together))
        functions += [function for _, some in parts for function in some]
        # An empty part in place of a function: errors name the parts by their positions.
        native["$and"] = [{} if conditions is None else conditions for conditions, _ in parts]
    return native or None, functions


def check_filter(filter: Any) -> None:
    """Check a filter before it becomes a part of another, whose errors would name a place that its writer does not
    know.

    Raises:
        TypeError, ValueError: the message names the place in the filter.
    """
    native, _ = split(filter)
    if isinstance(native, Filter):
        raise TypeError(f"filter: expected a mapping of fields to conditions, got a compiled {native!r:.200}")
    if native is not None:
        Filter(native)


def meeting(
    collection: OpenCollection,
    scope: Scope,
    native: FilterLike | None,
    functions: Sequence[Holds],
    ids: Ids | None = None,
    *,
    exact: bool = False,
    order: str = "newest",
) -> list[Record]:
    """Return the records that `scope` sees, that `ids` name (None: all), that match the native conditions and for which
    all functions hold."""
    named = None if ids is None else set(ids)
    plain = None if named is None else [_id_of(key) for key in named]
    documents = collection.engine.listed(listing_of(scope, filter=native, exact=exact, order=order), plain)
    records = [to_record(document) for document in documents]
    return [
        record
        for record in records
        if (named is None or record.id in named or (record.scope, record.id) in named)
        and all(holds(record) for holds in functions)
    ]


def _id_of(named: Any) -> Any:
    if not isinstance(named, tuple):
        return named
    if len(named) != 2 or not isinstance(named[0], Scope):
        raise TypeError(f"ids: expected ids and pairs (scope, id), got {named!r:.200}")
    return named[1]


def keys_of(
    collection: OpenCollection, scopes: Sequence[Scope], filter: FilterLike, ids: Ids | None
) -> list[Key]:
    """Return the keys of the documents that these scopes see and that match a filter with functions, restricted to
    `ids` if given."""
    native, functions = split(filter)
    keys = {
        (record.scope, record.id): None
        for scope in scopes
        for record in meeting(collection, scope, native, functions)
    }
    return list(keys) if ids is None else common(keys, ids)
