"""An event loop on a separate thread, for interfaces that are only awaitable."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any

__all__ = ["LoopThread"]


class LoopThread:
    """Runs coroutines for synchronous callers. The thread does not survive a fork, so calls in a child raise."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._process = os.getpid()

    def run(self, work: Coroutine[Any, Any, Any], timeout: float = 120.0) -> Any:
        """Return the result of the coroutine, or raise its exception."""
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the store is closed")
        if os.getpid() != self._process:
            work.close()
            raise RuntimeError("the store was opened by the process that this one was forked from")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout)

    def close(self) -> None:
        """Stop the loop. Idempotent."""
        if not self._loop.is_closed() and os.getpid() == self._process:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._loop.close()
