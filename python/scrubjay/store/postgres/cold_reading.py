"""Reads of the rows of frozen scopes (:mod:`scrubjay.store.postgres.cold`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.store.postgres.cold import OF_SCOPE, Cold, fetched, opened
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.keys import Key
from scrubjay.store.postgres.loading import Loaded
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.rows.decoding import scope_of


class ColdRows:
    """Reads frozen scopes of one collection from their objects. Thread-safe."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def of(self, home: str, numbers: Sequence[int]) -> dict[int, Cold]:
        """Return the frozen ones of these scopes of a home, by the number of their key."""
        found = self._collection.ask(
            "SELECT scope, object, n_bytes, version, documents FROM sj_cold WHERE home = %s AND collection = %s "
            "AND scope = ANY(%s) AND thawed_at IS NULL",
            (home, self._collection.number, list(numbers)),
            home=home,
        )
        return {row[0]: Cold(*row[1:]) for row in found}

    def expiries(self, key: Key) -> list[int]:
        """Return the expiry times of documents of a frozen scope, in ascending order."""
        found = self._collection.ask(
            "SELECT expiries FROM sj_cold WHERE home = %s AND collection = %s AND scope = %s AND thawed_at IS NULL",
            (key.home, self._collection.number, key.number),
            home=key.home,
        )
        return sorted(found[0][0] or ()) if found else []

    def rows(self, scope: Scope, cold: Cold) -> list[Loaded]:
        """Return the rows of a frozen scope in order of writing.

        Raises:
            StoreError: the index was opened without an object store; StoreUnavailableError: that does not answer.
            CorruptIndexError: the object is missing or damaged.
            EncryptionError: its key is not available.
        """
        collection = self._collection
        data = fetched(collection.objects, scope, cold, collection.place)
        return opened(data, scope, collection.number, cold, collection.cipher)

    def everything(self) -> Iterator[tuple[tuple[int, str, int], Scope, Cold]]:
        """Yield every frozen scope: the place of its first row in order of writing, its scope, its location."""
        found = self._collection.ask(
            "SELECT k.first_seq, k.home, k.scope, s.tenant, s.usr, s.agent, k.object, k.n_bytes, k.version, "
            f"k.documents FROM sj_cold k JOIN sj_scope s ON {OF_SCOPE} "
            "WHERE k.collection = %s AND k.thawed_at IS NULL ORDER BY k.first_seq",
            (self._collection.number,),
            home=EVERY_HOME,
        )
        for row in found:
            yield row[:3], scope_of(*row[3:6]), Cold(*row[6:])

    def saw(self, key: Key, *, is_frozen: bool) -> None:
        """Cache for the rest of this thread's snapshot that a scope is not frozen."""
        session = self._collection.sessions.current
        if session is not None:
            session.unfrozen = None if is_frozen else key

    def of_key(self, key: Key) -> Cold | None:
        """Return the location of a scope's rows if it is frozen; call in a snapshot."""
        session = self._collection.sessions.current
        if session is not None and session.unfrozen == key:
            return None
        return self.of(key.home, [key.number]).get(key.number)

    def live(self, scope: Scope, *, now: int | None) -> list[Loaded]:
        """Return the unexpired rows of a scope that is frozen (`now` None: all rows); empty if it is not frozen."""
        cold = self.of_key(self._collection.homes.key(scope))
        rows = [] if cold is None else self.rows(scope, cold)
        return [row for row in rows if now is None or row.is_live(now)]

    def row(self, scope: Scope, cold: Cold, id: bytes, now: int) -> tuple[Any, ...] | None:
        """Return the unexpired row of a frozen scope with this id, in stored form; None if it does not exist."""
        rows = self.rows(scope, cold)
        return next((row.stored for row in rows if row.id == id and row.is_live(now)), None)
