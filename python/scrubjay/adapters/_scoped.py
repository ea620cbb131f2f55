"""What may somebody who holds a scope do with an index that others use, too?

For services, whose callers must neither see nor notice each other. An index has one set of ids, so a write under an id
that somebody else took would be refused, which tells that it exists. Here ids belong to the scope that writes them:
what is stored is the scope, a colon and the id. Memories that were written to the index directly, under bare ids, are
found, changed and deleted by these where the scope allows it.

Reading sees what a search from the scope sees. Writing changes only what is of exactly this scope: what a tenant
shares with its users is theirs to read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import Error
from scrubjay.index import Index
from scrubjay.records import Record
from scrubjay.results import Hit, Hits
from scrubjay.store.engine import DurableEngine

__all__ = ["ReadOnlyMemoryError", "ScopedMemories", "UnknownMemoryError", "local_id", "visible_scopes"]

_N_LOCKS = 64


class UnknownMemoryError(Error, KeyError):
    """There is no memory with this id that the scope may see."""

    def __init__(self, id: str) -> None:
        super().__init__(f"id: expected the id of a memory in this scope, got {_shown(id)}")

    __str__ = Exception.__str__  # KeyError shows its argument's repr


class ReadOnlyMemoryError(Error):
    """The memory is shared with the scope by its tenant, so the scope may read it but not change it."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"id: expected the id of a memory of this very scope, got {_shown(id)}, which is shared"
        )


