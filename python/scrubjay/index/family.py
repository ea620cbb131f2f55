"""The open collections of one file, and what they share."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from scrubjay.base.errors import ClosedError
from scrubjay.base.locks import renew_in_children
from scrubjay.store.rows.identity import is_collection_name

if TYPE_CHECKING:
    from scrubjay.store.postgres.database import Database


class Member(Protocol):
    """The part of a collection that a family uses."""

    name: str


M = TypeVar("M", bound=Member)


class Family(Generic[M]):
    """The open collections of one file, or of one index in memory. Thread-safe.

    Args:
        place: the file or the database; None: in memory.
        query_cache: the capacity of each collection's cache of query vectors.
        options: of :func:`scrubjay.store.open.open_engine`, or of the constructor; the same for all.
        on_embedder_error: "pending" or "raise".
    """

    def __init__(
        self,
        place: Path | Database | None,
        query_cache: int,
        options: Mapping[str, Any],
        on_embedder_error: str = "pending",
    ) -> None:
        if isinstance(query_cache, bool) or not isinstance(query_cache, int):
            raise TypeError(f"query_cache: expected an int, got {type(query_cache).__name__}")
        if query_cache < 0:
            raise ValueError(f"query_cache: expected 0 or more, got {query_cache}")
        self.place = place
        self.on_embedder_error = on_embedder_error
        self.query_cache = query_cache
        self.options = options
        self.lock = threading.RLock()  # one thread opens a collection at a time
        renew_in_children(self, "lock")
        self._members: dict[str, M] = {}
        self._is_closed = False
        self._root: weakref.ref[M] | None = None  # weak, so that a dropped index is freed at once

    def add_root(self, collection: M) -> None:
        """Register the collection that was opened first; closing it closes all."""
        self._root = weakref.ref(collection)

    def add(self, collection: M) -> None:
        """Register an opened collection."""
        with self.lock:
            self._members[collection.name] = collection

    def member(self, name: str) -> M | None:
        """Return an open collection, or None."""
        with self.lock:
            root = self._root() if self._root is not None else None
            return root if root is not None and root.name == name else self._members.get(name)

    def everyone(self) -> list[M]:
        """Return all open collections, the first one included."""
        with self.lock:
            root = self._root() if self._root is not None else None
            return [*([] if root is None else [root]), *self._members.values()]

    def close(self) -> list[M]:
        """Refuse further openings; return the open collections except the first, which its owner closes."""
        with self.lock:
            self._is_closed = True
            return list(self._members.values())

    def check_open(self) -> None:
        """Raise ClosedError if the first collection was closed."""
        if self._is_closed:
            raise ClosedError("the index is closed")

    def forget(self, collection: M) -> None:
        """Unregister a collection that is being closed."""
        with self.lock:
            self._members = {
                name: member for name, member in self._members.items() if member is not collection
            }
            if self._root is not None and self._root() is collection:
                self._root = None


def checked_name(name: str) -> str:
    """Return the name of a collection, or raise TypeError or ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"collection: expected a str, got {type(name).__name__}")
    if not is_collection_name(name):
        raise ValueError(f"collection: expected 1 to 200 printable characters, got {name!r}")
    return name
