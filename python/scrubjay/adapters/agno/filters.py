"""Agno's filters as conditions of an index: mappings, and expressions such as ``AND(EQ("a", 1), GT("b", 2))``.

All are conditions on `meta_data`. NEQ and NOT match where EQ and the expression do not, also if the field is missing.
Order comparisons match between values of one type: numbers, texts, or times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agno import filters as agno

from scrubjay.backend import EVERYTHING, All, Either, Field, Native, Node, Not, Test, is_text
from scrubjay.filters import Filter

_ORDER = {agno.GT: "$gt", agno.GTE: "$gte", agno.LT: "$lt", agno.LTE: "$lte"}
_MAX_DEPTH = 64


def equals(metadata: Mapping[str, Any], what: str) -> Node:
    """Return the condition that metadata have all of these keys with these values."""
    return All([_equal(key, value, what) for key, value in metadata.items()])


def translated(filters: Any) -> Node | None:
    """Return the conditions of a search's `filters`, or None.

    Raises:
        TypeError, ValueError: it is not a filter of Agno's; the message names the part.

    >>> translated([agno.NOT(agno.EQ("city", "York"))])
    All(parts=[Not(part=Native(filter={'city': 'York'}))])
    """
    if filters is None or (isinstance(filters, (Mapping, list)) and not filters):
        return None
    if isinstance(filters, Mapping):
        return equals(filters, "filters")
    if isinstance(filters, Sequence) and not isinstance(filters, str):
        return All([_expression(expression, 0) for expression in filters])
    return _expression(filters, 0)


def _expression(given: Any, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise ValueError(f"filters: expected expressions nested at most {_MAX_DEPTH} deep")
    if isinstance(given, Mapping):
        given = agno.from_dict(dict(given))
    if isinstance(given, (agno.AND, agno.OR)):
        parts = [_expression(part, depth + 1) for part in given.expressions]
        return All(parts) if isinstance(given, agno.AND) else Either(parts)
    if isinstance(given, agno.NOT):
        return Not(_expression(given.expression, depth + 1))
    if isinstance(given, agno.FilterExpr):
        return _comparison(given)
    raise TypeError(f"filters: expected a mapping or expressions of agno.filters, got {type(given).__name__}")


def _equal(key: Any, value: Any, what: str = "filters") -> Node:
    if not isinstance(key, str):
        raise TypeError(f"{what}: expected keys of type str, got {type(key).__name__}")
    if value is None:  # a missing field does not equal None
        return Test(EVERYTHING.filter, lambda record: (record.metadata or {}).get(key, key) is None)
    return Field(key).one_of([value])


def _comparison(given: Any) -> Node:
    kind, key = type(given), given.key
    if not isinstance(key, str) or not key:
        raise TypeError(f"filters: expected the name of a field in {kind.__name__}, got {key!r}")
    if kind is agno.EQ:
        return _equal(key, given.value)
    if kind is agno.NEQ:
        return Not(_equal(key, given.value))
    if kind is agno.IN:
        values = given.values
        if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, set, frozenset)):
            raise TypeError(f"filters: expected a list in IN({key!r}, ...), got {type(values).__name__}")
        return Either([_equal(key, one) for one in values])
    if kind in _ORDER:
        condition = {key: {_ORDER[kind]: given.value}}
        Filter(condition)  # raises for values that cannot be compared
        return Native(condition)
    if kind in (agno.CONTAINS, agno.STARTSWITH):
        operand = given.value
        if not isinstance(operand, str):
            raise TypeError(
                f"filters: expected a str in {kind.__name__}({key!r}, ...), got {type(operand).__name__}"
            )
        starts, folded = kind is agno.STARTSWITH, operand.casefold()

        def holds(value: Any) -> bool:
            if not isinstance(value, str):
                return False
            return value.startswith(operand) if starts else folded in value.casefold()

        return Field(key).test(holds, is_text(key))
    raise TypeError(f"filters: expected an expression of agno.filters, got {kind.__name__}")
