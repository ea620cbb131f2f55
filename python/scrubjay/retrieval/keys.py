"""Cache keys: everything that determines a result, as a comparable and hashable value.

Equal reprs do not imply equal values: long arrays and bitmaps are abbreviated with "...", and an object without a name
prints its address, which another object may have later, or in another process. So values are taken apart by their
types, and if that is impossible, the result is not cached.
"""

from __future__ import annotations

import datetime
import secrets
import types
from collections.abc import Hashable, Mapping
from dataclasses import is_dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from scrubjay._native import Filter, Scope
from scrubjay.fusion import Query


class UncomparableValue(Exception):  # noqa: N818 - not an error: the retrieval is not cached
    """A value that cannot be compared reliably."""


def key_of(value: Any) -> Hashable:
    """Return keys that are equal for equivalent values only; their reprs are the same in every process.

    Raises:
        UncomparableValue: unknown type of value.

    >>> key_of({"ids": {3, 1}, "k": 1}) == key_of({"k": 1, "ids": {1, 3}})
    True
    >>> key_of(1) == key_of(True), key_of(np.arange(5000)) == key_of(np.arange(5000) // 4999 * 7)
    (False, False)
    """
    if value is None or type(value) is str or type(value) is int:
        return value
    if isinstance(value, (bool, int, float, str, bytes)):
        return (type(value).__name__, value if value == value else "nan")
    if isinstance(value, Scope):
        return ("scope", value.tenant, value.user, value.agent)
    if isinstance(value, np.ndarray) and value.dtype != object:
        data = np.ascontiguousarray(value).tobytes()
        return ("array", value.dtype.str, value.shape, sha256(data).hexdigest())
    if isinstance(value, np.generic):
        return key_of(value.item())
    if isinstance(value, Mapping):
        if all(type(name) is str for name in value):
            return ("mapping", *((name, key_of(value[name])) for name in sorted(value)))
        return ("mixed", *sorted(((key_of(name), key_of(item)) for name, item in value.items()), key=repr))
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return ("sequence", *map(key_of, value))
    if isinstance(value, (set, frozenset)):
        return ("set", *sorted(map(key_of, value), key=repr))
    if type(value).__module__.partition(".")[0] == "pyroaring":
        return (
            "bitmap",
            type(value).__name__,
            sha256(np.array(value, dtype=np.uint64).tobytes()).hexdigest(),
        )
    if isinstance(value, (datetime.datetime, datetime.date)):
        return (type(value).__name__, value.isoformat())
    if isinstance(value, Query):
        return ("query", *(key_of(item) for item in value.values().values()))
    if is_dataclass(value) and type(value).__module__.startswith("scrubjay.fusion."):
        return ("part", repr(value))  # frozen, of numbers and texts
    if isinstance(value, Filter) and "..." not in (text := repr(value)):
        return ("filter", text)
    raise UncomparableValue(f"{type(value).__name__} has no key")


def name_of(part: Any) -> Hashable:
    """Return a name for a component that affects a result: a model, a template, a function.

    A text is its own name, an object with a `name` is named by its class and name (with a `cache_name`, by that), a
    function of a module by its qualified name. Anything else (a lambda, a closure, an object without a name, a function
    of the main script) gets a random, unique name, so its results are not shared.

    >>> name_of(None), name_of("{title}"), name_of(key_of)
    (None, ('str', '{title}'), ('function', 'scrubjay.retrieval.keys', 'key_of'))
    >>> function = lambda text: text
    >>> name_of(function) == name_of(function)
    False
    """
    if part is None:
        return None
    if isinstance(part, str):
        return ("str", part)
    if (given := getattr(part, "cache_name", None)) is not None:
        return ("given", given)
    kind = type(part)
    if isinstance(part, (types.FunctionType, types.BuiltinFunctionType)) and not getattr(
        part, "__self__", None
    ):
        where, named = part.__module__, part.__qualname__
        if where not in (None, "__main__") and "<" not in named:
            return ("function", where, named)
    elif isinstance(name := getattr(part, "name", None), str):
        return ("named", kind.__module__, kind.__qualname__, name)
    return ("unnamed", secrets.token_hex(16))
