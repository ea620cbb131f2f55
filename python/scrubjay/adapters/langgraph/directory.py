"""Which namespaces lie below a prefix: a search there looks at those, and costs what they hold.

In a file the names of scopes are sorted, so the answer is a range of them. In memory, where only this process writes,
the stores of a collection keep a tree of the namespaces that they have put items into.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable

from scrubjay._native import Scope
from scrubjay.adapters.langgraph.namespaces import Namespace, all_homes, home_of, namespace_of
from scrubjay.backend import Backend
from scrubjay.index import Index
from scrubjay.locks import renew_in_children

__all__ = ["Directory"]


class Directory:
    """The namespaces of one tenant of one collection. Thread-safe.

    >>> index = Index()
    >>> index.upsert("m1", "A note", scope=home_of("acme", ("memories", "jane")))
    >>> Directory(index, "acme").below(("memories",))
    [Scope('acme', user='memories.jane', agent='.')]
    """

    def __init__(self, index: Index, tenant: str) -> None:
        self._index = index
        self._tenant = tenant
        self._tree = None if Backend.of(index).is_durable else _tree_of(index, tenant)

    def below(self, prefix: Namespace) -> list[Scope]:
        """Return the homes that hold items at a prefix and below it, sorted."""
        if self._tree is not None:
            return self._tree.below(prefix)
        if not prefix:
            return [home for home in self._index.scopes(all_homes(self._tenant)) if namespace_of(home)]
        named = ".".join(prefix)
        # A period, which ends a label, comes just before a slash.
        found = Backend.of(self._index).scopes_below(all_homes(self._tenant), (named + ".", named + "/"))
        own = home_of(self._tenant, prefix)
        if self._index.count(own):
            found.append(own)
        return sorted(found, key=lambda home: home.user or "")  # the tenant and the agent are the same

    def note(self, namespaces: Iterable[Namespace]) -> None:
        """Items were put into namespaces, and can be found there."""
        if self._tree is not None:
            self._tree.add(namespaces)


class _Tree:
    """Namespaces by each of their prefixes."""

    def __init__(self, index: Index, tenant: str) -> None:
        self._index = weakref.ref(index)
        self._tenant = tenant
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._by_prefix: dict[Namespace, set[Namespace]] = {}
        homes = map(namespace_of, index.scopes(all_homes(tenant)))
        self.add(namespace for namespace in homes if namespace is not None)

    def below(self, prefix: Namespace) -> list[Scope]:
        index = self._index()
        assert index is not None  # the directory that asks holds it
        found = []
        with self._lock:
            for namespace in sorted(self._by_prefix.get(prefix, ())):
                home = home_of(self._tenant, namespace)
                if index.count(home):
                    found.append(home)
                else:  # what was put there is deleted; who puts something again notes it afterwards
                    self._forget(namespace)
        return found

    def add(self, namespaces: Iterable[Namespace]) -> None:
        with self._lock:
            for namespace in namespaces:
                for length in range(len(namespace) + 1):
                    self._by_prefix.setdefault(namespace[:length], set()).add(namespace)

    def _forget(self, namespace: Namespace) -> None:
        for length in range(len(namespace) + 1):
            named = self._by_prefix[namespace[:length]]
            named.discard(namespace)
            if not named:
                del self._by_prefix[namespace[:length]]


_trees: weakref.WeakKeyDictionary[Index, dict[str, _Tree]] = weakref.WeakKeyDictionary()


def _tree_of(index: Index, tenant: str) -> _Tree:
    trees = _trees.setdefault(index, {})
    tree = trees.get(tenant)
    if tree is None:
        tree = trees.setdefault(tenant, _Tree(index, tenant))  # of two threads' the first one stays
    return tree
