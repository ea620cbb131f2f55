"""Translation of Haystack's filters into filters of the index.

Each comparison becomes conditions on the fields of :mod:`scrubjay.adapters.haystack.documents`, so that a search checks
it natively, before ranking. Conditions that those cannot express (equality with a list or a dict, `score`, `blob` or
`embedding`) are tested by Haystack's own `document_matches_filter`, over the documents that pass the native part of the
filter.

Differences from Haystack's in-memory store: a value of another type than the operand of an order comparison does not
match (there the query fails); a time without a zone is in UTC (there it takes the other's zone); texts are ordered only
if they are ISO 8601 times; an integer beyond 64 bits is neither less nor greater than anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

import numpy as np
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from scrubjay._native import Filter
from scrubjay.adapters.haystack.documents import NO_CONTENT, field_of
from scrubjay.backend import (
    EVERYTHING,
    NOTHING,
    All,
    Either,
    Field,
    Ids,
    Native,
    Node,
    Not,
    Test,
    exists,
    native_part,
    valid_ids,
)
from scrubjay.documents.payload import to_utc
from scrubjay.documents.records import Record

DocumentOf = Callable[[Record, bool], Document]
"""Converts a memory back to a document, with or without its embedding."""

_ORDER = {">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}
_COMPARISONS = ("==", "!=", *_ORDER, "in", "not in")
_NEGATED = {"!=": "==", "not in": "in"}
_LOGIC = ("AND", "OR", "NOT")
_DOCUMENT_FIELDS = frozenset(field.name for field in fields(Document))
_MOST_LEVELS = 100
_USUAL_LEVELS = 10  # always accepted by an index
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([Tt ].*)?")


def translate(filters: Mapping[str, Any] | None, document_of: DocumentOf) -> Node | None:
    """Translate a filter; None and {} admit everything.

    Raises:
        FilterError: the filter is malformed; the message names the key or field, what was expected and what was given.

    >>> translate({"field": "meta.uses", "operator": ">", "value": 2}, lambda record, embedded: Document())
    Native(filter={'uses': {'$gt': 2}})
    """
    if filters is None or (isinstance(filters, Mapping) and not filters):
        return None
    return _part(filters, document_of, 0)


def _part(condition: Any, document_of: DocumentOf, level: int) -> Node:
    if not isinstance(condition, Mapping):
        raise FilterError(f"filters: expected a dict, got {type(condition).__name__} {condition!r:.80}")
    if level >= _MOST_LEVELS:
        raise FilterError(f"filters: expected at most {_MOST_LEVELS} levels of nesting")
    _check_keys(condition, ("operator", "value" if "field" in condition else "conditions"))
    if "field" in condition:
        node = _comparison(condition, document_of)
    else:
        logic, conditions = condition["operator"], condition["conditions"]
        if logic not in _LOGIC:
            raise FilterError(f"operator: expected one of {', '.join(_LOGIC)}, got {logic!r:.80}")
        if not isinstance(conditions, (list, tuple)):
            raise FilterError(f"conditions: expected a list, got {type(conditions).__name__}")
        parts = [_part(part, document_of, level + 1) for part in conditions]
        node = Either(parts) if logic == "OR" else Not(All(parts)) if logic == "NOT" else All(parts)
    native = native_part(node) if _height(condition) > _USUAL_LEVELS else None
    if native is not None:
        try:
            Filter(native)
        except (TypeError, ValueError):  # too deep for a filter of the index
            return _judged(condition, document_of, EVERYTHING.filter, with_embedding=True)
    return node


def _height(condition: Any) -> int:
    """Return the nesting depth of a filter; the index accepts all but very deep ones."""
    if not isinstance(condition, Mapping) or "field" in condition:
        return 1
    return 1 + max(map(_height, condition["conditions"]), default=0)


def _judged(
    condition: Mapping[str, Any],
    document_of: DocumentOf,
    where: dict[str, Any],
    *,
    with_embedding: bool = False,
) -> Test:
    """Return a test by Haystack's own rules, over the memories that `where` admits."""
    filters = dict(condition)
    return Test(
        where, lambda record: bool(document_matches_filter(filters, document_of(record, with_embedding)))
    )


