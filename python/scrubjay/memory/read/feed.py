"""The feed of changes: what happened to a memory, in one durable order, with a cursor to go on from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.ledger.changes import ChangeEvent, Changes, Hook, Sight
from scrubjay.store.rows.listing import checked_count


class Feed:
    """What happened to the records of a memory, oldest first. Thread-safe; :attr:`scrubjay.memory.Memory.feed`.

    What happened to a record goes when the record is deleted; that it expired or was forgotten stays, and says nothing
    of its content. So who follows the feed and who reads it from its beginning end with the same records.

    >>> import tempfile
    >>> from scrubjay.memory import Memory
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
    ...     stop = memory.feed.on_change(lambda event: print("hook:", event.what), scope=jane)
    ...     outcome = memory.propose("Jane lives in Oslo", scope=jane, source="run-1")
    ...     seen = memory.feed.cursor
    ...     memory.revoke(outcome.id, reason="moved", scope=jane)
    ...     [(event.what, event.detail) for event in memory.feed.changes(seen, scope=jane)]
    hook: proposed
    hook: revoked
    [('revoked', 'moved')]
    >>> folder.cleanup()
    """

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    @property
    def cursor(self) -> int:
        """The cursor of the newest change, whosever: what comes after it is new. 0: nothing was written yet."""
        return self._changes.cursor

    def changes(
        self, since: int = 0, *, scope: Scope, within: bool = False, limit: int = 1000
    ) -> list[ChangeEvent]:
        """Return the changes after a cursor, oldest first.

        Args:
            since: the cursor of the last change that was seen; 0: from the beginning.
            scope: who asks; it gets the changes of what it sees, those of the tenant and of global policies included.
            within: instead the changes of this scope and of everything inside of it: a tenant's users and agents.
            limit: how many at most. As many as that: there may be more.

        A time that passes is no change: a fact that holds until Friday has no event on Friday, and what expires has its
        event when :meth:`scrubjay.memory.MemoryAdmin.sweep` deletes it, or something takes its place.

        Raises:
            TypeError, ValueError: an argument is not as it should be; `since` is of another file, or of one that was
                restored from an older copy.
            EncryptionError: the tenant's key is not available. One that was destroyed is as if erased.
        """
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        if not isinstance(within, bool):
            raise TypeError(f"within: expected a bool, got {type(within).__name__}")
        checked_count(limit, "limit")
        return self._changes.after(checked_cursor(since), Sight(scope, within), limit)

    def on_change(self, function: Hook, *, scope: Scope, within: bool = False) -> Callable[[], None]:
        """Call a function with each change from now on, of this or any process, in the order of the feed.

        It is called after the change was committed, on a thread that wrote (changes of other processes wait for the
        next write of this one), one call at a time. An exception of it is logged and stops neither the write nor later
        calls. What it writes itself comes to it after it returned.

        Args:
            function: takes a :class:`ChangeEvent`.
            scope, within: as for :meth:`changes`.

        Returns:
            A function that ends it.
        """
        if not isinstance(scope, Scope):
            raise TypeError(f"scope: expected a scrubjay.Scope, got {type(scope).__name__}")
        return self._changes.follow(function, Sight(scope, within))


def checked_cursor(since: Any) -> int:
    """Return a cursor.

    Raises:
        TypeError, ValueError: it is none.
    """
    if isinstance(since, bool) or not isinstance(since, int):
        raise TypeError(f"since: expected the cursor of a change, an int, got {type(since).__name__}")
    if not 0 <= since < 1 << 63:
        raise ValueError(f"since: expected a cursor of this memory, got {since}")
    return since
