"""Hints that something was written: NOTIFY, so that others need not wait for their next poll.

A hint is sent after the commit that it is about, in a transaction of its own: within the commit it would take a lock of
the whole server, behind which all writers queue for the disk one by one. One that is lost costs nothing but time. It
says which scopes by hashes of their names, because everybody who may connect to the database can hear it.

A hint that nobody wants costs its writer and all who listen, so tenants are put into buckets by a hash. Who has a
tenant in memory listens to the channel of its bucket, and holds a lock of the server that says so; who wrote sends a
hint only if another connection holds that lock, and when nobody does asks again after a while. Who has many tenants in
memory listens to the channel of all.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import threading
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from scrubjay.locks import renew_in_children
from scrubjay.store.postgres.address import psycopg_module
from scrubjay.store.postgres.server import Server

__all__ = ["Hint", "Hints", "bucket_of"]

_MOST_KEYS = 250  # in one notification, which has at most 8,000 bytes
_N_BUCKETS, _ALL = 4096, 4096  # the last one is of those who want all hints
_MOST_BUCKETS = 48  # of one process, before it wants all: locks are in the server's memory
_QUIET_SECONDS = 0.2  # after it was found that nobody wants hints of a bucket
_RETRY_SECONDS = 1.0


class Hint(NamedTuple):
    """A scope that was written to: the number of its collection, the number of its key, the bucket of its home."""

    collection: int
    key: int
    bucket: int = 0


@lru_cache(maxsize=4096)
def bucket_of(home: str) -> int:
    """Return the bucket of a home.

    >>> 0 <= bucket_of("acme") < 4096
    True
    """
    return zlib.crc32(home.encode("utf-8", "surrogatepass")) % _N_BUCKETS


class Hints:
    """Sends and hears hints. One thread calls `wait`; every thread may `add`.

    Args:
        server: of the index.
        hears: whether anybody here wants to know.
    """

    def __init__(self, server: Server, *, hears: bool = True) -> None:
        self._server = server
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
        self._wanted: set[int] = set()
        self._heard_of: set[int] = set()  # those of them that the connection listens to
        self._is_stopped = False
        self._connection: Any = None
        self._extras: list[str] = []  # of notifications that came along with an answer
        self._next_try = 0.0
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
        if self._hears and bucket not in self._wanted and _ALL not in self._wanted:
            self._wanted.add(bucket if len(self._wanted) < _MOST_BUCKETS else _ALL)
            self._ring()

    def add(self, hints: Iterable[Hint]) -> None:
        """Have others told soon, if anybody wants to know."""
        now = time.monotonic()
        wanted = [hint for hint in hints if self._quiet.get(hint.bucket, 0) <= now]
        if not wanted:
            return
        with self._lock:
            is_first = not self._pending
            self._pending.update(wanted)
        if is_first:
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
        """Send what is to be sent until a hint of another process is heard, for at most so long.

        None: it was stopped. Raises nothing: without a server there are no hints, and with `is_away` none is looked
        for.
        """
        end = time.monotonic() + seconds
        while not self._is_stopped:
            if not is_away:
                self._connect()
            left = end - time.monotonic()
            ends: list[Any] = [self._bell]
            patience = max(left, 0)
            if self._connection is None:
                if self._channel is not None and not is_away:
                    patience = min(patience, _RETRY_SECONDS)
            elif self._hears:  # else nobody would read what makes it readable, such as its end
                ends.append(self._connection)
            try:
                ready = _readable(ends, patience)
            except (OSError, ValueError, KeyError):  # the connection was closed
                self._drop()
                continue
            if self._bell in ready:
                with suppress(OSError):
                    while self._bell.recv(4096):
                        pass
            heard: list[Hint] = []
            try:
                self._listen()
                self._send()
                heard = self._heard()
            except psycopg_module().Error:
                self._drop()
            if heard or left <= 0:
                return heard
        return None

    def _connect(self) -> None:
        if self._connection is not None or self._channel is None or time.monotonic() < self._next_try:
            return
        self._next_try = time.monotonic() + _RETRY_SECONDS
        with suppress(Exception):  # the polls say that the server is away
            connection = self._server.take(fresh=True)
            self._connection = connection
            connection.add_notify_handler(lambda one: self._extras.append(one.payload))
            connection.execute("SET synchronous_commit = off")
            self._listen()

    def _listen(self) -> None:
        """Listen to the buckets that are wanted since the last time."""
        if self._connection is None or self._channel is None:
            return
        for bucket in self._wanted - self._heard_of:
            self._connection.execute(
                psycopg_module().sql.SQL("LISTEN {}").format(_name(self.channel(bucket)))
            )
            self._connection.execute("SELECT pg_advisory_lock_shared(%s, %s)", (self._lock_class, bucket))
            self._heard_of.add(bucket)

    def channel(self, bucket: int) -> str:
        """Return the name of a bucket's channel; the last one is that of all."""
        return f"{self._channel}_{bucket:x}"

    def _send(self) -> None:
        if self._connection is None:
            return
        with self._lock:
            pending, self._pending = self._pending, set()
        by_bucket: dict[int, list[Hint]] = {}
        for hint in pending:
            by_bucket.setdefault(hint.bucket, []).append(hint)
        for bucket, hints in by_bucket.items():
            n_sent = 0
            for start in range(0, len(hints), _MOST_KEYS):
                part = hints[start : start + _MOST_KEYS]
                words = " ".join([self._token, *(f"{hint.collection}.{hint.key:x}" for hint in part)])
                # A lock that nobody else holds is had at once, and goes with this statement; one's own is no obstacle.
                n_sent += self._connection.execute(
                    "SELECT pg_notify(b.channel, %s) FROM unnest(%s::text[], %s::int[]) AS b(channel, bucket) "
                    "WHERE NOT pg_try_advisory_xact_lock(%s, b.bucket)",
                    (words, [self.channel(bucket), self.channel(_ALL)], [bucket, _ALL], self._lock_class),
                ).rowcount
            if not n_sent:
                self._quiet[bucket] = time.monotonic() + _QUIET_SECONDS

    def _heard(self) -> list[Hint]:
        if self._connection is None or not self._hears:
            return []
        wire = self._connection.pgconn
        wire.consume_input()
        while (notification := wire.notifies()) is not None:
            self._extras.append(notification.extra.decode("ascii", "replace"))
        extras, self._extras = self._extras, []
        return [hint for extra in extras for hint in self._read(extra)]

    def _read(self, extra: str) -> list[Hint]:
        token, *words = extra.split()[: _MOST_KEYS + 1] or [""]
        if token == self._token:
            return []
        hints = []
        for word in words:
            collection, _, key = word.partition(".")
            with suppress(ValueError):  # of another version, or of nobody's: no hint
                hints.append(Hint(int(collection), int(key, 16)))
        return hints

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._heard_of.clear()  # locks and channels go with the connection
        if connection is not None:
            with suppress(Exception):
                connection.close()  # it listens: nobody else gets it
            self._server.give(connection)


def _readable(ends: Iterable[Any], patience: float) -> set[Any]:
    """Return those that can be read after at most so many seconds; their numbers may be above 1,023."""
    with selectors.DefaultSelector() as selector:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        return {key.fileobj for key, _ in selector.select(patience)}


def _name(channel: str) -> Any:
    return psycopg_module().sql.Identifier(channel)
