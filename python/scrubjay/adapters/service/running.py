"""How does the service start, and how does it end?"""

from __future__ import annotations

import ipaddress
import signal
import socket
import sys
import threading
from typing import Any

import uvicorn

from scrubjay.adapters.service.app import create_app
from scrubjay.adapters.service.auth import Grant, Tokens
from scrubjay.adapters.service.limits import Limits
from scrubjay.index import Index

__all__ = ["serve"]


def serve(
    index: Index,
    *,
    host: str = "127.0.0.1",
    port: int = 8421,
    tokens: Tokens | None = None,
    grant: Grant | None = None,
    limits: Limits | None = None,
) -> None:
    """Serve an index until the process is told to end (SIGTERM, SIGINT); then requests that run end, and it is closed.

    Args:
        index: where the memories are.
        host, port: where to listen; port 0: any free one. The address is printed to standard error.
        tokens, grant, limits: see :func:`create_app`.

    Raises:
        ValueError: the address is not a loopback one and there are no tokens, or the index has int ids.
        OSError: the address cannot be had.
    """
    if tokens is None and not is_loopback(host):
        raise ValueError(f"host: expected a loopback address, since there are no tokens, got {host!r}")
    limits = limits or Limits()
    app = create_app(index, tokens=tokens, grant=grant, limits=limits, close_index=True)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=1024) as listening:
        shown = f"[{host}]" if ":" in host else host
        print(f"listening on http://{shown}:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
        config = uvicorn.Config(
            app,
            http="h11",  # the other parser has no bound on the size of headers
            ws="none",
            log_level="warning",
            access_log=False,  # paths hold ids
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=int(limits.drain_timeout),
        )
        _run(uvicorn.Server(config), listening)


def is_loopback(host: str) -> bool:
    """Whether what is bound to this host can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("")
    (True, True, True, False, False)
    """
    try:
        addresses = [ipaddress.ip_address(host)]
    except ValueError:
        try:
            found: list[Any] = socket.getaddrinfo(host, None) if host else []
        except OSError:
            return False
        addresses = [ipaddress.ip_address(one[4][0].partition("%")[0]) for one in found]
    return bool(addresses) and all(address.is_loopback for address in addresses)


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Run it; a signal ends it in good order, and with exit code 0."""
    if threading.current_thread() is not threading.main_thread():
        server.run(sockets=[listening])
        return
    # When it has ended uvicorn raises the signal once more, for the handlers that were there before its own.
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        server.run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
