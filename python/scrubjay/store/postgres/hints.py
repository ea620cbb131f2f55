"""Hints of writes by NOTIFY, so that other processes need not wait for their next poll.

A hint is sent after the commit that it is about, in a transaction of its own: within the commit NOTIFY would take
a lock of the whole server, behind which all writers would wait for the disk one by one. A lost hint costs only
time. Hints identify scopes by hashes of their names, because everyone who may connect to the database can listen.

An unwanted hint costs its writer and all listeners, so tenants are assigned to buckets by a hash. A process with
a tenant in memory listens to the channel of its bucket, and holds an advisory lock that shows this. A writer
sends a hint only if another connection holds that lock; otherwise it checks again after a while. A process with
many tenants in memory listens to the channel of all buckets.

A process that follows another one of its machine (:mod:`scrubjay.store.postgres.shared_feed`) has no connection for
hints: it tells its leader which buckets it wants and what it wrote.
"""

from __future__ import annotations

import math
import secrets
import select
import socket
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from scrubjay.base.locks import renew_in_children
from scrubjay.store.postgres.address import psycopg_module
from scrubjay.store.postgres.hint_buckets import ALL, MOST_BUCKETS, QUIET_SECONDS, Hint, bucket_of
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.shared_feed import SharedFeed

_MOST_KEYS = 250  # per notification, which has at most 8,000 bytes
_RETRY_SECONDS = 1.0
_SETTLE_SECONDS = 0.05
"""After opening, the time without a connection for hints: it would be made while the first search waits."""
_SOON_SECONDS = 0.02  # until a message that the leader could not accept is retried
_GATHER_SECONDS = 0.003
"""After sending hints of followers, the time until more are taken: one send costs as much as many hints."""
_STREAM, _GATHER_STREAM_SECONDS = 4, 0.01  # with so many hints in one send, that time is longer
_NOTIFY_NAME = b"sj_notify"
_NOTIFY = (
    # If no other connection holds the lock of a bucket it is acquired, and released with this statement; locks held by
    # this connection do not conflict.
    "SELECT b.bucket, pg_notify(b.channel, b.words) "
    "FROM unnest(string_to_array($1, E'\\n')::int[], string_to_array($2, E'\\n'), string_to_array($3, E'\\n')) "
    "AS b(bucket, channel, words) WHERE NOT pg_try_advisory_xact_lock($4::int, b.bucket)"
)


