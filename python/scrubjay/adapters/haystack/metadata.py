"""Questions about the `meta` of many documents: distinct values, ranges, types. Fields are with or without "meta."."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Metas = Iterable[Mapping[str, Any]]


def distinct(metas: Metas, fields: Iterable[str]) -> dict[str, int]:
    """Return how many different values each field has; in the result without "meta."."""
    keys = [_key(field) for field in fields]
    values: dict[str, set[tuple[str, str]]] = {key: set() for key in keys}
    for meta in metas:
        for key in keys:
            if meta.get(key) is not None:
                values[key].add(_identity(meta[key]))
    return {key: len(found) for key, found in values.items()}


def types(metas: Metas) -> dict[str, dict[str, str]]:
    """Return each field with its type: "boolean", "int", "float" or, for everything else, "keyword"."""
    names = {bool: "boolean", int: "int", float: "float"}
    return {
        key: {"type": names.get(type(value), "keyword")}
        for meta in metas
        for key, value in meta.items()
        if value is not None
    }


def least_and_greatest(metas: Metas, field: str) -> dict[str, Any]:
    """Return them as "min" and "max"; both None if the field has no values, or some that do not compare."""
    key = _key(field)
    values = [meta[key] for meta in metas if isinstance(meta.get(key), (int, float, str))]
    try:
        return {"min": min(values), "max": max(values)}
    except (TypeError, ValueError):
        return {"min": None, "max": None}


def found_values(metas: Metas, field: str, search_term: str | None) -> list[Any]:
    """Return the different values of a field in the order of their texts; with a `search_term` those whose text holds
    it, in whatever case."""
    key, term = _key(field), (search_term or "").lower()
    values = {_identity(meta[key]): meta[key] for meta in metas if meta.get(key) is not None}
    return sorted(
        (value for value in values.values() if term in str(value).lower()),
        key=lambda value: (str(value), type(value).__name__),
    )


def _key(field: str) -> str:
    return field.removeprefix("meta.")


def _identity(value: Any) -> tuple[str, str]:
    """Values are different if their types are: 1, 1.0, "1" and True are four."""
    return type(value).__name__, json.dumps(value, sort_keys=True, default=str)
