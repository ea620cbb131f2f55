"""LangGraph's filters as filters of the engine, with the same answers as the stock store.

The stock store compares as Python does: ``1 == 1.0 == True``, lists and mappings by value, a missing key as None, and
orders by ``float(...)`` of both sides, numeric texts included. So each top-level key of a value is stored in two
columns of its document, which turn these comparisons into the engine's own:

``=key``  a text that is equal exactly for equal values, and absent for None
``#key``  the value as a float, if it converts

A key with periods, ``user.name``, is such a key of the value, or otherwise a path into its mappings, as in LangGraph's
SQL stores.

The other conditions (paths, mappings, which are compared key by key, lists with mappings in them, and the order of
texts) are tested here, item by item, before ranking.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from scrubjay.backend import EVERYTHING, NOTHING, Native, Node, Test
from scrubjay.documents.payload import to_utc
from scrubjay.documents.records import Record

_LONG = 24  # characters up to which a value is stored as it is; a longer one is stored as a 128-bit hash
_LONG_BEFORE = 200  # the same limit in documents of earlier versions, which use another hash
_LONGEST_NUMBER = 400
_ORDERS = {"$gt", "$gte", "$lt", "$lte"}


def columns(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a value of JSON types.

    >>> columns({"color": "red", "n": 2.0, "tags": ["a"], "none": None})
    {'=color': 'sred', '=n': 'n2', '#n': 2.0, '=tags': 'j["a"]'}
    """
    result: dict[str, Any] = {}
    for key, field in value.items():
        if field is None:
            continue
        result["=" + key] = _equal_text(field)
        number = _number(field)
        if number is not None and not math.isnan(number):
            result["#" + key] = _finite(number)
    return result


def translated(
    filter: Mapping[str, Any] | None, value_of: Callable[[Record], dict[str, Any] | None]
) -> Node | None:
    """Return the conditions of a filter; None admits everything.

    Args:
        filter: LangGraph's filter.
        value_of: returns the value of a document's item; None if the document is not part of an item.

    Raises:
        TypeError, ValueError: the message names the key, what was expected and what was given.

    >>> translated({"color": "red", "n": {"$gt": 1}}, lambda record: None)
    Native(filter={'$and': [{'=color': {'$eq': 'sred'}}, {'#n': {'$gt': 1.0}}]})
    """
    if not filter:
        return None
    if not isinstance(filter, Mapping):
        raise TypeError(f"filter: expected a mapping, got {type(filter).__name__}")
    conditions: list[dict[str, Any]] = []
    exact = True
    for key, operand in filter.items():
        if not isinstance(key, str):
            raise TypeError(f"filter: expected str keys, got {key!r}")
        for condition, inexact in _conditions(key, _plain(operand, key)):
            conditions.append(condition)
            exact = exact and not inexact
    native = {"$and": conditions}
    if exact:
        return Native(native)

    def holds(record: Record) -> bool:
        value = value_of(record)
        return value is not None and matches(value, filter)

    return Test(native, holds)


def matches(value: Any, filter: Mapping[str, Any]) -> bool:
    """Return whether a value passes a filter that :func:`translated` accepted.

    >>> jane = {"user": {"name": "jane", "age": 30}}
    >>> matches(jane, {"user": {"name": "jane"}}), matches(jane, {"user.age": {"$gt": 30}})
    (True, False)
    """
    return all(_compare(_at(value, key), _plain(operand, key)) for key, operand in filter.items())


# ---------------------------------------------------------------------- one condition, natively


def _conditions(key: str, wanted: Any) -> list[tuple[dict[str, Any], bool]]:
    """Return conditions, each with a flag that it admits more than it should and needs a test."""
    if "." in key and not key.startswith(".") and not key.endswith("."):
        absent = _compare(None, wanted)
        either = [{"=" + name: {"$exists": True}} for name in (key, key.partition(".")[0])]
        return [(EVERYTHING.filter if absent else {"$or": either}, True)]
    if not isinstance(wanted, dict):
        if _holds_mapping(wanted):
            return [({"=" + key: {"$exists": True}}, True)]
        return [(_equals(key, wanted), False)]
    if not any(name.startswith("$") for name in wanted):
        return [({"=" + key: {"$exists": True}}, True)]
    return [_operator(key, name, operand) for name, operand in wanted.items()]


