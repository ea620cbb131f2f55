"""Start and end of the service."""

from __future__ import annotations

import dataclasses
import ipaddress
import logging
import math
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn

from scrubjay.adapters.service.app import create_app
from scrubjay.adapters.service.auth import Grant, Tokens
from scrubjay.adapters.service.connections import Connections
from scrubjay.adapters.service.examples import Example
from scrubjay.adapters.service.limits import Limits
from scrubjay.index import Index
from scrubjay.memory.intake.extractors import Extractor

_ACCEPTED_AT_ONCE = 32  # asyncio accepts this many before it handles any of them
_BACKLOG = 1024  # of the kernel's queue of connections
# Files that the index opens while it works, and closing connections.
_OTHER_FILES = 64 + 2 * _ACCEPTED_AT_ONCE
_LEAST_CONNECTIONS = 8
_SELDOM_SECONDS = 10.0


def serve(
    index: Index,
    *,
    host: str = "127.0.0.1",
    port: int = 8421,
    tokens: Tokens | None = None,
    grant: Grant | None = None,
    limits: Limits | None = None,
    extractor: Extractor | None = None,
    examples: Sequence[Example] = (),
) -> None:
    """Serve an index until SIGTERM, SIGINT or SIGHUP; then finish running requests and close the index.

    Args:
        index: the index to serve.
        host, port: the address to bind; port 0: any free one. The address is printed to standard error.
        tokens, grant, limits, extractor, examples: see :func:`create_app`.

    Raises:
        ValueError: the address is not a loopback address and there are no tokens, or the index has int ids.
        OSError: the address is not available.
    """
    if tokens is None and not is_loopback(host):
        raise ValueError(f"host: expected a loopback address, since there are no tokens, got {host!r}")
    limits = _within_files(limits or Limits())
    app = create_app(
        index,
        tokens=tokens,
        grant=grant,
        limits=limits,
        close_index=True,
        extractor=extractor,
        examples=examples,
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=_BACKLOG) as listening:
        shown = f"[{host}]" if ":" in host else host
        print(f"listening on http://{shown}:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
        config = uvicorn.Config(
            app,
            # h11: uvicorn's other parser does not bound the size of headers.
            http=Connections(limits),  # a callable; uvicorn's type hint expects a class
            h11_max_incomplete_event_size=limits.max_header_bytes,
            timeout_keep_alive=math.ceil(limits.idle_timeout),
            backlog=_ACCEPTED_AT_ONCE,
            ws="none",
            log_level="warning",
            access_log=False,  # paths contain ids
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=int(limits.drain_timeout),
        )
        logging.getLogger("uvicorn.error").addFilter(_Seldom())
        _run(_Server(config), listening)


class _Seldom(logging.Filter):
    """Passes a message without an exception once in ten seconds, so that malformed requests cannot fill the disk."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record."""
        if record.exc_info or record.args or len(self._last) > 100:
            return True
        now = time.monotonic()
        if now - self._last.get(str(record.msg), -math.inf) < _SELDOM_SECONDS:
            return False
        self._last[str(record.msg)] = now
        return True


class _Server(uvicorn.Server):
    """A server that accepts few connections at once but has a long kernel queue; asyncio uses one number for both."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)


def _within_files(limits: Limits) -> Limits:
    """Return limits with no more connections than the process may open files."""
    try:
        import resource
    except ImportError:  # Windows
        return limits
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return limits
    try:
        n_open = len(list(Path("/dev/fd").iterdir()))
    except OSError:
        n_open = 32
    room = max(_LEAST_CONNECTIONS, most - n_open - _OTHER_FILES)
    if room >= limits.max_connections:
        return limits
    print(
        f"at most {room} connections, not {limits.max_connections}: "
        f"the process may open {most} files (raise `ulimit -n`)",
        file=sys.stderr,
    )
    return dataclasses.replace(limits, max_connections=room)


def is_loopback(host: str) -> bool:
    """Return whether a host's addresses are reachable from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("")
    (True, True, True, False, False)
    """
    try:
        addresses = [ipaddress.ip_address(host)]
    except ValueError:
        try:
            entries: list[Any] = socket.getaddrinfo(host, None) if host else []
        except OSError:
            return False
        addresses = [ipaddress.ip_address(entry[4][0].partition("%")[0]) for entry in entries]
    return bool(addresses) and all(address.is_loopback for address in addresses)


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Run the server; a signal stops it gracefully, with exit code 0, including a closed terminal."""
    if threading.current_thread() is not threading.main_thread():
        server.run(sockets=[listening])
        return

    def end(*_: object) -> None:
        server.handle_exit(signal.SIGTERM, None)

    # These handlers cover the time until uvicorn installs its own, and SIGHUP, which it does not handle, for the whole
    # run. At its end uvicorn raises the signal again, for the handlers that were there before.
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    hangup = getattr(signal, "SIGHUP", None)  # not on Windows
    if hangup is not None and signal.getsignal(hangup) != signal.SIG_IGN:  # not under nohup
        before[hangup] = signal.signal(hangup, end)
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
