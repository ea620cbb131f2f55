"""What is known of other processes' writes, and its age."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from scrubjay._native import Scope
from scrubjay.base.errors import StoreError
from scrubjay.base.locks import renew_in_children
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.sessions import Sessions
from scrubjay.store.rows.values import ChangedScopes

_MOST_MET = 200_000  # scopes; beyond that every hint is taken to concern one of them
_PATIENCE_SECONDS = 0.05  # for another thread's poll, before a search proceeds with what is known


class Freshness:
    """Collects the changes of one collection from the feed until the engine asks for them. Thread-safe.

    Args:
        sessions: of the collection.
        feed: reports writes of other processes.
        homes: the assignment of scopes to homes.
        generation: of the collection when it was opened.
        max_stale: seconds for which a search may rely on the last message of the feed; 0: it asks the server each
            time.
    """

    def __init__(
        self, sessions: Sessions, feed: Feed, homes: Homes, *, generation: int, max_stale: float
    ) -> None:
        self.max_stale = max_stale
        self._sessions = sessions
        self._server = sessions.server
        self._feed = feed
        self._homes = homes
        self._local = threading.local()  # .looked: set by this thread's last glance
        self._met: set[int] = set()
        self._marks = threading.Lock()  # guards the rest
        renew_in_children(self, "_marks")
        self._epoch = 0
        self._behind: dict[Scope, int] = {}
        self._is_other_history = False
        self._generation, self._is_renewed = generation, False
        self.history = self._server.lineage
        """The history that this process's partitions belong to."""
        self._server.listen(self._on_other_history)

    # ------------------------------------------------------------------ changes from the feed

    def note(self, changed: Sequence[tuple[Scope, int]], generation: int | None = None) -> None:
        with self._marks:
            if generation is not None and generation > self._generation:
                self._generation, self._is_renewed = generation, True
            self._behind.update(changed)
            self._epoch += 1

    def saw_generation(self, generation: int | None) -> None:
        """Receive a generation of the collection that a read returned; it may be outdated."""
        if generation is not None and generation > self._generation:
            self.note((), generation)

    def wrote(self) -> None:
        """Record a commit of this process, which changes the glance."""
        with self._marks:
            self._epoch += 1

    def _on_other_history(self) -> None:
        with self._marks:
            self._is_other_history = True
            self._epoch += 1

    def meet(self, scopes: Sequence[Scope]) -> None:
        """Subscribe to hints about these scopes."""
        if len(self._met) < _MOST_MET:
            for scope in scopes:
                key = self._homes.key(scope)
                if key.number not in self._met:
                    self._met.add(key.number)
                    self._feed.hints.meet(key.home)

    def concerns(self, key: int) -> bool:
        return key in self._met or len(self._met) >= _MOST_MET

    # ------------------------------------------------------------------ queries of the engine

    def glance(self) -> object:
        """Return a token that changes whenever anything may have been committed: a read of local memory, and a
        poll of the database if the feed was silent for `max_stale` seconds."""
        feed = self._feed
        oldest = monotonic() - self.max_stale
        if feed.fresh_at < oldest:
            self._look()
        # The state at this glance, for `freshness`: the feed may advance while the search is running.
        self._local.looked = feed.fresh_at, oldest
        return self._epoch

    def _look(self) -> None:
        self._sessions.check_open()
        if self._feed.is_away:
            return  # the feed's own thread notices when it is back
        with suppress(StoreError):
            self._feed.poll(wait=_PATIENCE_SECONDS if self.max_stale else self._server.busy_seconds)

    def freshness(self) -> tuple[float, bool]:
        feed = self._feed
        try:
            fresh_at, oldest = self._local.looked
        except AttributeError:  # this thread has not called glance yet
            fresh_at = oldest = feed.fresh_at
        seconds = monotonic() - fresh_at
        return seconds, feed.is_away or fresh_at < oldest or 0 < self.max_stale < seconds

    def mark(self) -> object:
        """Return None: there is one reader, so its changes are collected here."""
        return None

    def noticed(self, mark: object) -> ChangedScopes:
        with self._marks:
            behind, self._behind = self._behind, {}
            is_other, self._is_other_history = self._is_other_history, False
            is_renewed, self._is_renewed = self._is_renewed, False
            if is_other:
                self.history = self._server.lineage
        return ChangedScopes(None, None if is_other else list(behind.items()), is_renewed)

    def generation(self) -> int:
        """Return the newest known generation of the collection; when it changes everything must be read again."""
        return self._generation
