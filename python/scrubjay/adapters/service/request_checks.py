"""Checks of a request before it is parsed.

An ASGI wrapper that checks identity, rate, requests in flight and body size, in this order, so that nothing of an
unknown caller is parsed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio

from scrubjay.adapters.service.auth import Grant, TokenFileError, Tokens
from scrubjay.adapters.service.failures import failure
from scrubjay.adapters.service.limits import Limits, Rates
from scrubjay.adapters.service.metrics import Metrics
from scrubjay.adapters.service.page_files import PAGE_FILES

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = logging.getLogger(__name__)

_PUBLIC = frozenset((*PAGE_FILES, "/openapi.json", "/health/live", "/health/ready"))
_SMALL_BYTES = 64 << 10  # a body this small is never refused to save memory: one for each connection fits
_LINGER_SECONDS = 2.0  # how long an oversized body is read and discarded
_LINGER_BYTES = 32 << 20  # and how much of it
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_HEADERS = [
    (b"content-security-policy", b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     b"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     b"require-trusted-types-for 'script'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]  # fmt: skip


class _RefusalError(Exception):
    def __init__(self, reason: str, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.reason = reason
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answer = failure(status, code, message, named)


class Gate:
    """The application behind its checks.

    Args:
        app: answers admitted requests; the :class:`Grant` is in the request's state.
        tokens: the callers. None: any caller on this machine's loopback address, with `grant`.
        grant: the grant of every caller without tokens.
        limits, metrics: of the service.
    """

    def __init__(
        self, app: Application, tokens: Tokens | None, grant: Grant | None, limits: Limits, metrics: Metrics
    ) -> None:
        self._app = app
        self._tokens, self._grant = tokens, grant
        self._limits, self._metrics = limits, metrics
        self._rates = Rates(limits.rate, limits.burst)
        self._n_in_flight = 0  # counts complete requests only
        self._n_arriving_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it to the application."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1000})
                return
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 0

        async def answer(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        self._metrics.in_flight.inc()
        try:
            scope.setdefault("state", {})
            self._admit(scope)
            receive = await self._read(scope, receive)
            await self._work(scope, receive, answer)
            if not status:
                raise _RefusalError("long", 503, "timeout", "timed out; the operation may still complete")
        except _RefusalError as refusal:
            self._metrics.refused.labels(refusal.reason).inc()
            try:
                await refusal.answer(scope, receive, answer)
            except Exception as error:  # noqa: BLE001 - the server closed on bytes that are not HTTP
                _log.info("the caller disconnected before the refusal: %s", error)
        except Exception as error:
            if status:  # too late for another answer
                raise
            _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            broken = failure(500, "internal", "something went wrong; the service's log has it")
            await broken(scope, receive, answer)
        finally:
            self._metrics.in_flight.dec()
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(route, method, str(status)).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - start)

    # ------------------------------------------------------------------ checks

    def _admit(self, scope: Scope) -> None:
        headers = scope["headers"]
        # The parser does not limit headers that arrive in one piece.
        if sum([len(name) + len(value) + 4 for name, value in headers]) > self._limits.max_header_bytes:
            most = self._limits.max_header_bytes
            raise _RefusalError("headers", 431, "too_large", f"headers: expected at most {most:,} bytes")
        lengths = {name for name, _ in headers if name in (b"content-length", b"transfer-encoding")}
        if len(lengths) == 2:
            # A proxy may use the other header, and take a second request for a body (RFC 9112, 6.1).
            raise _RefusalError(
                "ambiguous", 400, "malformed", "content-length, transfer-encoding: expected one, got both",
                connection="close",
            )  # fmt: skip
        if self._tokens is None:
            _check_host(headers)
        grant = None
        if scope["path"] not in _PUBLIC:
            grant = self._grant if self._tokens is None else self._known(headers)
            scope["state"]["grant"] = grant
        if scope["path"].startswith("/health/"):
            return  # health checks must get through
        wait = self._rates.wait(grant)  # by the grant, because names are not unique
        if wait > 0:
            raise _RefusalError(
                "rate", 429, "rate_limited", f"expected at most {self._limits.rate:g} requests a second",
                retry_after=str(int(wait) + 1),
            )  # fmt: skip

    async def _work(self, scope: Scope, receive: Receive, answer: Send) -> None:
        """Run the application within the limits of requests in flight and of time."""
        counts = not scope["path"].startswith("/health/")
        if counts and self._n_in_flight >= self._limits.max_in_flight:
            raise _busy()
        self._n_in_flight += counts
        try:
            with anyio.move_on_after(self._limits.request_timeout):
                await self._app(scope, receive, answer)
        finally:
            self._n_in_flight -= counts

    def _known(self, headers: list[tuple[bytes, bytes]]) -> Grant:
        assert self._tokens is not None
        values = [value for name, value in headers if name == b"authorization"]
        scheme, _, token = (values[0] if len(values) == 1 else b"").decode("latin-1").partition(" ")
        try:
            grant = self._tokens.find(token.strip()) if scheme.lower() == "bearer" else None
        except TokenFileError:
            raise _RefusalError(
                "tokens", 503, "unavailable", "tokens cannot be checked now", retry_after="1"
            ) from None
        if grant is None:
            raise _RefusalError(
                "unauthenticated", 401, "unauthenticated", "authorization: expected Bearer and a valid token",
                www_authenticate='Bearer realm="scrubjay"',
            )  # fmt: skip
        return grant

    async def _read(self, scope: Scope, receive: Receive) -> Receive:
        """Read the body up to the size limit, and return a `receive` that yields it in one piece."""
        declared = {
            name: value
            for name, value in scope["headers"]
            if name in (b"content-length", b"transfer-encoding")
        }
        if not declared or declared.get(b"content-length") == b"0" or scope["path"] in _PUBLIC:
            return receive  # public requests have no body
        most = self._limits.max_body_bytes
        length = declared.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 15 or int(length) > most):
            await _discard(receive)
            raise self._too_large()
        _check_type(scope)
        pieces: list[bytes] = []
        n_bytes = n_counted = 0
        try:
            with anyio.fail_after(self._limits.body_timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _RefusalError("gone", 400, "malformed", "body: expected all of it, got a part")
                    pieces.append(message.get("body", b""))
                    n_bytes += len(pieces[-1])
                    if n_bytes > most:
                        if message.get("more_body", False):
                            await _discard(receive)
                        raise self._too_large()
                    if n_bytes > _SMALL_BYTES:
                        self._n_arriving_bytes += n_bytes - n_counted
                        n_counted = n_bytes
                        if self._n_arriving_bytes > self._limits.max_arriving_bytes:
                            raise _busy()
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise _RefusalError(
                "slow", 408, "timeout", "the request took too long to arrive", connection="close"
            ) from None
        finally:
            self._n_arriving_bytes -= n_counted
        messages: list[MutableMapping[str, Any]] = [
            {"type": "http.request", "body": b"".join(pieces), "more_body": False}
        ]

        async def replay() -> MutableMapping[str, Any]:
            return messages.pop() if messages else await receive()

        return replay

    def _too_large(self) -> _RefusalError:
        most = self._limits.max_body_bytes
        return _RefusalError(
            "size", 413, "too_large", f"body: expected at most {most:,} bytes", connection="close"
        )


async def _discard(receive: Receive) -> None:
    """Read and discard for a while: most clients send a whole body before they read the answer, and closing a
    connection with unread bytes resets it, so that they would not see the refusal."""
    n_bytes = 0
    with anyio.move_on_after(_LINGER_SECONDS):
        while n_bytes < _LINGER_BYTES:
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                return


def _busy() -> _RefusalError:
    return _RefusalError("busy", 503, "busy", "too many requests at once; try again", retry_after="1")


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


def _check_type(scope: Scope) -> None:
    """Require JSON, because a page of another site may send any other type without a CORS preflight."""
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    kind = (kinds[0] if len(kinds) == 1 else b"").partition(b";")[0].strip().lower()
    if scope["method"] not in ("GET", "HEAD") and kind != b"application/json":
        raise _RefusalError("type", 415, "unsupported_media_type", "content-type: expected application/json")


def _check_host(headers: list[tuple[bytes, bytes]]) -> None:
    """Check the host name: without tokens, a DNS name rebound to loopback must not let a web page in."""
    named = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
    host = named[0] if len(named) == 1 else ""
    if host.rpartition(":")[2].isdigit():
        host = host.rpartition(":")[0]
    if host not in _LOCAL_NAMES:
        raise _RefusalError(
            "host", 421, "wrong_host", "host: expected a name of this machine's loopback address"
        )
