"""The protocol between a leader and its followers, over a socket of one machine.

Both send lines. The leader sends `scrubjay-feed FORMAT NAME` once, then `n` for a new answer, `q 12.5 12 99` for
buckets that have no other listener until a time of the monotonic clock, and `l` when one of these has a listener after
all. A follower sends the buckets whose hints it wants (`w 12 99`) and its writes (`h 1.9f.12`: collection, key,
bucket). The socket ends with either process, which the other one notices at once. Correctness does not depend on these
messages: a lost or invalid one costs time.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import lru_cache
from typing import Any

from scrubjay.store.postgres.hint_buckets import ALL, MOST_BUCKETS, QUIET_SECONDS, Hint
from scrubjay.store.postgres.poll_answers import FORMAT

_MOST_PEERS = 500
_MOST_BYTES = 1 << 20  # of unsent or unparsed data
_HINTS_A_LINE = 200
_CHUNK_BYTES = 1 << 16
_MOST_QUIET = 10_000  # buckets
_NEWS, _LOUD = b"n\n", b"l\n"


class Peer:
    """A follower, as seen by the leader."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.wishes: frozenset[int] = frozenset()
        self.said: set[int] = set()
        """The buckets of its hints since the last :meth:`Leader.hush`."""
        self.quiet: set[int] = set()
        """The buckets that it was told have no listener."""
        self._waiting = b""

    def hear(self) -> list[Hint]:
        """Return the hints that the follower sent.

        Raises:
            OSError: it has ended, or violates the protocol.
        """
        hints: list[Hint] = []
        data = self._waiting + _received(self.end)
        *lines, self._waiting = data.split(b"\n")
        if len(self._waiting) > _MOST_BYTES:
            raise OSError("a line without an end")
        for line in lines:
            kind, *words = line.split()
            if kind == b"w":
                self.wishes = frozenset(bucket for word in words if 0 <= (bucket := int(word)) <= ALL)
            elif kind == b"h":
                hints += [_hint(word) for word in words]
        self.said.update([hint.bucket for hint in hints])
        return hints


class Leader:
    """The leader's end. Not thread-safe.

    Raises:
        OSError: the socket cannot be created.
    """

    def __init__(self, address: str) -> None:
        self.name = secrets.token_hex(8)
        self.peers: list[Peer] = []
        self._by_bucket: dict[int, set[Peer]] = {}  # the followers that want its hints
        self._asking: set[Peer] = set()  # the followers that the next answer must wake
        self._hello = f"scrubjay-feed {FORMAT} {self.name}\n".encode()
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._door.setblocking(False)
            self._door.bind(address)
            os.chmod(address, 0o600)  # noqa: PTH101 (an address is a text)
            self._door.listen(64)
        except BaseException:
            self._door.close()
            raise

    def sockets(self) -> list[socket.socket]:
        """Return the sockets to poll."""
        return [self._door, *(peer.end for peer in self.peers)]

    def hear(self, ready: Collection[Any]) -> tuple[list[Hint], bool]:
        """Return the hints of followers whose sockets are readable, and whether another follower wants one of
        them."""
        hints: list[Hint] = []
        is_asked = False
        if self._door in ready:
            self._let_in()
        for peer in [peer for peer in self.peers if peer.end in ready]:
            wishes = peer.wishes
            try:
                given = peer.hear()
            except (OSError, ValueError):
                self._drop(peer)
                continue
            if peer.wishes != wishes:
                self._enter(peer)
                self.wake_up(peer.wishes - wishes, but=peer)
            hints += given
            is_asked = self.wants(given, but=peer) or is_asked
        return hints, is_asked

    def _enter(self, peer: Peer) -> None:
        """Update the table of wishes after those of a follower changed."""
        for bucket in [bucket for bucket, peers in self._by_bucket.items() if peer in peers]:
            self._by_bucket[bucket].discard(peer)
            if not self._by_bucket[bucket]:
                del self._by_bucket[bucket]
        for bucket in peer.wishes:
            self._by_bucket.setdefault(bucket, set()).add(peer)

    def _let_in(self) -> None:
        with suppress(OSError):
            while True:
                end, _ = self._door.accept()
                end.setblocking(False)
                if len(self.peers) >= _MOST_PEERS:
                    end.close()
                    continue
                self.peers.append(peer := Peer(end))
                self._say(peer, self._hello)

    def wants(self, hints: Iterable[Hint], but: Peer | None = None) -> bool:
        """Whether a follower other than the sender wants one of these hints. The answer to the next question wakes the
        followers that do."""
        asking = set[Peer]()
        for bucket in {hint.bucket for hint in hints}:
            asking |= self._wanting(bucket)
        asking.discard(but)
        self._asking |= asking
        return bool(asking)

    def _wanting(self, bucket: int) -> set[Peer]:
        """Return the followers that want the hints of a bucket."""
        if bucket == ALL:
            return set().union(*self._by_bucket.values())
        return self._by_bucket.get(bucket, _NOBODY) | self._by_bucket.get(ALL, _NOBODY)

    def wishes(self) -> set[int]:
        """Return the buckets that followers want hints of."""
        return set(self._by_bucket)

    def take_asking(self) -> set[Peer]:
        """Return the followers that the answer to a question asked now must wake, and forget them."""
        asking, self._asking = self._asking, set()
        return asking

    def wake(self, peers: Iterable[Peer] | None = None) -> None:
        """Notify followers, by default all, of a new answer."""
        for peer in list(self.peers if peers is None else peers):
            self._say(peer, _NEWS)

    def hush(self, quiet: Mapping[int, float], own: Set[int]) -> None:
        """Tell followers which buckets of their last hints have no other listener.

        Args:
            quiet: bucket -> until when it is assumed to have no listener on another connection to the database.
            own: the buckets that the leader itself wants.
        """
        if ALL in own:
            return
        now = time.monotonic()
        for peer in list(self.peers):
            said, peer.said = peer.said, set()
            unwanted = {
                bucket
                for bucket in said - own
                if quiet.get(bucket, 0) > now and not self._wanting(bucket) - {peer}
            }
            if unwanted:
                peer.quiet |= unwanted
                until = min(quiet[bucket] for bucket in unwanted)
                self._say(peer, f"q {until:.3f} {' '.join(map(str, unwanted))}\n".encode())

    def wake_up(self, wanted: Set[int], but: Peer | None = None) -> None:
        """Tell followers that buckets which they were told have no listener have one now."""
        for peer in list(self.peers):
            if peer is not but and (peer.quiet & wanted or (peer.quiet and ALL in wanted)):
                peer.quiet.clear()
                self._say(peer, _LOUD)

    def _say(self, peer: Peer, words: bytes) -> None:
        try:
            peer.end.send(words)
        except BlockingIOError:
            pass  # it has not read for long, and has enough to wake up
        except OSError:
            self._drop(peer)

    def _drop(self, peer: Peer) -> None:
        if peer in self.peers:
            self.peers.remove(peer)
            self._asking.discard(peer)
            peer.wishes = frozenset()
            self._enter(peer)
            peer.end.close()

    def close(self) -> None:
        """Close the sockets; followers see that the leader is gone."""
        for end in self.sockets():
            end.close()
        self.peers.clear()


