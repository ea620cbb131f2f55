"""What is known of the writes of others, and how old that is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from scrubjay._native import Scope
from scrubjay.errors import StoreError
from scrubjay.locks import renew_in_children
from scrubjay.store.postgres.feed import Feed
from scrubjay.store.postgres.keys import Homes
from scrubjay.store.postgres.sessions import Sessions
from scrubjay.store.rows.stored import Noticed

_MOST_MET = 200_000  # scopes; beyond that every hint is about one of them
_PATIENCE_SECONDS = 0.05  # for another thread's look at the feed, before a search answers from what is there


class Freshness:
    """Keeps what the feed says of one collection until the engine asks for it. Thread-safe.

    Args:
        sessions: of the collection.
        feed: that tells what others write.
        homes: where rows are.
        generation: of the collection, as it was opened.
        max_stale: seconds for which a search may rely on what the feed said last; 0: it asks each time.
    """

    def __init__(
        self, sessions: Sessions, feed: Feed, homes: Homes, *, generation: int, max_stale: float
    ) -> None:
        self.max_stale = max_stale
        self._sessions = sessions
        self._server = sessions.server
        self._feed = feed
        self._homes = homes
        self._local = threading.local()  # .looked: of this thread's last glance
        self._met: set[int] = set()
        self._marks = threading.Lock()  # the rest
        renew_in_children(self, "_marks")
        self._epoch = 0
        self._behind: dict[Scope, int] = {}
        self._is_other_history = False
        self._generation, self._is_renewed = generation, False
        self.history = self._server.lineage
        """That of what this process has in memory."""
        self._server.listen(self._on_other_history)

    # ------------------------------------------------------------------ what the feed says

    def note(self, changed: Sequence[tuple[Scope, int]], generation: int | None = None) -> None:
        """The feed says that scopes have these versions now, and the collection this generation."""
        with self._marks:
            if generation is not None and generation > self._generation:
                self._generation, self._is_renewed = generation, True
            self._behind.update(changed)
            self._epoch += 1

    def saw_generation(self, generation: int | None) -> None:
        """A read says that the collection has this generation, or had it not long ago."""
        if generation is not None and generation > self._generation:
            self.note((), generation)

    def wrote(self) -> None:
        """This process committed: what is kept by a glance was true before."""
        with self._marks:
            self._epoch += 1

    def _on_other_history(self) -> None:
        with self._marks:
            self._is_other_history = True
            self._epoch += 1

    def meet(self, scopes: Sequence[Scope]) -> None:
        """Hear hints about these scopes from now on."""
        if len(self._met) < _MOST_MET:
            for scope in scopes:
                key = self._homes.key(scope)
                if key.number not in self._met:
                    self._met.add(key.number)
                    self._feed.hints.meet(key.home)

    def concerns(self, key: int) -> bool:
        return key in self._met or len(self._met) >= _MOST_MET

    # ------------------------------------------------------------------ what the engine asks

    def glance(self) -> object:
        """Return what differs whenever anything may have been committed: a look at local memory, and at the database if
        the feed has not been heard for `max_stale` seconds."""
        feed = self._feed
        oldest = monotonic() - self.max_stale
        if feed.fresh_at < oldest:
            self._look()
        # As of this look, for `freshness`: the feed may be told more while the search is under way.
        self._local.looked = feed.fresh_at, oldest
        return self._epoch

    def _look(self) -> None:
        self._sessions.check_open()
        if self._feed.is_away:
            return  # the feed's own thread finds out when it is back
        with suppress(StoreError):
            self._feed.poll(wait=_PATIENCE_SECONDS if self.max_stale else self._server.busy_seconds)

    def freshness(self) -> tuple[float, bool]:
        """Return for how many seconds what others wrote may be unknown to this thread's last glance, and whether that
        is longer than promised."""
        feed = self._feed
        try:
            fresh_at, oldest = self._local.looked
        except AttributeError:  # this thread has not looked yet
            fresh_at = oldest = feed.fresh_at
        seconds = monotonic() - fresh_at
        return seconds, feed.is_away or fresh_at < oldest or 0 < self.max_stale < seconds

    def mark(self) -> object:
        """There is one who asks, so what was noticed is kept here."""
        return None

    def noticed(self, mark: object) -> Noticed:
        """Return the scopes that were written to since the last call."""
        with self._marks:
            behind, self._behind = self._behind, {}
            is_other, self._is_other_history = self._is_other_history, False
            is_renewed, self._is_renewed = self._is_renewed, False
            if is_other:
                self.history = self._server.lineage
        return Noticed(None, None if is_other else list(behind.items()), is_renewed)

    def generation(self) -> int:
        """Return the generation of the collection as far as is known here; another one means that everything is to be
        read anew."""
        return self._generation