class Hints:
    """Sends and receives hints. One thread calls `wait`; any thread may call `add`.

    Args:
        server: of the index.
        sharing: whether another process of this machine listens for this one.
        hears: whether this process wants hints.
    """

    def __init__(self, server: Server, sharing: SharedFeed, *, hears: bool = True) -> None:
        self._server = server
        self._sharing = sharing
        self._hears = hears
        self._token = secrets.token_hex(8)  # identifies own hints
        self._channel: str | None = None  # prefix of the channels of all buckets
        self._lock_class = 0  # of the advisory locks of listeners
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._pending: set[Hint] = set()
        self._quiet: dict[int, float] = {}  # bucket -> until when it is assumed to have no listener
        self._quiet_until = 0.0  # the latest of these times
        self._wanted: set[int] = set()
        self._heard_of: set[int] = set()  # the buckets that the connection listens to
        self._is_stopped = False
        self._connection: Any = None
        self._notes: list[
            tuple[str, str]
        ] = []  # (channel, words) of notifications received along with a query result
        self._next_try = time.monotonic() + _SETTLE_SECONDS
        self._gathers_until = 0.0
        self._bell, self._clapper = socket.socketpair()
        for end in (self._bell, self._clapper):
            end.setblocking(False)

    def use(self, index: str) -> None:
        """Send and receive hints about the index of this name from now on."""
        if self._channel is None:
            self._channel = f"sj_{index}"
            self._lock_class = zlib.crc32(index.encode()) - (1 << 31)
            self._ring()

    def meet(self, home: str) -> None:
        """Receive hints about a home from now on."""
        bucket = bucket_of(home)
        if self._hears and bucket not in self._wanted and ALL not in self._wanted:
            wanted = bucket if len(self._wanted) < MOST_BUCKETS else ALL
            self._wanted.add(wanted)
            self._sharing.wake_up({wanted})
            self._ring()

    def add(self, hints: Iterable[Hint]) -> None:
        """Send hints soon, if any process wants them."""
        now = time.monotonic()
        hints = list(hints)
        if self._sharing.tell(hints):  # at once: waking another thread costs time
            return
        is_asked = self._sharing.ask(hints)
        wanted = [hint for hint in hints if self._quiet.get(hint.bucket, 0) <= now]
        with self._lock:
            is_first = bool(wanted) and not self._pending
            self._pending.update(wanted)
        if is_first or is_asked:
            self._ring()

    def stop(self) -> None:
        """Make `wait` return."""
        self._is_stopped = True
        self._ring()

    def _ring(self) -> None:
        with suppress(OSError):  # the socket's buffer is full, so it is readable already
            self._clapper.send(b"\0")

    def close(self) -> None:
        """Close the connection and the sockets; hints are no longer sent or received."""
        self._drop()
        self._bell.close()
        self._clapper.close()

    # ------------------------------------------------------------------ in the feed's thread

    def wait(self, seconds: float, *, is_away: bool = False) -> list[Hint] | None:
        """Send pending hints until one from another process arrives, or the feed's leader or followers need
        attention, for at most `seconds`.

        Returns None if it was stopped. Never raises: without a server there are no hints, and with `is_away` it
        does not connect.
        """
        end = time.monotonic() + seconds
        sharing = self._sharing
        while not self._is_stopped:
            role = sharing.role
            if role == "follower":
                self._drop()
            elif not is_away and not sharing.is_settling:
                self._connect()
            left = end - time.monotonic()
            try:
                gathers = max(self._gathers_until - time.monotonic(), 0)
                patience = min(left, self._patience(is_away=is_away), gathers or float("inf"))
                ready = _readable(self._ends(gathers=bool(gathers)), max(patience, 0))
            except (
                OSError,
                ValueError,
                KeyError,
                psycopg_module().Error,
            ):  # the connection was closed, or broke
                self._drop()
                continue
            if self._bell in ready:
                with suppress(OSError):
                    while self._bell.recv(4096):
                        pass
            heard = sharing.hear(ready)
            if heard:
                gather = _GATHER_SECONDS if len(heard) < _STREAM else _GATHER_STREAM_SECONDS
                self._gathers_until = time.monotonic() + gather
            try:
                self._listen()
                self._send(heard)
                heard += self._heard()
            except psycopg_module().Error:
                self._drop()
            if heard or left <= 0 or sharing.has_news or sharing.is_asked or sharing.role != role:
                return heard
        return None

    def _ends(self, *, gathers: bool) -> list[Any]:
        ends: list[Any] = [self._bell] if gathers else [self._bell, *self._sharing.sockets()]
        if self._connection is not None and self._hears:
            # otherwise the socket stays readable, since nothing reads what arrives, such as its end
            ends.append(self._connection)
        return ends

    def _patience(self, *, is_away: bool) -> float:
        if self._sharing.has_more:
            return _SOON_SECONDS
        waits_for_server = self._connection is None and self._channel is not None and not is_away
        if not waits_for_server or self._sharing.is_following:
            return float("inf")
        until_try = self._next_try - time.monotonic()
        return until_try if until_try > 0 else _RETRY_SECONDS

    def _connect(self) -> None:
        if self._connection is not None or self._channel is None or time.monotonic() < self._next_try:
            return
        self._next_try = time.monotonic() + _RETRY_SECONDS
        with suppress(Exception):  # the polls report that the server is away
            connection = self._server.take(fresh=True)
            self._connection = connection
            connection.add_notify_handler(lambda one: self._notes.append((one.channel, one.payload)))
            connection.execute("SET synchronous_commit = off")
            _checked(connection.pgconn.prepare(_NOTIFY_NAME, _NOTIFY.encode()))
            self._listen()

    def _listen(self) -> None:
        """Listen to the buckets that were added since the last call."""
        if self._connection is None or self._channel is None:
            return
        wanted = self._wanted | self._sharing.wishes()
        if len(wanted) > MOST_BUCKETS + 1:
            wanted = {ALL}
        for bucket in wanted - self._heard_of:
            self._connection.execute(
                psycopg_module().sql.SQL("LISTEN {}").format(_name(self.channel(bucket)))
            )
            self._connection.execute("SELECT pg_advisory_lock_shared(%s, %s)", (self._lock_class, bucket))
            self._heard_of.add(bucket)

    def channel(self, bucket: int) -> str:
        """Return the name of a bucket's channel; the last bucket is that of all hints."""
        return f"{self._channel}_{bucket:x}"

    def _send(self, relayed: Iterable[Hint]) -> None:
        """Send hints of this process and of its followers."""
        is_following = self._sharing.is_following
        if self._connection is None and not is_following:
            return
        with self._lock:
            pending, self._pending = self._pending, set()
        if is_following:
            self._sharing.say(frozenset(self._wanted), list(pending))
            return
        now = time.monotonic()
        pending.update(hint for hint in relayed if self._quiet.get(hint.bucket, 0) <= now)
        if not pending:
            self._hush()
            return
        parts = list(self._parts(pending))
        values = [
            *("\n".join(column).encode() for column in zip(*parts, strict=True)),
            b"%d" % self._lock_class,
        ]
        # Sent through libpq directly, at half the client's cost: a busy leader sends a hundred times a second.
        sent = _checked(self._connection.pgconn.exec_prepared(_NOTIFY_NAME, values))
        wanted = {int(sent.get_value(row, 0)) for row in range(sent.ntuples)}
        if ALL not in wanted:
            quiet = {hint.bucket for hint in pending} - wanted
            if quiet:
                # One time for all buckets, so that the next checks of all of them come together.
                self._quiet_until = (time.monotonic() // QUIET_SECONDS + 1) * QUIET_SECONDS
                self._quiet.update(dict.fromkeys(quiet, self._quiet_until))
            self._hush()

    def _hush(self) -> None:
        """Stop followers from sending hints without listeners."""
        if time.monotonic() < self._quiet_until:
            self._sharing.hush(self._quiet, self._wanted)

    def _parts(self, hints: Iterable[Hint]) -> Iterator[tuple[str, str, str]]:
        """Yield the notifications for hints: the bucket, its channel, and the words."""
        by_bucket: dict[int, list[Hint]] = {ALL: list(hints)}
        for hint in by_bucket[ALL]:
            by_bucket.setdefault(hint.bucket, []).append(hint)
        for bucket, of_bucket in by_bucket.items():
            for start in range(0, len(of_bucket), _MOST_KEYS):
                part = of_bucket[start : start + _MOST_KEYS]
                words = " ".join([self._token, *(f"{hint.collection}.{hint.key:x}" for hint in part)])
                yield str(bucket), self.channel(bucket), words

    def _heard(self) -> list[Hint]:
        if self._connection is None or not self._hears:
            return []
        wire = self._connection.pgconn
        wire.consume_input()
        while (notification := wire.notifies()) is not None:
            self._notes.append(
                (
                    notification.relname.decode("ascii", "replace"),
                    notification.extra.decode("ascii", "replace"),
                )
            )
        notes, self._notes = self._notes, []
        heard = [hint for channel, words in notes for hint in self._read(channel, words)]
        self._sharing.ask(heard)
        return heard

    def _read(self, channel: str, said: str) -> list[Hint]:
        token, *words = said.split()[: _MOST_KEYS + 1] or [""]
        if token == self._token:
            return []
        hints = []
        bucket = ALL
        with suppress(ValueError):
            bucket = int(channel.rpartition("_")[2], 16)
        for word in words:
            collection, _, key = word.partition(".")
            with suppress(ValueError):  # of another version or another sender: not a hint
                hints.append(Hint(int(collection), int(key, 16), bucket))
        return hints

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._heard_of.clear()  # locks and channels end with the connection
        if connection is not None:
            with suppress(Exception):
                connection.close()  # it listens, so it cannot be reused
            self._server.give(connection)


def _checked(result: Any) -> Any:
    """Return an answer of the server.

    Raises:
        psycopg.Error: it is an error.
    """
    psycopg = psycopg_module()
    if result.status == psycopg.pq.ExecStatus.FATAL_ERROR:
        raise psycopg.errors.error_from_result(result, "utf-8")
    return result


def _readable(ends: Iterable[Any], patience: float) -> set[Any]:
    """Return the readable ones, after at most `patience` seconds; descriptors may exceed select's limit of 1,023."""
    if not hasattr(select, "poll"):
        return set(select.select(list(ends), [], [], None if patience == float("inf") else patience)[0])
    # Creating an object of `selectors` costs eight times as much.
    poll = select.poll()
    by_number = {end.fileno(): end for end in ends}
    for number in by_number:
        poll.register(number, select.POLLIN)
    ready = poll.poll(None if patience == float("inf") else math.ceil(patience * 1000))
    return {by_number[number] for number, _ in ready}


def _name(channel: str) -> Any:
    return psycopg_module().sql.Identifier(channel)