_NOBODY: set[Peer] = set()


class Follower:
    """A follower's end. Not thread-safe.

    Raises:
        OSError: no leader listens there.
    """

    def __init__(self, address: str) -> None:
        self.leader: str | None = None
        """The name of the leader, once it has answered."""
        self.end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._heard = b""
        self._unsent = b""
        self._told: frozenset[int] = frozenset()
        self._quiet: dict[int, float] = {}  # bucket -> until when it is assumed to have no other listener
        try:
            self.end.setblocking(False)
            self.end.connect(address)
        except BaseException:
            self.end.close()
            raise

    def hear(self) -> bool:
        """Whether the leader has written an answer.

        Raises:
            OSError: it has ended, or speaks another protocol.
        """
        self._heard += _received(self.end)
        *lines, self._heard = self._heard.split(b"\n")
        if len(self._heard) > _CHUNK_BYTES:
            raise OSError("a line without an end")
        has_news = False
        for line in lines:
            if self.leader is None:
                words = line.decode("ascii", "replace").split()
                if words[:2] != ["scrubjay-feed", str(FORMAT)] or len(words) != 3:
                    raise OSError("another version of Scrubjay")
                self.leader = words[2]
            elif line[:1] == b"q":
                self._hush(line)
            elif line == b"l":
                self._quiet.clear()
            else:
                has_news = True
        return has_news

    def _hush(self, line: bytes) -> None:
        with suppress(ValueError):
            until, *buckets = line.split()[1:]
            now = time.monotonic()
            last = now + min(max(0.0, float(until) - now), QUIET_SECONDS)
            if len(self._quiet) > _MOST_QUIET:
                self._quiet.clear()
            self._quiet.update(dict.fromkeys(map(int, buckets), last))

    def wanted(self, hints: Sequence[Hint]) -> list[Hint]:
        """Return the hints that may have a listener."""
        quiet = self._quiet
        if not quiet:
            return list(hints)
        now = time.monotonic()
        return [hint for hint in hints if quiet.get(hint.bucket, 0) <= now]

    def say(self, wishes: frozenset[int] | None, hints: Sequence[Hint]) -> None:
        """Send the wanted buckets (None: unchanged) and the hints to the leader.

        Raises:
            OSError: it has ended.
        """
        if wishes is not None and wishes != self._told and len(self._unsent) < _MOST_BYTES:
            self._told = wishes
            given = wishes if len(wishes) <= MOST_BUCKETS else {ALL}
            self._unsent += f"w {' '.join(map(str, given))}\n".encode()
        for start in range(0, len(hints), _HINTS_A_LINE):
            if len(self._unsent) < _MOST_BYTES:
                part = hints[start : start + _HINTS_A_LINE]
                words = " ".join(f"{hint.collection}.{hint.key:x}.{hint.bucket}" for hint in part)
                self._unsent += f"h {words}\n".encode()
        if self._unsent:
            with suppress(BlockingIOError):  # sent later
                self._unsent = self._unsent[self.end.send(self._unsent) :]

    @property
    def has_more(self) -> bool:
        """Whether data is waiting to be sent."""
        return bool(self._unsent)

    def close(self) -> None:
        """Close the socket."""
        self.end.close()


def _received(end: socket.socket) -> bytes:
    """Return the available data, up to a limit."""
    try:
        data = end.recv(_CHUNK_BYTES)
    except BlockingIOError:
        return b""
    if not data:
        raise OSError("the other end was closed")
    return data


@lru_cache(maxsize=4096)  # a process writes to few scopes again and again
def _hint(word: bytes) -> Hint:
    collection, key, bucket = word.split(b".")
    return Hint(int(collection), int(key, 16), int(bucket))
