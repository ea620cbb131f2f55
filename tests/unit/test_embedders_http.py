"""The HTTP embedder against a server on the loopback interface."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import cli
from scrubjay.base.errors import EmbedderError
from scrubjay.embedders import OpenAICompatible


class Server(ThreadingHTTPServer):
    """Answers with [length of the text, 1], after the (status, headers, body) tuples in `script`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[dict[str, Any]] = []
        self.stall = threading.Event()
        self.stall.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, "headers": dict(self.headers), "body": body})
        self.server.stall.wait(5)
        if self.server.script:
            status, headers, answer = self.server.script.pop(0)
        else:
            rows = [{"index": i, "embedding": [len(text), 1.0]} for i, text in enumerate(body["input"])]
            status, headers, answer = 200, {}, json.dumps({"data": rows[::-1]}).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("OPENAI_API_KEY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.stall.set()
        server.shutdown()
        thread.join()


def make(server: Server, **options: Any) -> OpenAICompatible:
    return OpenAICompatible("tiny", **{"base_url": server.url, "backoff_s": 0.001, **options})


def test_texts_go_in_batches_and_come_back_in_order(server: Server) -> None:
    embedder = make(server, batch_size=2, document_prefix="d:", query_prefix="q:")
    vectors = embedder.embed_documents(["a", "bb", "ccc"])
    np.testing.assert_array_equal(vectors, np.float32([[3, 1], [4, 1], [5, 1]]))
    assert vectors.dtype == np.float32
    assert [request["body"]["input"] for request in server.requests] == [["d:a", "d:bb"], ["d:ccc"]]
    assert server.requests[0]["path"] == "/v1/embeddings"
    assert server.requests[0]["body"]["model"] == "tiny"
    np.testing.assert_array_equal(embedder.embed_query("a"), [3, 1])
    assert embedder.dim == 2
    assert embedder.embed_documents([]).shape == (0, 2)


def test_the_key_is_sent_and_shown_nowhere(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.script = [(400, {}, b'{"error": "no such model"}')]
    embedder = make(server, api_key="secret-1", headers={"X-Team": "blue"})
    with pytest.raises(EmbedderError, match=r"status 400.*no such model") as caught:
        embedder.embed_query("a")
    sent = server.requests[0]["headers"]
    assert (sent["Authorization"], sent["X-Team"]) == ("Bearer secret-1", "blue")
    assert "secret" not in f"{caught.value!r} {caught.value} {embedder!r} {embedder.name}"


def test_the_key_of_the_environment_goes_to_its_provider_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-2")
    make(server).embed_query("a")
    assert "Authorization" not in server.requests[-1]["headers"]
    server.script = [(401, {}, b"who are you?")]
    with pytest.raises(EmbedderError, match=r"OPENAI_API_KEY of the .* provider's host.*api_key=") as caught:
        make(server).embed_query("a")
    assert "Authorization" not in server.requests[-1]["headers"] and "secret-2" not in str(caught.value)
    make(server, api_key="secret-3").embed_query("a")  # given for this address
    assert server.requests[-1]["headers"]["Authorization"] == "Bearer secret-3"


def test_the_command_line_sends_a_key_where_it_is_named_for(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-4")
    monkeypatch.setenv("MINE", "secret-5\n")
    file = tmp_path / "f.jsonl"
    file.write_text('{"text": "a"}\n')
    for spec, sent in ((f"openai:m@{server.url}", None), (f"openai:m@{server.url}#MINE", "Bearer secret-5")):
        assert cli.main(["search", "a", str(file), "--embedder", spec]) == 0
        assert {request["headers"].get("Authorization") for request in server.requests} == {sent}
        server.requests.clear()
    for spec, said in (
        (f"{server.url}#NONE", "NONE, it is not set"),
        ("http://models.example/v1#MINE", "https://"),
    ):
        assert cli.main(["search", "a", str(file), "--embedder", f"openai:m@{spec}"]) == 2
        assert said in capsys.readouterr().err


def test_a_key_that_the_other_side_repeats_is_not_repeated(server: Server) -> None:
    server.script = [(400, {}, b"bad key secret-6"), (200, {}, b'{"given": "secret-6"}')]
    for _ in range(2):
        with pytest.raises(EmbedderError, match="hidden") as caught:
            make(server, api_key="secret-6").embed_query("a")
        assert "secret-6" not in str(caught.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failure_that_may_pass_is_tried_again(server: Server, status: int) -> None:
    server.script = [(status, {"Retry-After": "0"}, b"busy"), (status, {}, b"busy")]
    np.testing.assert_array_equal(make(server, retries=2).embed_query("a"), [1, 1])
    assert len(server.requests) == 3


def test_after_the_last_attempt_it_is_an_error(server: Server) -> None:
    server.script = [(503, {}, b"busy")] * 3
    with pytest.raises(EmbedderError, match=r"status 503: 'busy' \(after 3 attempts\)"):
        make(server, retries=2).embed_query("a")
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_is_not_tried_again(server: Server, status: int) -> None:
    server.script = [(status, {}, b"no")]
    with pytest.raises(EmbedderError, match=f"status {status}"):
        make(server).embed_query("a")
    assert len(server.requests) == 1


def test_redirects_are_refused(server: Server) -> None:
    server.script = [(307, {"Location": f"{server.url}/elsewhere"}, b"")]
    with pytest.raises(EmbedderError, match="status 307"):
        make(server, api_key="secret").embed_query("a")
    assert len(server.requests) == 1


def test_a_timeout_is_an_error(server: Server) -> None:
    server.stall.clear()
    with pytest.raises(EmbedderError, match=r"timed out.*after 2 attempts"):
        make(server, timeout_s=0.05, retries=1).embed_query("a")


def test_a_refused_connection_is_an_embedder_error(server: Server) -> None:
    with pytest.raises(EmbedderError, match="after 1 attempts"):
        OpenAICompatible("tiny", base_url="http://127.0.0.1:9/v1", retries=0).embed_query("a")


@pytest.mark.parametrize(
    "answer",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"embedding": "abc"}]}',
        b'{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}',
        b'{"data": []}',
    ],
)
def test_a_malformed_answer_is_an_error(server: Server, answer: bytes) -> None:
    server.script = [(200, {}, answer)]
    with pytest.raises(EmbedderError, match="expected"):
        make(server).embed_query("a")


def test_shorter_vectors_can_be_asked_for(server: Server) -> None:
    embedder = make(server, dimensions=2)
    assert (embedder.dim, embedder.name) == (2, "openai/tiny-2")
    embedder.embed_query("a")
    assert server.requests[0]["body"]["dimensions"] == 2


@pytest.mark.parametrize("options", [{"base_url": "ftp://x"}, {"batch_size": 0}, {"retries": -1}])
def test_bad_arguments(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(options))}: expected"):
        OpenAICompatible("tiny", **options)
