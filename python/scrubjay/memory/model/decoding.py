"""Decoding of memory's rows: whether what the file gives back is what was written.

Rows of memory's tables come as tuples of whatever types stand in the file. :func:`checked` holds one to the types of
its columns, its times to the calendar and, in the clear, a fact or episode to the hash of its scope and content.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

from scrubjay import payload
from scrubjay.errors import CorruptIndexError
from scrubjay.memory.model.content import digest
from scrubjay.store.decoding import scope_of, shown

__all__ = ["are_texts", "as_moment", "checked", "decoded", "json_of", "moment_of", "types_of"]

_T = TypeVar("_T")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIMES = frozenset(
    """begins_at expires_at created_at updated_at last_used_at completed_at
    said_at recorded_at valid_from valid_until withdrawn_at""".split()
)
_STATUSES = frozenset({"provisional", "active", "superseded", "revoked"})
_CLASSES = {
    "str": (str,),
    "str | None": (str, type(None)),
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (float, int),
    "bytes": (bytes,),
    "bytes | None": (bytes, type(None)),
    "None": (type(None),),
}


def as_moment(microseconds: Any) -> datetime:
    """Return a time of the file.

    Raises:
        CorruptIndexError: it is not a time.

    >>> as_moment(1_000_000)
    datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except (OverflowError, TypeError, ValueError):
        raise CorruptIndexError(f"expected a time in microseconds, got {shown(microseconds)}") from None


def moment_of(value: Any, name: str) -> int | None:
    """Return a time in microseconds since 1970; None without one.

    Raises:
        TypeError, ValueError: it is not a time.
    """
    moment = payload.to_utc(value, name)
    return None if moment is None else payload.microseconds(moment)


def decoded(what: str, id: object, make: Callable[[], _T]) -> _T:
    """Return what `make` makes of stored values alone.

    Raises:
        CorruptIndexError: they are not what was written.
    """
    try:
        return make()
    except CorruptIndexError as error:
        raise error.located(id=id) from None
    except (
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:
        raise CorruptIndexError(f"{what}: {type(error).__name__}: {error}"[:200], id=id) from None


def json_of(data: Any, kind: type[_T] | tuple[type[_T], ...], what: str) -> _T:
    """Return a stored JSON value of this type, or one of these types.

    Raises:
        CorruptIndexError: it is not JSON, or of another type.
    """
    try:
        value = json.loads(data)
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptIndexError(f"{what} cannot be read: {type(error).__name__}: {error}"[:200]) from None
    if not isinstance(value, kind):
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise CorruptIndexError(f"{what}: expected a JSON {names}, got {shown(value)}")
    return value


def types_of(row: type[Any]) -> dict[str, tuple[type, ...]]:
    """Return the types that the columns of a kind of row may have; their annotations say so."""
    annotations: dict[str, str] = {
        name: str(getattr(one, "__forward_arg__", one)) for name, one in row.__annotations__.items()
    }
    return {name: _CLASSES[annotations[name]] for name in row._fields}


def checked(row: Any, types: dict[str, tuple[type, ...]], *, in_the_clear: bool) -> Any:
    """Return a row that is what was written.

    Raises:
        CorruptIndexError: it is not; the message names record and column.
    """
    for (name, classes), value in zip(types.items(), row, strict=True):
        if value.__class__ not in classes:
            raise CorruptIndexError(f"{row.kind}.{name}: {shown(value)} is not what was written", id=row.id)
        if name in _TIMES and value is not None:
            decoded(f"{row.kind}.{name}", row.id, lambda moment=value: as_moment(moment))  # type: ignore[misc]
    if getattr(row, "slot", None) == "":
        raise CorruptIndexError(f"{row.kind}.slot: '' is not what was written", id=row.id)
    if row.status not in _STATUSES:
        raise CorruptIndexError(f"{row.kind}.status: {shown(row.status)} is not what was written", id=row.id)
    if row.kind == "policy" and row.tenant == "":  # global: it has no scope
        return row
    scope = decoded("scope", row.id, lambda: scope_of(row.tenant, row.user, row.agent))
    if in_the_clear and row.kind in ("fact", "episode") and row.hash != digest(scope, row.text):
        raise CorruptIndexError("its content or scope is not what was written", id=row.id, scope=scope)
    return row


def are_texts(*values: object, optional: bool = False) -> bool:
    """Whether values of the file are texts (or NULL, if that is `optional`)."""
    return all(isinstance(value, str) or (optional and value is None) for value in values)
