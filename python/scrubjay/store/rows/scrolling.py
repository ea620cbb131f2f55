"""Pages of documents in a stable order: positions and cursors.

Pages use keyset pagination: a page begins after the last document of the previous one, identified by its sort key
and the number of its last write. So documents that are not written to meanwhile are neither skipped nor repeated.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import heapq
import json
from collections.abc import Iterable, Sequence
from functools import total_ordering
from typing import Any, NamedTuple, TypeVar

from scrubjay._native import Filter, Scope
from scrubjay.base.arguments import checked_flag
from scrubjay.base.errors import CursorError
from scrubjay.documents import payload as payloads
from scrubjay.documents.records import Cursor
from scrubjay.store.rows.listing import checked_count

T = TypeVar("T")

_FORMAT = 1
_MAX_CURSOR = 8192
_MAX_TEXT = 256  # characters of a text used as sort key, since a cursor contains them
_CHECK_BYTES = 8
_NUMBER, _TEXT, _BOOLEAN = range(3)
_TYPES: tuple[Any, ...] = ((int, float), str, bool)
_LARGEST = 10**308  # larger integers compare as equal to this one

UNKNOWN = -1
"""In place of a version: the rows have to be walked to find it."""


class Scroll(NamedTuple):
    """The checked arguments of a scroll."""

    scope: Scope
    exact: bool
    filter: Filter | None
    order_by: str | None
    descending: bool
    limit: int
    vectors: bool
    more: tuple[Scope, ...] = ()
    """Other exact scopes of the same tenant, listed along with `scope` if that is exact; only by durable engines."""

    @property
    def scopes(self) -> list[Scope]:
        """The exact scopes of the documents."""
        return [self.scope, *self.more] if self.exact else self.scope.visible()

    @property
    def by_writes(self) -> bool:
        """Whether the order is that of the last writes, which needs no sorting."""
        return self.order_by is None or self.order_by == "updated_at"


class Position(NamedTuple):
    """The last document of a page: its sort key (None in the order of writing or if it has no value), and its
    version."""

    key: tuple[int, Any] | None  # type and value
    version: int


def scroll_of(
    scope: Any,
    *,
    exact: bool = False,
    filter: Any = None,
    order_by: Any = None,
    descending: bool = False,
    limit: Any = 100,
    vectors: bool = False,
) -> Scroll:
    """Check the arguments of a scroll.

    Raises:
        TypeError, ValueError: an argument is invalid; the message names it, the expected and the given value.
    """
    if not isinstance(scope, Scope):
        raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
    if order_by is not None and not isinstance(order_by, str):
        raise TypeError(f"order_by: expected the name of a field or None, got {type(order_by).__name__}")
    if order_by == "":
        raise ValueError("order_by: expected the name of a field or None, got ''")
    return Scroll(
        scope,
        checked_flag(exact, "exact"),
        filter if filter is None or isinstance(filter, Filter) else Filter(filter),
        order_by,
        checked_flag(descending, "descending"),
        checked_count(limit, "limit", at_least=1),
        checked_flag(vectors, "vectors"),
    )


# ---------------------------------------------------------------------- order


@total_ordering
class _Reversed:
    """A value with reversed order."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(self.value == other.value)

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)


def sort_key(payload: bytes | None, field: str) -> tuple[int, Any] | None:
    """Return the sort key (type, value) of a document with this payload; None if the field has no sortable value.

    >>> sort_key(b'{"metadata":{"n":2,"tags":["a"]}}', "n"), sort_key(b'{"metadata":{"tags":["a"]}}', "tags")
    ((0, 2), None)
    """
    if field in ("created_at", "expires_at"):
        created_at, expires_at = payloads.times_of(payload)
        moment = created_at if field == "created_at" else expires_at
        return None if moment is None else (_NUMBER, moment)
    value = payloads.decode(payload)[0].get(field)
    if isinstance(value, bool):
        return _BOOLEAN, value
    if isinstance(value, (int, float)):
        return _NUMBER, max(-_LARGEST, min(value, _LARGEST))
    if isinstance(value, str):
        return _TEXT, value[:_MAX_TEXT]
    return None


