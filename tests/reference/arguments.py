"""Validation of an engine's arguments: which are refused, and with which error.

Every message names the argument, what was expected and what was given. Nothing here changes an engine: a call is
validated completely before it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference import passages
from tests.reference.scopes import AnyScope, Key, key

MODES = ("hybrid", "lexical", "vector")
MAX_BYTES = 16 << 20  # of a text or a payload
MIN_INT_ID, MAX_INT_ID = -(2**63), 2**63 - 1


def document_id(value: Any, settled: type | None, name: str = "id") -> str | int:
    """Check an id: a non-empty, encodable str or a 64-bit int, of the type that the engine's first write settled."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        number = int(value)
        if not MIN_INT_ID <= number <= MAX_INT_ID:
            raise ValueError(f"{name}: expected an integer of 64 bits, got {number}")
        checked: str | int = number
    elif isinstance(value, str):
        checked = value
        if not value:
            raise ValueError(f"{name}: expected a non-empty str, got ''")
        if has_lone_surrogate(value):
            raise ValueError(f"{name}: expected text that can be encoded as UTF-8, got {value!r}")
    else:
        raise TypeError(f"{name}: expected str or int, got {type(value).__name__}")
    if settled is not None and type(checked) is not settled:
        raise TypeError(
            f"{name}: expected {settled.__name__} as in the first write, got {type(checked).__name__}"
        )
    return checked


def named(values: Any, settled: type | None, name: str) -> set[tuple[Key | None, str | int]]:
    """Check ids of one type (scope None: any scope) and keys, from any iterable of ids and pairs (scope, id)."""
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: expected an iterable of ids, got {type(values).__name__}")
    checked = {ranking_entry(value, None, f"{name}[{index}]") for index, value in enumerate(values)}
    if len({type(id) for home, id in checked if home is None}) > 1:
        raise TypeError(f"{name}: expected ids of one kind")
    for _, id in checked:
        if settled is not None and type(id) is not settled:
            raise TypeError(f"{name}: expected {settled.__name__}, got {type(id).__name__}")
    return checked


def ranking_entry(value: Any, settled: type | None, name: str) -> tuple[Key | None, str | int]:
    """Check an id, or a pair (scope, id); return the exact scope (None: any that is visible) and the id."""
    if isinstance(value, tuple) and len(value) == 2:
        home, id = value
        return key(scope(home, f"{name}[0]")), document_id(id, settled, f"{name}[1]")
    return None, document_id(value, settled, name)


def has_lone_surrogate(value: str) -> bool:
    return any(0xD800 <= ord(character) < 0xE000 for character in value)


def text(value: Any, name: str = "text") -> str:
    """Return the stored form of a text: invalid UTF-8 and lone surrogates become U+FFFD. At most 16 MiB, before and
    after."""
    if isinstance(value, (bytes, bytearray)):
        kept = bytes(value).decode("utf-8", "replace")
    elif isinstance(value, str):
        kept = "".join("\ufffd" if 0xD800 <= ord(character) < 0xE000 else character for character in value)
    else:
        raise TypeError(f"{name}: expected str or bytes, got {type(value).__name__}")
    size(len(kept.encode()), name)
    return kept


def size(n_bytes: int, name: str) -> None:
    if n_bytes > MAX_BYTES:
        raise ValueError(f"{name}: expected at most {MAX_BYTES} bytes (16 MiB), got {n_bytes}")


def scope(value: Any, name: str = "scope") -> AnyScope:
    if not all(hasattr(value, component) for component in ("tenant", "user", "agent")):
        raise TypeError(f"{name}: expected Scope, got {type(value).__name__}")
    checked: AnyScope = value
    return checked


def several_scopes(value: Any, name: str = "scope") -> list[AnyScope]:
    """Return the scopes of a search: one scope, or a list or tuple with at least one."""
    if not isinstance(value, (list, tuple)):
        return [scope(value, name)]
    if not value:
        raise ValueError(f"{name}: expected at least one Scope, got none")
    return [scope(one, name) for one in value]


def payload(value: Any, name: str = "payload") -> bytes | None:
    if value is None or isinstance(value, bytes):
        size(len(value or b""), name)
        return value
    raise TypeError(f"{name}: expected bytes or None, got {type(value).__name__}")


