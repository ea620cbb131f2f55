"""LlamaIndex's metadata filters.

They follow :class:`SimpleVectorStore` of LlamaIndex, the nearest thing to a definition: values compare as in
Python (so ``1`` equals ``True``), None and an absent field are the same, and match ``!=``, ``nin`` and ``is_empty``
only. Further, filters nest, a mapping holds nothing, and two values that do not compare (a text with ``>`` 3) do not
match, where that raises.

Native are ``== != > < >= <= in nin`` of numbers and texts, and ``contains any all`` as long as the field is a list of
texts. All others test each memory that has the field.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from scrubjay.backend import (
    EVERYTHING,
    NOTHING,
    All,
    Either,
    Native,
    Node,
    Not,
    Test,
    exists,
    is_composite,
    is_text,
)
from scrubjay.records import Record

__all__ = ["translated"]

_MAX_DEPTH = 16
_ORDERS: dict[Any, tuple[str, Callable[[Any, Any], bool]]] = {
    FilterOperator.GT: ("$gt", operators.gt),
    FilterOperator.GTE: ("$gte", operators.ge),
    FilterOperator.LT: ("$lt", operators.lt),
    FilterOperator.LTE: ("$lte", operators.le),
}


def translated(filters: Any, depth: int = 0) -> Node:
    """Return the conditions of filters; None admits everything.

    Raises:
        TypeError, ValueError: the message names the field, what was expected and what was given.

    >>> translated(MetadataFilters(filters=[MetadataFilter(key="n", value=2, operator=FilterOperator.GT)]))
    Native(filter={'n': {'$gt': 2}})
    """
    if filters is None:
        return EVERYTHING
    if isinstance(filters, MetadataFilter):
        return _condition(filters.key, filters.operator, filters.value)
    if not isinstance(filters, MetadataFilters):
        raise TypeError(f"filters: expected MetadataFilters, got {type(filters).__name__}")
    if depth > _MAX_DEPTH:
        raise ValueError(f"filters: expected at most {_MAX_DEPTH} levels")
    parts = [translated(part, depth + 1) for part in filters.filters]
    if not parts:
        return EVERYTHING
    if filters.condition == FilterCondition.OR:
        return Either(parts)
    if filters.condition == FilterCondition.NOT:
        return Not(Either(parts))
    return parts[0] if len(parts) == 1 else All(parts)


def _condition(key: str, operator: Any, value: Any) -> Node:
    name = f"{key} {getattr(operator, 'value', operator)}"
    if operator == FilterOperator.IS_EMPTY:
        return _is_empty(key)
    if value is None:
        raise TypeError(f"{name}: expected a value, got None; is_empty asks for fields without one")
    if operator == FilterOperator.EQ:
        return _one_of(key, [value])
    if operator == FilterOperator.NE:
        return Not(_one_of(key, [value]))
    if operator in _ORDERS:
        return _order(key, operator, value)
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        # A text is a sequence of its parts, as it is in Python.
        within = (
            _one_of(key, value) if isinstance(value, list) else _test(key, lambda own: _holds(value, own))
        )
        return within if operator == FilterOperator.IN else Not(within)
    if operator in (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE):
        if not isinstance(value, str):
            raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
        fold: Callable[[str], str] = str if operator == FilterOperator.TEXT_MATCH else str.lower
        return _text_match(key, value, fold)
    values = value if isinstance(value, list) else [value]
    if operator == FilterOperator.CONTAINS:
        return _contains(key, value)
    if operator == FilterOperator.ANY:
        return Either([_contains(key, one) for one in values])
    if operator == FilterOperator.ALL:
        present = Native(exists(key)) if _is_native(key) else _test(key, lambda own: True)
        return All([present, *(_contains(key, one) for one in values)])
    raise ValueError(f"{key}: expected one of {', '.join(FilterOperator)}, got {operator!r}")


def _one_of(key: str, values: list[Any]) -> Node:
    """The value is one of these."""
    if not _is_native(key, *values):
        return _test(key, lambda own: own in values)
    booleans = [boolean for boolean in (True, False) if boolean in values]
    return Native({key: {"$in": [*values, *booleans]}}) if values else NOTHING


def _order(key: str, operator: Any, value: Any) -> Node:
    native, compare = _ORDERS[operator]
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"{key} {operator.value}: expected a number or a str, got {type(value).__name__}")

    def holds(own: Any) -> bool:
        return isinstance(own, str if isinstance(value, str) else (int, float)) and compare(own, value)

    if not _is_native(key, value):
        return _test(key, holds)
    booleans = [] if isinstance(value, str) else [own for own in (True, False) if compare(own, value)]
    condition = Native({key: {native: value}})
    return Either([condition, Native({key: {"$in": booleans}})]) if booleans else condition


def _contains(key: str, value: Any) -> Node:
    """A list holds this value; a text, this part."""
    if not _is_native(key):
        return _test(key, lambda own: _holds(own, value))
    if not isinstance(value, str):  # of a list the index knows the texts only
        return _test(key, lambda own: _holds(own, value), only=is_composite(key))
    part = _test(key, lambda own: _holds(own, value), only=is_text(key))
    return Either([Native({key: {"$contains": value}}), part])


def _text_match(key: str, value: str, fold: Callable[[str], str]) -> Node:
    only = is_text(key) if _is_native(key) else None
    return _test(key, lambda own: isinstance(own, str) and fold(value) in fold(own), only=only)


def _is_empty(key: str) -> Node:
    if not _is_native(key):
        return Not(_test(key, lambda own: own not in ("", [])))
    empty_list = _test(key, lambda own: own == [], only=is_composite(key))
    return Either([Not(Native(exists(key))), Native({key: ""}), empty_list])


def _test(key: str, holds: Callable[[Any], bool], *, only: dict[str, Any] | None = None) -> Test:
    def meets(record: Record) -> bool:
        own = (record.metadata or {}).get(key)
        return own is not None and holds(own)

    return Test(EVERYTHING.filter if only is None else only, meets)


def _holds(container: Any, value: Any) -> bool:
    if isinstance(container, str):
        return isinstance(value, str) and value in container
    return isinstance(container, list) and value in container


def _is_native(key: str, *values: Any) -> bool:
    """Whether the index compares this field with these values as Python does."""
    if key.startswith("$") or key in ("created_at", "expires_at"):  # which it takes for times
        return False
    return all(
        isinstance(value, str)
        or (isinstance(value, int) and -(2**63) <= value < 2**63)
        or (isinstance(value, float) and math.isfinite(value))
        for value in values
    )
