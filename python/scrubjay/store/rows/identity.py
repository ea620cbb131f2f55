"""Validation of the stored identity of an index, and of collection names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeGuard


def is_collection_name(name: object) -> TypeGuard[str]:
    """Whether this is a valid collection name."""
    return isinstance(name, str) and bool(name.strip()) and len(name) <= 200 and name.isprintable()


def is_identity(name: str, value: object) -> bool:
    """Whether a stored value of the identity is valid."""
    return IDENTITY[name](value)


def _is_count(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


IDENTITY: Mapping[str, Callable[[object], bool]] = {
    "dim": lambda value: value is None or _is_count(value, 1, 1 << 20),
    "metric": lambda value: value in ("cosine", "ip", "l2"),
    "dtype": lambda value: value in ("f16", "f32", "i8"),
    "analyzer": lambda value: type(value) is str and value != "",
    "model": lambda value: value is None or type(value) is str,
    "id_kind": lambda value: value in (None, "str", "int"),
    "generation": lambda value: _is_count(value, 0, (1 << 62) - 1),
}
