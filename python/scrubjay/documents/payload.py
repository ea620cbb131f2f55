"""Metadata and times of a document as the payload bytes that the engine stores with it.

A payload is a UTF-8 JSON object with those keys that are present: ``context`` (a text that is indexed and embedded
before that of the document; the first key, because the engine looks for it there), ``metadata`` (an object),
``created_at`` and
``expires_at`` (ISO 8601, UTC), ``pending`` (true: the text has not been embedded yet), ``passages`` (the spans that the
writer defined, or false: the text has no passages). A document without any of them has no payload. Everything is
checked before it is written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np

from scrubjay.base.arguments import is_number
from scrubjay.base.errors import CorruptIndexError
from scrubjay.documents.iso8601 import read_time

__all__ = [
    "CONTEXT",
    "DAMAGED",
    "CreatedAt",
    "Times",
    "as_json",
    "checked_context",
    "checked_metadata",
    "checked_value",
    "context_of",
    "decode",
    "encode",
    "encode_fields",
    "expiry",
    "expiry_of",
    "fields_of",
    "has_context",
    "is_pending",
    "microseconds",
    "passages_of",
    "times_of",
    "to_utc",
    "with_pending",
]

CreatedAt = datetime | date | str | int | float | np.datetime64
"""The types that `created_at` accepts: a datetime (also NumPy's), a date (its midnight in UTC), an ISO 8601 string, or
seconds since 1970-01-01T00:00:00Z."""

CONTEXT = b'{"context":"'
"""The beginning of the payload of a document with a context."""

DAMAGED = b"\xff"
"""The first byte of the engine's substitute for a payload that was lost from the file; the file's path follows."""

_PENDING = b'"pending":true'
_PASSAGES = b'"passages":'
_MAX_CONTEXT_BYTES = 65_536  # the native engine's limit
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MAX_DEPTH = 100
Times = tuple[int | None, int | None]
"""(created_at, expires_at) in microseconds since 1970; None: not given."""

_decode_json = json.JSONDecoder().raw_decode
_encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def to_utc(value: CreatedAt | None, name: str = "created_at") -> datetime | None:
    """Return `value` as an aware datetime in UTC; naive datetimes and strings are taken as UTC.

    `name` is the argument's name, for messages.

    Raises:
        TypeError: `value` has another type.
        ValueError: the string is not ISO 8601, or the number is not a time between the years 1 and 9999.

    >>> to_utc("2026-03-01T09:30:00+01:00")
    datetime.datetime(2026, 3, 1, 8, 30, tzinfo=datetime.timezone.utc)
    >>> to_utc(0)
    datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        if value.__class__ is datetime:
            moment = value
        elif value != value:
            return None  # NaT of pandas, which is a datetime
        else:
            moment = _without_nanoseconds(value)
    elif isinstance(value, str):
        try:
            moment = read_time(value)
        except ValueError:
            raise ValueError(f"{name}: expected an ISO 8601 time, got {value!r}") from None
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    elif isinstance(value, np.datetime64):
        if np.isnat(value):
            return None
        if not 1 <= 1970 + int(value.astype("datetime64[Y]").astype(np.int64)) <= 9999:
            raise ValueError(f"{name}: expected a time between the years 1 and 9999 in UTC, got {value!r}")
        moment = _EPOCH + timedelta(microseconds=int(value.astype("datetime64[us]").astype(np.int64)))
    elif is_number(value):
        try:
            return _EPOCH + timedelta(seconds=float(value))
        except (OverflowError, ValueError):
            raise ValueError(f"{name}: expected seconds since 1970 (UTC), got {value!r}") from None
    else:
        raise TypeError(
            f"{name}: expected a datetime, an ISO 8601 str or seconds since 1970, got {type(value).__name__}"
        )
    if moment.tzinfo is None:
        return moment.replace(tzinfo=timezone.utc)
    try:
        return moment.astimezone(timezone.utc)
    except OverflowError:
        raise ValueError(
            f"{name}: expected a time between the years 1 and 9999 in UTC, got {value!r}"
        ) from None


def _without_nanoseconds(moment: datetime) -> datetime:
    """Return a time of a subclass of datetime as a plain one: that of pandas prints nanoseconds, which not every Python
    reads."""
    return datetime(
        moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond,
        moment.tzinfo, fold=moment.fold,
    )  # fmt: skip


def encode(
    metadata: Mapping[str, Any] | None,
    created_at: CreatedAt | None,
    expires_at: datetime | None = None,
    context: str | None = None,
    passages: Sequence[tuple[int, int]] | bool | None = None,
) -> bytes | None:
    """Return the payload bytes, or None if there is no content. Tuples become JSON arrays, datetimes ISO 8601 (UTC).
    `context` and `passages` must have been checked.

    Raises:
        TypeError: `metadata` is not a mapping, or holds a key or value that JSON cannot represent; the message names
            the key.
        ValueError: `metadata` holds NaN, an infinity or itself; `created_at` is not a time.
    """
    moment = to_utc(created_at)
    if metadata is None and moment is None and expires_at is None and context is None and passages is None:
        return None
    fields: dict[str, Any] = {}
    if context is not None:
        fields["context"] = context
    if metadata is not None:
        fields["metadata"] = checked_metadata(metadata)
    if moment is not None:
        fields["created_at"] = moment.isoformat()
    if expires_at is not None:
        fields["expires_at"] = expires_at.isoformat()
    if passages is not None:
        fields["passages"] = passages
    return encode_fields(fields)


def checked_context(context: Any) -> str | None:
    """Return the context of a document as it is stored; None for a blank one.

    Raises:
        TypeError: it is not a str.
        ValueError: it is longer than 65,536 bytes as UTF-8.
    """
    if context is None:
        return None
    if not isinstance(context, str):
        raise TypeError(f"context: expected a str or None, got {type(context).__name__}")
    # The same as the engine's reading of texts: surrogate pairs become one character, lone surrogates U+FFFD.
    context = context.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    n_bytes = len(context.encode())
    if n_bytes > _MAX_CONTEXT_BYTES:
        raise ValueError(f"context: expected at most {_MAX_CONTEXT_BYTES} bytes as UTF-8, got {n_bytes}")
    return context if context.strip() else None


def has_context(payload: bytes | None) -> bool:
    """Whether a payload has a context."""
    return payload is not None and payload.startswith(CONTEXT)


def context_of(payload: bytes | None) -> str | None:
    """Return the context of a payload, or None if it has none or is damaged.

    >>> context_of(encode({"a": 1}, None, context="Trips")), context_of(encode({"context": "Trips"}, None))
    ('Trips', None)
    """
    if payload is None or not has_context(payload):
        return None
    try:
        context = _decode_json(payload.decode("utf-8", "surrogatepass"))[0]["context"]
    except (ValueError, KeyError, RecursionError):
        return None  # decoding the metadata reports the damage
    return context if isinstance(context, str) else None


def passages_of(payload: bytes | None) -> list[tuple[int, int]] | None:
    """Return the passages that the writer of a document defined: their spans, an empty list for no passages; None if
    the writer left it open.

    >>> [passages_of(encode(None, None, passages=said)) for said in ([(0, 3), (2, 9)], False, None)]
    [[(0, 3), (2, 9)], [], None]
    """
    if payload is None or _PASSAGES not in payload:  # the usual case, without parsing
        return None
    try:
        pairs = _decode_json(payload.decode("utf-8", "surrogatepass"))[0].get("passages")
        return None if pairs is None else [(int(start), int(end)) for start, end in pairs or ()]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None  # decoding the metadata reports the damage


def checked_metadata(metadata: Any) -> dict[str, Any]:
    """Return metadata as JSON types.

    Raises:
        TypeError, ValueError: as :func:`encode`.
    """
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata: expected a mapping of str to JSON values, got {type(metadata).__name__}")
    checked: dict[str, Any] = _checked(metadata, "metadata", 0)
    return checked


def checked_value(value: Any, name: str) -> Any:
    """Return a value as JSON types, with copies of its lists and mappings; messages begin with `name`.

    Raises:
        TypeError, ValueError: JSON cannot represent it.
    """
    return _checked(value, name, 0)


def as_json(value: Any) -> str:
    """Serialise JSON types as payloads do.

    Raises:
        TypeError, ValueError: another type, or NaN or an infinity.
    """
    return _encode_json(value)


def encode_fields(fields: Mapping[str, Any]) -> bytes | None:
    """Return a payload with these fields, which are JSON types, the context first; None without fields."""
    if "context" in fields and next(iter(fields)) != "context":
        fields = {"context": fields["context"], **fields}
    return _encode_json(fields).encode("utf-8", "surrogatepass") if fields else None


def fields_of(payload: bytes | None) -> dict[str, Any]:
    """Return the fields of a payload, `metadata` and all others, as JSON types.

    Raises:
        CorruptIndexError: the payload is damaged.
    """
    decode(payload)
    times_of(payload)
    return {} if payload is None else dict(_decode_json(payload.decode("utf-8", "surrogatepass"))[0])


def decode(payload: bytes | None) -> tuple[dict[str, Any], datetime | None]:
    """Return (metadata, created_at) of a payload made by :func:`encode`.

    Raises:
        CorruptIndexError: the payload is damaged.

    >>> decode(encode({"category": "keys"}, 86400))
    ({'category': 'keys'}, datetime.datetime(1970, 1, 2, 0, 0, tzinfo=datetime.timezone.utc))
    """
    if payload is None:
        return {}, None
    # json.loads would guess the encoding first and skip white space that does not occur: twice the time.
    try:
        text = payload.decode("utf-8", "surrogatepass")
        fields, end = _decode_json(text)
        if end != len(text):
            raise ValueError(f"{len(text) - end} characters more than one JSON object")
        moment = fields.get("created_at")
        metadata = fields.get("metadata", {})
        if metadata.__class__ is not dict:
            raise TypeError("metadata that is not a JSON object")
        return metadata, None if moment is None else _moment(moment)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise _damaged(payload, error) from None


def _moment(text: Any) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone, {text!r}")
    return moment


def _damaged(payload: Any, error: Exception) -> CorruptIndexError:
    if isinstance(payload, bytes) and payload[:1] == DAMAGED:
        path = payload[1:].decode("utf-8", "replace") or None
        return CorruptIndexError("its metadata is not what was written", path=path)
    return CorruptIndexError(f"its metadata cannot be read: {type(error).__name__}: {error}"[:200])


def expiry_of(expires_at: CreatedAt | None, ttl: timedelta | float | None) -> datetime | None:
    """Return the expiry of a document, from either a time or a lifetime from now (timedelta or seconds).

    Raises:
        TypeError, ValueError: both are given, or one of them is invalid.
    """
    if ttl is None:
        return to_utc(expires_at, "expires_at")
    if expires_at is not None:
        raise ValueError("ttl: expected either expires_at or ttl, got both")
    if not (isinstance(ttl, timedelta) or is_number(ttl)):
        raise TypeError(f"ttl: expected a timedelta or seconds, got {type(ttl).__name__}")
    try:
        seconds = ttl if isinstance(ttl, timedelta) else timedelta(seconds=float(ttl))
        return to_utc(datetime.now(timezone.utc) + seconds, "ttl")
    except (OverflowError, ValueError):
        raise ValueError(f"ttl: expected a time from now before the year 9999, got {ttl!r}") from None


def microseconds(moment: datetime) -> int:
    """Return microseconds since 1970 (UTC), exactly.

    >>> microseconds(datetime(1970, 1, 2, tzinfo=timezone.utc))
    86400000000
    """
    return (moment - _EPOCH) // timedelta(microseconds=1)


def times_of(payload: bytes | None) -> Times:
    """Return (created_at, expires_at) of a payload in microseconds.

    >>> times_of(encode({"a": 1}, 1.5)), times_of(None)
    ((1500000, None), (None, None))
    """
    if payload is None or b'_at"' not in payload:  # most have neither: no need to parse
        return None, None
    try:
        fields = _decode_json(payload.decode("utf-8", "surrogatepass"))[0]
        created, expires = (
            None if fields.get(name) is None else microseconds(_moment(fields[name]))
            for name in ("created_at", "expires_at")
        )
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise _damaged(payload, error) from None
    return created, expires


def expiry(payload: bytes | None) -> datetime | None:
    """Return the expires_at of a payload."""
    if payload is None or b'"expires_at"' not in payload:
        return None
    try:
        moment = json.loads(payload).get("expires_at")
        return None if moment is None else _moment(moment)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise _damaged(payload, error) from None


def with_pending(payload: bytes | None, pending: bool = True) -> bytes | None:
    """Return a payload with the `pending` flag set or removed.

    Raises:
        CorruptIndexError: the payload is damaged.

    >>> with_pending(None), with_pending(with_pending(encode({"a": 1}, None)), False)
    (b'{"pending":true}', b'{"metadata":{"a":1}}')
    """
    if pending == is_pending(payload):
        return payload
    fields = fields_of(payload)
    if pending:
        fields["pending"] = True
    else:
        del fields["pending"]
    return encode_fields(fields)


def is_pending(payload: bytes | None) -> bool:
    """Whether a payload has the `pending` flag: the document's text has not been embedded yet.

    >>> is_pending(with_pending(None)), is_pending(encode({"pending": True}, None))
    (True, False)
    """
    if payload is None or _PENDING not in payload:  # the usual case, without parsing
        return False
    try:
        return _decode_json(payload.decode("utf-8", "surrogatepass"))[0].get("pending") is True
    except (ValueError, AttributeError, RecursionError):
        return False  # decoding the metadata reports the damage


_PLAIN = frozenset({str, int, bool, type(None)})  # valid JSON as they are: no path for messages is needed


def _checked(value: Any, path: str, depth: int) -> Any:
    """Return `value` as JSON types; json alone would silently turn a key 1 into "1", and its errors name no key."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{path}: expected a finite number, got {value!r}")
        return value
    if isinstance(value, datetime):
        moment = to_utc(value, path)
        return None if moment is None else moment.isoformat()
    if depth >= _MAX_DEPTH:
        raise ValueError(f"{path[:80]}...: expected at most {_MAX_DEPTH} levels of nesting")
    if value.__class__ is dict or isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{path}: expected str keys, got {key!r} of type {type(key).__name__}")
        return {
            key: item if item.__class__ in _PLAIN else _checked(item, f"{path}[{key!r}]", depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [
            item if item.__class__ in _PLAIN else _checked(item, f"{path}[{i}]", depth + 1)
            for i, item in enumerate(value)
        ]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        moment = to_utc(value, path)
        return None if moment is None else moment.isoformat()
    if isinstance(value, np.longdouble):
        return _checked(float(value), path, depth)  # item() returns the same type
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return _checked(value.item(), path, depth)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return _checked(value.tolist(), path, depth)
    raise TypeError(
        f"{path}: expected a JSON value or datetime (str, int, float, bool, None, list or mapping), "
        f"got {type(value).__name__}"
    )