def _operator(key: str, name: str, operand: Any) -> tuple[dict[str, Any], bool]:
    if name == "$eq":
        return _equals(key, operand), False
    if name == "$ne":
        return {"$not": _equals(key, operand)}, False
    if name not in _ORDERS:
        raise ValueError(f"filter[{key!r}]: expected one of $eq, $ne, $gt, $gte, $lt, $lte, got {name!r}")
    number = _number(operand)
    if number is not None:
        bound = {"#" + key: {name: _finite(number)}}
        return (NOTHING.filter if math.isnan(number) else bound), False
    if isinstance(operand, str):  # by code point; the stock store has no answer here
        return {"=" + key: {"$exists": True}}, True
    raise TypeError(f"filter[{key!r}][{name!r}]: expected a number or str, got {type(operand).__name__}")


def _equals(key: str, wanted: Any) -> dict[str, Any]:
    if wanted is None:
        return {"=" + key: {"$exists": False}}
    if isinstance(wanted, float) and math.isnan(wanted):
        return NOTHING.filter
    texts = list(dict.fromkeys((_equal_text(wanted), _equal_text_before(wanted))))
    return {"=" + key: {"$eq": texts[0]} if len(texts) == 1 else {"$in": texts}}


def _equal_text(value: Any) -> str:
    """Return a text that is equal exactly for equal values (for long values up to hash collisions)."""
    text = _whole_text(value)
    if len(text) <= _LONG:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return "b" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _equal_text_before(value: Any) -> str:
    text = _whole_text(value)
    if len(text) <= _LONG_BEFORE:
        return text
    return "h" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _whole_text(value: Any) -> str:
    if isinstance(value, str):
        return "s" + value
    if isinstance(value, (bool, int, float)):
        return "n" + _canonical_number(value)
    return "j" + json.dumps(_canonical(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _canonical(value: Any) -> Any:
    """Return a value with equal numbers written alike."""
    if isinstance(value, dict):
        return {key: _canonical(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    if isinstance(value, (bool, float)) and float(value).is_integer():
        return int(value)
    return value


def _canonical_number(value: bool | int | float) -> str:
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    return str(int(value))


def _number(value: Any) -> float | None:
    """Return ``float(value)``; None if it fails."""
    if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
        return None
    if not isinstance(value, (bool, int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _finite(number: float) -> float:
    return max(-sys.float_info.max, min(sys.float_info.max, number))


# ---------------------------------------------------------------------- one value, in Python


def _at(value: Any, key: str) -> Any:
    """Return the value under a key, or otherwise at the path that the key's periods form; None if missing."""
    if key in value or "." not in key:
        return value.get(key)
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _compare(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_passes(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, dict) and all(_compare(value.get(key), one) for key, one in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(_compare(one, other) for one, other in zip(value, wanted, strict=True))
        )
    return bool(value == wanted)


def _passes(value: Any, name: str, operand: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool(value == operand) == (name == "$eq")
    number: Any = _number(value)
    right: Any = _number(operand)
    if right is None:
        number, right = value, operand
        if not isinstance(number, str):
            return False
    if number is None:
        return False
    if name == "$gt":
        return bool(number > right)
    if name == "$gte":
        return bool(number >= right)
    return bool(number < right) if name == "$lt" else bool(number <= right)


def _plain(wanted: Any, key: str, *, compared: bool = True) -> Any:
    """Return the operand in JSON types, as values are stored; check operators in it."""
    if wanted is None or isinstance(wanted, (str, bool, int, float)):
        return wanted
    if isinstance(wanted, datetime):
        moment = to_utc(wanted, f"filter[{key!r}]")
        return None if moment is None else moment.isoformat()
    if isinstance(wanted, (list, tuple)):
        return [_plain(one, key, compared=compared) for one in wanted]
    if not isinstance(wanted, Mapping):
        raise TypeError(f"filter[{key!r}]: expected a JSON value or operators, got {type(wanted).__name__}")
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(f"filter[{key!r}]: expected str keys, got {name!r}")
    operators = compared and any(name.startswith("$") for name in wanted)
    plain = {name: _plain(one, key, compared=compared and not operators) for name, one in wanted.items()}
    if operators:
        for name, operand in plain.items():
            _operator(key, name, operand)
    return plain


def _holds_mapping(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_mapping(one) for one in value)
    return isinstance(value, dict)
