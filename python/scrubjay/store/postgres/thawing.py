"""Records which scopes are used, so that they are not frozen, and thaws frozen scopes that are read."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress

from scrubjay._native import Scope
from scrubjay.base.errors import Error
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.last_use import UseLog, today
from scrubjay.store.postgres.transaction import PostgresTransaction

_MOST_READ = 10_000  # frozen scopes remembered as read once


class Thawing:
    """Records the use of scopes of a collection, and thaws those whose rows are read repeatedly. Thread-safe."""

    def __init__(
        self, collection: Collection, writing: Callable[..., AbstractContextManager[PostgresTransaction]]
    ) -> None:
        self._collection = collection
        self._writing = writing
        self._read_only = collection.sessions.server.read_only
        self._uses = UseLog()
        self._read: dict[Scope, None] = {}  # frozen scopes that were read once
        self._to_thaw: dict[Scope, None] = {}  # frozen scopes that were read again
        self._is_caring = False

    def watch(self, used: Callable[[], Iterable[Scope]]) -> None:
        self._uses.watch(weakref.WeakMethod(used))

    def used(self, scope: Scope) -> None:
        """Record that a scope was read, by any query."""
        self._uses.note(scope)

    def wanted(self, scope: Scope) -> None:
        """Record that rows of a frozen scope were requested, by id or in a listing."""
        if self._read_only:
            return
        if scope in self._read:  # only at the second read, so that a full scan thaws nothing
            self._to_thaw[scope] = None
            return
        if len(self._read) >= _MOST_READ:
            self._read.clear()
        self._read[scope] = None

    def note_uses(self) -> None:
        """Write the last day of use to the rows of scopes that this process used, at most once a day each."""
        if self._read_only:
            return
        by_home: dict[str, list[int]] = {}
        for scope in self._uses.take():
            key = self._collection.homes.key(scope)
            by_home.setdefault(key.home, []).append(key.number)
        for home, numbers in by_home.items():
            with self._writing("noting what was used", scopes=()) as transaction:
                transaction.lock_homes([home])
                transaction.batch.add(
                    "UPDATE sj_scope SET used = %s WHERE home = %s AND collection = %s AND key = ANY(%s) AND used < %s",
                    (today(), home, self._collection.number, numbers, today()),
                    home=home,
                )

    def thaw(self, scopes: Iterable[Scope]) -> None:
        """Restore the rows of frozen scopes."""
        for scope in scopes:
            with self._writing("bringing back", scopes=[scope]) as transaction:
                transaction.in_collection(self._collection.number).thawed(scope)

    def begin(self) -> None:
        """Start maintenance that is due, in a thread of its own."""
        if not self._is_caring and (self._to_thaw or self._uses.is_due()):
            self._is_caring = True
            threading.Thread(target=self.care, name="scrubjay-cold", daemon=True).start()

    def care(self) -> None:
        """Thaw requested scopes, and record uses; failures are retried later."""
        try:
            while self._to_thaw:
                scope, _ = self._to_thaw.popitem()
                self._read.pop(scope, None)
                # it stays readable from its object, and the next read requests it again
                with suppress(Error):
                    self.thaw([scope])
            with suppress(Error):
                self.note_uses()
        finally:
            self._is_caring = False
