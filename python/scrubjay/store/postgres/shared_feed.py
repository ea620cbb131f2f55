"""One feed for all processes of a machine: a leader polls the database, and its followers use its answers.

The leader is the process that holds the lock of a file in a private folder
(:mod:`scrubjay.store.postgres.rendezvous`); the system releases it when the process ends. The leader writes the
answer to each poll into shared memory and wakes its followers. Answers carry the random name of their leader, so
that followers ignore those of an earlier one. The feed decides whether an answer is new enough, of the same
history, and contiguous with what is known; if not, or if it is late, a follower polls the database itself, as if
it were alone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from scrubjay.base.locks import renew_in_children
from scrubjay.store.postgres.feed_protocol import Follower, Leader, Peer
from scrubjay.store.postgres.hint_buckets import Hint
from scrubjay.store.postgres.poll_answers import Answer, answer_of, bytes_of
from scrubjay.store.postgres.rendezvous import Rendezvous

Role = Literal["leader", "follower", "alone"]

_RETRY_SECONDS = 0.05
_SLOW_RETRY_SECONDS = 0.5  # after some time alone
_REST_SECONDS = 1.0  # after leaving a leader
_LONG_REST_SECONDS = 10.0  # after failing to write an answer
_SETTLE_SECONDS = 0.5  # alone, before a connection for hints is opened

_live: weakref.WeakSet[SharedFeed] = weakref.WeakSet()


class SharedFeed:
    """The role of one feed. `tend`, `hear` and `say` are for the feed's thread, the rest for any thread.

    Args:
        wanted: whether to share at all.
    """

    def __init__(self, *, wanted: bool) -> None:
        self.has_news = False
        """Whether the leader has written since this was last set to False."""
        self.is_asked = False
        """Whether a follower wants a poll; the poller sets it to False."""
        self.heard_at = 0.0
        """When the leader was last heard (:func:`time.monotonic`)."""
        self._wanted = wanted
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._meeting: Rendezvous | None = None
        self._held: int | None = None  # the lock of the file
        self._leader: Leader | None = None
        self._follower: Follower | None = None
        self._next_try = 0.0
        self._alone_since = 0.0
        _live.add(self)

    def use(self, words: Iterable[str], folders: Iterable[Path] | None = None) -> None:
        """Share with processes that use the same words, from now on; if that is not possible stay alone."""
        if self._wanted and self._meeting is None:
            with suppress(OSError):
                self._meeting = Rendezvous(words, folders)
                self._alone_since = time.monotonic()

    @property
    def role(self) -> Role:
        """The role of this process."""
        if self._leader is not None:
            return "leader"
        return "follower" if self.is_following else "alone"

    @property
    def is_following(self) -> bool:
        """Whether another process polls the database on behalf of this one."""
        follower = self._follower
        return follower is not None and follower.leader is not None

    @property
    def is_settling(self) -> bool:
        """Whether this process will probably lead or follow soon, so that a connection for hints is not
        worthwhile yet."""
        return (
            self._meeting is not None
            and self._leader is None
            and time.monotonic() < self._alone_since + _SETTLE_SECONDS
        )

    @property
    def has_more(self) -> bool:
        """Whether data is waiting to be sent to the leader."""
        follower = self._follower
        return follower is not None and follower.has_more

    @property
    def has_followers(self) -> bool:
        """Whether this process leads and has followers."""
        leader = self._leader
        return leader is not None and bool(leader.peers)

    # ------------------------------------------------------------------ in the feed's thread

    def tend(self, *, can_lead: bool) -> bool:
        """Become the leader or a follower if that is due; return whether this process has become the leader.

        A leader that cannot reach the database resigns.
        """
        with self._lock:
            if self._leader is not None:
                if not can_lead:
                    self._end(_RETRY_SECONDS)
                return False
            now = time.monotonic()
            if self._meeting is None or self.is_following or now < self._next_try:
                return False
            self._next_try = now + (_RETRY_SECONDS if self.is_settling else _SLOW_RETRY_SECONDS)
            if can_lead and (held := self._meeting.lock()) is not None:
                return self._lead(self._meeting, held)
            if self._follower is None:
                with suppress(OSError):
                    self._follower = Follower(self._meeting.address)
            return False

    def _lead(self, meeting: Rendezvous, held: int) -> bool:
        self._drop_follower()
        meeting.clear()
        try:
            self._leader = Leader(meeting.address)
        except OSError:
            meeting.unlock(held)
            self._next_try = time.monotonic() + _LONG_REST_SECONDS
            return False
        self._held = held
        meeting.sweep()
        return True

    def patience(self) -> float:
        """Return the number of seconds until `tend` has something to do."""
        if self._meeting is None or self._leader is not None or self.is_following:
            return float("inf")
        return max(self._next_try - time.monotonic(), 0.001)

    def sockets(self) -> list[socket.socket]:
        """Return the sockets to poll."""
        leader, follower = self._leader, self._follower
        if leader is not None:
            return leader.sockets()
        return [] if follower is None else [follower.end]

    def hear(self, ready: Collection[Any]) -> list[Hint]:
        """Read the ready sockets; return the hints of followers."""
        if not ready:
            return []
        with self._lock:
            if self._leader is not None:
                had_followers = bool(self._leader.peers)
                hints, is_asked = self._leader.hear(ready)
                self.is_asked = self.is_asked or is_asked
                if had_followers and not self._leader.peers and self._meeting is not None:
                    self._meeting.erase_answer()
                return hints
            if self._follower is not None and self._follower.end in ready:
                was_following = self.is_following
                try:
                    self.has_news = self._follower.hear() or self.has_news
                except OSError:
                    self._drop_follower()
                else:
                    if self.is_following and not was_following:
                        self.heard_at = time.monotonic()
            return []

    def say(self, wishes: frozenset[int], hints: Sequence[Hint]) -> None:
        """Send the wanted buckets and the hints of this process to the leader."""
        with self._lock:
            if self._follower is not None and self.is_following:
                try:
                    self._follower.say(wishes, hints)
                except OSError:
                    self._drop_follower()

    def wishes(self) -> set[int]:
        """Return the buckets that followers want hints of."""
        with self._lock:
            return set() if self._leader is None else self._leader.wishes()

    def hush(self, quiet: Mapping[int, float], own: Set[int]) -> None:
        """Stop followers from sending hints without listeners; see :meth:`Leader.hush`."""
        with self._lock:
            if self._leader is not None:
                self._leader.hush(quiet, own)

    def wake_up(self, wanted: Set[int]) -> None:
        """Let followers send hints of these buckets again: this process wants them from now on."""
        with self._lock:
            if self._leader is not None:
                self._leader.wake_up(wanted)

    def leave(self) -> None:
        """Stop following for a while, because the leader is not useful."""
        with self._lock:
            if self._follower is not None:
                self._drop_follower()
                self._next_try = time.monotonic() + _REST_SECONDS

    def _drop_follower(self) -> None:
        if self._follower is not None:
            if self.is_following:
                self._alone_since = time.monotonic()
                self._next_try = 0.0
            self._follower.close()
            self._follower = None
        self.has_news = False

    # ------------------------------------------------------------------ for any thread

    def ask(self, hints: Iterable[Hint]) -> bool:
        """Request a poll if followers want one of these hints; return whether they do."""
        if self._leader is None:
            return False
        with self._lock:
            is_asked = self._leader is not None and self._leader.wants(hints)
            self.is_asked = self.is_asked or is_asked
        return is_asked

    def tell(self, hints: Sequence[Hint]) -> bool:
        """Send hints of this process to the leader; False if it has no leader."""
        if not self.is_following:
            return False
        with self._lock:
            if self._follower is None or not self.is_following:
                return False
            if wanted := self._follower.wanted(hints):
                # the feed's thread notices the end, and closes the socket it may be polling
                with suppress(OSError):
                    self._follower.say(None, wanted)
        return True

    def take_asking(self) -> set[Peer]:
        """Return the followers that the answer to a question asked now must wake, and forget them."""
        with self._lock:
            return set() if self._leader is None else self._leader.take_asking()

    def publish(self, answer: Answer, asking: Set[Peer] | None = None) -> None:
        """Publish an answer, and wake the followers `asking`, by default all; nothing is published if there are none.
        The answer's leader is not set yet."""
        with self._lock:
            leader, meeting = self._leader, self._meeting
            if leader is None or meeting is None or not leader.peers:
                return
            asking = None if asking is None else asking & set(leader.peers)
            if asking is not None and not asking:
                return
            try:
                meeting.write(bytes_of(answer._replace(leader=leader.name)))
            except OSError:
                self._end(_LONG_REST_SECONDS)
                return
            leader.wake(asking)

    def answer(self) -> Answer | None:
        """Return the leader's last answer; None if there is no valid one."""
        self.has_news = False
        follower, meeting = self._follower, self._meeting
        if follower is None or follower.leader is None or meeting is None:
            return None
        answer = answer_of(meeting.read())
        return None if answer is None or answer.leader != follower.leader else answer

    def _end(self, rest_seconds: float) -> None:
        """Stop leading."""
        leader, held, meeting = self._leader, self._held, self._meeting
        self._leader = self._held = None
        now = time.monotonic()
        self._next_try, self._alone_since = now + rest_seconds, now
        if meeting is not None and held is not None:
            meeting.unlock(held)
        if leader is not None:
            leader.close()  # followers look for the next leader as soon as they notice this

    def close(self) -> None:
        """Stop leading and following."""
        with self._lock:
            self._drop_follower()
            self._end(0)
            self._meeting = None

    def forsake(self) -> None:
        """In the child after a fork: give up the parent's role. The child must keep neither lock nor sockets, or
        the parent would appear to lead after its end."""
        leader, follower, held = self._leader, self._follower, self._held
        self._meeting = self._leader = self._follower = self._held = None
        if leader is not None:
            leader.close()
        if follower is not None:
            follower.close()
        if held is not None:
            with suppress(OSError):
                os.close(held)


def _forsake_all() -> None:
    for sharing in list(_live):
        sharing.forsake()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forsake_all)
