"""Hints that something was written: NOTIFY, so that others need not wait for their next poll.

A hint is sent after the commit that it is about, in a transaction of its own: within the commit it would take a lock of
the whole server, behind which all writers queue for the disk one by one. One that is lost costs nothing but time. It
says which scopes by hashes of their names, because everybody who may connect to the database can hear it.

A hint that nobody wants costs its writer and all who listen, so tenants are put into buckets by a hash. Who has a
tenant in memory listens to the channel of its bucket, and holds a lock of the server that says so; who wrote sends a
hint only if another connection holds that lock, and when nobody does asks again after a while. Who has many tenants in
memory listens to the channel of all.

A process that follows another one of its machine (:mod:`scrubjay.store.postgres.sharing`) has no connection for this:
it tells its leader what it wants to hear of and what it wrote.
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

from scrubjay.locks import renew_in_children
from scrubjay.store.postgres.address import psycopg_module
from scrubjay.store.postgres.buckets import ALL, MOST_BUCKETS, QUIET_SECONDS, Hint, bucket_of
from scrubjay.store.postgres.server import Server
from scrubjay.store.postgres.sharing import Sharing

_MOST_KEYS = 250  # in one notification, which has at most 8,000 bytes
_RETRY_SECONDS = 1.0
_SOON_SECONDS = 0.02  # until what the leader did not take is offered again
_GATHER_SECONDS = 0.003
"""After hints of followers were sent, until the next are taken: each time costs as much as many."""
_NOTIFY_NAME = b"sj_notify"
_NOTIFY = (
    # A lock that nobody else holds is had at once, and goes with this statement; one's own is no obstacle.
    "SELECT b.bucket, pg_notify(b.channel, b.words) "
    "FROM unnest(string_to_array($1, E'\\n')::int[], string_to_array($2, E'\\n'), string_to_array($3, E'\\n')) "
    "AS b(bucket, channel, words) WHERE NOT pg_try_advisory_xact_lock($4::int, b.bucket)"
)
_STREAM, _GATHER_STREAM_SECONDS = 4, 0.01  # the same after so many hints at once


class Hints:
    """Sends and hears hints. One thread calls `wait`; every thread may `add`.

    Args:
        server: of the index.
        sharing: whether another process of this machine listens for this one.
        hears: whether anybody here wants to know.
    """

    def __init__(self, server: Server, sharing: Sharing, *, hears: bool = True) -> None:
        self._server = server
        self._sharing = sharing
        self._hears = hears
        self._token = secrets.token_hex(8)  # by which own hints are told
        self._channel: str | None = None  # what the channels of all buckets begin with
        self._lock_class = 0  # of the locks that say who listens
        self._lock = threading.Lock()
        renew_in_children(self, "_lock")
        self._pending: set[Hint] = set()
        self._quiet: dict[
            int, float
        ] = {}  # bucket -> until when nobody is asked whether anybody wants its hints
        self._quiet_until = 0.0  # the last of these moments
        self._wanted: set[int] = set()
        self._heard_of: set[int] = set()  # those of them that the connection listens to
        self._is_stopped = False
        self._connection: Any = None
        self._notes: list[
            tuple[str, str]
        ] = []  # channel and words, of notifications that came along with an answer
        self._next_try = 0.0
        self._gathers_until = 0.0
        self._bell, self._clapper = socket.socketpair()
        for end in (self._bell, self._clapper):
            end.setblocking(False)

    def use(self, index: str) -> None:
        """Hear and send hints about the index of this name from now on."""
        if self._channel is None:
            self._channel = f"sj_{index}"
            self._lock_class = zlib.crc32(index.encode()) - (1 << 31)
            self._ring()

    def meet(self, home: str) -> None:
        """Hear what is written to a home from now on."""
        bucket = bucket_of(home)
        if self._hears and bucket not in self._wanted and ALL not in self._wanted:
            wanted = bucket if len(self._wanted) < MOST_BUCKETS else ALL
            self._wanted.add(wanted)
            self._sharing.wake_up({wanted})
            self._ring()

    def add(self, hints: Iterable[Hint]) -> None:
        """Have others told soon, if anybody wants to know."""
        now = time.monotonic()
        hints = list(hints)
        if self._sharing.tell(hints):  # at once: each thread that has to wake up costs time
            return
        is_asked = self._sharing.ask(hints)
        wanted = [hint for hint in hints if self._quiet.get(hint.bucket, 0) <= now]
        with self._lock:
            is_first = bool(wanted) and not self._pending
            self._pending.update(wanted)
        if is_first or is_asked:
            self._ring()

    def stop(self) -> None:
        """Let `wait` return."""
        self._is_stopped = True
        self._ring()

    def _ring(self) -> None:
        with suppress(OSError):  # enough are waiting
            self._clapper.send(b"\0")

    def close(self) -> None:
        """Give the connection and the sockets back; nothing is sent or heard any more."""
        self._drop()
        self._bell.close()
        self._clapper.close()

    # ------------------------------------------------------------------ in the feed's thread

    def wait(self, seconds: float, *, is_away: bool = False) -> list[Hint] | None:
        """Send what is to be sent until a hint of another process is heard, or the feed's leader or followers want
        something, for at most so long.

        None: it was stopped. Raises nothing: without a server there are no hints, and with `is_away` none is looked
        for.
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
            ends.append(self._connection)  # else nobody would read what makes it readable, such as its end
        return ends

    def _patience(self, *, is_away: bool) -> float:
        if self._sharing.has_more:
            return _SOON_SECONDS
        waits_for_server = self._connection is None and self._channel is not None and not is_away
        return _RETRY_SECONDS if waits_for_server and not self._sharing.is_following else float("inf")

    def _connect(self) -> None:
        if self._connection is not None or self._channel is None or time.monotonic() < self._next_try:
            return
        self._next_try = time.monotonic() + _RETRY_SECONDS
        with suppress(Exception):  # the polls say that the server is away
            connection = self._server.take(fresh=True)
            self._connection = connection
            connection.add_notify_handler(lambda one: self._notes.append((one.channel, one.payload)))
            connection.execute("SET synchronous_commit = off")
            _checked(connection.pgconn.prepare(_NOTIFY_NAME, _NOTIFY.encode()))
            self._listen()

    def _listen(self) -> None:
        """Listen to the buckets that are wanted since the last time."""
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
        """Return the name of a bucket's channel; the last one is that of all."""
        return f"{self._channel}_{bucket:x}"

    def _send(self, relayed: Iterable[Hint]) -> None:
        """Send what was written here, and by followers."""
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
        lines = map("\n".join, zip(*parts, strict=True))
        values = [*(line.encode() for line in lines), b"%d" % self._lock_class]
        # By libpq itself, at half the client's cost: this is done a hundred times a second.
        sent = _checked(self._connection.pgconn.exec_prepared(_NOTIFY_NAME, values))
        wanted = {int(sent.get_value(row, 0)) for row in range(sent.ntuples)}
        if ALL not in wanted:
            quiet = {hint.bucket for hint in pending} - wanted
            if quiet:
                # At one moment for all buckets, so that all are asked about again together.
                self._quiet_until = (time.monotonic() // QUIET_SECONDS + 1) * QUIET_SECONDS
                self._quiet.update(dict.fromkeys(quiet, self._quiet_until))
            self._hush()

    def _hush(self) -> None:
        """Let followers give no hints that nobody wants."""
        if time.monotonic() < self._quiet_until:
            self._sharing.hush(self._quiet, self._wanted)

    def _parts(self, hints: Iterable[Hint]) -> Iterator[tuple[str, str, str]]:
        """Yield the notifications that say hints: the bucket, its channel, and the words."""
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
            with suppress(ValueError):  # of another version, or of nobody's: no hint
                hints.append(Hint(int(collection), int(key, 16), bucket))
        return hints

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._heard_of.clear()  # locks and channels go with the connection
        if connection is not None:
            with suppress(Exception):
                connection.close()  # it listens: nobody else gets it
            self._server.give(connection)


def _checked(result: Any) -> Any:
    """Return what the server answered, if it is no error.

    Raises:
        psycopg.Error: it is one.
    """
    psycopg = psycopg_module()
    if result.status == psycopg.pq.ExecStatus.FATAL_ERROR:
        raise psycopg.errors.error_from_result(result, "utf-8")
    return result


def _readable(ends: Iterable[Any], patience: float) -> set[Any]:
    """Return those that can be read after at most so many seconds; their numbers may be above 1,023."""
    if not hasattr(select, "poll"):
        return set(select.select(list(ends), [], [], None if patience == float("inf") else patience)[0])
    # An object of `selectors` is made anew at eight times the cost.
    poll = select.poll()
    by_number = {end.fileno(): end for end in ends}
    for number in by_number:
        poll.register(number, select.POLLIN)
    ready = poll.poll(None if patience == float("inf") else math.ceil(patience * 1000))
    return {by_number[number] for number, _ in ready}


def _name(channel: str) -> Any:
    return psycopg_module().sql.Identifier(channel)
