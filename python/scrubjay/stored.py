"""What can be done with an index because it has a file: closing, warming, sweeping, compacting, proving, copying.

Half of :class:`scrubjay.Index`, apart so that either half can be read in one sitting. Without a file the same calls do
what makes sense in memory, or say that there is no file.
"""

from __future__ import annotations

from pathlib import Path

from scrubjay._native import Engine, Scope
from scrubjay.errors import StoreError
from scrubjay.expiry import Expiry
from scrubjay.semantic import Semantics
from scrubjay.store.engine import DurableEngine
from scrubjay.store.protocol import Event

__all__ = ["StoredIndex"]


class StoredIndex:
    """The part of an index that knows of its file."""

    _engine: Engine | DurableEngine
    _semantics: Semantics
    _expiry: Expiry

    @property
    def path(self) -> Path | None:
        """The file; None for an index in this process's memory."""
        return self._engine.store.path if isinstance(self._engine, DurableEngine) else None

    def close(self) -> None:
        """Close the file; what changed since is kept ready for the next opening. Other calls raise ClosedError then."""
        if isinstance(self._engine, DurableEngine):
            self._engine.close()

    def warm(self, scope: Scope, *, pin: bool = False) -> int:
        """Read what a search from `scope` sees into memory; return how many memories that is.

        With `pin` its partitions stay in memory, whatever the budget.
        """
        if isinstance(self._engine, DurableEngine):
            self._engine.warm(scope, pin=pin)
        return self._engine.count(scope)

    def sweep(self) -> int:
        """Delete expired memories for good (searches do not see them anyway); return how many."""
        if isinstance(self._engine, DurableEngine):
            return self._engine.sweep()
        return self._expiry.remove_due()

    def events(self) -> list[Event]:
        """Return what was deleted from the file, without its content: when, why, from which scope, how many."""
        return self._stored("events").store.events()

    def _stored(self, doing: str) -> DurableEngine:
        if not isinstance(self._engine, DurableEngine):
            raise StoreError(f"{doing}: this index has no file; open one with Index.open(path)")
        return self._engine
