"""What other processes wrote: a thread asks the database for scopes that changed, for all collections of an index.

Each write stamps its scopes with the server's time, in the statement before its COMMIT. A poll asks for stamps since
the last poll, and some seconds before that: a stamp is older than the moment at which it can be seen, by as long as a
COMMIT takes. A writer whose COMMIT took longer stamps again (`WINDOW_SECONDS`). So a poll that was answered has told of
everything that was committed before it began. Hints of others (:mod:`scrubjay.store.postgres.hints`) only make the next
poll come sooner.

Of the processes of a machine that have the same database open in the same way one polls, and hands on what it was
answered (:mod:`scrubjay.store.postgres.sharing`). The others take that as if they had asked themselves, where it joins
on to what they know: it tells of every stamp since the answer that they took last, and some seconds before that. It is
as old as its question.
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
from scrubjay.errors import CorruptIndexError, Error
from scrubjay.locks import renew_in_children
from scrubjay.store.postgres.answers import Answer
from scrubjay.store.postgres.batch import Batch, Statement
from scrubjay.store.postgres.buckets import Hint
from scrubjay.store.postgres.errors import translated
from scrubjay.store.postgres.hints import Hints
from scrubjay.store.postgres.schema import WINDOW_SECONDS
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.sharing import Sharing
from scrubjay.store.postgres.walls import EVERY_HOME
from scrubjay.store.rows.decoding import scope_of

_LONGEST_PAUSE = 0.2
_LEAST_PAUSE = 0.002
_REST = 4  # times as long as a poll took there is none because of a hint
_LATE_SECONDS = 0.08  # beyond a pause, and at most as much again, after which a leader's answer is late
_SILENT_SECONDS = 1.0  # after which a leader is left
_BACK_SECONDS = 2.0  # by which a follower's last answer may be older than the one before the leader's
_KEEP_SECONDS = 2.0  # after its own poll, that a follower keeps the connection

_GENERATIONS: Statement = ("SELECT collection, generation FROM sj_collection", ())


class Listener(Protocol):
    """A collection that wants to know."""

    number: int

    def note(self, changed: Sequence[tuple[Scope, int]], generation: int | None = None) -> None:
        """Scopes have these versions now, and the collection this generation (None: the same as before)."""
        ...

    def concerns(self, key: int) -> bool:
        """Whether the scope with this key may be in memory."""
        ...

    def generation(self) -> int:
        """Return the generation that was noted last."""
        ...

    def tidy(self) -> None:
        """Begin what is due from time to time; without waiting for it."""
        ...


class Feed:
    """Polls one database. Thread-safe.

    Args:
        server: of the index.
        max_stale: seconds; polls are at most a quarter of it apart.
        shared: whether one process of the machine may poll for others.
    """

    def __init__(self, server: Server, max_stale: float, *, shared: bool = True) -> None:
        self.fresh_at = 0.0
        """Everything that was committed before this moment (:func:`time.monotonic`) was told."""
        self.is_away = False
        """Whether the database did not answer when it was last asked."""
        self._server = server
        # With max_stale = 0 every search asks by itself; the polls say only whether the database is there.
        self._pause = min(_LONGEST_PAUSE, max(max_stale / 4, 0.01)) if max_stale > 0 else _LONGEST_PAUSE
        self._listeners: weakref.WeakSet[Any] = weakref.WeakSet()
        self._turn = threading.Lock()  # one poll at a time
        renew_in_children(self, "_turn")
        self._seen: dict[tuple[int, str, str, str], int] = {}
        self._since: datetime | None = None  # the server's time
        self._connection: Any = None
        self._polled_at = 0.0
        self.told_all_at = 0.0
        """When the last question was asked whose answer all followers were told of."""
        self.n_polls = 0
        """How often this process itself has asked."""
        self.sharing = Sharing(wanted=shared and max_stale > 0)
        self.hints = Hints(server, self.sharing, hears=max_stale > 0)
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    def add(self, listener: Listener, index: str) -> None:
        """Tell a collection of an index (its random name) from now on."""
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
        """Ask once, and tell what changed; False if another poll was under way for longer than `wait` seconds.

        Raises:
            StoreError: the database does not answer; `is_away` says so from then on.
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
        """Take what the leader was answered, if it is newer than what is known and joins on to it; whether it was."""
        answer = self.sharing.answer()
        if answer is None:
            return False
        if answer.lineage != self._server.lineage:
            # Its server shows another history, or ours is over: a new connection says which.
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
            # At first that by which the index was opened will do; later those that rest may have broken.
            self._connection = self._server.take(fresh=self._since is not None)
        since = self._since
        if since is not None and self.sharing.has_followers:
            since -= timedelta(seconds=_BACK_SECONDS)
        changed: Statement = (
            "SELECT now.at, s.collection, s.tenant, s.usr, s.agent, s.version "
            # now() is that of the transaction's begin, before its snapshot: no stamp is passed over.
            "FROM (SELECT now() AS at) now "
            "LEFT JOIN sj_scope s ON s.changed > coalesce(%s::timestamptz, now.at)",
            (since,),
        )
        # Generations after the scopes: what is told of a scope is never of a generation that is not known yet.
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
            if not tenant:  # what belongs to all tenants: no document does
                news.setdefault(collection, [])
            else:
                with suppress(CorruptIndexError):  # that scope's own searches say so
                    news.setdefault(collection, []).append((scope_of(tenant, user, agent), version))
        self._seen = seen
        for listener in list(self._listeners):
            generation = generations.get(listener.number)
            if listener.number in news or (generation or 0) > listener.generation():
                listener.note(news.get(listener.number, ()), generation)

    def tell(self, changed: Sequence[tuple[int, Scope, int]], generations: Mapping[int, int]) -> None:
        """Tell what this process itself wrote to other collections (number, scope, version), and which collections
        have another generation since."""
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
        """Whether a hint is about what may be in memory here."""
        return any(
            listener.number == hint.collection and listener.concerns(hint.key)
            for listener in list(self._listeners)
            for hint in hints
        )

    def tidy(self) -> None:
        """Have every collection begin what is due."""
        for listener in list(self._listeners):
            listener.tidy()

    def stop(self) -> None:
        """End the thread."""
        self.hints.stop()
        thread = self._thread
        if thread is not None and self._pid == os.getpid() and thread is not threading.current_thread():
            thread.join(timeout=2)
        with suppress(Exception):
            self._drop_connection()


def _run(feed: weakref.ref[Feed], hints: Hints, sharing: Sharing, pause: float) -> None:
    try:
        due = time.monotonic() + pause
        earliest = 0.0
        was_following = False
        while True:
            one = feed()
            is_away = one is None or one.is_away
            del one
            if sharing.tend(can_lead=not is_away):
                due = time.monotonic()  # nobody else asks
            elif was_following and not sharing.is_following:
                due = min(due, time.monotonic() + pause / 2)  # the next leader may be there in no time
            was_following = sharing.is_following
            heard = hints.wait(min(due - time.monotonic(), sharing.patience()), is_away=is_away)
            one = feed()
            if heard is None or one is None:
                return
            if sharing.has_news:
                with suppress(Error, Exception):  # a leader whose answers are not taken is late
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
            with suppress(Error, Exception):  # is_away says it; the next round asks again
                one.poll()
                one.tidy()
            ended = time.monotonic()
            earliest = ended + max(_LEAST_PAUSE, _REST * (ended - started))
            due = ended + pause
            if sharing.has_followers and not one.is_away:
                due = min(due, one.told_all_at + pause)  # of the others not all are woken
            del one
    finally:
        sharing.close()
        hints.close()
