"""The day on which a scope was last used: written along with its rows, or later in batches, never by a search."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.locks import renew_in_children

_DAY_SECONDS = 86_400
_ROUND_SECONDS = 3600.0
_MOST = 100_000  # scopes remembered until the next round


def today() -> int:
    """Return the number of days since 1970 in UTC."""
    return int(time.time()) // _DAY_SECONDS


class UseLog:
    """The scopes that this process used and whose rows do not record it yet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._noted: dict[Scope, None] = {}
        self._stamped: dict[Scope, None] = {}  # recorded today
        self._day = today()
        self._due = time.monotonic() + _ROUND_SECONDS
        self._resident: Callable[[], Callable[[], Iterable[Scope]] | None] = lambda: None

    def watch(self, resident: Any) -> None:
        """Set a weak reference to a method, called in each round, that returns the searched scopes in memory."""
        self._resident = resident

    def note(self, scope: Scope) -> None:
        """Record that a scope was read."""
        with self._lock:
            if scope not in self._stamped and len(self._noted) < _MOST:
                self._noted[scope] = None

    def is_due(self) -> bool:
        """Whether the next round is due; if so, it is not due again for a while."""
        now = time.monotonic()
        with self._lock:
            if now < self._due:
                return False
            self._due = now + _ROUND_SECONDS
            return True

    def take(self) -> list[Scope]:
        """Return the scopes whose use today is to be recorded in their rows."""
        resident = self._resident()
        searched = () if resident is None else resident()
        with self._lock:
            if self._day != today() or len(self._stamped) > _MOST:
                self._day, self._stamped = today(), {}
            found = {**self._noted, **dict.fromkeys(searched)}
            self._noted = {}
            fresh = [scope for scope in found if scope not in self._stamped]
            self._stamped.update(dict.fromkeys(fresh))
        return fresh
