"""The typed memory in the file of a server's index, opened on first use."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from scrubjay._native import Scope
from scrubjay.backend import Backend
from scrubjay.base.errors import CursorError, Error, StoreError
from scrubjay.base.locks import renew_in_children
from scrubjay.index import Index
from scrubjay.memory import Memory
from scrubjay.memory.ledger.context import COLLECTION
from scrubjay.memory.ledger.schema import is_prepared
from scrubjay.memory.model.decoding import as_moment
from scrubjay.memory.model.names import RECORD_KINDS, RecordKind
from scrubjay.memory.model.records import Record
from scrubjay.memory.read.lookup import ListingPosition, created_at
from scrubjay.memory.read.recall_result import RecalledHit

T = TypeVar("T")


class UnknownRecordError(Error, KeyError):
    """The record or run does not exist, or the scope may not see or change it."""

    __str__ = Exception.__str__  # KeyError shows its argument's repr


def known_record(call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call a memory and return its result.

    Raises:
        UnknownRecordError: the memory raised KeyError.
    """
    try:
        return call(*arguments, **options)
    except Error:
        raise
    except KeyError as error:
        raise UnknownRecordError(str(error.args[0])[:300]) from None


class LazyMemory:
    """A memory over an open index. Thread-safe; memory's tables are created by the first write.

    Args:
        index: an index with a file or a database; it stays open.
        read_only: never write to the file, not even the tables and collections that Memory prepares.
    """

    def __init__(self, index: Index, *, read_only: bool = False) -> None:
        self._index, self._read_only = index, read_only
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._opened: Memory | None = None

    def find(self) -> Memory | None:
        """Return the memory; None if the file has none yet, or is read-only with an incomplete one."""
        with self._lock:
            if self._opened is None and is_prepared(Backend.of(self._index).rows):
                if self._read_only and COLLECTION not in self._index.admin.collections():
                    raise StoreError(f"collection {COLLECTION!r} was dropped, and a reader cannot create it")
                self._opened = Memory(self._index)
            return self._opened

    def make(self) -> Memory:
        """Return the memory, creating its tables if the file has none."""
        memory = self.find()
        if memory is not None:
            return memory
        if self._read_only:
            raise StoreError("there is no memory in this file, and a reader cannot create one")
        with self._lock:
            if self._opened is None:
                self._opened = Memory(self._index)
            return self._opened

    def close(self) -> None:
        """Release the memory; the index stays open."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()


def page(
    memory: Memory,
    scope: Scope,
    *,
    limit: int,
    cursor: str | None = None,
    kinds: Sequence[RecordKind] = RECORD_KINDS,
    statuses: Sequence[str] | None = None,
    **options: Any,
) -> tuple[list[Record], str | None]:
    """Return `limit` records of :meth:`Memory.list`, and the cursor of the next page (None after the last page).

    A page begins after the last record of the previous page, even if that was deleted meanwhile, and costs only the
    records read for it. `statuses` restricts the statuses; None keeps all. With `statuses` and without a time, records
    that are not in force are included.

    Raises:
        CursorError: the cursor is damaged, or was made for other kinds.
    """
    kinds = tuple(dict.fromkeys(kinds))
    if statuses is not None and options.get("as_of") is None and options.get("known_at") is None:
        options["hidden"] = True
    at = None if cursor is None else _position(cursor, kinds)
    results: list[Record] = []
    while True:
        n = limit + 1 - len(results)
        records = memory.list(scope, kinds=kinds, limit=n, after=at, **options)
        results += (
            records if statuses is None else [record for record in records if record.status in statuses]
        )
        if len(results) > limit:
            last = results[limit - 1]
            return results[:limit], _cursor(ListingPosition(last.kind, created_at(last), last.id))
        if len(records) < n:
            return results, None
        at = ListingPosition(records[-1].kind, created_at(records[-1]), records[-1].id)


def shown_metadata(hit: RecalledHit) -> dict[str, Any]:
    """Return the metadata of a hit as readable JSON: the times of a record as ISO 8601 instead of the microseconds that
    filters compare."""
    metadata = dict(hit.metadata)
    if hit.kind != "note":
        for name in ("valid_from", "valid_until"):
            if type(metadata.get(name)) is int:
                metadata[name] = as_moment(metadata[name]).isoformat()
    return metadata


def _cursor(at: ListingPosition) -> str:
    text = json.dumps(at, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _position(cursor: str, kinds: Sequence[str]) -> ListingPosition:
    try:
        kind, at, id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if kind in kinds and type(at) is int and abs(at) < 1 << 62 and isinstance(id, str) and len(id) < 200:
            id.encode()
            return ListingPosition(kind, at, id)
    except (ValueError, TypeError):
        pass
    raise CursorError("cursor: expected one that this listing returned; begin again without one")
