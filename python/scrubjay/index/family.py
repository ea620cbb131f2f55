"""The open collections of one file, and what they share."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from scrubjay.errors import ClosedError
from scrubjay.locks import renew_in_children
from scrubjay.store.rows.identity import is_collection_name

if TYPE_CHECKING:
    from scrubjay.store.postgres.database import Database


class Member(Protocol):
    """What a family knows of a collection."""

    name: str


M = TypeVar("M", bound=Member)


class Family(Generic[M]):
    """The open collections of one file, or of one index in memory. Thread-safe.

    Args:
        place: the file or the database; None: in memory.
        query_cache: how many query vectors each keeps.
        options: of :func:`scrubjay.store.open.open_engine`, or the constructor, the same for all of them.
        on_embedder_error: "pending" or "raise".
    """

    def __init__(
        self,
        place: Path | Database | None,
        query_cache: int,
        options: Mapping[str, Any],
        on_embedder_error: str = "pending",
    ) -> None:
        self.place = place
        self.on_embedder_error = on_embedder_error
        self.query_cache = query_cache
        self.options = options
        self.lock = threading.RLock()  # one thread opens a collection at a time
        renew_in_children(self, "lock")
        self._members: dict[str, M] = {}
        self._is_closed = False
        self._root: weakref.ref[M] | None = None  # weak, so that one that is dropped goes at once

    def add_root(self, collection: M) -> None:
        """The collection that was opened first; closing it closes all."""
        self._root = weakref.ref(collection)

    def add(self, collection: M) -> None:
        """A collection was opened."""
        with self.lock:
            self._members[collection.name] = collection

    def member(self, name: str) -> M | None:
        """Return an open collection, or None."""
        with self.lock:
            root = self._root() if self._root is not None else None
            return root if root is not None and root.name == name else self._members.get(name)

    def members(self) -> dict[str, M]:
        """Return the open collections but the first."""
        with self.lock:
            return dict(self._members)

    def everyone(self) -> list[M]:
        """Return all open collections, the first among them."""
        with self.lock:
            root = self._root() if self._root is not None else None
            return [*([] if root is None else [root]), *self._members.values()]

    def close(self) -> list[M]:
        """Open no more collections; return those that are open but the first, which its owner closes."""
        with self.lock:
            self._is_closed = True
            return list(self._members.values())

    def check_open(self) -> None:
        """Raise ClosedError if the collection that was opened first was closed."""
        if self._is_closed:
            raise ClosedError("the index is closed")

    def forget(self, collection: M) -> None:
        """A collection is being closed."""
        with self.lock:
            self._members = {name: one for name, one in self._members.items() if one is not collection}
            if self._root is not None and self._root() is collection:
                self._root = None


def checked_name(name: str) -> str:
    """Return the name of a collection, or raise TypeError or ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"collection: expected a str, got {type(name).__name__}")
    if not is_collection_name(name):
        raise ValueError(f"collection: expected 1 to 200 printable characters, got {name!r}")
    return name