def first_of(
    documents: Iterable[tuple[bytes | None, int, T]], scroll: Scroll, after: Position | None
) -> list[tuple[Position, T]]:
    """Return the first `limit` + 1 documents (payload, version, item) after a position, in order.

    Documents with a value come first, ascending or descending, then those without; ties by version. Holds no more
    than it returns in memory.
    """

    field = scroll.order_by or ""
    places = (
        (_place(position, scroll), position, document)
        for position, document in (
            (Position(sort_key(payload, field), version), document)
            for payload, version, document in documents
        )
    )
    behind = places if after is None else (one for one in places if one[0] > _place(after, scroll))
    first = heapq.nsmallest(scroll.limit + 1, behind, key=lambda place: place[0])
    return [(position, document) for _, position, document in first]


def sorted_keys(documents: Iterable[tuple[bytes | None, int, T]], scroll: Scroll) -> list[T]:
    """Return the items of documents (payload, version, item) in the order of a scroll."""
    field = scroll.order_by or ""
    places = [
        (_place(Position(sort_key(payload, field), version), scroll), key)
        for payload, version, key in documents
    ]
    places.sort(key=lambda one: one[0])
    return [key for _, key in places]


def _place(position: Position, scroll: Scroll) -> tuple[Any, ...]:
    if position.key is None:
        return (1, 0, position.version)
    return (0, _Reversed(position.key) if scroll.descending else position.key, position.version)


# ---------------------------------------------------------------------- cursors


def write_cursor(scroll: Scroll, position: Position, place: str | None) -> Cursor:
    """Return the cursor of the page that begins after a position.

    Args:
        scroll: the page that ends there.
        position: of its last document.
        place: the name of the index; None if it has none yet.
    """
    key = None if position.key is None else list(position.key)
    fields = [_FORMAT, _name(place), _digest(_order_of(scroll)), key, position.version]
    body = json.dumps(fields, separators=(",", ":")).encode("ascii")
    return Cursor(base64.urlsafe_b64encode(body + _check(body)).decode("ascii").rstrip("="))


def read_cursor(cursor: Any, scroll: Scroll, place: str | None) -> Position:
    """Return the position that a cursor encodes.

    Raises:
        TypeError: it is not a str.
        CursorError: it is damaged, or of another index, scope or order.
    """
    if not isinstance(cursor, str):
        raise TypeError(f"cursor: expected the cursor of a page or None, got {type(cursor).__name__}")
    try:
        if len(cursor) > _MAX_CURSOR:
            raise ValueError("it is too long")
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        if base64.urlsafe_b64encode(data).rstrip(b"=") != cursor.encode("ascii"):
            raise ValueError("it is not a cursor")
        body, check = data[:-_CHECK_BYTES], data[-_CHECK_BYTES:]
        if check != _check(body):
            raise ValueError("its checksum differs")
        form, own_place, order, key, version = json.loads(body)
        if form != _FORMAT:
            raise ValueError("it is of another version of Scrubjay")
        if key is not None and not isinstance(key[1], _TYPES[key[0]]):
            raise ValueError("its value is of another type")
        position = Position(None if key is None else (key[0], key[1]), int(version))
    except (ValueError, TypeError, LookupError, binascii.Error, RecursionError) as error:
        raise CursorError(f"cursor: expected the cursor of a page, got a damaged one: {error}") from None
    if order != _digest(_order_of(scroll)):
        raise CursorError(
            "cursor: expected one of a scroll with this scope, exact, order_by and descending, got one of another"
        )
    if own_place and place is not None and own_place != _name(place):
        raise CursorError("cursor: expected one of this index, got one of another")
    return position


def _order_of(scroll: Scroll) -> Sequence[Any]:
    scope = scroll.scope
    return [scope.tenant, scope.user, scope.agent, scroll.exact, scroll.order_by, scroll.descending]


def _name(place: str | None) -> str:
    return "" if place is None else _digest(place)


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value).encode("ascii"), digest_size=8).hexdigest()


def _check(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_CHECK_BYTES, person=b"scrubjay cursor").digest()