class ScopedMemories:
    """An index as its scopes may use it. Thread-safe; ids are str.

    A change that reads first (:meth:`update`, :meth:`delete`) is one step for all users of this object. Other
    processes that write to the same file are not held off meanwhile.

    Raises:
        ValueError: the index has int ids.

    >>> memories = ScopedMemories(Index())
    >>> jane, joe = Scope("acme", user="jane"), Scope("acme", user="joe")
    >>> memories.put(jane, [{"id": "m1", "text": "Prefers trains."}, {"id": "m2", "text": "Window seat."}])
    2
    >>> memories.put(joe, [{"id": "m1", "text": "Prefers planes."}])
    1
    >>> memories.get(jane, "m1").text, memories.get(joe, "m2")
    ('Prefers trains.', None)
    >>> [local_id(hit) for hit in memories.search(joe, "prefers")]
    ['m1']
    """

    def __init__(self, index: Index) -> None:
        if isinstance(index.engine, DurableEngine) and index.engine.identity.id_kind == "int":
            raise ValueError("index: expected one whose ids are str, got one whose ids are int")
        self.index = index
        self._locks = [threading.RLock() for _ in range(_N_LOCKS)]

    # ------------------------------------------------------------------ reading

    def get(self, scope: Scope, id: str) -> Record | None:
        """Return what `scope` sees under this id, the most specific first: its own before what is shared with it."""
        found = self._find(scope, id)
        return None if found is None else localised(found)

    def search(
        self,
        scope: Scope,
        text: str | None,
        *,
        ids: Sequence[str] | None = None,
        exclude_ids: Sequence[str] | None = None,
        **options: Any,
    ) -> Hits:
        """Search as :meth:`Index.search` does; :func:`local_id` has the id of each hit."""
        return self.index.search(
            text,
            scope=scope,
            ids=self._candidates(scope, ids),
            exclude_ids=self._candidates(scope, exclude_ids),
            **options,
        )

    def count(self, scope: Scope, filter: Mapping[str, Any] | None = None) -> int:
        """Return how many memories a search from `scope` would look at, or how many of them the filter admits."""
        return self.index.count(scope, filter=filter)

    def listing(self, scope: Scope, *, ids: Sequence[str] | None = None, **options: Any) -> list[Record]:
        """List as :meth:`Index.list` does, with the ids of the scopes."""
        records = self.index.list(scope, ids=self._candidates(scope, ids), **options)
        return [localised(record) for record in records]

    # ------------------------------------------------------------------ writing

    def put(self, scope: Scope, records: Iterable[Mapping[str, Any]]) -> int:
        """Write memories to exactly this scope as :meth:`Index.upsert_many` does: all or none; return how many."""
        rows = [dict(record) for record in records]
        ids = [row["id"] for row in rows]
        with self._held(ids):
            for row, id in zip(rows, ids, strict=True):
                row["id"] = self._own(scope, id)
            return self.index.upsert_many(rows, scope=scope, progress=False)

    def update(self, scope: Scope, id: str, changes: Mapping[str, Any]) -> Record:
        """Change some fields (text, metadata, vector, created_at, expires_at) of a memory of this scope; return it.

        A new text without a vector is embedded anew.

        Raises:
            UnknownMemoryError, ReadOnlyMemoryError: there is none that may be changed.
        """
        with self._held([id]):
            old = self._changeable(scope, id)
            fields = {
                "text": old.text,
                "metadata": old.metadata,
                "created_at": old.created_at,
                "expires_at": old.expires_at,
                "vector": None if "text" in changes else old.vector,
                **changes,
            }
            self.index.upsert(old.id, scope=scope, **fields)
            new = self.index.get(old.id)
        if new is None:  # it expired, or another process deleted it at once
            raise UnknownMemoryError(id)
        return localised(new)

    def delete(self, scope: Scope, id: str) -> None:
        """Delete a memory of this scope.

        Raises:
            UnknownMemoryError, ReadOnlyMemoryError: there is none that may be deleted.
        """
        with self._held([id]):
            if not self.index.delete(self._changeable(scope, id).id):
                raise UnknownMemoryError(id)

    def erase(self, scope: Scope, *, exact: bool) -> int:
        """Delete what :meth:`Index.erase` deletes, and return how many; no update brings any of it back."""
        with ExitStack() as stack:
            for lock in self._locks:
                stack.enter_context(lock)
            return self.index.erase(scope, exact=exact)

    # ------------------------------------------------------------------ ids

    def _find(self, scope: Scope, id: str) -> Record | None:
        for visible in visible_scopes(scope):
            found = self.index.get(_prefix(visible) + id)
            if found is not None and found.scope == visible:
                return found
        return self._bare(scope, id)

    def _bare(self, scope: Scope, id: str) -> Record | None:
        """What was written to the index directly under this id, where `scope` sees it."""
        found = self.index.get(id)
        if found is None or not found.scope.contains(scope):
            return None
        return found if local_id(found) == id else None  # or it is what a scope stored under a shorter id

    def _changeable(self, scope: Scope, id: str) -> Record:
        found = self._find(scope, id)
        if found is None:
            raise UnknownMemoryError(id)
        if found.scope != scope:
            raise ReadOnlyMemoryError(id)
        return found

    def _own(self, scope: Scope, id: str) -> str:
        """The id under which this scope's memory is stored: the bare one if it is there already."""
        stored = _prefix(scope) + id
        if stored not in self.index:
            bare = self._bare(scope, id)
            if bare is not None and bare.scope == scope:
                return id
        return stored

    def _candidates(self, scope: Scope, ids: Sequence[str] | None) -> list[str] | None:
        """All stored ids that these may stand for; those that are not visible are passed over by the index."""
        if ids is None:
            return None
        prefixes = tuple(_prefix(visible) for visible in visible_scopes(scope))
        bare = [id for id in ids if not id.startswith(prefixes)]  # those that do are stored under shorter ids
        return bare + [prefix + id for id in ids for prefix in prefixes]

    @contextmanager
    def _held(self, ids: Iterable[str]) -> Iterator[None]:
        with ExitStack() as stack:
            for place in sorted(
                {hash(id) % _N_LOCKS for id in ids}
            ):  # in one order, so nobody waits in a circle
                stack.enter_context(self._locks[place])
            yield


def local_id(found: Hit | Record) -> str:
    """Return the id of a hit or record as its scope knows it."""
    return str(found.id).removeprefix(_prefix(found.scope))


def localised(record: Record) -> Record:
    """Return the record with the id that its scope knows."""
    return replace(record, id=local_id(record))


@lru_cache(maxsize=4096)
def visible_scopes(scope: Scope) -> tuple[Scope, ...]:
    """Return the scopes whose memories `scope` sees, the most specific first.

    >>> visible_scopes(Scope("acme", user="jane"))
    (Scope('acme', user='jane'), Scope('acme'))
    """
    users = dict.fromkeys([scope.user, None])
    agents = dict.fromkeys([scope.agent, None])
    return tuple(Scope(scope.tenant, user, agent) for user in users for agent in agents)


@lru_cache(maxsize=4096)
def _prefix(scope: Scope) -> str:
    # As JSON, which ends where it ends whatever the names hold: no two pairs of scope and id are stored alike.
    names = [scope.tenant, scope.user, scope.agent]
    return json.dumps(names, ensure_ascii=False, separators=(",", ":")) + ":"


def _shown(id: str) -> str:
    return repr(id if len(id) <= 80 else id[:77] + "...")
