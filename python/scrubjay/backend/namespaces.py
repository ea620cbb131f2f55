"""Hierarchies of namespaces as scopes, and the scopes below a path.

For frameworks whose owners are paths (``memories/jane``) or tuples of labels, and whose callers may name a prefix. Each
path is the user of its own scope, so that the memories of one do not influence a search in another, and the paths below
a path are several scopes, which one search takes.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable

from scrubjay._native import Scope
from scrubjay.base.locks import renew_in_children
from scrubjay.index import Index
from scrubjay.index.backend import Backend
from scrubjay.store.rows.listing import listing_of


class ScopeTree:
    """The paths of one tenant of one collection. Thread-safe.

    Args:
        index: the collection.
        within: the tenant of all paths, and their agent if they have one.
        separator: one character that joins the labels of a path; no label contains it.

    A path exists if it holds memories. In a file or a database the names of scopes are sorted, and the paths below a
    path are a range of them. In memory, where only this process writes, all trees of a collection share one set of
    paths, which is kept here: callers report the paths they write to (:meth:`note`).

    >>> index, acme = Index(), Scope("acme")
    >>> for path in ("memories/jane", "memories/jane/work", "memories/jane2"):
    ...     index.upsert("m1", "A note", scope=Scope("acme", user=path))
    >>> [scope.user for scope in ScopeTree(index, acme).below("memories/jane")]
    ['memories/jane', 'memories/jane/work']
    """

    def __init__(self, index: Index, within: Scope, separator: str = "/") -> None:
        if not isinstance(within, Scope) or within.user is not None:
            raise ValueError(f"within: expected a scope without a user, got {within!r}")
        if not isinstance(separator, str) or len(separator) != 1:
            raise ValueError(f"separator: expected one character, got {separator!r}")
        self._index, self._within, self._separator = index, within, separator
        self._paths = None if Backend.of(index).is_durable else _paths_of(index, within, separator)

    def below(self, path: str = "") -> list[Scope]:
        """Return the scopes that hold memories at a path and below it, sorted; the empty path: all."""
        if self._paths is not None:
            return self._paths.below(path, self._index)
        if not path:
            scopes = _scopes(self._index, self._within)
        else:
            ends = path + self._separator, path + chr(ord(self._separator) + 1)
            own = path, path + "\0"  # the smallest text after it
            backend = Backend.of(self._index)
            both = [*backend.scopes_below(self._within, own), *backend.scopes_below(self._within, ends)]
            scopes = [scope for scope in dict.fromkeys(both) if scope.agent == self._within.agent]
        return sorted(scopes, key=lambda scope: scope.user or "")

    def note(self, paths: Iterable[str]) -> None:
        """Record that memories were written to paths."""
        if self._paths is not None:
            self._paths.add(paths)


class _Paths:
    """Paths by each of their prefixes."""

    def __init__(self, index: Index, within: Scope, separator: str) -> None:
        self._within, self._separator = within, separator
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._by_beginning: dict[str, set[str]] = {}
        self.add(scope.user or "" for scope in _scopes(index, within))

    def below(self, path: str, index: Index) -> list[Scope]:
        scopes, engine = [], Backend.of(index).engine
        with self._lock:
            for user in sorted(self._by_beginning.get(path, ())):
                scope = Scope(self._within.tenant, user=user, agent=self._within.agent)
                if engine.listed(listing_of(scope, exact=True, limit=1)):
                    scopes.append(scope)
                else:  # its memories were deleted; a later writer notes it again
                    self._forget(user)
        return scopes

    def add(self, paths: Iterable[str]) -> None:
        with self._lock:
            for path in paths:
                for beginning in self._beginnings(path):
                    self._by_beginning.setdefault(beginning, set()).add(path)

    def _forget(self, path: str) -> None:
        for beginning in self._beginnings(path):
            paths = self._by_beginning[beginning]
            paths.discard(path)
            if not paths:
                del self._by_beginning[beginning]

    def _beginnings(self, path: str) -> list[str]:
        labels = path.split(self._separator)
        return ["", *(self._separator.join(labels[:n]) for n in range(1, len(labels) + 1))]


def _scopes(index: Index, within: Scope) -> list[Scope]:
    return [scope for scope in index.scopes(within) if scope.user is not None and scope.agent == within.agent]


_trees: weakref.WeakKeyDictionary[Index, dict[tuple[Scope, str], _Paths]] = weakref.WeakKeyDictionary()


def _paths_of(index: Index, within: Scope, separator: str) -> _Paths:
    trees = _trees.setdefault(index, {})
    paths = trees.get((within, separator))
    if paths is None:  # of two concurrent threads the first one wins
        paths = trees.setdefault((within, separator), _Paths(index, within, separator))
    return paths
