"""The connections of a service: caps on their number, in total and by peer, and time limits.

A wrapper around uvicorn's protocol, which has no time limit for headers or for an unread response, and no cap on
connections (Hypercorn's `read_timeout` restarts with every byte, and it has no cap either). It observes incoming bytes,
the start and end of the application, and outgoing bytes, so it works around any of uvicorn's protocols.

A connection is waiting (for a request, the rest of one, or a reader of its response) or working (the request is
complete and the application runs). At a cap, the longest-waiting connection of the peer with the most connections is
closed: a client that keeps connections waiting loses them, and active clients still get in. A new connection is refused
only if all others are working. Behind a proxy all connections have one peer: set `max_connections_per_peer` to 0 (no
separate cap) there.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import math
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from scrubjay.adapters.service.limits import Limits

_log = logging.getLogger(__name__)

_HANG_UP_SECONDS = 5.0  # for the last bytes of a closing connection
_LOG_SECONDS = 60.0
_BODY = '{{"error":{{"code":"{}","message":"{}"}}}}'


class Connections:
    """All connections of one server; callable in place of uvicorn's protocol class.

    Args:
        limits: the limits of the service.
        inner: makes the wrapped protocol, with uvicorn's arguments.

    Single-threaded: used on the event loop only.
    """

    def __init__(self, limits: Limits, inner: Callable[..., Any] = H11Protocol) -> None:
        self.limits = limits
        self._inner = inner
        self._all: set[_Connection] = set()
        self._peers: dict[str, _Peer] = {}
        self._sweeping: asyncio.TimerHandle | None = None
        times = (limits.header_timeout, limits.idle_timeout, limits.send_timeout)
        self._period = min(0.5, min(times) / 4)
        self._logged_at = -math.inf
        self._n = 0

    def __call__(
        self, config: Any, server_state: Any, app_state: Any, _loop: asyncio.AbstractEventLoop | None = None
    ) -> asyncio.Protocol:
        """Make the protocol of one connection."""
        loop = _loop or asyncio.get_running_loop()
        inner = self._inner(config=config, server_state=server_state, app_state=app_state, _loop=_loop)
        return _Connection(self, inner, loop)

    def __len__(self) -> int:
        return self._n

    def enter(self, connection: _Connection, loop: asyncio.AbstractEventLoop) -> bool:
        """Accept a connection, closing another one at a cap; return False if there is no room."""
        self._all.add(connection)
        if self._sweeping is None:
            self._sweeping = loop.call_later(self._period, self._sweep, loop)
        peer = self._peers.get(connection.peer)
        most = self.limits.max_connections_per_peer
        victim = None
        if most and peer is not None and peer.n >= most:
            victim = peer
        elif len(self) >= self.limits.max_connections:
            victim = max(
                (peer for peer in self._peers.values() if peer.waiting), key=lambda peer: peer.n, default=None
            )
            if victim is None:
                return self._refused(loop, "connections")
        if victim is not None:
            if not victim.waiting:
                return self._refused(loop, "connections of one peer")
            self._note(loop, "the one that waited longest is closed for each new one")
            next(iter(victim.waiting)).hang_up()
        self._peers.setdefault(connection.peer, _Peer()).n += 1
        self._n += 1
        return True

    def leave(self, connection: _Connection) -> None:
        """Stop counting an entered connection, which may still have to be closed."""
        peer = self._peers[connection.peer]
        peer.n -= 1
        self._n -= 1
        peer.waiting.pop(connection, None)
        if peer.n == 0:
            del self._peers[connection.peer]

    def gone(self, connection: _Connection) -> None:
        """Forget a closed connection."""
        self._all.discard(connection)

    def wait(self, connection: _Connection) -> None:
        """Mark a connection as waiting: it may be closed for another one."""
        waiting = self._peers[connection.peer].waiting
        waiting[connection] = None
        waiting.move_to_end(connection)

    def work(self, connection: _Connection) -> None:
        """Mark a connection as working."""
        self._peers[connection.peer].waiting.pop(connection, None)

    def _refused(self, loop: asyncio.AbstractEventLoop, what: str) -> bool:
        self._note(loop, f"all {what} are working, new ones are refused")
        return False

    def _note(self, loop: asyncio.AbstractEventLoop, what: str) -> None:
        if loop.time() - self._logged_at > _LOG_SECONDS:
            self._logged_at = loop.time()
            limits = f"{self.limits.max_connections} in all, {self.limits.max_connections_per_peer} per peer"
            _log.warning("connections (at most %s): %s", limits, what)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections past their deadlines. One timer for all adds no cost to a request."""
        now = loop.time()
        n_unsent = sum([connection.check(now) for connection in list(self._all)])
        if n_unsent > self.limits.max_unsent_bytes:
            self._note(loop, "answers that are not read are dropped")
            for connection in [waiting for peer in self._peers.values() for waiting in peer.waiting]:
                n_unsent -= connection.n_unsent
                if connection.n_unsent:
                    connection.hang_up()
                if n_unsent <= self.limits.max_unsent_bytes:
                    break
        self._sweeping = loop.call_later(self._period, self._sweep, loop) if self._all else None


class _Peer:
    """The connections from one address: their number, and the waiting ones, longest wait first."""

    __slots__ = ("n", "waiting")

    def __init__(self) -> None:
        self.n = 0
        self.waiting: OrderedDict[_Connection, None] = OrderedDict()


