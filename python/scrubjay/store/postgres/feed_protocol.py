"""The protocol between a leader and its followers, over a socket of one machine.

The leader sends `scrubjay-feed FORMAT NAME` once, and then one byte for each answer that it has written. A
follower sends lines with the buckets of which it wants hints (`w 12 99`) and with its writes (`h 1.9f.12`:
collection, key, bucket). The socket ends with either process, which the other one notices at once. Correctness
does not depend on these messages: a lost or invalid one costs time.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

from scrubjay.store.postgres.hint_buckets import ALL, MOST_BUCKETS, Hint
from scrubjay.store.postgres.poll_answers import FORMAT

_MOST_PEERS = 500
_MOST_BYTES = 1 << 20  # of unsent or unparsed data
_HINTS_A_LINE = 200
_CHUNK_BYTES = 1 << 16
_NEWS = b"."


class Peer:
    """A follower, as seen by the leader."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.wishes: frozenset[int] = frozenset()
        self._waiting = b""

    def wants(self, hint: Hint) -> bool:
        """Whether the scope of a hint may be in the follower's memory."""
        return bool(self.wishes) and (hint.bucket == ALL or hint.bucket in self.wishes or ALL in self.wishes)

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
        return hints


class Leader:
    """The leader's end. Not thread-safe.

    Args:
        address: the path of its socket.

    Raises:
        OSError: the socket cannot be created.
    """

    def __init__(self, address: str) -> None:
        self.name = secrets.token_hex(8)
        self.peers: list[Peer] = []
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
            try:
                given = peer.hear()
            except (OSError, ValueError):
                self._drop(peer)
                continue
            hints += given
            is_asked = is_asked or self.wants(given, but=peer)
        return hints, is_asked

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
        """Whether a follower other than the sender wants one of these hints."""
        return any(peer is not but and peer.wants(hint) for hint in hints for peer in self.peers)

    def wishes(self) -> set[int]:
        """Return the buckets that followers want hints of."""
        return {bucket for peer in self.peers for bucket in peer.wishes}

    def wake(self) -> None:
        """Notify followers of a new answer."""
        for peer in list(self.peers):
            self._say(peer, _NEWS)

    def _say(self, peer: Peer, words: bytes) -> None:
        try:
            peer.end.send(words)
        except BlockingIOError:
            pass  # it has not read for long, and has enough to wake up
        except OSError:
            self._drop(peer)

    def _drop(self, peer: Peer) -> None:
        self.peers.remove(peer)
        peer.end.close()

    def close(self) -> None:
        """Close the sockets; followers see that the leader is gone."""
        for end in self.sockets():
            end.close()
        self.peers.clear()


class Follower:
    """A follower's end. Not thread-safe.

    Args:
        address: the path of the leader's socket.

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
        data = _received(self.end)
        if self.leader is not None:
            return bool(data)
        self._heard += data
        line, end, news = self._heard.partition(b"\n")
        if not end:
            if len(line) > _CHUNK_BYTES:
                raise OSError("a line without an end")
            return False
        words = line.decode("ascii", "replace").split()
        if words[:2] != ["scrubjay-feed", str(FORMAT)] or len(words) != 3:
            raise OSError("another version of Scrubjay")
        self.leader = words[2]
        return bool(news)

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


def _hint(word: bytes) -> Hint:
    collection, key, bucket = word.split(b".")
    return Hint(int(collection), int(key, 16), int(bucket))
