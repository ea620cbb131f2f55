"""Which memory does a framework mean by an id?

An id of an index is unique in its collection. Frameworks name documents as they like, often by a hash of the content:
two users who keep the same text would be in each other's way, and a refused write would tell one what the other has.
So the stored id begins with a digest of its exact scope. Memories that were written without an adapter keep their ids
and are found by them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from scrubjay._native import Scope
from scrubjay.adapters._opened import Lease
from scrubjay.records import Record
from scrubjay.store.partition import visible_from

__all__ = ["ScopedIds"]


class ScopedIds:
    """The ids of one framework's documents in a collection, as seen from one scope.

    What the scope shares (its tenant's memories, say) is found, and only what is exactly its own is changed.

    >>> from scrubjay.adapters._opened import lease
    >>> held, jane = lease(None), Scope("acme", user="jane")
    >>> ids = ScopedIds(held, jane)
    >>> held.index.upsert(ids.new("1"), "Prefers trains.", scope=jane)
    >>> ids.find(["1", "2"])["1"].text
    'Prefers trains.'
    >>> ScopedIds(held, Scope("acme", user="joe")).find(["1"])
    {}
    >>> ids.delete(["1", "2"])
    1
    """

    def __init__(self, held: Lease, scope: Scope) -> None:
        self._held = held
        self.scope = scope
        own_first = sorted(visible_from(scope), key=lambda one: one != scope)
        self._prefixes = {one: _prefix(one) for one in own_first}

    def new(self, id: str) -> str:
        """Return the id under which a new document of this scope is stored."""
        return self._prefixes[self.scope] + id

    def given(self, id: str | int, scope: Scope) -> str:
        """Return the framework's id of a memory that was found with this id in this scope."""
        return str(id).removeprefix(self._prefixes.get(scope) or _prefix(scope))

    def stored(self, ids: Iterable[str], *, exact: bool = False) -> dict[str, str]:
        """Return all ids under which documents with these ids may be stored, each with the framework's.

        `exact`: as far as they are the scope's own. What is no str that UTF-8 can encode is the id of nothing.
        """
        prefixes = [self._prefixes[self.scope]] if exact else list(self._prefixes.values())
        candidates: dict[str, str] = {}
        for id in ids:
            if isinstance(id, str) and _is_encodable(id):
                candidates.update(dict.fromkeys((prefix + id for prefix in prefixes), id))
                if id:
                    candidates.setdefault(id, id)
        return candidates

    def find(self, ids: Iterable[str], *, exact: bool = False) -> dict[str, Record]:
        """Return the memories with these ids, without vectors: of equal ids the scope's own; what is not there, or not
        visible, is left out. `exact`: the scope's own only."""
        candidates = self.stored(ids, exact=exact)
        found: dict[str, Record] = {}
        if candidates:
            for record in self._held.index.list(self.scope, ids=list(candidates), exact=exact):
                id = self.given(record.id, record.scope)
                if candidates.get(str(record.id)) == id and (id not in found or record.scope == self.scope):
                    found[id] = record
        return found

    def delete(self, ids: Iterable[str]) -> int:
        """Delete the scope's own memories with these ids, at once; return how many there were."""
        return self.delete_records(self.find(ids, exact=True).values())

    def delete_records(self, records: Iterable[Record]) -> int:
        """Delete memories that a listing of exactly this scope returned; return how many were still there."""
        stored = [record.id for record in records if record.scope == self.scope]
        return int(self._held.index.engine.delete_many(stored)) if stored else 0


def _prefix(scope: Scope) -> str:
    parts = json.dumps([scope.tenant, scope.user, scope.agent])
    return hashlib.blake2b(parts.encode(), digest_size=8).hexdigest() + ":"


def _is_encodable(id: str) -> bool:
    try:
        id.encode()
    except UnicodeEncodeError:  # a lone surrogate: no stored id has one
        return False
    return True
