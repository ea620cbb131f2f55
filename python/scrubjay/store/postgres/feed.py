"""The feed of other processes' writes: a thread polls the database for changed scopes, for all collections of an
index.

Each write stamps its scopes with the server's time, in the statement before its COMMIT. A poll asks for stamps
since the last poll minus a window of some seconds, because a stamp is older than the moment at which it becomes
visible, by the duration of the COMMIT. A writer whose COMMIT took longer stamps again (`WINDOW_SECONDS`). So an
answered poll covers everything that was committed before it began. Hints from other processes
(:mod:`scrubjay.store.postgres.hints`) only make the next poll come sooner.

Of the processes of a machine that have the same database open with the same options, one polls and shares its
answers (:mod:`scrubjay.store.postgres.shared_feed`). The others use an answer like one of their own if it is
contiguous with what they know: it must cover every stamp since the last answer that they used, minus the window.
It is as old as its query.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Protocol

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, Error
from scrubjay.base.locks import renew_in_children
from scrubjay.store.postgres.batch import Batch, Statement
from scrubjay.store.postgres.errors import translated
from scrubjay.store.postgres.hint_buckets import Hint
from scrubjay.store.postgres.hints import Hints
from scrubjay.store.postgres.poll_answers import Answer
from scrubjay.store.postgres.row_security import EVERY_HOME
from scrubjay.store.postgres.schema import WINDOW_SECONDS
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.shared_feed import SharedFeed
from scrubjay.store.rows.decoding import scope_of

_LONGEST_PAUSE = 0.2
_LEAST_PAUSE = 0.002
_REST = 4  # after a poll, hints are ignored for this many times its duration
# a leader's answer is late this long after the pause, or after twice the pause if that is less
_LATE_SECONDS = 0.08
_SILENT_SECONDS = 1.0  # without an answer, after which a follower leaves its leader
_BACK_SECONDS = 2.0  # by which a follower's last answer may be older than the leader's previous one
_KEEP_SECONDS = 2.0  # after its own last poll; then a follower returns its connection

_GENERATIONS: Statement = ("SELECT collection, generation FROM sj_collection", ())


class Listener(Protocol):
    """A collection that receives the changes."""

    number: int

    def note(self, changed: Sequence[tuple[Scope, int]], generation: int | None = None) -> None:
        """Receive new versions of scopes, and the generation of the collection (None: unchanged)."""
        ...

    def concerns(self, key: int) -> bool:
        """Whether the scope with this key may be in memory."""
        ...

    def generation(self) -> int:
        """Return the last generation received."""
        ...

    def tidy(self) -> None:
        """Start periodic maintenance that is due, without waiting for it."""
        ...


class Feed:
    """Polls one database. Thread-safe.

    Args:
        server: of the index.
        max_stale: in seconds; polls are at most a quarter of it apart.
        shared: whether one process of the machine may poll for the others.
    """

    def __init__(self, server: Server, max_stale: float, *, shared: bool = True) -> None:
        self.fresh_at = 0.0
        """Everything committed before this moment (:func:`time.monotonic`) has been delivered."""
        self.is_away = False
        """Whether the database did not answer the last poll."""
        self._server = server
        # With max_stale = 0 every search polls itself; polls of the thread only show whether the database
        # answers.
        self._pause = min(_LONGEST_PAUSE, max(max_stale / 4, 0.01)) if max_stale > 0 else _LONGEST_PAUSE
        self._listeners: weakref.WeakSet[Any] = weakref.WeakSet()
        self._turn = threading.Lock()  # one poll at a time
        renew_in_children(self, "_turn")
        self._seen: dict[tuple[int, str, str, str], int] = {}
        self._since: datetime | None = None  # the server's time
        self._connection: Any = None
        self._polled_at = 0.0
        self.told_all_at = 0.0
        """When the last answer that woke all followers was asked for."""
        self.n_polls = 0
        """The number of polls of this process itself."""
        self.sharing = SharedFeed(wanted=shared and max_stale > 0)
        self.hints = Hints(server, self.sharing, hears=max_stale > 0)
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    def add(self, listener: Listener, index: str) -> None:
        """Deliver changes to a collection of an index (its random name) from now on."""
        self._listeners.add(listener)
        self.hints.use(index)
        if self._since is None:
            self.poll()
        if self._thread is None:
            self.sharing.use([index, f"{self._pause:.3f}", *self._server.address_words()])
            me = weakref.ref(self)
            self._thread = threading.Thread(
                target=_run,
                args=(me, self.hints, self.sharing, self._pause),
                name="scrubjay-feed",
                daemon=True,
            )
            self._thread.start()

    def poll(self, *, wait: float = -1) -> bool:
        """Poll once, and deliver the changes; False if another poll was in progress for longer than `wait`
        seconds.

        Raises:
            StoreError: the database does not answer; `is_away` is set.
        """
        if not self._turn.acquire(timeout=wait):
            return False
        try:
            self._polled_at = started = time.monotonic()
            self.n_polls += 1
            asking = self.sharing.take_asking()
            with translated(self._server.place, "looking for changes"):
                answer = self._ask(started)
            self._tell(answer.rows, answer.generations)
            self.fresh_at = started
            self.is_away = False
            if started > self.told_all_at + self._pause / 2:
                self.told_all_at = started
                self.sharing.publish(answer)
            else:
                self.sharing.publish(answer, asking)
            return True
        except BaseException:
            self.is_away = True
            self._drop_connection()
            raise
        finally:
            self._turn.release()

    def follow(self) -> bool:
        """Use the leader's answer if it is newer than, and contiguous with, what is known; return whether it was
        used."""
        answer = self.sharing.answer()
        if answer is None:
            return False
        if answer.lineage != self._server.lineage:
            # Its server shows another history, or ours has ended: a new connection shows which.
            self.sharing.leave()
            with self._turn:
                self._drop_connection()
            return False
        with self._turn:
            now = time.monotonic()
            if not self.fresh_at < answer.started <= now or self._since is None or answer.since > self._since:
                return False
            self._tell(answer.rows, answer.generations)
            self.fresh_at = self.sharing.heard_at = answer.started
            self.is_away = False
            if self._connection is not None and now > self._polled_at + _KEEP_SECONDS:
                connection, self._connection = self._connection, None
                self._server.give(connection, most_resting=1)
        return True

    def _ask(self, started: float) -> Answer:
        if self._connection is None or self._connection.closed:
            # The connection that opened the index is reused at first; later, idle ones may be broken.
            self._connection = self._server.take(fresh=self._since is not None)
        since = self._since
        if since is not None and self.sharing.has_followers:
            since -= timedelta(seconds=_BACK_SECONDS)
        changed: Statement = (
            "SELECT now.at, s.collection, s.tenant, s.usr, s.agent, s.version "
            # now() is the time at which the transaction began, before its snapshot, so no stamp is missed.
            "FROM (SELECT now() AS at) now "
            "LEFT JOIN sj_scope s ON s.changed > coalesce(%s::timestamptz, now.at)",
            (since,),
        )
        # Generations are read after the scopes, so that no change of an unknown generation is delivered.
        rows, generations = Batch(self._connection, begun=False).ask_all(
            [changed, _GENERATIONS], home=EVERY_HOME
        )
        lineage = self._server.lineage_of(self._connection)
        return Answer("", lineage, started, since or rows[0][0], rows, dict(generations))

    def _tell(self, rows: Sequence[tuple[Any, ...]], generations: Mapping[int, int]) -> None:
        self._since = rows[0][0] - timedelta(seconds=WINDOW_SECONDS)
        seen: dict[tuple[int, str, str, str], int] = {}
        news: dict[int, list[tuple[Scope, int]]] = {}
        for _, collection, tenant, user, agent, version in rows:
            if collection is None:
                continue
            key = (collection, tenant, user, agent)
            seen[key] = version
            if self._seen.get(key) == version:
                continue
            if not tenant:  # belongs to all tenants, and no document does
                news.setdefault(collection, [])
            else:
                with suppress(CorruptIndexError):  # searches of that scope raise it
                    news.setdefault(collection, []).append((scope_of(tenant, user, agent), version))
        self._seen = seen
        for listener in list(self._listeners):
            generation = generations.get(listener.number)
            if listener.number in news or (generation or 0) > listener.generation():
                listener.note(news.get(listener.number, ()), generation)

    def tell(self, changed: Sequence[tuple[int, Scope, int]], generations: Mapping[int, int]) -> None:
        """Deliver what this process itself wrote to other collections (number, scope, version), and their new
        generations."""
        for listener in list(self._listeners) if changed or generations else ():
            own = [(scope, version) for number, scope, version in changed if number == listener.number]
            if own or listener.number in generations:
                listener.note(own, generations.get(listener.number))

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._server.give(connection)
            self._server.forget_resting()

    def concerns(self, hints: Sequence[Hint]) -> bool:
        """Whether a hint is about a scope that may be in memory here."""
        return any(
            listener.number == hint.collection and listener.concerns(hint.key)
            for listener in list(self._listeners)
            for hint in hints
        )

    def tidy(self) -> None:
        """Let every collection start the maintenance that is due."""
        for listener in list(self._listeners):
            listener.tidy()

    def stop(self) -> None:
        """Stop the thread."""
        self.hints.stop()
        thread = self._thread
        if thread is not None and self._pid == os.getpid() and thread is not threading.current_thread():
            thread.join(timeout=2)
        with suppress(Exception):
            self._drop_connection()


def _run(feed: weakref.ref[Feed], hints: Hints, sharing: SharedFeed, pause: float) -> None:
    try:
        due = time.monotonic() + pause
        earliest = 0.0
        was_following = False
        while True:
            one = feed()
            is_away = one is None or one.is_away
            del one
            if sharing.tend(can_lead=not is_away):
                due = time.monotonic()  # no other process polls
            elif was_following and not sharing.is_following:
                due = min(due, time.monotonic() + pause / 2)  # a new leader may appear immediately
            was_following = sharing.is_following
            heard = hints.wait(min(due - time.monotonic(), sharing.patience()), is_away=is_away)
            one = feed()
            if heard is None or one is None:
                return
            if sharing.has_news:
                with suppress(Error, Exception):  # a leader whose answers are not usable counts as late
                    if one.follow():
                        due = one.fresh_at + pause + min(pause, _LATE_SECONDS)
                        one.tidy()
            started = time.monotonic()
            if started < due:
                is_asked, sharing.is_asked = sharing.is_asked, False
                if not sharing.is_following and (is_asked or one.concerns(heard)):
                    due = min(due, max(earliest, started))
                if started < due:
                    del one
                    continue
            if sharing.is_following and started > sharing.heard_at + max(_SILENT_SECONDS, 3 * pause):
                sharing.leave()
            sharing.is_asked = False
            with suppress(Error, Exception):  # is_away is set; the next round retries
                one.poll()
                one.tidy()
            ended = time.monotonic()
            earliest = ended + max(_LEAST_PAUSE, _REST * (ended - started))
            due = ended + pause
            if sharing.has_followers and not one.is_away:
                due = min(due, one.told_all_at + pause)  # hints do not wake all followers
            del one
    finally:
        sharing.close()
        hints.close()
