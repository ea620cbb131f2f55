"""A hostile client, which other clients must not notice: connections that are opened and kept waiting."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
resource = pytest.importorskip("resource")

from scrubjay import Index, Scope, cli  # noqa: E402
from scrubjay.adapters.service import Grant, add_token  # noqa: E402
from tests.adapters.serving import Serving  # noqa: E402

ACME = Scope("acme")
N_FILES = 1024
N_SOCKETS = 1100

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc, binds to 127.0.0.2"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return prepared(tmp_path / "memories.scrubjay")


def prepared(path: Path) -> Path:
    with Index.open(path) as index:
        index.upsert("m1", "The staging key is sk-stg-0041.", scope=ACME)
    return path


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One service for all attacks, which is finally told to stop."""
    path = prepared(tmp_path_factory.mktemp("attacked") / "memories.scrubjay")
    timeouts = ("--header-timeout", "3", "--body-timeout", "3", "--idle-timeout", "3")
    with Serving(path, "--embedder", "none", "--tenant", "acme", *timeouts, n_files=N_FILES) as service:
        yield service
        code, said = service.end()
    assert code == 0 and "Traceback" not in said


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 4 * N_SOCKETS:
        pytest.skip("this process may not open so many sockets")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * N_SOCKETS, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def search(
    service: Serving, *, peer: str = "127.0.0.1", token: str | None = None, timeout: float = 60
) -> int:
    """Search once on a new connection from this address; return the status."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", service.port, timeout=timeout, source_address=(peer, 0)
    )
    headers = {"content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    try:
        connection.request("POST", "/v1/search", json.dumps({"text": "sk-stg-0041"}), headers)
        answer = connection.getresponse()
        found = json.load(answer)
    finally:
        connection.close()
    assert answer.status != 200 or [hit["id"] for hit in found["hits"]] == ["m1"]
    return answer.status


class Attack:
    """Many sockets that send the beginning of a message, then optionally single bytes, and read nothing."""

    def __init__(self, service: Serving, opening: bytes, *, drip: bytes = b"", n: int = N_SOCKETS) -> None:
        self.sockets: list[socket.socket] = []
        self._drip, self._stop = drip, threading.Event()
        for _ in range(n):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.settimeout(60)
            one.connect(("127.0.0.1", service.port))
            with contextlib.suppress(OSError):
                one.sendall(opening)
            one.setblocking(False)
            self.sockets.append(one)
        self._thread = threading.Thread(target=self._dripping)
        self._thread.start()

    def _dripping(self) -> None:
        while self._drip and not self._stop.wait(0.3):
            for one in self.sockets:
                with contextlib.suppress(OSError):
                    one.send(self._drip)

    def __enter__(self) -> Attack:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for one in self.sockets:
            one.close()


def n_connections(service: Serving) -> int:
    """Return the number of open connections of the service's process."""
    n = -3  # one listens, two are the event loop's own
    for file in Path(f"/proc/{service.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            n += str(file.readlink()).startswith("socket:")
    return n


def falls_to(service: Serving, most: int, seconds: float) -> bool:
    """Return whether the number of connections falls to `most` within this time."""
    return becomes(lambda: n_connections(service) <= most, seconds)


def becomes(what: Callable[[], bool], seconds: float) -> bool:
    """Return whether a condition becomes true within this time."""
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return what()


HEAD = b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"
ATTACKS = {
    "connections that send nothing": (b"", b""),
    "half a request line": (b"GET /", b""),
    "half the headers": (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ", b""),
    "a byte of a header now and then": (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ", b"y"),
    "empty lines for ever": (b"\r\n", b"\r\n"),
    "half a body": (HEAD + b"content-length: 1000\r\n\r\n{", b""),
    "a byte of a body now and then": (HEAD + b"content-length: 1000\r\n\r\n{", b" "),
    "chunks without end": (CHUNKED, b"1\r\n \r\n"),
    "a chunk extension without end": (CHUNKED + b"1;", b"e"),
    "half a body where none belongs": (
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n",
        b"",
    ),
    "bytes after the answer": (b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 999\r\n\r\n", b"x"),
    "a request, and half of the next": (b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\nGET", b" "),
}


QUICK = ("half the headers", "a byte of a body now and then")


@pytest.mark.parametrize(
    "attack",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in ATTACKS],
)
def test_half_sent_requests_do_not_end_the_service(attacked: Serving, attack: str) -> None:
    opening, drip = ATTACKS[attack]
    with Attack(attacked, opening, drip=drip):
        for peer in ("127.0.0.1", "127.0.0.2") * 5:
            assert search(attacked, peer=peer) == 200
            assert attacked.ask("GET", "/health/live", timeout=60)[0] == 200
        assert n_connections(attacked) <= 512 + 32
        assert falls_to(attacked, 8, 120)  # they time out, although their client stays
        assert search(attacked) == 200
    assert attacked.process.poll() is None


def test_answers_that_nobody_reads_do_not_end_the_service(path: Path) -> None:
    with Index.open(path) as index:
        index.upsert_many(
            [{"id": f"b{i}", "text": "w " * 90_000, "scope": Scope("acme", user="big")} for i in range(40)]
        )
    body = b'{"scope":{"user":"big"},"limit":100}'
    listing = HEAD.replace(b"search", b"list") + b"content-length: %d\r\n\r\n" % len(body) + body
    options = ("--embedder", "none", "--tenant", "acme", "--send-timeout", "2", "--max-connections", "64")
    with Serving(path, *options, n_files=N_FILES) as service:
        with Attack(service, listing, n=100):
            for peer in ("127.0.0.1", "127.0.0.2") * 5:
                assert search(service, peer=peer, timeout=180) == 200
            assert n_connections(service) <= 64 + 32
            assert falls_to(service, 4, 180)
        assert search(service) == 200
        assert service.end()[0] == 0


def test_half_sent_bodies_of_one_caller_leave_room_for_the_requests_of_others(tmp_path: Path) -> None:
    """They do not count as requests in flight: 300 exceed that limit."""
    path, tokens = tmp_path / "m.scrubjay", tmp_path / "tokens.json"
    mine, other = (add_token(tokens, Grant(name, name, can=("read",))) for name in ("acme", "globex"))
    with Index.open(path) as index:
        index.upsert("m1", "The staging key is sk-stg-0041.", scope=Scope("globex"))
    half = HEAD + f"authorization: Bearer {mine}\r\ncontent-length: 99\r\n\r\n{{".encode()
    options = ("--embedder", "none", "--tokens", tokens, "--max-per-peer", "0")
    with Serving(path, *options, n_files=N_FILES) as service, Attack(service, half, n=400):
        assert becomes(lambda: n_connections(service) >= 400, 120)  # none is closed while there is room
        assert [search(service, token=other) for _ in range(5)] == [200] * 5


def test_the_peer_with_the_most_connections_makes_room(path: Path) -> None:
    options = ("--embedder", "none", "--tenant", "acme", "--max-connections", "40", "--max-per-peer", "0")
    with Serving(path, *options) as service:
        kept = http.client.HTTPConnection(
            "127.0.0.1", service.port, timeout=60, source_address=("127.0.0.2", 0)
        )
        kept.request("GET", "/health/live")
        assert kept.getresponse().read()
        there = kept.sock
        with Attack(service, b"GET /", n=200):
            kept.request("GET", "/health/live")  # the longest idle of all
            assert kept.getresponse().status == 200 and kept.sock is there
        kept.close()


def test_one_peer_has_no_more_than_its_share(path: Path) -> None:
    options = ("--embedder", "none", "--tenant", "acme", "--max-per-peer", "10", "--max-connections", "100")
    with Serving(path, *options) as service, Attack(service, b"GET /", n=60):
        assert falls_to(service, 10, 120)
        assert search(service, peer="127.0.0.2") == 200


def test_slow_headers_get_408_and_silent_connections_are_closed(path: Path) -> None:
    with Serving(path, "--embedder", "none", "--header-timeout", "0.5") as service:
        for sent, said in ((b"GET / HT", b"HTTP/1.1 408 "), (b"", b"")):
            with socket.create_connection(("127.0.0.1", service.port), timeout=60) as raw:
                raw.sendall(sent)
                answer = b"".join(iter(lambda raw=raw: raw.recv(4096), b""))  # type: ignore[misc]
            assert answer[:13] == said


def test_a_connection_is_used_for_many_requests_and_closed_when_idle(path: Path) -> None:
    options = ("--embedder", "none", "--tenant", "acme", "--header-timeout", "1", "--idle-timeout", "4")
    with Serving(path, *options) as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        for pause in (0.0, 0.6, 0.6, 1.2):  # longer than the header timeout, in total and finally at once
            time.sleep(pause)
            connection.request("GET", "/health/live")
            assert connection.getresponse().read()
        assert connection.sock is not None
        assert connection.sock.recv(1) == b""  # closed by the service
        connection.close()


def test_a_body_of_two_lengths_hides_no_second_request(path: Path) -> None:
    """A proxy that uses content-length would pass all of it on as one request."""
    chunk = b"16\r\n" + b'{"text":"sk-stg-0041"}' + b"\r\n0\r\n\r\n"
    hidden = HEAD.replace(b"search", b"erase") + b"content-length: 2\r\n\r\n{}"
    with Serving(path, "--embedder", "none", "--tenant", "acme") as service:
        whole = chunk + hidden
        for order in (
            ("content-length: %d", "transfer-encoding: chunked"),
            ("Transfer-Encoding: chunked", "Content-Length: %d"),
        ):
            lengths = "".join(f"{line}\r\n" for line in order).encode() % len(whole)
            with socket.create_connection(("127.0.0.1", service.port), timeout=60) as raw:
                raw.sendall(HEAD + lengths + b"\r\n" + whole)
                said = b""
                with contextlib.suppress(ConnectionResetError):
                    said = b"".join(iter(lambda raw=raw: raw.recv(4096), b""))  # type: ignore[misc]
                assert said.count(b"HTTP/1.1 ") <= 1 and b" 200 " not in said
        assert search(service) == 200  # the memory exists


def test_malformed_requests_do_not_fill_the_log(path: Path) -> None:
    with Serving(path, "--embedder", "none") as service:
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", service.port), timeout=60) as raw:
                raw.sendall(b"nonsense\r\n\r\n")
                assert raw.recv(100)
        _, said = service.end()
    assert 1 <= said.count("Invalid HTTP request") <= 5


def test_headers_have_a_size(path: Path) -> None:
    with Serving(path, "--embedder", "none", "--max-header", "2000") as service:
        for filler, statuses in (("x" * 1500, (200,)), ("x" * 3000, (431,)), ("x" * 300_000, (400, 431))):
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it hangs up on the largest
                connection.request("GET", "/health/live", headers={"filler": filler})
                assert connection.getresponse().status in statuses
            connection.close()


def test_the_limit_of_open_files_lowers_that_of_connections(path: Path) -> None:
    with Serving(path, "--embedder", "none", "--tenant", "acme", n_files=256) as service:
        assert service.said is not None and "raise `ulimit -n`" in service.said
        with Attack(service, b"GET /", n=400):
            assert [search(service, peer="127.0.0.2") for _ in range(5)] == [200] * 5
        code, said = service.end()
    assert code == 0 and "Too many open files" not in said


@pytest.mark.parametrize(
    "option", ["--max-connections", "--header-timeout", "--idle-timeout", "--send-timeout", "--max-header"]
)
def test_invalid_limit_options_are_refused(path: Path, option: str, capsys: Any) -> None:
    for value in ("0", "-1", "nan", "x"):
        assert cli.main(["serve", str(path), option, value]) == 2
        assert option in capsys.readouterr().err
