"""Which scopes are used, so that they are not frozen, and which frozen ones come back."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress

from scrubjay._native import Scope
from scrubjay.errors import Error
from scrubjay.store.postgres.collection import Collection
from scrubjay.store.postgres.transaction import PostgresTransaction
from scrubjay.store.postgres.used import Uses, today

_MOST_READ = 10_000  # frozen scopes that are remembered as read once


class ColdCare:
    """Notes which scopes of a collection are used, and brings those back whose rows are read again. Thread-safe.

    Args:
        collection: whose scopes they are.
        writing: begins a transaction.
    """

    def __init__(
        self, collection: Collection, writing: Callable[..., AbstractContextManager[PostgresTransaction]]
    ) -> None:
        self._collection = collection
        self._writing = writing
        self._read_only = collection.sessions.server.read_only
        self._uses = Uses()
        self._read: dict[Scope, None] = {}  # whose rows were read from an object
        self._to_thaw: dict[Scope, None] = {}  # since that was so again
        self._is_caring = False

    def watch(self, used: Callable[[], Iterable[Scope]]) -> None:
        """Ask this method now and then which scopes were searched since it was asked last."""
        self._uses.watch(weakref.WeakMethod(used))

    def used(self, scope: Scope) -> None:
        """A scope was read, by whatever question."""
        self._uses.note(scope)

    def wanted(self, scope: Scope) -> None:
        """Rows of a frozen scope were asked for, by id or in a list."""
        if self._read_only:
            return
        if scope in self._read:  # the second time: who looks at everything once does not bring it back
            self._to_thaw[scope] = None
            return
        if len(self._read) >= _MOST_READ:
            self._read.clear()
        self._read[scope] = None

    def note_uses(self) -> None:
        """Let the rows of scopes that this process used say so: a day each, once a day."""
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
        """Bring the rows of scopes back that are frozen."""
        for scope in scopes:
            with self._writing("bringing back", scopes=[scope]) as transaction:
                transaction.in_collection(self._collection.number).thawed(scope)

    def begin(self) -> None:
        """Begin what is due, in a thread of its own."""
        if not self._is_caring and (self._to_thaw or self._uses.is_due()):
            self._is_caring = True
            threading.Thread(target=self.care, name="scrubjay-cold", daemon=True).start()

    def care(self) -> None:
        """Bring back what is wanted, and note what was used; what fails is tried again."""
        try:
            while self._to_thaw:
                scope, _ = self._to_thaw.popitem()
                self._read.pop(scope, None)
                with suppress(Error):  # it stays readable where it is, and is asked for again
                    self.thaw([scope])
            with suppress(Error):
                self.note_uses()
        finally:
            self._is_caring = False
