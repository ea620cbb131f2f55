"""Statistics over the `meta` of many documents: distinct values, ranges, types. The prefix "meta." is optional."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Metas = Iterable[Mapping[str, Any]]


def distinct(metas: Metas, fields: Iterable[str]) -> dict[str, int]:
    """Return the number of distinct values of each field, named without "meta."."""
    keys = [_key(field) for field in fields]
    values: dict[str, set[tuple[str, str]]] = {key: set() for key in keys}
    for meta in metas:
        for key in keys:
            if meta.get(key) is not None:
                values[key].add(_identity(meta[key]))
    return {key: len(distinct_values) for key, distinct_values in values.items()}


def types(metas: Metas) -> dict[str, dict[str, str]]:
    """Return the type of each field: "boolean", "int", "float" or, for everything else, "keyword"."""
    names = {bool: "boolean", int: "int", float: "float"}
    return {
        key: {"type": names.get(type(value), "keyword")}
        for meta in metas
        for key, value in meta.items()
        if value is not None
    }


def least_and_greatest(metas: Metas, field: str) -> dict[str, Any]:
    """Return the extremes as "min" and "max"; both None if the field has no values, or incomparable ones."""
    key = _key(field)
    values = [meta[key] for meta in metas if isinstance(meta.get(key), (int, float, str))]
    try:
        return {"min": min(values), "max": max(values)}
    except (TypeError, ValueError):
        return {"min": None, "max": None}


def found_values(metas: Metas, field: str, search_term: str | None) -> list[Any]:
    """Return the distinct values of a field, ordered by their texts; `search_term` keeps those whose text contains it,
    ignoring case."""
    key, term = _key(field), (search_term or "").lower()
    values = {_identity(meta[key]): meta[key] for meta in metas if meta.get(key) is not None}
    return sorted(
        (value for value in values.values() if term in str(value).lower()),
        key=lambda value: (str(value), type(value).__name__),
    )


def _key(field: str) -> str:
    return field.removeprefix("meta.")


def _identity(value: Any) -> tuple[str, str]:
    """Return a key by which values are distinct if their types are: 1, 1.0, "1" and True are four values."""
    return type(value).__name__, json.dumps(value, sort_keys=True, default=str)
