"""mem0's filters, and the scopes that a filter covers.

=============================================  =======================================================================
``{"field": value}``                           equal; for a list in the payload, one of its elements is equal
``{"field": [a, b]}``                          the same as ``in``
``{"field": "*"}``                             the field has a value; ``{"eq": "*"}`` is the literal text
``eq`` ``ne`` ``in`` ``nin``                   as above; ``ne`` and ``nin`` require a value that differs
``gt`` ``gte`` ``lt`` ``lte``                  on numbers, on texts, and on times if the operand is ISO 8601
``contains`` ``icontains``                     a substring of a text, or of a text in a list; ``i``: ignoring case
``AND`` ``OR`` ``NOT`` (``$and`` ...)          lists of filters, nested; ``NOT``: none of them matches
=============================================  =======================================================================

Several operators of a field, and several fields, must all match. Values are compared with their types: ``1`` is neither
``"1"`` nor ``True``. Fields are keys of a payload, not paths. Where mem0's stores differ, mem0's documentation decides,
then its default store.

Native conditions (all but ``contains``, ``icontains``, and elements of lists other than texts) cost next to nothing;
the others read the payloads.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from scrubjay.backend import NOTHING, All, Either, Field, Native, Node, Not, is_composite, is_text
from scrubjay.documents import payload as payloads
from scrubjay.documents.records import Record
from scrubjay.index import Hit

_MAX_DEPTH = 16
_LOGICAL = {"AND": All, "$and": All, "OR": Either, "$or": Either, "NOT": Not, "$not": Not}
_OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "icontains")
_COMPARE = {"gt": operators.gt, "gte": operators.ge, "lt": operators.lt, "lte": operators.le}
_TIMES = ("created_at", "expires_at")  # compared by the index as times only
_USER = "user_id"
_TEXT = "data"  # mem0's name for the text of a memory, which is not stored in the metadata


def translated(filters: Mapping[str, Any] | None) -> Node:
    """Return the conditions of a filter; None and {} admit everything.

    Meant for the scopes of the users that the filter confines a search to (:func:`confined_to`): a memory of another
    writer there, without a `user_id`, counts as that user's.

    Raises:
        TypeError, ValueError: the message names the field, what was expected and what was given.

    >>> translated({"user_id": "jane", "score": {"gte": 0.5}}).parts[1]
    Native(filter={'score': {'$gte': 0.5}})
    >>> translated({"score": {"near": 3}})
    Traceback (most recent call last):
    ...
    ValueError: score: expected the operators eq, ne, gt, gte, lt, lte, in, nin, contains, icontains, got 'near'
    """
    return _all_of({} if filters is None else filters, "filters", 0)


def confined_to(filters: Mapping[str, Any] | None, field: str) -> set[str] | None:
    """Return the values to which a filter restricts a field, as texts; None if it does not.

    Inspects only the top level and below AND and OR. The result may include values that match nothing.

    >>> sorted(confined_to({"user_id": {"in": ["jane", "joe"]}, "OR": [{"a": 1}, {"b": 2}]}, "user_id"))
    ['jane', 'joe']
    >>> confined_to({"NOT": [{"user_id": "jane"}]}, "user_id") is None
    True
    """
    result: set[str] | None = None
    for key, value in (filters or {}).items():
        kind = _LOGICAL.get(key)
        if kind is Not or (kind is None and key != field):
            continue
        if kind is Either:
            choices = [confined_to(part, field) for part in value]
            confined = [choice for choice in choices if choice is not None]
            here = set().union(*confined) if len(confined) == len(choices) else None
        elif kind is All:
            here = None
            for part in value:
                here = _both(here, confined_to(part, field))
        else:
            here = _values(value)
        result = _both(result, here)
    return result


def payload_of(record: Record | Hit) -> dict[str, Any]:
    """Return the payload of a memory; for a memory of another writer, its metadata with the user of its scope."""
    payload = dict(record.metadata or {})
    if record.scope.user is not None:
        payload.setdefault(_USER, record.scope.user)
    if record.text and _TEXT not in payload:
        payload[_TEXT] = record.text
    return payload


def _both(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    return other if one is None else one if other is None else one & other


def _values(condition: Any) -> set[str] | None:
    """Return the texts to which a condition restricts a field; None if it admits other values."""
    result: set[str] | None = None
    if isinstance(condition, str) and condition == "*":
        return None
    operators = (
        condition if isinstance(condition, Mapping) else {"in" if _is_list(condition) else "eq": condition}
    )
    for operator, operand in operators.items():
        if operator not in ("eq", "in"):
            continue
        values = set(operand) if operator == "in" else {operand}
        if all(isinstance(value, str) and value for value in values):
            result = _both(result, values)
    return result


def _is_one_of(condition: Any) -> bool:
    """Return whether a condition is a plain list of the values that it admits."""
    return _values(condition) is not None and (
        not isinstance(condition, Mapping) or condition.keys() <= {"eq", "in"}
    )


def _all_of(filters: Any, name: str, depth: int, confines: bool = True) -> Node:
    if not isinstance(filters, Mapping):
        raise TypeError(f"{name}: expected a mapping of fields to conditions, got {type(filters).__name__}")
    if depth > _MAX_DEPTH:
        raise ValueError(f"{name[:80]}...: expected at most {_MAX_DEPTH} levels of AND, OR and NOT")
    parts: list[Node] = []
    for key, value in filters.items():
        if not isinstance(key, str):
            raise TypeError(f"{name}: expected str keys, got {key!r} of type {type(key).__name__}")
        kind = _LOGICAL.get(key)
        if kind is None:
            node = _field(key, value)
            if key == _USER and confines and _is_one_of(value):
                node = Either([node, Native({_USER: {"$exists": False}})])
            parts.append(node)
            continue
        if not _is_list(value):
            raise TypeError(f"{key}: expected a list of filters, got {type(value).__name__}")
        if not value and kind is not All:
            raise ValueError(f"{key}: expected a list of filters, got an empty one")
        below = confines and kind is All
        inner = [_all_of(part, f"{key}[{i}]", depth + 1, below) for i, part in enumerate(value)]
        parts.append(Not(Either(inner)) if kind is Not else All(inner) if kind is All else Either(inner))
    return parts[0] if len(parts) == 1 else All(parts)


def _field(name: str, condition: Any) -> Node:
    field = Field(name, payload_of if name == _TEXT else None)
    if not isinstance(condition, Mapping):
        if isinstance(condition, str) and condition == "*":
            return field.present()
        condition = {"in" if _is_list(condition) else "eq": condition}
    if not condition:
        raise ValueError(f"{name}: expected the operators {', '.join(_OPERATORS)}, got none")
    parts = [_operation(field, operator, operand) for operator, operand in condition.items()]
    return parts[0] if len(parts) == 1 else All(parts)


def _operation(field: Field, operator: Any, operand: Any) -> Node:
    name = f"{field.name}.{operator}"
    if operator not in _OPERATORS:
        raise ValueError(f"{field.name}: expected the operators {', '.join(_OPERATORS)}, got {operator!r}")
    if operator in ("contains", "icontains"):
        return _part_of(field, operator == "icontains", operand, name)
    if operator in _COMPARE:
        return _order(field, operator, operand, name)
    if operator in ("in", "nin") and not _is_list(operand):
        raise TypeError(f"{name}: expected a list, got {type(operand).__name__}")
    values = [_scalar(value, name) for value in (operand if operator in ("in", "nin") else [operand])]
    condition = _one_of(field, values)
    return condition if operator in ("eq", "in") else All([field.present(), Not(condition)])


def _one_of(field: Field, values: list[Any]) -> Node:
    """Return the condition that the value, or an element of it if it is a list, is one of these."""
    if not values:
        return NOTHING
    element = field.test(
        lambda value: any(_equal(one, wanted) for one in _elements(value) for wanted in values),
        is_composite(field.name),
    )
    if not field.is_native:
        return element
    native = Native({field.name: {"$in": values}})  # the index stores only the texts of a list
    return native if all(isinstance(value, str) for value in values) else Either([native, element])


def _order(field: Field, operator: str, operand: Any, name: str) -> Node:
    if isinstance(operand, bool) or not isinstance(operand, (str, int, float, datetime)):
        raise TypeError(f"{name}: expected a number, a str or a datetime, got {type(operand).__name__}")
    bound = _scalar(operand, name)
    if isinstance(operand, str):
        with suppress(ValueError):  # the text is not a time
            bound = payloads.to_utc(operand, name)
    if field.is_native or (field.name in _TIMES and isinstance(bound, datetime)):
        return Native({field.name: {f"${operator}": bound}})
    return field.test(lambda value: _kind(value) == _kind(operand) and _COMPARE[operator](value, operand))


def _part_of(field: Field, either_case: bool, operand: Any, name: str) -> Node:
    if not isinstance(operand, str):
        raise TypeError(f"{name}: expected a str, got {type(operand).__name__}")
    fold = str.casefold if either_case else str
    part = fold(operand)

    def holds(value: Any) -> bool:
        return any(part in fold(text) for text in _elements(value) if isinstance(text, str))

    return field.test(holds, {"$or": [is_text(field.name), is_composite(field.name)]})


def _elements(value: Any) -> list[Any]:
    return list(value) if _is_list(value) else [value]


def _equal(value: Any, one: Any) -> bool:
    return _kind(value) == _kind(one) and bool(value == one)


def _kind(value: Any) -> str | None:
    """Return the kind of a value; values of one kind compare, and booleans are not numbers."""
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, (int, float)) else "text" if isinstance(value, str) else None


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def _scalar(value: Any, name: str) -> Any:
    """Validate an operand. None is rejected so that a missing filter value never matches everything."""
    if not isinstance(value, (str, int, float, datetime)):
        raise TypeError(f"{name}: expected a str, number or bool, got {type(value).__name__} {value!r}")
    if isinstance(value, float) and math.isnan(value):
        raise ValueError(f"{name}: expected a number, got nan")
    return value
