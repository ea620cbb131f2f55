"""Haystack's filters in the language of the index.

Each comparison becomes conditions on the fields of :mod:`scrubjay.adapters.haystack.documents`, so that a search checks
it natively and before it ranks. What those cannot say (equality with a list or a dict, conditions on `score`, `blob`
or `embedding`) is judged by Haystack's own `document_matches_filter`, over the documents that the rest of the filter
admits.

Where this differs from Haystack's in-memory store: a value of another type than an ordering operand does not match
(there the whole query fails); a time without a zone is in UTC (there it takes the other's zone); texts are ordered only
if they are ISO 8601 times; an integer beyond 64 bits is neither less nor greater than anything.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import reduce
from typing import Any

import numpy as np
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from scrubjay._native import Filter
from scrubjay.adapters.haystack.documents import NO_CONTENT, field_of
from scrubjay.payload import to_utc

__all__ = ["Translated", "translate"]

_EVERYTHING: dict[str, Any] = {"$and": []}
_NOTHING: dict[str, Any] = {"$or": []}
_ORDER: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    ">": ("$gt", operator.gt),
    ">=": ("$gte", operator.ge),
    "<": ("$lt", operator.lt),
    "<=": ("$lte", operator.le),
}
_COMPARISONS = ("==", "!=", *_ORDER, "in", "not in")
_LOGIC = ("AND", "OR", "NOT")
_DOCUMENT_FIELDS = frozenset(field.name for field in fields(Document))
_MOST_LEVELS = 100
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([Tt ].*)?")


@dataclass(frozen=True)
class Translated:
    """A filter of Haystack for the index: what it admits is `native` and, where that is not all, `judge`."""

    native: Filter | None
    """For `filter`; it admits all that the filter of Haystack admits. None: everything."""
    ids: frozenset[str] | None
    """The only ids that it can admit; None: all."""
    judge: Callable[[Document], bool] | None
    """A test of the documents that `native` admits; None: all pass."""
    reads_embedding: bool = False
    """Whether `judge` looks at the embedding."""


@dataclass(frozen=True)
class _Part:
    """What a part of the filter becomes: conditions that admit at least what it admits."""

    native: dict[str, Any]
    exact: bool = True
    ids: frozenset[str] | None = None
    reads_embedding: bool = False


def translate(filters: Mapping[str, Any] | None) -> Translated:
    """Translate a filter; None and {} admit everything.

    Raises:
        FilterError: it is malformed; the message names the key or the field, what was expected and what was given.

    >>> translate({"field": "meta.uses", "operator": ">", "value": 2}).native
    Filter({'$or': [{'uses': {'$gt': 2}}]})
    """
    if filters is None or (isinstance(filters, Mapping) and not filters):
        return Translated(None, None, None)
    part = _part(filters, 0)
    exact, native = part.exact, None
    try:
        if part.native != _EVERYTHING:
            native = Filter(part.native)
    except (
        TypeError,
        ValueError,
    ):  # deeper than a filter of the index may be, or a number that it does not know
        exact = False
    whole = dict(filters)
    judge = None if exact else lambda document: bool(document_matches_filter(whole, document))
    return Translated(native, part.ids, judge, part.reads_embedding)


def _part(condition: Any, level: int) -> _Part:
    if not isinstance(condition, Mapping):
        raise FilterError(f"filters: expected a dict, got {type(condition).__name__} {condition!r:.80}")
    if level >= _MOST_LEVELS:
        raise FilterError(f"filters: expected at most {_MOST_LEVELS} levels of nesting")
    if "field" in condition:
        return _comparison(condition)
    for key in ("operator", "conditions"):
        if key not in condition:
            raise FilterError(f"filters: expected the key {key!r} beside {sorted(map(str, condition))}")
    logic, conditions = condition["operator"], condition["conditions"]
    if logic not in _LOGIC:
        raise FilterError(f"operator: expected one of {', '.join(_LOGIC)}, got {logic!r:.80}")
    if not isinstance(conditions, (list, tuple)):
        raise FilterError(f"conditions: expected a list, got {type(conditions).__name__}")
    parts = [_part(one, level + 1) for one in conditions]
    exact = all(part.exact for part in parts)
    reads = any(part.reads_embedding for part in parts)
    natives = [part.native for part in parts]
    ids = [part.ids for part in parts if part.ids is not None]
    if logic == "AND":
        return _Part({"$and": natives}, exact, reduce(frozenset.intersection, ids) if ids else None, reads)
    if logic == "OR":
        every = len(ids) == len(parts) > 0
        return _Part({"$or": natives}, exact, frozenset().union(*ids) if every else None, reads)
    # The opposite of conditions that admit too much would admit too little.
    return _Part({"$not": {"$and": natives}}) if exact else _Part(_EVERYTHING, False, None, reads)


def _comparison(condition: Mapping[str, Any]) -> _Part:
    for key in ("operator", "value"):
        if key not in condition:
            raise FilterError(f"filters: expected the key {key!r} beside {sorted(map(str, condition))}")
    name, op, value = condition["field"], condition["operator"], condition["value"]
    if not isinstance(name, str):
        raise FilterError(f"field: expected a str, got {type(name).__name__} {name!r:.80}")
    if op not in _COMPARISONS:
        raise FilterError(f"{name}: expected one of {', '.join(_COMPARISONS)}, got {op!r:.80}")
    if op in _ORDER:
        value = _ordered(name, op, value)
    elif op in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"{name}: expected a list for {op!r}, got {type(value).__name__} {value!r:.80}")
    else:
        value = [value]  # equal to it: equal to one of these
    root, *path = name.split(".")
    if path and root != "meta":  # the attributes of a document are not dicts: None
        held = op not in _ORDER and any(one is None for one in value) == (op in ("==", "in"))
        return _Part(_EVERYTHING if held else _NOTHING)
    if not path and root in _DOCUMENT_FIELDS:
        return _of_document(root, op, value)
    field = field_of(tuple(path) if path else (root,))
    if op in _ORDER:
        return _order(field, op, value)
    part = _one_of(field, value)
    return part if op in ("==", "in") else _negated(part)


def _of_document(name: str, op: str, value: Any) -> _Part:
    if op in _ORDER and value is None:
        return _Part(_NOTHING)
    if name == "content" and isinstance(value, list) and len(value) == 1 and value[0] is None:
        part = _Part({NO_CONTENT: True})
        return part if op in ("==", "in") else _negated(part)
    if name == "id" and op in ("==", "in"):
        return _Part(_EVERYTHING, False, frozenset(one for one in value if isinstance(one, str)))
    return _Part(_EVERYTHING, False, None, reads_embedding=name == "embedding")


def _negated(part: _Part) -> _Part:
    return _Part({"$not": part.native}) if part.exact else _Part(_EVERYTHING, False)


def _one_of(field: str, values: list[Any]) -> _Part:
    """Conditions for: the field is equal to one of these, as Python and Haystack have it (1 == 1.0 == True)."""
    operands: list[Any] = []
    alternatives: list[dict[str, Any]] = []
    for value in values:
        if value is None:
            alternatives.append({field: {"$exists": False}})
        elif isinstance(value, str):
            moment = _moment(value) if _DATE.fullmatch(value) else None
            operands += [value] if moment is None else [value, moment]
        elif isinstance(value, datetime):
            operands.append(value)
        elif _is_number(value):
            if value != value:  # NaN is equal to nothing
                continue
            if not _fits(value):
                return _Part({field: {"$exists": True}} if None not in values else _EVERYTHING, False)
            operands.append(int(value) if isinstance(value, bool) else value)
            if value in (0, 1):
                operands.append(bool(value))
        else:  # a list, a dict: only Haystack's rules say what is equal to it
            return _Part({field: {"$exists": True}} if None not in values else _EVERYTHING, False)
    if operands:
        alternatives.append({field: {"$in": operands}})
    return _Part({"$or": alternatives})


def _ordered(name: str, op: str, value: Any) -> Any:
    """Check what values are to be ordered by; a text becomes the time that it names."""
    if isinstance(value, str):
        moment = _moment(value)
        if moment is None:
            raise FilterError(f"{name}: expected a number or an ISO 8601 time for {op!r}, got {value!r:.80}")
        return moment
    if value is None or isinstance(value, datetime) or _is_number(value):
        return value
    raise FilterError(
        f"{name}: expected a number or an ISO 8601 time for {op!r}, got {type(value).__name__} {value!r:.80}"
    )


def _order(field: str, op: str, value: Any) -> _Part:
    if value is None or value != value:  # nothing compares with None or NaN
        return _Part(_NOTHING)
    name, holds = _ORDER[op]
    if isinstance(value, datetime):
        return _Part({field: {name: value}})
    if not _fits(value):
        value = float("inf") if value > 0 else float("-inf")
    if isinstance(value, bool):
        value = int(value)
    alternatives: list[dict[str, Any]] = [{field: {name: value}}]
    booleans = [one for one in (False, True) if holds(one, value)]  # to Python they are numbers
    if booleans:
        alternatives.append({field: {"$in": booleans}})
    return _Part({"$or": alternatives})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _fits(value: Any) -> bool:
    """Whether a column can hold a number: every float, and an integer of 64 bits."""
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _moment(text: str) -> datetime | None:
    try:
        return to_utc(text)
    except ValueError:
        return None
