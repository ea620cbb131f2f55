"""LlamaIndex's metadata filters.

They follow LlamaIndex's :class:`SimpleVectorStore`, the nearest thing to a definition: values compare as in Python (so
``1`` equals ``True``); None and an absent field are the same, and match ``!=``, ``nin`` and ``is_empty`` only. Beyond
it, filters nest, a mapping contains nothing, and values that do not compare (a text with ``>`` 3) do not match instead
of raising.

Native are ``== != > < >= <= in nin`` of numbers and texts, and ``contains any all`` if the field is a list of texts.
All others test each memory that has the field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from scrubjay.backend import EVERYTHING, All, Either, Field, Native, Node, Not, is_composite, is_text

_MAX_DEPTH = 16
_ORDERS: dict[Any, str] = {
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
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
    name, field = f"{key} {getattr(operator, 'value', operator)}", Field(key)
    if operator == FilterOperator.IS_EMPTY:
        empty = field.test(lambda own: own == [], is_composite(key))
        return Either([field.one_of([None, ""]), empty])
    if value is None:
        raise TypeError(f"{name}: expected a value, got None; is_empty asks for fields without one")
    if operator in (FilterOperator.EQ, FilterOperator.NE):
        equal = field.one_of([value])
        return equal if operator == FilterOperator.EQ else Not(equal)
    if operator in _ORDERS:
        if not isinstance(value, (str, int, float)):
            raise TypeError(f"{name}: expected a number or a str, got {type(value).__name__}")
        return field.order(_ORDERS[operator], value)
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        # A text contains its substrings, as in Python.
        is_list = isinstance(value, list)
        within = field.one_of(value) if is_list else field.test(lambda own: _holds(value, own))
        return within if operator == FilterOperator.IN else Not(within)
    if operator in (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE):
        if not isinstance(value, str):
            raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
        fold: Callable[[str], str] = str if operator == FilterOperator.TEXT_MATCH else str.lower
        return field.test(lambda own: isinstance(own, str) and fold(value) in fold(own), is_text(key))
    values = value if isinstance(value, list) else [value]
    if operator == FilterOperator.CONTAINS:
        return _contains(field, value)
    if operator == FilterOperator.ANY:
        return Either([_contains(field, item) for item in values])
    if operator == FilterOperator.ALL:
        return All([field.present(), *(_contains(field, one) for one in values)])
    raise ValueError(f"{key}: expected one of {', '.join(FilterOperator)}, got {operator!r}")


def _contains(field: Field, value: Any) -> Node:
    """Return the condition that a list contains this value, or a text contains it as a substring."""
    if not field.is_native or not isinstance(value, str):  # the index stores only the texts of a list
        return field.test(lambda own: _holds(own, value), is_composite(field.name))
    part = field.test(lambda own: _holds(own, value), is_text(field.name))
    return Either([Native({field.name: {"$contains": value}}), part])


def _holds(container: Any, value: Any) -> bool:
    if isinstance(container, str):
        return isinstance(value, str) and value in container
    return isinstance(container, list) and value in container
