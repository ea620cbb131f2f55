"""The change feed: the changes of a memory in one durable order, with a cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag, is_integer
from scrubjay.memory.ledger.changes import ChangeEvent, Changes, EventScope, Hook
from scrubjay.store.rows.listing import checked_count


class Feed:
    """The changes of a memory's records, oldest first. Thread-safe; :attr:`scrubjay.memory.Memory.feed`.

    When a record is deleted, its events are deleted as well; the event of its expiry or erasure stays, without its
    content. A consumer that follows the feed and one that reads it from the beginning therefore end with the same
    records.

    >>> import tempfile
    >>> from scrubjay.memory import Memory
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
    ...     stop = memory.feed.on_change(lambda event: print("hook:", event.action), scope=jane)
    ...     outcome = memory.propose("Jane lives in Oslo", scope=jane, source="run-1")
    ...     seen = memory.feed.cursor
    ...     memory.revoke(outcome.id, reason="moved", scope=jane)
    ...     [(event.action, event.detail) for event in memory.feed.changes(seen, scope=jane)]
    hook: proposed
    hook: revoked
    [('revoked', 'moved')]
    >>> folder.cleanup()
    """

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    @property
    def cursor(self) -> int:
        """The cursor of the newest change in any scope; 0: nothing was written yet."""
        return self._changes.cursor

    def changes(
        self, since: int = 0, *, scope: Scope, within: bool = False, limit: int = 1000
    ) -> list[ChangeEvent]:
        """Return the changes after a cursor, oldest first.

        Args:
            since: the cursor of the last change already seen; 0: from the beginning.
            scope: the scope of the caller; the result has the changes visible to it, including those of the tenant
                and of global policies.
            within: return instead the changes of this scope and of all scopes within it: a tenant's users and agents.
            limit: the maximum number. If that many are returned, there may be more.

        The passing of time is no change: a fact that holds until Friday has no event on Friday, and an expired record
        has its event when :meth:`scrubjay.memory.MemoryAdmin.sweep` deletes it, or another record replaces it.

        Raises:
            TypeError, ValueError: an argument is invalid; `since` belongs to another file, or to a newer state than
                that of a restored copy.
            EncryptionError: the tenant's key is unavailable. A tenant whose key was destroyed counts as erased.
        """
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        within = checked_flag(within, "within")
        limit = checked_count(limit, "limit")
        return self._changes.after(checked_cursor(since), EventScope(scope, within), limit)

    def on_change(self, function: Hook, *, scope: Scope, within: bool = False) -> Callable[[], None]:
        """Call a function with each change from now on, of this or any process, in the order of the feed.

        It is called after the commit, on a writing thread (changes of other processes are delivered with the next
        write of this one), one call at a time. Its exceptions are logged and stop neither the write nor later calls.
        Changes that it writes itself are delivered after it has returned.

        Args:
            function: takes a :class:`ChangeEvent`.
            scope, within: as for :meth:`changes`.

        Returns:
            A function that ends the subscription.
        """
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        within = checked_flag(within, "within")
        return self._changes.follow(function, EventScope(scope, within))


def checked_cursor(since: Any) -> int:
    """Return a valid cursor.

    Raises:
        TypeError, ValueError: it is not a cursor.
    """
    if not is_integer(since):
        raise TypeError(f"since: expected the cursor of a change, an int, got {type(since).__name__}")
    if not 0 <= since < 1 << 63:
        raise ValueError(f"since: expected a cursor of this memory, got {since}")
    return int(since)
