"""The wrapper around uvicorn's protocols, with each installed one."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from scrubjay.adapters.service import Limits  # noqa: E402
from scrubjay.adapters.service.connections import Connections  # noqa: E402

PROTOCOLS = {"h11": "h11_impl.H11Protocol", "httptools": "httptools_impl.HttpToolsProtocol"}
LARGE = b"x" * (32 << 20)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the length of the body, or with a large body."""
    assert scope["type"] == "http"
    n_bytes, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        n_bytes += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = LARGE if scope["path"] == "/large" else b"%d" % n_bytes
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Served:
    """A server on a thread of this process."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(application, http=connections, ws="none", lifespan="off", log_level="error")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.listening],))
        self.thread.start()

    @contextmanager
    def connected(self, content: bytes = b"", peer: str = "127.0.0.1") -> Iterator[socket.socket]:
        address = ("127.0.0.1", self.listening.getsockname()[1])
        with socket.create_connection(address, timeout=60, source_address=(peer, 0)) as raw:
            raw.sendall(content)
            yield raw


@pytest.fixture(params=PROTOCOLS)
def inner(request: pytest.FixtureRequest) -> Any:
    module, name = PROTOCOLS[request.param].split(".")
    pytest.importorskip(request.param)
    return getattr(importlib.import_module(f"uvicorn.protocols.http.{module}"), name)


@contextmanager
def served(inner: Any, **limits: Any) -> Iterator[Served]:
    given = {"header_timeout": 0.5, "idle_timeout": 1.0, "send_timeout": 0.5, **limits}
    service = Served(Connections(Limits(**given), inner))
    try:
        yield service
    finally:
        service.server.should_exit = True
        service.thread.join()
    assert len(service.connections) == 0 and service.connections._all == set()


def read_until_closed(raw: socket.socket) -> bytes:
    """Return everything until the server closes the connection."""
    pieces = []
    try:
        while piece := raw.recv(1 << 16):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds; the limit allows for a busy machine."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def answer(raw: socket.socket) -> tuple[bytes, bytes]:
    """Return the status line and the body of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = raw.recv(1 << 16)
        assert piece
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    n_bytes = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < n_bytes:
        piece = raw.recv(n_bytes - len(body))
        assert piece
        body += piece
    return head.partition(b"\r\n")[0], body


OK = b"HTTP/1.1 200 OK"
GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nhost: x\r\n"


def test_requests_are_answered_one_after_the_other_and_all_together(inner: Any) -> None:
    with served(inner, header_timeout=1.5, idle_timeout=20.0) as service, service.connected() as raw:
        for _ in range(3):
            raw.sendall(GET)
            assert answer(raw) == (OK, b"0")
        raw.sendall(GET * 5 + b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert read_until_closed(raw).count(b"HTTP/1.1 200") == 6
        with service.connected(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 500000\r\n\r\n") as slow:
            for _ in range(5):
                time.sleep(0.4)  # a body may take longer than headers; the gate limits it
                slow.sendall(b"x" * 100_000)
            assert answer(slow) == (OK, b"500000")


@pytest.mark.parametrize("content", [b"", b"G", HALF, GET + b"G"])
def test_incomplete_requests_time_out(inner: Any, content: bytes) -> None:
    with served(inner) as service, service.connected(content) as raw:
        start = time.monotonic()
        said = read_until_closed(raw)
        assert time.monotonic() - start < 60
        assert (b" 408 " in said) == (content in (b"G", HALF))


def test_a_client_that_trickles_bytes_times_out(inner: Any) -> None:
    with served(inner) as service, service.connected(HALF) as raw:
        end = time.monotonic() + 60
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while time.monotonic() < end:
                raw.sendall(b"x")
                time.sleep(0.1)
        assert time.monotonic() < end


def test_an_idle_connection_lasts_longer_than_headers_may_take(inner: Any) -> None:
    with served(inner, idle_timeout=3.0) as service, service.connected(GET) as raw:
        assert answer(raw) == (OK, b"0")
        time.sleep(1.0)
        raw.sendall(GET)
        assert answer(raw) == (OK, b"0")
        assert read_until_closed(raw) == b""


def test_an_answer_that_is_not_read_is_not_kept(inner: Any) -> None:
    ask = b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n"
    with served(inner) as service, service.connected(ask) as raw, service.connected(ask * 3) as more:
        time.sleep(3)
        wait_for(lambda: len(service.connections) == 0)
        assert len(read_until_closed(raw)) < len(LARGE) and len(read_until_closed(more)) < len(LARGE)


def test_answers_that_are_not_read_take_no_more_memory_than_they_may(inner: Any) -> None:
    ask = b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n"
    with (
        served(inner, send_timeout=60.0, max_unsent_bytes=50 << 20) as service,
        service.connected(ask),
        service.connected(ask),
        service.connected(ask),
    ):
        time.sleep(3)
        wait_for(lambda: len(service.connections) == 1)


def test_the_connection_that_waits_longest_is_closed_and_working_ones_stay(inner: Any) -> None:
    body = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n"
    with (
        served(inner, max_connections=3, max_connections_per_peer=0, header_timeout=60.0) as service,
        service.connected(HALF) as first,
        service.connected(body) as second,
        service.connected(HALF) as third,
    ):
        wait_for(lambda: len(service.connections) == 3)
        time.sleep(0.5)
        with service.connected(GET) as fourth:
            assert answer(fourth) == (OK, b"0")
            assert read_until_closed(first) == b""
            second.sendall(b"xx")
            assert answer(second) == (OK, b"2")
            third.sendall(b"\r\n")
            assert answer(third) == (OK, b"0")
            assert len(service.connections) == 3


def test_new_connections_get_503_while_all_are_busy(inner: Any) -> None:
    gate = threading.Event()
    at_work: list[object] = []

    class Working(Connections):
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            made: Any = super().__call__(*arguments, **options)
            whole = made._app

            async def working(scope: Any, receive: Any, send: Any) -> None:
                at_work.append(scope)
                while not gate.is_set():
                    await asyncio.sleep(0.02)
                await whole(scope, receive, send)

            made._app = working
            return made

    service = Served(Working(Limits(max_connections=2, max_connections_per_peer=0), inner))
    try:
        with service.connected(GET) as first, service.connected(GET) as second:
            wait_for(lambda: len(at_work) == 2)
            with service.connected() as third:
                assert b" 503 " in read_until_closed(third)
            gate.set()
            for raw in (first, second):
                assert answer(raw) == (OK, b"0")
    finally:
        gate.set()
        service.server.should_exit = True
        service.thread.join()