def _check_keys(condition: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        if key not in condition:
            raise FilterError(f"filters: expected the key {key!r} beside {sorted(map(str, condition))}")


def _comparison(condition: Mapping[str, Any], document_of: DocumentOf) -> Node:
    name, op, value = condition["field"], condition["operator"], condition["value"]
    if not isinstance(name, str):
        raise FilterError(f"field: expected a str, got {type(name).__name__} {name!r:.80}")
    if op not in _COMPARISONS:
        raise FilterError(f"{name}: expected one of {', '.join(_COMPARISONS)}, got {op!r:.80}")
    if op in ("in", "not in") and not isinstance(value, list):
        raise FilterError(f"{name}: expected a list for {op!r}, got {type(value).__name__} {value!r:.80}")
    if op in _NEGATED:
        return Not(_comparison({**condition, "operator": _NEGATED[op]}, document_of))
    bound: Any = _ordered(name, op, value) if op in _ORDER else None
    values = value if op == "in" else [value]  # equality is membership in a list of one
    root, *path = name.split(".")
    if path and root != "meta":  # attributes of a document are not dicts, so the value is None
        return EVERYTHING if op not in _ORDER and any(one is None for one in values) else NOTHING
    if op in _ORDER and (value is None or value != value):  # nothing compares with None or NaN
        return NOTHING
    if not path and root in _DOCUMENT_FIELDS:
        if op not in _ORDER and root == "content" and len(values) == 1 and values[0] is None:
            return Native({NO_CONTENT: True})
        if op not in _ORDER and root == "id":
            return Ids(frozenset(valid_ids(values)))
        return _judged(condition, document_of, EVERYTHING.filter, with_embedding=root == "embedding")
    field = Field(field_of(tuple(path) if path else (root,)))
    if isinstance(bound, datetime):
        return Native({field.name: {_ORDER[op]: bound}})
    if op in _ORDER:
        return field.order(_ORDER[op], bound if _fits(bound) else float("inf" if bound > 0 else "-inf"))
    if not all(one is None or isinstance(one, (str, datetime)) or _is_number(one) for one in values):
        # Only Haystack's rules define equality with a list or a dict.
        where = EVERYTHING.filter if None in values else exists(field.name)
        return _judged(condition, document_of, where)
    return _one_of(field, values)


def _one_of(field: Field, values: list[Any]) -> Node:
    """Return the condition that a field equals one of these, by Python's and Haystack's rules (1 == 1.0 == True, times
    compare as instants)."""
    plain = [one.item() if isinstance(one, np.generic) else one for one in values]
    equal = field.one_of([one for one in plain if not isinstance(one, datetime)])
    times = [_moment(one) if isinstance(one, str) and _DATE.fullmatch(one) else one for one in plain]
    times = [one for one in times if isinstance(one, datetime)]
    return Either([equal, Native({field.name: {"$in": times}})]) if times else equal


def _ordered(name: str, op: str, value: Any) -> Any:
    """Check the operand of an order comparison; a text becomes the time that it denotes."""
    moment = _moment(value) if isinstance(value, str) else value
    if isinstance(value, str) and moment is None:
        raise FilterError(f"{name}: expected a number or an ISO 8601 time for {op!r}, got {value!r:.80}")
    if moment is None or isinstance(moment, datetime) or _is_number(moment):
        return moment.item() if isinstance(moment, np.generic) else moment
    raise FilterError(
        f"{name}: expected a number or an ISO 8601 time for {op!r}, got {type(value).__name__} {value!r:.80}"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _fits(value: Any) -> bool:
    """Return whether a column can store a number: any float, or a 64-bit integer."""
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _moment(text: str) -> datetime | None:
    try:
        return to_utc(text)
    except ValueError:
        return None
