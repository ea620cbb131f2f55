"""What whoever runs the service does with a memory: legal holds, and the changes of all scopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scrubjay._native import Scope
from scrubjay.memory.base import checked_scope, log_gone
from scrubjay.memory.content import named
from scrubjay.memory.feed import ChangeEvent, _Sight, checked_cursor
from scrubjay.memory.holds import Hold, held_scopes
from scrubjay.store.listing import checked_count
from scrubjay.store.reading import names_of

if TYPE_CHECKING:
    from scrubjay.memory.forgetting import Forgetting

__all__ = ["MemoryAdmin"]


class MemoryAdmin:
    """An administrator's verbs: :attr:`scrubjay.memory.Memory.admin`. They reach every scope, and no scope allows them.

    >>> import tempfile
    >>> from scrubjay import HeldError
    >>> from scrubjay.memory import Memory
    >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
    >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
    ...     memory.admin.hold(jane, reason="case 17", by="legal")
    ...     try:
    ...         memory.forget(jane)
    ...     except HeldError as error:
    ...         print(error.reason)
    ...     print(memory.admin.release(jane, by="legal"), memory.forget(jane).total)
    case 17
    True 0
    >>> folder.cleanup()
    """

    def __init__(self, memory: Forgetting) -> None:
        self._memory = memory

    def hold(self, scope: Scope, *, reason: str, by: str) -> None:
        """Hold everything of a scope and within it, what is written later included, until it is released.

        `forget`, `delete` and `update` raise :class:`scrubjay.HeldError` for it, and a sweep leaves it. What expires or
        is revoked is out of force all the same. A hold that is there gets the new reason. Notes, which are documents of
        the index, are not held against what is done to it directly.

        Args:
            scope: of any tenant.
            reason: shown to who is refused.
            by: the name of who sets it.
        """
        checked_scope(scope)
        reason, by = named(reason, "reason"), named(by, "by")
        with self._memory.changing("setting a legal hold") as change:
            change.connection.execute(
                "INSERT OR REPLACE INTO memory_hold(tenant, user, agent, reason, by, at) VALUES (?, ?, ?, ?, ?, ?)",
                (*names_of(scope), reason, by, change.now),
            )
            log_gone(change, "", names_of(scope), "held", by)

    def release(self, scope: Scope, *, by: str) -> bool:
        """Release the hold on exactly this scope; False if there is none. Holds on wider scopes stay."""
        checked_scope(scope)
        by = named(by, "by")
        with self._memory.changing("releasing a legal hold") as change:
            gone = change.connection.execute(
                "DELETE FROM memory_hold WHERE tenant = ? AND user = ? AND agent = ?", names_of(scope)
            ).rowcount
            if gone:
                log_gone(change, "", names_of(scope), "released", by)
        return bool(gone)

    def holds(self, tenant: str | None = None) -> list[Hold]:
        """Return the holds on the scopes of a tenant (None: of all tenants), in the order of the scopes."""
        if tenant is not None:
            tenant = Scope(tenant).tenant
        with self._memory.reading() as connection:
            return held_scopes(connection, tenant)

    def changes(self, since: int = 0, *, limit: int = 1000) -> list[ChangeEvent]:
        """Return the changes of all scopes after a cursor, as :meth:`Feed.changes` does of one."""
        checked_count(limit, "limit")
        return self._memory.feed._after(checked_cursor(since), _Sight(None), limit)

    def on_change(self, function: Callable[[ChangeEvent], object]) -> Callable[[], None]:
        """Call a function with each change of any scope, as :meth:`Feed.on_change` does of one."""
        return self._memory.feed._follow(function, _Sight(None))
