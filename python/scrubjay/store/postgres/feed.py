"""What other processes wrote: a thread asks the database for scopes that changed, for all collections of an index.

Each write stamps its scopes with the server's time, in the statement before its COMMIT. A poll asks for stamps since
the last poll, and some seconds before that: a stamp is older than the moment at which it can be seen, by as long as a
COMMIT takes. A writer whose COMMIT took longer stamps again (`WINDOW_SECONDS`). So a poll that was answered has told of
everything that was committed before it began.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError, Error
from scrubjay.locks import renew_in_children
from scrubjay.store.decoding import scope_of
from scrubjay.store.postgres.errors import translated
from scrubjay.store.postgres.schema import WINDOW_SECONDS
from scrubjay.store.postgres.server import Server

__all__ = ["Feed"]

_LONGEST_PAUSE = 0.2


class Listener(Protocol):
    """A collection that wants to know."""

    number: int

    def note(self, changed: Sequence[tuple[Scope, int]]) -> None:
        """Scopes have these versions now."""
        ...


class Feed:
    """Polls one database. Thread-safe.

    Args:
        server: of the index.
        max_stale: seconds; polls are at most a quarter of it apart.
    """

    def __init__(self, server: Server, max_stale: float) -> None:
        self.fresh_at = 0.0
        """Everything that was committed before this moment (:func:`time.monotonic`) was told."""
        self.is_away = False
        """Whether the database did not answer when it was last asked."""
        self._server = server
        self._pause = min(_LONGEST_PAUSE, max(max_stale / 4, 0.01))
        self._listeners: weakref.WeakSet[Any] = weakref.WeakSet()
        self._turn = threading.Lock()  # one poll at a time
        renew_in_children(self, "_turn")
        self._seen: dict[tuple[int, str, str, str], int] = {}
        self._since: Any = None  # the server's time
        self._connection: Any = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    def add(self, listener: Listener) -> None:
        """Tell a collection from now on."""
        self._listeners.add(listener)
        if self._since is None:
            self.poll()
        if self._thread is None:
            me = weakref.ref(self)
            self._thread = threading.Thread(
                target=_run, args=(me, self._stopped, self._pause), name="scrubjay-feed", daemon=True
            )
            self._thread.start()

    def poll(self, *, wait: float = -1) -> bool:
        """Ask once, and tell what changed; False if another poll was under way for longer than `wait` seconds.

        Raises:
            StoreError: the database does not answer; `is_away` says so from then on.
        """
        if not self._turn.acquire(timeout=wait):
            return False
        try:
            started = time.monotonic()
            with translated(self._server.place, "looking for changes"):
                rows = self._rows()
            self._tell(rows)
            self.fresh_at = started
            self.is_away = False
            return True
        except BaseException:
            self.is_away = True
            self._drop_connection()
            raise
        finally:
            self._turn.release()

    def _rows(self) -> list[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = self._server.take(fresh=True)
        rows: list[tuple[Any, ...]] = self._connection.execute(
            "SELECT now.at, s.collection, s.tenant, s.usr, s.agent, s.version "
            "FROM (SELECT clock_timestamp() AS at) now "
            "LEFT JOIN sj_scope s ON s.changed > coalesce(%s::timestamptz, now.at)",
            (self._since,),
            binary=True,
        ).fetchall()
        return rows

    def _tell(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self._since = rows[0][0] - timedelta(seconds=WINDOW_SECONDS)
        seen: dict[tuple[int, str, str, str], int] = {}
        news: dict[int, list[tuple[Scope, int]]] = {}
        for _, collection, tenant, user, agent, version in rows:
            if collection is None:
                continue
            key = (collection, tenant, user, agent)
            seen[key] = version
            if self._seen.get(key) != version:
                with suppress(CorruptIndexError):  # that scope's own searches say so
                    news.setdefault(collection, []).append((scope_of(tenant, user, agent), version))
        self._seen = seen
        for listener in list(self._listeners):
            if changed := news.get(listener.number):
                listener.note(changed)

    def tell(self, changed: Sequence[tuple[int, Scope, int]]) -> None:
        """Tell what this process itself wrote to other collections (number, scope, version)."""
        for listener in list(self._listeners) if changed else ():
            if own := [(scope, version) for number, scope, version in changed if number == listener.number]:
                listener.note(own)

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._server.give(connection)
            self._server.forget_resting()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        thread = self._thread
        if thread is not None and self._pid == os.getpid() and thread is not threading.current_thread():
            thread.join(timeout=2)
        with suppress(Exception):
            self._drop_connection()


def _run(feed: weakref.ref[Feed], stopped: threading.Event, pause: float) -> None:
    while not stopped.wait(pause):
        one = feed()
        if one is None:
            return
        with suppress(Error, Exception):  # is_away says it; the next round asks again
            one.poll()
        del one
