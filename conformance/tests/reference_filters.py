"""The filter language of :data:`memory_store_conformance.contract.OPERATORS`, in plain Python."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

COMPARISONS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
ABSENT = object()


class Filters:
    """Evaluates conditions on metadata. A class, so that tests can override one rule."""

    def matches(self, metadata: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
        return all(self.field_matches(metadata, field, wanted) for field, wanted in condition.items())

    def field_matches(self, metadata: Mapping[str, Any], field: str, wanted: Any) -> bool:
        if field == "$or":
            return self.either(metadata, wanted)
        if field == "$not":
            return self.negation(metadata, wanted)
        value = self.value(metadata, field)
        if not isinstance(wanted, Mapping):
            return self.equal(value, wanted)
        return all(self.compare(name, value, bound) for name, bound in wanted.items())

    def either(self, metadata: Mapping[str, Any], sides: list[Mapping[str, Any]]) -> bool:
        return any(self.matches(metadata, side) for side in sides)

    def negation(self, metadata: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
        return not self.matches(metadata, condition)

    def value(self, metadata: Mapping[str, Any], field: str) -> Any:
        value: Any = metadata
        for part in field.split("."):
            value = value.get(part, ABSENT) if isinstance(value, Mapping) else ABSENT
        return value

    def equal(self, value: Any, wanted: Any) -> bool:
        if isinstance(value, bool) is not isinstance(wanted, bool):
            return False
        return bool(value == wanted)

    def compare(self, name: str, value: Any, bound: Any) -> bool:
        if name == "$ne":
            return not self.equal(value, bound)
        if name == "$in":
            return any(self.equal(value, one) for one in bound)
        if name in COMPARISONS:
            return self.ordered(name, value, bound)
        return self.unknown(name)

    def ordered(self, name: str, value: Any, bound: Any) -> bool:
        return isinstance(value, (int, float)) and bool(COMPARISONS[name](value, bound))

    def unknown(self, name: str) -> bool:
        raise ValueError(f"filter: expected a known operator, got {name!r}")
