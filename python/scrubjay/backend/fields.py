"""Conditions on one field, for frameworks whose filters compare as Python does.

An index compares values with their types: ``True`` is not ``1``, and of a list it compares the texts. :class:`Field`
expresses the other comparisons by functions of a memory, which are called for as few memories as possible.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scrubjay.backend.conditions import EVERYTHING, All, Either, Native, Node, Test, exists
from scrubjay.documents.records import Record

_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "$gt": operators.gt,
    "$gte": operators.ge,
    "$lt": operators.lt,
    "$lte": operators.le,
}
_OWN = ("created_at", "expires_at")  # a filter reads these as the memory's own times


@dataclass(frozen=True)
class Field:
    """A field of the metadata, and the conditions on it. A field that is None is absent.

    Args:
        name: of the field.
        values_of: returns a memory's values by name, if they are not in the metadata; None: its metadata.

    Conditions that the index checks as Python would are native; the names `created_at`, `expires_at` and those that
    begin with ``$`` have another meaning in an index.

    >>> Field("n").one_of([1, "one"]).parts
    [Native(filter={'n': 'one'}), Native(filter={'n': {'$in': [1, True]}})]
    >>> Field("n").order("$gt", 1)
    Native(filter={'n': {'$gt': 1}})
    """

    name: str
    values_of: Callable[[Record], Mapping[str, Any]] | None = None

    @property
    def is_native(self) -> bool:
        """Whether the index compares the values under this name."""
        named = bool(self.name) and not self.name.startswith("$") and self.name not in _OWN
        return named and self.values_of is None

    def test(self, holds: Callable[[Any], Any], where: dict[str, Any] | None = None) -> Test:
        """Return the condition that the field has a value for which `holds` is true; only memories that match the
        native condition `where` are tested."""

        def meets(record: Record) -> bool:
            value = self._value(record)
            return value is not None and bool(holds(value))

        return Test(where if self.is_native and where is not None else EVERYTHING.filter, meets)

    def _value(self, record: Record) -> Any:
        values = (record.metadata or {}) if self.values_of is None else self.values_of(record)
        return values.get(self.name)

    def present(self) -> Node:
        """Return the condition that the field has a value."""
        return Native(exists(self.name)) if self.is_native else self.test(lambda value: True)

    def one_of(self, values: Iterable[Any]) -> Node:
        """Return the condition that the field equals one of the values in Python's sense: ``1 == 1.0 == True``, lists
        and mappings by their contents. A None among them matches a field without a value."""
        values = list(values)
        some = [value for value in values if value is not None]
        if not self.is_native:
            tests: list[Node] = [self.test(lambda value: value in some)]
            if len(some) < len(values):
                tests.append(Test(EVERYTHING.filter, lambda record: self._value(record) is None))
            return tests[0] if len(tests) == 1 else Either(tests)
        parts: list[Node] = []
        texts = [value for value in some if isinstance(value, str)]
        if texts:  # in a list field, $in matches the texts
            parts.append(Native({self.name: texts[0] if len(texts) == 1 else {"$in": texts, "$gte": ""}}))
        numbers = [value for value in some if _is_number(value)]
        if numbers:
            booleans = [boolean for boolean in (True, False) if boolean in numbers]
            plain = [int(value) if isinstance(value, bool) else value for value in numbers]
            parts.append(Native({self.name: {"$in": [*plain, *booleans]}}))
        if len(some) < len(values):
            parts.append(Native({self.name: {"$exists": False}}))
        others = [value for value in some if not isinstance(value, str) and not _is_number(value)]
        if others:
            parts.append(self.test(lambda value: value in others, exists(self.name)))
        return parts[0] if len(parts) == 1 else Either(parts)

    def order(self, operator: str, bound: str | int | float) -> Node:
        """Return the condition that the field is on one side of a bound.

        Args:
            operator: "$gt", "$gte", "$lt" or "$lte".
            bound: a number, with which booleans compare, too, or a text, with which texts compare by code point.

        Raises:
            ValueError: unknown operator.
        """
        if operator not in _ORDERS:
            raise ValueError(f"operator: expected one of {', '.join(_ORDERS)}, got {operator!r}")
        compare = _ORDERS[operator]
        if not self.is_native or not (isinstance(bound, str) or _is_number(bound) or bound in _ENDS):
            kind = str if isinstance(bound, str) else (int, float)
            return self.test(lambda value: isinstance(value, kind) and compare(value, bound))
        if isinstance(bound, str):
            return Native({self.name: {operator: bound}})
        condition = Native({self.name: {operator: bound + 0}})
        booleans = [boolean for boolean in (False, True) if compare(boolean, bound)]
        return Either([condition, Native({self.name: {"$in": booleans}})]) if booleans else condition


def fields_equal(wanted: Mapping[Any, Any], what: str) -> Node:
    """Return the condition that each field equals its value (:meth:`Field.one_of`).

    Args:
        wanted: field -> value.
        what: the argument that they come from, for the message of an error.

    Raises:
        TypeError: a name is not a str.

    >>> fields_equal({"city": "York"}, "filters")
    All(parts=[Native(filter={'city': 'York'})])
    """
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(f"{what}: expected keys of type str, got {type(name).__name__}")
    return All([Field(name).one_of([value]) for name, value in wanted.items()])


_ENDS = (math.inf, -math.inf)


def _is_number(value: Any) -> bool:
    """Whether the index compares it exactly: a finite float, or a 64-bit integer."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and -(2**63) <= value < 2**63
