"""Changes of memories by callers that hold a scope, for the HTTP service and MCP.

The index itself handles reading. These interfaces add to writing: errors distinguish an id that names no visible memory
from one that is shared and read-only, and an update changes some fields of a memory without losing concurrent writes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import Error, VersionConflictError
from scrubjay.base.locks import renew_in_children
from scrubjay.documents.records import Record
from scrubjay.index import Index
from scrubjay.index.backend import Backend

_N_LOCKS = 64
_EMBEDDED = {"text", "context", "passages"}  # changes of these fields change the vector


class UnknownMemoryError(Error, KeyError):
    """The scope sees no memory with this id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"id: expected the id of a memory in this scope, got {_shortened(id)}")

    __str__ = Exception.__str__  # KeyError shows its argument's repr


class ReadOnlyMemoryError(Error):
    """The memory is shared with the scope by its tenant, so the scope may read it but not change it."""

    def __init__(self, id: str) -> None:
        super().__init__(
            f"id: expected the id of a memory of this very scope, got {_shortened(id)}, which is shared"
        )


class ScopedMemories:
    """Changes of an index for callers that hold scopes. Thread-safe; ids are str.

    A change that reads first (:meth:`update`, :meth:`delete`) is atomic among all users of this object. Other processes
    can write to the same file meanwhile.

    Raises:
        ValueError: the index has int ids.

    >>> memories = ScopedMemories(Index())
    >>> acme, jane = Scope("acme"), Scope("acme", user="jane")
    >>> memories.put(jane, [{"id": "m1", "text": "Prefers trains."}, {"id": "m2", "text": "Window seat."}])
    2
    >>> memories.update(jane, "m1", {"text": "Prefers planes."}).text
    'Prefers planes.'
    >>> memories.delete(acme, "m1")
    Traceback (most recent call last):
    ...
    scrubjay.backend.scoped_changes.UnknownMemoryError: id: expected the id of a memory in this scope, got 'm1'
    """

    def __init__(self, index: Index) -> None:
        if Backend.of(index).id_kind == "int":
            raise ValueError("index: expected one whose ids are str, got one whose ids are int")
        self.index = index
        self._locks = [threading.RLock() for _ in range(_N_LOCKS)]
        renew_in_children(self, "_locks")

    def put(self, scope: Scope, records: Iterable[Mapping[str, Any]]) -> int:
        """Write memories to exactly this scope as :meth:`Index.upsert_many` does: all of them or none; return how
        many."""
        rows = list(records)
        with self._held(scope, [row["id"] for row in rows]):
            return self.index.upsert_many(rows, scope=scope, progress=False)

    def update(
        self,
        scope: Scope,
        id: str,
        changes: Mapping[str, Any],
        *,
        merge: bool = False,
        version: int | None = None,
    ) -> Record:
        """Change some fields of a memory of this scope (text, context, passages, metadata, vector, created_at,
        expires_at); return it.

        If the text, context or passages change and no vector is given, the memory is embedded again. Passages that its
        writer defined belong to the text: a new text has none of them.

        Args:
            scope: exactly this one.
            id: of the memory.
            changes: field -> new value.
            merge: whether to merge metadata into the stored ones, where None removes a key, as in :meth:`Index.patch`;
                otherwise they replace them.
            version: change only if the memory is still at this version; None: unconditionally.

        Raises:
            UnknownMemoryError, ReadOnlyMemoryError: the memory does not exist, or may not be changed.
            VersionConflictError: it is at another version.
        """
        with self._held(scope, [id]):
            old = self._own(scope, id)
            if version is not None and old.version != version:
                raise VersionConflictError(id, version, old.version or 0)
            new_metadata = changes.get("metadata")
            if merge and isinstance(new_metadata, Mapping):
                merged = {**(old.metadata or {}), **new_metadata}
                left = {
                    key: item for key, item in merged.items() if key not in new_metadata or item is not None
                }
                changes = {**changes, "metadata": left}
            fields = {
                "text": old.text,
                "metadata": old.metadata,
                "created_at": old.created_at,
                "expires_at": old.expires_at,
                "context": old.context,
                "vector": None if changes.keys() & _EMBEDDED else old.vector,
                **changes,
            }
            if not changes.keys() & {"text", "passages", "vector"}:
                fields["passages"] = old.passages
            self.index.upsert(id, scope=scope, version=version, **fields)
            return self._own(scope, id)  # raises if it expired, or another process deleted it

    def delete(self, scope: Scope, id: str, *, version: int | None = None) -> None:
        """Delete the memory `id` of this scope; with `version` only if it is still at this version.

        Raises:
            UnknownMemoryError, ReadOnlyMemoryError: the memory does not exist, or may not be deleted.
            VersionConflictError: it is at another version.
        """
        with self._held(scope, [id]):
            if version is not None and (current := self._own(scope, id).version) != version:
                raise VersionConflictError(id, version, current or 0)
            if not self.index.delete(id, scope=scope):
                self._own(scope, id)
                raise UnknownMemoryError(id)  # another process changed it meanwhile

    def erase(self, scope: Scope, *, exact: bool) -> int:
        """Delete what :meth:`Index.erase` deletes, and return how many; no concurrent update restores any of it."""
        with self._locked(range(_N_LOCKS)):
            return self.index.erase(scope, exact=exact)

    def _own(self, scope: Scope, id: str) -> Record:
        """Return the memory that has this id in exactly this scope."""
        record = self.index.get(id, scope=scope)
        if record is None:
            raise UnknownMemoryError(id)
        if record.scope != scope:
            raise ReadOnlyMemoryError(id)
        return record

    def _held(self, scope: Scope, ids: Iterable[str]) -> Any:
        return self._locked(sorted({hash((scope, id)) % _N_LOCKS for id in ids}))

    @contextmanager
    def _locked(self, places: Iterable[int]) -> Iterator[None]:
        with ExitStack() as stack:
            for place in places:  # in a fixed order, so that callers cannot deadlock
                stack.enter_context(self._locks[place])
            yield


def _shortened(id: str) -> str:
    return repr(id if len(id) <= 80 else id[:77] + "...")
