"""Which collections belong together, and what do they share?"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrubjay.errors import ClosedError
from scrubjay.locks import renew_in_children
from scrubjay.store.schema import is_collection_name

__all__ = ["Family", "checked_name"]


class Family:
    """The open collections of one file, or of one index in memory. Thread-safe.

    Args:
        path: the file; None: there is none.
        query_cache: how many query vectors each keeps.
        options: of :func:`scrubjay.store.open.open_engine`, or the constructor, the same for all of them.
    """

    def __init__(self, path: Path | None, query_cache: int, options: Mapping[str, Any]) -> None:
        self.path = path
        self.query_cache = query_cache
        self.options = options
        self.lock = threading.RLock()  # one opens a collection at a time
        renew_in_children(self, "lock")
        self._members: dict[str, Any] = {}  # indexes by name
        self._is_closed = False
        self._root: weakref.ref[Any] | None = None  # weak, so that one that is dropped goes at once

    def add_root(self, index: Any) -> None:
        """The index that was opened first; closing it closes all."""
        self._root = weakref.ref(index)

    def add(self, name: str, index: Any) -> None:
        """A collection was opened."""
        with self.lock:
            self._members[name] = index

    def member(self, name: str) -> Any | None:
        """Return the open index of a collection, or None."""
        with self.lock:
            root = self._root() if self._root is not None else None
            return root if root is not None and root.name == name else self._members.get(name)

    def members(self) -> dict[str, Any]:
        """Return the open collections but the first."""
        with self.lock:
            return dict(self._members)

    def everyone(self) -> list[Any]:
        """Return all open collections, the first among them."""
        with self.lock:
            root = self._root() if self._root is not None else None
            return [*([] if root is None else [root]), *self._members.values()]

    def close(self) -> list[Any]:
        """Open no more collections; return those that are open but the first, which its owner closes."""
        with self.lock:
            self._is_closed = True
            return list(self._members.values())

    def check_open(self) -> None:
        """Raise ClosedError if the index that was opened first was closed."""
        if self._is_closed:
            raise ClosedError("the index is closed")

    def forget(self, index: Any) -> None:
        """A collection is being closed."""
        with self.lock:
            self._members = {name: member for name, member in self._members.items() if member is not index}
            if self._root is not None and self._root() is index:
                self._root = None


def checked_name(name: str) -> str:
    """Return the name of a collection, or raise TypeError or ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"collection: expected a str, got {type(name).__name__}")
    if not is_collection_name(name):
        raise ValueError(f"collection: expected 1 to 200 printable characters, got {name!r}")
    return name