class _Connection(asyncio.Protocol):
    """One connection: forwards everything to the wrapped protocol, and enforces the time limits."""

    def __init__(self, connections: Connections, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._connections, self._limits = connections, connections.limits
        self._inner, self._loop = inner, loop
        self._app = inner.app
        inner.app = self._run
        self._transport: asyncio.Transport | None = None
        self._entered = False  # counted, and not being closed
        self._made = False  # the wrapped protocol has the transport
        self._n_running = 0
        self._n_requests = 0
        self._is_idle = False  # between two requests
        self._n_bytes = 0
        self._deadline = math.inf
        self._unsent_since: float | None = None
        self.peer = ""

    # ------------------------------------------------------------------ the transport's calls

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.peer = _peer(transport.get_extra_info("peername"))
        _send_at_once(transport.get_extra_info("socket"))
        self._entered = self._connections.enter(self, self._loop)
        if not self._entered:
            self.hang_up(503, "busy", "too many connections; try again")
            return
        self._connections.wait(self)
        self._deadline = self._loop.time() + self._limits.header_timeout
        self._made = True
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if not self._entered:
            return
        if self._is_idle:  # the first bytes of the next request
            self._is_idle = False
            self._deadline = self._loop.time() + self._limits.header_timeout
            self._connections.wait(self)
        self._n_bytes += len(data)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        result: bool | None = self._inner.eof_received() if self._entered else None
        return result

    def pause_writing(self) -> None:
        if self._entered:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._entered:
            self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.gone(self)
        if self._made:  # also after hang_up: a request may be running
            self._inner.connection_lost(error)
        if self._entered:
            self._entered = False
            self._connections.leave(self)

    # ------------------------------------------------------------------ the application

    async def _run(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the application for one request."""
        self._is_idle = False
        self._n_running += 1
        self._n_requests += 1
        self._deadline = math.inf  # from here on the gate enforces the time limit
        if self.n_unsent == 0:  # else the time limit for reading the previous answer goes on
            self._unsent_since = None
        if _has_body(scope):
            receive = self._arriving(receive)
            if self._entered:
                self._connections.wait(self)
        elif self._entered:
            self._connections.work(self)
        try:
            await self._app(scope, receive, send)
        finally:
            self._n_running -= 1
            if self._n_running == 0 and self._entered:
                self._is_idle = True
                self._deadline = self._loop.time() + self._limits.idle_timeout
                self._connections.wait(self)

    def _arriving(self, receive: Any) -> Any:
        """Wrap `receive`: when the body is complete, the connection counts as working."""

        async def arriving() -> Any:
            message = await receive()
            if not message.get("more_body", False) and self._entered:
                self._connections.work(self)
            return message

        return arriving

    # ------------------------------------------------------------------ time

    @property
    def n_unsent(self) -> int:
        """Bytes of answers not yet passed to the kernel."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def check(self, now: float) -> int:
        """Close the connection if it is past its deadline; return the number of its unsent bytes."""
        n_unsent = self.n_unsent
        if n_unsent == 0:
            self._unsent_since = None
        elif self._unsent_since is None:
            self._unsent_since = now
        if self._unsent_since is not None:
            if now - self._unsent_since > (self._limits.send_timeout if self._entered else _HANG_UP_SECONDS):
                self.hang_up()
        elif now > self._deadline:
            if self._entered and self._n_requests == 0 and self._n_bytes > 0:
                self.hang_up(408, "timeout", "the request took too long to arrive")
            else:
                self.hang_up()
        return n_unsent

    def hang_up(self, status: int = 0, code: str = "", message: str = "") -> None:
        """Close the connection at once, or after a last answer."""
        if self._entered:
            self._entered = False
            self._connections.leave(self)
        if self._transport is None:
            return
        self._deadline = self._loop.time() + _HANG_UP_SECONDS
        if status:
            self._transport.write(_answer(status, code, message))
        elif self.n_unsent:
            self._transport.abort()
        self._transport.close()


def _has_body(scope: Any) -> bool:
    """Return whether a request's headers announce a body."""
    return any(
        (name == b"content-length" and value.strip() != b"0") or name == b"transfer-encoding"
        for name, value in scope.get("headers", ())
    )


def _answer(status: int, code: str, message: str) -> bytes:
    body = _BODY.format(code, message)
    phrase = {408: "Request Timeout", 503: "Service Unavailable"}[status]
    retry = "retry-after: 1\r\n" if status == 503 else ""
    head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\nconnection: close\r\n{retry}"
    return f"{head}content-length: {len(body)}\r\n\r\n{body}".encode()


def _send_at_once(connection: Any) -> None:
    """Disable Nagle's algorithm (TCP_NODELAY).

    asyncio does that only for sockets created with an explicit protocol, unlike accepted ones. Otherwise the body of an
    answer, written after its headers, waits for the acknowledgement that the peer delays by 40 ms.
    """
    with contextlib.suppress(OSError, AttributeError):  # not TCP, or closed already
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _peer(address: Any) -> str:
    """Return the identity of a peer: an IPv4 address, or the 64-bit network of an IPv6 address.

    >>> _peer(("192.0.2.1", 80)), _peer(("::ffff:192.0.2.1", 80, 0, 0)), _peer(("2001:db8::1:2", 80, 0, 0)), _peer("")
    ('192.0.2.1', '192.0.2.1', '2001:db8::', '')
    """
    if not isinstance(address, tuple) or not address:
        return ""
    try:
        ip = ipaddress.ip_address(str(address[0]).partition("%")[0])
    except ValueError:
        return str(address[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        if not ip.is_loopback:
            return str(ipaddress.IPv6Address(int(ip) >> 64 << 64))
    return str(ip)
