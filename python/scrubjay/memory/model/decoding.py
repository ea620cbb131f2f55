"""Decoding of memory's rows, with checks that the file returns what was written.

Rows of memory's tables come as tuples of whatever types the file contains. :func:`checked` checks a row against the
types of its columns, its times against the calendar and, in the clear, a fact or episode against the hash of its scope
and content.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar

from scrubjay.base.errors import CorruptIndexError
from scrubjay.documents import payload
from scrubjay.memory.model.content import digest_in
from scrubjay.store.rows.decoding import scope_of, shown

_T = TypeVar("_T")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST_US = (datetime.min.replace(tzinfo=timezone.utc) - _EPOCH) // timedelta(microseconds=1)
_LAST_US = (datetime.max.replace(tzinfo=timezone.utc) - _EPOCH) // timedelta(microseconds=1)
_TIMES = frozenset(
    """begins_at expires_at created_at updated_at last_used_at completed_at
    said_at recorded_at valid_from valid_until withdrawn_at""".split()
)
_STATUSES = frozenset({"provisional", "active", "superseded", "revoked"})
_CLASSES = {
    "str": (str,),
    "str | None": (str, type(None)),
    "Relation | None": (str, type(None)),  # the table constrains the value
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (float, int),
    "bytes": (bytes,),
    "bytes | None": (bytes, type(None)),
    "None": (type(None),),
}


def as_moment(microseconds: Any) -> datetime:
    """Return a stored time as a datetime.

    Raises:
        CorruptIndexError: not a time.

    >>> as_moment(1_000_000)
    datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    try:
        return _moment_at(microseconds)
    except (OverflowError, TypeError, ValueError):
        raise CorruptIndexError(f"expected a time in microseconds, got {shown(microseconds)}") from None


@lru_cache(maxsize=4096)  # a record has several times, most of them equal
def _moment_at(microseconds: Any) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def expiry_of(expires_at: Any, ttl: Any, clock: Callable[[], int]) -> int | None:
    """Return the expiry time, in microseconds, from an absolute time or from a duration by a clock.

    Raises:
        TypeError, ValueError: both are given, or one of them is invalid.
    """
    moment = payload.expiry_of(expires_at, ttl)
    if moment is None:
        return None
    if ttl is None:
        return payload.microseconds(moment)
    lasts = ttl if isinstance(ttl, timedelta) else timedelta(seconds=float(ttl))
    return clock() + lasts // timedelta(microseconds=1)


def moment_of(value: Any, name: str) -> int | None:
    """Return a time in microseconds since 1970; None for None.

    Raises:
        TypeError, ValueError: not a time.
    """
    moment = payload.to_utc(value, name)
    return None if moment is None else payload.microseconds(moment)


def decoded(what: str, id: object, make: Callable[[], _T]) -> _T:
    """Return the result of `make`, a function of stored values alone.

    Raises:
        CorruptIndexError: the values are not what was written.
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
        CorruptIndexError: not JSON, or of another type.
    """
    try:
        value = json.loads(data)
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptIndexError(f"{what} cannot be read: {type(error).__name__}: {error}"[:200]) from None
    if not isinstance(value, kind):
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise CorruptIndexError(f"{what}: expected a JSON {names}, got {shown(value)}")
    return value


class RowTypes:
    """The permitted types of the columns of a kind of row, and which columns are times. Thread-safe.

    Args:
        row: the class of the rows; its annotations state the types.
    """

    def __init__(self, row: type[Any]) -> None:
        annotations = {
            name: str(getattr(one, "__forward_arg__", one)) for name, one in row.__annotations__.items()
        }
        self.classes = tuple(_CLASSES[annotations[name]] for name in row._fields)
        self.times = tuple(i for i, name in enumerate(row._fields) if name in _TIMES)
        self._times_in: Callable[[Any], tuple[Any, ...]] = itemgetter(*self.times)  # each kind has several
        self._right: set[tuple[type, ...]] = set()  # few: each optional column is NULL or not

    def check(self, row: Any) -> None:
        """Check the types and times of a row.

        Raises:
            CorruptIndexError: a value is not what was written; the message names record and column.
        """
        types = tuple(map(type, row))
        if types not in self._right:
            for name, classes, value in zip(row._fields, self.classes, row, strict=True):
                if value.__class__ not in classes:
                    raise CorruptIndexError(
                        f"{row.kind}.{name}: {shown(value)} is not what was written", id=row.id
                    )
            self._right.add(types)
        for i, moment in zip(self.times, self._times_in(row), strict=True):
            if moment is not None and not _FIRST_US <= moment <= _LAST_US:
                message = f"{row.kind}.{row._fields[i]}: expected a time in microseconds, got {shown(moment)}"
                raise CorruptIndexError(message, id=row.id)


def checked(row: Any, types: RowTypes, *, in_the_clear: bool) -> Any:
    """Return the row if it is what was written.

    Raises:
        CorruptIndexError: it is not; the message names record and column.
    """
    types.check(row)
    if getattr(row, "slot", None) == "":
        raise CorruptIndexError(f"{row.kind}.slot: '' is not what was written", id=row.id)
    if row.status not in _STATUSES:
        raise CorruptIndexError(f"{row.kind}.status: {shown(row.status)} is not what was written", id=row.id)
    if row.kind == "policy" and row.tenant == "":  # a global policy has no scope
        return row
    try:
        scope = scope_of(row.tenant, row.user, row.agent)
    except CorruptIndexError as error:
        raise error.located(id=row.id) from None
    if (
        in_the_clear
        and row.kind in ("fact", "episode")
        and row.hash != digest_in((row.tenant, row.user, row.agent), row.text)
    ):
        raise CorruptIndexError("its content or scope is not what was written", id=row.id, scope=scope)
    return row


def are_texts(*values: object, optional: bool = False) -> bool:
    """Whether stored values are texts (or NULL, if that is `optional`)."""
    return all(isinstance(value, str) or (optional and value is None) for value in values)
