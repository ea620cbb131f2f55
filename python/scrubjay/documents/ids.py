"""Ids as arguments: of one document, and of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scrubjay.base.arguments import has_lone_surrogate, is_integer, shown

__all__ = ["checked_id", "checked_ids", "checked_many", "items_of"]

_ONE = (str, bytes, bytearray, memoryview)


def checked_id(id: Any, kind: str | None, name: str = "id") -> str | int:
    """Return an id of the index's kind ("str" or "int"; None: either), in the words of the native engine.

    Raises:
        TypeError, ValueError: the message begins with `name`.
    """
    if not isinstance(id, str):
        if not is_integer(id):
            raise TypeError(f"{name}: expected a str or an int, got {type(id).__name__} {shown(id)}")
        id = int(id)
        if not -(2**63) <= id < 2**63:
            raise ValueError(f"{name}: expected an int of 64 bits, got {id}")
    elif not id:
        raise ValueError(f"{name}: expected a non-empty str or an int, got ''")
    elif has_lone_surrogate(id):
        raise ValueError(
            f"{name}: expected text that UTF-8 can encode, got {shown(id)} with a lone surrogate"
        )
    own = "str" if isinstance(id, str) else "int"
    if kind is not None and own != kind:
        raise TypeError(f"{name}: expected {kind} like the ids of this index, got {own} {id}")
    checked: str | int = id
    return checked


def checked_many(ids: Iterable[Any], kind: str | None = None) -> list[str | int]:
    """Return ids of the index's kind.

    Raises:
        TypeError, ValueError: the message names the position.

    >>> checked_many(["m1", 2.5])
    Traceback (most recent call last):
    ...
    TypeError: ids[1]: expected a str or an int, got float 2.5
    """
    checked: list[str | int] = []
    try:
        for id in ids:
            checked.append(checked_id(id, kind))
    except (TypeError, ValueError) as error:
        if str(error).startswith("id: "):
            raise type(error)(f"ids[{len(checked)}]{str(error)[2:]}") from None
        raise
    return checked


def checked_ids(ids: Any) -> list[str | int]:
    """Return ids of either kind as a list.

    Raises:
        TypeError, ValueError: one id in place of several, or one of them is invalid.
    """
    if isinstance(ids, _ONE) or not isinstance(ids, Iterable):
        raise TypeError(f"ids: expected several, got one {type(ids).__name__}; put it in a list")
    return checked_many(items_of(ids))


def items_of(ids: Any, name: str = "ids") -> list[Any]:
    """Return several ids as a list. Those of a mapping would be its keys, those of a table its columns.

    Raises:
        TypeError: a text, bytes, a mapping, a table, or no iterable at all.
        ValueError: an array with several dimensions.
    """
    if isinstance(ids, (*_ONE, Mapping)) or not isinstance(ids, Iterable) or hasattr(ids, "columns"):
        given = f" {shown(ids)}" if isinstance(ids, _ONE) else ""
        raise TypeError(
            f"{name}: expected ids (a set, list, array, bitmap or other iterable), got {type(ids).__name__}{given}"
        )
    if getattr(ids, "ndim", 1) != 1:
        raise ValueError(f"{name}: expected a one-dimensional array, got shape {ids.shape}")  # type: ignore[attr-defined]
    return list(ids)