def array(value: Any, n_dimensions: int, name: str) -> NDArray[np.float64]:
    """Return a numeric array rounded to float32, as the engine does, and widened again for the model's arithmetic."""
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: expected a rectangular array of numbers, got {value!r}") from error
    if given.dtype.kind not in "fiu":
        raise TypeError(f"{name}: expected numbers, got {given.dtype}")
    if isinstance(value, np.ma.MaskedArray) and np.any(value.mask):
        raise ValueError(f"{name}: expected numbers, got an array with masked ones")
    if given.ndim != n_dimensions:
        raise ValueError(f"{name}: expected {n_dimensions} dimensions, got shape {given.shape}")
    with np.errstate(over="ignore"):
        return given.astype(np.float32).astype(np.float64)


def row(values: NDArray[np.float64], dim: int | None, name: str) -> None:
    """Refuse a vector of the wrong width, with NaN or infinity, or all zeros."""
    if dim is not None and values.shape[0] != dim:
        raise ValueError(f"{name}: expected {dim} values, got {values.shape[0]}")
    if values.shape[0] == 0:
        raise ValueError(f"{name}: expected at least one value, got none")
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: expected finite values, got {values[~np.isfinite(values)][0]}")
    if not values.any():
        raise ValueError(f"{name}: expected a vector that is not all zeros, got one")


def vector(value: Any, dim: int | None, name: str = "vector") -> NDArray[np.float64]:
    checked = array(value, 1, name)
    row(checked, dim, name)
    return checked


def several(value: Any, dim: int | None, name: str = "vector") -> passages.Several:
    """Check the vector of a document, or a pair of the vectors of its passages and their spans (or None)."""
    if not passages.is_pair(value):
        return vector(value, dim, name)
    rows = [vector(one, dim, name) for one in array(value[0], 2, name)]
    if not rows:
        raise ValueError(f"{name}: expected passages, got none")
    spans = [(0, 0)] * len(rows) if value[1] is None else [(int(start), int(end)) for start, end in value[1]]
    if len(spans) != len(rows) or any(not 0 <= start <= end < 2**32 for start, end in spans):
        raise ValueError(f"{name}: expected a span for each of {len(rows)} passages, got {spans}")
    return passages.Passages(np.stack(rows), tuple(spans))


def vectors(value: Any, n_rows: int, dim: int | None, name: str = "vectors") -> list[Any]:
    """Check one vector, or those of passages, or None for each row, all of one width; errors name the row."""
    if value is None:
        return [None] * n_rows
    if isinstance(value, np.ndarray):
        rows: list[Any] = list(array(value, 2, name))
    else:
        rows = list(sequence(value, name))
    if len(rows) != n_rows:
        raise ValueError(f"{name}: expected {n_rows} rows, got {len(rows)}")
    checked: list[passages.Several | None] = []
    for index, given in enumerate(rows):
        if given is None:
            checked.append(None)
            continue
        values = several(given, dim, f"{name}[{index}]")
        dim = values.dim if isinstance(values, passages.Passages) else values.shape[0]
        checked.append(values)
    return checked


def sequence(value: Any, name: str) -> Sequence[Any]:
    """Check a sized sequence; a str or bytes is a single value."""
    if isinstance(value, np.ndarray):
        items: Sequence[Any] = value.tolist()
        return items
    if isinstance(value, (str, bytes)) or not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        raise TypeError(f"{name}: expected a sequence, got {type(value).__name__}")
    checked: Sequence[Any] = value
    return checked


def scopes_of(value: Any, n_rows: int) -> Sequence[Any]:
    """Return one scope for every row, or check a list or tuple with one for each."""
    if isinstance(value, (list, tuple)):
        return same_length(value, n_rows, "scope")
    return [value] * n_rows


def same_length(value: Sequence[Any], n_rows: int, name: str) -> Sequence[Any]:
    if len(value) != n_rows:
        raise ValueError(f"{name}: expected {n_rows} values, got {len(value)}")
    return value


def positive(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected int, got {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name}: expected at least 1, got {value}")
    return int(value)


def mode(value: Any, *, has_text: bool, has_vector: bool, has_rankings: bool = False) -> str:
    """Return the mode that runs; hybrid degrades to the retriever that has an input."""
    if not isinstance(value, str) or value not in MODES:
        raise ValueError(f"mode: expected one of {', '.join(MODES)}, got {value!r}")
    if not has_text and not has_vector and not has_rankings:
        raise ValueError("text, vector: expected at least one of them, got neither")
    if value == "lexical" and not has_text:
        raise ValueError("text: expected text for mode 'lexical', got None")
    if value == "vector" and not has_vector:
        raise ValueError("vector: expected a vector for mode 'vector', got None")
    if value == "hybrid":
        if not (has_text or has_vector):
            return "none"
        if not has_vector:
            return "lexical"
        if not has_text:
            return "vector"
    return value
