"""Filters: the definitions, evaluated on one document at a time.

A document's attributes are a dict of Python values (`attributes_of` its payload); `admits` evaluates a filter on it as
written. An invalid filter raises the type of error that the native compiler must raise.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

Attributes = dict[str, Any]
EPOCH = datetime(1970, 1, 1)
TIMES = ("created_at", "expires_at")
ISO_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))?)?"
)


class Time(int):
    """An instant in microseconds since 1970: the type of a document's two times; filters do not treat it as a
    number."""


class Unset:
    """A value that exists but equals nothing: an object, an integer beyond 64 bits."""


def instant_of(text: str) -> int | None:
    """Return the microseconds since 1970 (UTC) of an ISO 8601 date or time; None for any other text."""
    found = ISO_TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = found.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
            int((fraction or "0").ljust(6, "0")),
        )  # fmt: skip
    except ValueError:
        return None
    if hours is not None and (int(hours) > 23 or int(minutes) > 59):
        return None
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    return (moment - EPOCH - offset) // timedelta(microseconds=1)


@lru_cache(maxsize=10_000)
def attributes_of(payload: bytes | None) -> Attributes:
    """Return the fields that filters can test."""
    try:
        fields = json.loads((payload or b"").decode("utf-8", "surrogatepass"))
    except ValueError:
        return {}
    if not isinstance(fields, dict):
        return {}
    metadata = fields.get("metadata", {})
    attributes = (
        {} if not isinstance(metadata, dict) else {k: v for k, v in metadata.items() if v is not None}
    )
    for name in TIMES:
        moment = fields.get(name)
        if isinstance(moment, str) and instant_of(moment) is not None:
            attributes[name] = Time(instant_of(moment))
    return {name: _value(value) for name, value in attributes.items()}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return Unset()
    if type(value) is int and not -(2**63) <= value < 2**63:
        return Unset()
    return value


def admits(filter: Any, attributes: Attributes) -> bool:
    """Whether all of the filter's conditions hold."""
    if not isinstance(filter, Mapping):
        raise TypeError(f"filter: expected a mapping, got {filter!r}")
    results = []
    for key, condition in filter.items():
        if not isinstance(key, str):
            raise TypeError(f"filter: expected str keys, got {key!r}")
        if key in ("$and", "$or"):
            branches = [admits(branch, attributes) for branch in _items(condition)]
            results.append(all(branches) if key == "$and" else any(branches))
        elif key == "$not":
            results.append(not admits(condition, attributes))
        elif key.startswith("$"):
            raise ValueError(f"filter: unknown {key}")
        elif isinstance(condition, dict):
            results.append(_holds(key, condition, attributes))
        else:
            results.append(_equal(key, condition, attributes))
    return all(results)  # evaluated last: an invalid condition is an error whatever the others give


def _holds(field: str, operators: dict[Any, Any], attributes: Attributes) -> bool:
    if not operators:
        raise ValueError(f"{field}: expected operators")
    return False not in [_operator(field, name, operand, attributes) for name, operand in operators.items()]


def _operator(field: str, name: Any, operand: Any, attributes: Attributes) -> bool:
    value = attributes.get(field)
    match name:
        case "$eq":
            return _equal(field, operand, attributes)
        case "$ne":
            return not _equal(field, operand, attributes)
        case "$in":
            return _is_in(field, operand, attributes)
        case "$nin":
            return not _is_in(field, operand, attributes)
        case "$gt":
            return _ordered(field, operand, value, lambda a, b: a > b)
        case "$gte":
            return _ordered(field, operand, value, lambda a, b: a >= b)
        case "$lt":
            return _ordered(field, operand, value, lambda a, b: a < b)
        case "$lte":
            return _ordered(field, operand, value, lambda a, b: a <= b)
        case "$exists":
            if not isinstance(operand, (bool, np.bool_)):
                raise TypeError(f"{field}: $exists takes a bool")
            return (field in attributes) == bool(operand)
        case "$contains":
            if not isinstance(operand, str):
                raise TypeError(f"{field}: $contains takes a str")
            return isinstance(value, list) and any(isinstance(one, str) and one == operand for one in value)
        case "$not":
            if not isinstance(operand, dict):
                raise TypeError(f"{field}: $not takes operators")
            return not _holds(field, operand, attributes)
    raise ValueError(f"{field}: unknown operator {name!r}")


def _equal(field: str, operand: Any, attributes: Attributes) -> bool:
    pair = _comparable(field, operand, attributes.get(field))
    return pair is not None and pair[0] == pair[1]


def _is_in(field: str, operand: Any, attributes: Attributes) -> bool:
    """Whether the value is in a list, or is a list that shares a text with it."""
    operands = _items(operand)
    value = attributes.get(field)
    equal = [_equal(field, one, attributes) for one in operands]
    texts = [one for one in operands if isinstance(one, str) and field not in TIMES]
    shared = isinstance(value, list) and any(isinstance(one, str) and one in texts for one in value)
    return True in equal or shared


def _ordered(field: str, operand: Any, value: Any, order: Callable[[Any, Any], bool]) -> bool:
    if isinstance(operand, (bool, np.bool_)):
        raise TypeError(f"{field}: booleans have no order")
    pair = _comparable(field, operand, value)
    return pair is not None and order(pair[0], pair[1])


def _comparable(field: str, operand: Any, value: Any) -> tuple[Any, Any] | None:
    """Return (value, operand) of one type; None if the value is missing or of another type."""
    if isinstance(operand, (bool, np.bool_)):
        return (value, bool(operand)) if isinstance(value, bool) else None
    if isinstance(operand, date) or field in TIMES:  # a datetime is a date as well
        wanted = _instant(operand)
        if isinstance(value, Time):
            return int(value), wanted
        instant = instant_of(value) if isinstance(value, str) else None
        return None if instant is None else (instant, wanted)
    if isinstance(operand, str):
        return (_code_points(value), _code_points(operand)) if isinstance(value, str) else None
    if isinstance(operand, (int, np.integer)):
        if not -(2**63) <= int(operand) < 2**63:
            raise ValueError(f"{field}: {operand} has more than 64 bits")
        return (value, int(operand)) if _is_number(value) else None
    if isinstance(operand, (float, np.floating)):
        if math.isnan(operand):
            raise ValueError(f"{field}: nan has no place")
        return (value, float(operand)) if _is_number(value) else None
    raise TypeError(f"{field}: cannot compare with {operand!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, (bool, Time))


def _code_points(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def _instant(operand: Any) -> int:
    if isinstance(operand, datetime):
        offset = operand.utcoffset() or timedelta(0)
        return (operand.replace(tzinfo=None) - EPOCH - offset) // timedelta(microseconds=1)
    if isinstance(operand, date):
        return (datetime(operand.year, operand.month, operand.day) - EPOCH) // timedelta(microseconds=1)
    if isinstance(operand, str):
        instant = instant_of(operand)
        if instant is None:
            raise ValueError(f"expected a time, got {operand!r}")
        return instant
    if isinstance(operand, (int, float, np.integer, np.floating)):
        if not math.isfinite(operand) or abs(Fraction(operand)) > 10**12:
            raise ValueError(f"expected a time, got {operand!r}")
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=operand)
        return (moment.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    raise TypeError(f"expected a time, got {operand!r}")


def _items(values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise TypeError(f"expected a list, got {values!r}")
    return list(values)
