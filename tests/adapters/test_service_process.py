"""`scrubjay serve` as seen by its operator: its address, access, and shutdown."""

from __future__ import annotations

import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from scrubjay import Index, Scope, cli
from scrubjay.adapters.service import Grant, add_token, lifespan, serve
from tests.adapters.serving import Serving

JANE = Scope("acme", user="jane")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.scrubjay"


def test_memories_survive_and_tokens_count(path: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    jane = add_token(tokens, Grant("jane", "acme", "jane", can=("read", "write")))
    joe = add_token(tokens, Grant("joe", "acme", "joe", can=("read", "write")))
    with Serving(path, "--tokens", tokens) as service:
        assert (
            service.ask("PUT", "/v1/memories/m1", {"text": "The staging key is sk-stg-0041."}, jane)[0] == 200
        )
        assert service.ask("GET", "/v1/memories/m1")[0] == 401
        assert service.ask("GET", "/v1/memories/m1", token=joe)[0] == 404
        for id in ("a/b", "%2F", "..%2f", "a%00b", "\x00", "ü/✓", "+", "a b"):
            where = "/v1/memories/" + quote(id, safe="")
            assert service.ask("PUT", where, {"text": id}, jane) == (200, {"ids": [id]})
            assert service.ask("GET", where, token=jane)[1]["text"] == id
            assert service.ask("DELETE", where, token=jane) == (204, "")
        assert service.end()[0] == 0
    with Serving(path, "--tokens", tokens, "--embedder", "none") as service:
        status, found = service.ask("POST", "/v1/search", {"text": "sk-stg-0041"}, jane)
        assert status == 200 and [hit["id"] for hit in found["hits"]] == ["m1"]
        assert found["mode"] == "lexical" and found["degraded"][0].startswith("no_embedder")
        assert service.end(signal.SIGINT)[0] == 0


@pytest.mark.parametrize("n_bytes", [4_300_000, 20_000_000])
def test_a_client_that_sends_too_much_before_reading_gets_413(path: Path, n_bytes: int) -> None:
    """Most clients send before they read; closing a connection with unread bytes would reset it before they read."""
    with Serving(path, "--tenant", "acme", "--embedder", "none") as service:
        for _ in range(5):
            status, said = service.ask("POST", "/v1/search", {"text": "x" * n_bytes})
            assert (status, said["error"]["code"]) == (413, "too_large")
        assert service.ask("POST", "/v1/search", {"text": "x"})[0] == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_before_shutdown_are_answered_and_durable(path: Path, number: int) -> None:
    rows = [{"id": f"m{i}", "text": f"memory number {i} " + "of many words " * 100} for i in range(4000)]
    answers: list[tuple[int, Any]] = []
    with Serving(path, "--tenant", "acme", "--user", "jane") as service:

        def seen_at_work(n: int) -> threading.Thread | None:
            """Write n; return None if it finished before it was observed."""

            def write() -> None:
                answers.append(service.ask("POST", "/v1/memories", {"memories": rows[:n]}))

            asking = threading.Thread(target=write)
            asking.start()
            while asking.is_alive():
                if "scrubjay_requests_in_flight 2.0" in service.ask("GET", "/metrics")[1]:
                    return asking
                time.sleep(0.002)
            return None

        for n in (1000, 2000, 4000):
            answers.clear()
            asking = seen_at_work(n)
            if asking is not None:
                break
        else:
            pytest.fail("the request was never seen in flight")
        code, said = service.end(number)
        asking.join(120)
    assert code == 0 and "Traceback" not in said
    assert [status for status, _ in answers] == [200]
    with Index.open(path) as index:
        assert index.count(JANE) == n and index.admin.check().problems == []


def test_only_this_machine_is_served_without_tokens(path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(lifespan, "_run", lambda *_: pytest.fail("it is served"))
    for host in ("0.0.0.0", "::", "", "192.0.2.1", "example.invalid", "*"):
        assert cli.main(["serve", str(path), "--embedder", "none", "--host", host]) == 2
        assert "loopback" in capsys.readouterr().err
    with pytest.raises(ValueError, match="loopback"):
        serve(Index(), host="0.0.0.0")


def test_an_address_in_use_is_reported(path: Path, capsys: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["serve", str(path), "--embedder", "none", "--port", str(port)]) == 2
    assert f"127.0.0.1:{port}: Address already in use" in capsys.readouterr().err


def test_an_index_with_int_ids_is_refused(path: Path, capsys: Any) -> None:
    with Index.open(path) as index:
        index.upsert(7, "Sails on Saturdays", scope=JANE)
    assert cli.main(["serve", str(path), "--embedder", "none", "--port", "0"]) == 2
    assert "ids are int" in capsys.readouterr().err


def test_malformed_http_leaves_the_service_running(path: Path) -> None:
    with Serving(path, "--embedder", "none", "--tenant", "acme") as service:
        for content in (
            b"\x00" * 1000,
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
            b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}",
            b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"GET /v1/whoami HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n",
            b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
        ):
            with socket.create_connection(("127.0.0.1", service.port), timeout=60) as raw:
                try:
                    raw.sendall(content)
                    raw.shutdown(socket.SHUT_WR)
                    answer = raw.recv(1 << 16)
                except OSError:
                    continue  # it closed the connection during the send
            assert b" 200 " not in answer.partition(b"\r\n")[0], content[:60]
        # Upgrades to unsupported protocols.
        status, _ = service.ask("GET", "/v1/whoami")
        assert status == 200
        code, said = service.end()
    assert code == 0 and "Traceback" not in said
