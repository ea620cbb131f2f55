"""Components that call endpoints send the right requests and parse the answers. Against servers on loopback."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from scrubjay import Index, RetrievalError, Retriever, Scope
from scrubjay.retrieval import HttpReranker, OpenAIRewriter, RedisCache

JANE = Scope("acme", user="jane")


class Server:
    """Answers every POST with `answer` and records the requests."""

    def __init__(self) -> None:
        self.answer: Any = {}
        self.status = 200
        self.asked: list[tuple[str, Any, str | None]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.asked.append((self.path, json.loads(body), self.headers["Authorization"]))
                self.send_response(server.status)
                if server.status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(json.dumps(server.answer).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()


@pytest.mark.parametrize(
    "answer",
    [
        {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]},
        {"data": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]},
        [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}],
    ],
)
def test_a_reranking_endpoint(server: Server, answer: Any) -> None:
    server.answer = answer
    reranker = HttpReranker("model-1", url=server.url + "/v1/rerank", api_key="secret")
    assert reranker.score("q", ["a", "b"]).tolist() == pytest.approx([0.1, 0.9])
    path, body, key = server.asked[0]
    assert (path, key) == ("/v1/rerank", "Bearer secret")
    assert body == {"model": "model-1", "query": "q", "documents": ["a", "b"]}


def test_an_endpoint_of_text_embeddings_inference(server: Server) -> None:
    """It takes `texts`, 32 of them, and no `model`; it refuses anything else with 422."""
    server.answer = [{"index": i, "score": i / 100} for i in reversed(range(32))]
    reranker = HttpReranker("bge", url=server.url + "/rerank", shape="texts")
    texts = [f"text {i}" for i in range(64)]
    assert reranker.score("q", texts).tolist() == pytest.approx([i % 32 / 100 for i in range(64)])
    assert [body for _, body, _ in server.asked] == [
        {"query": "q", "texts": texts[start : start + 32], "truncate": True} for start in (0, 32)
    ]
    assert reranker.score("q", []).shape == (0,)
    for bad in ({"shape": "tei"}, {"batch_size": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            HttpReranker("bge", url=server.url, **bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "answer"), [(500, {}), (302, {}), (200, {"no": 1}), (200, [{"index": 7, "score": 1}])]
)
def test_an_endpoint_that_answers_something_else(server: Server, status: int, answer: Any) -> None:
    server.status, server.answer = status, answer
    reranker = HttpReranker("m", url=server.url, api_key="secret")
    with pytest.raises(RetrievalError) as caught:
        reranker.score("q", ["a"])
    assert "secret" not in str(caught.value)
    index = Index()
    index.upsert(1, "A train.", scope=JANE)
    found = Retriever(index, reranker=reranker).search("train", scope=JANE)
    assert list(found.ids) == [1]
    assert found.degraded[-1].startswith("reranker_failed")


def test_a_rewriting_endpoint(server: Server) -> None:
    content = {"keywords": "train", "semantic": "I like trains", "expansions": ["a", "b", "c", "d"]}
    server.answer = {"choices": [{"message": {"content": json.dumps(content)}}]}
    rewritten = OpenAIRewriter("m", base_url=server.url + "/v1", n_expansions=2).rewrite("travel {n}?")
    assert (rewritten.keywords, rewritten.semantic, rewritten.expansions) == (
        "train",
        "I like trains",
        ("a", "b"),
    )
    path, body, _ = server.asked[0]
    assert path == "/v1/chat/completions"
    prompt = body["messages"][0]["content"]
    assert "travel {n}?" in prompt
    assert "up to 2 other" in prompt
    assert "likely to have said" in prompt.replace("\n", " ")


# ---- redis -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("redis", reason="redis is not installed (extra: redis)")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (Debian package redis-server)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        str(tmp_path),
    ]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        # More patient than RedisCache by default: the machine may be busy.
        yield f"redis://127.0.0.1:{port}/0?socket_timeout=60&socket_connect_timeout=60"
    finally:
        process.terminate()
        process.wait(10)


def test_two_processes_share_results(tmp_path: Path, redis_url: str) -> None:
    path = tmp_path / "a.scrubjay"
    with Index.open(path) as index, Index.open(path) as other:
        index.upsert("m1", "Takes the night train.", scope=JANE)
        index.upsert("m2", "Missed the train.", scope=JANE)
        first = Retriever(index, shared_cache=RedisCache(redis_url)).search("train", scope=JANE)
        reader = Retriever(other, shared_cache=RedisCache(redis_url))
        found = reader.search("train", scope=JANE)
        assert found.cached
        assert (list(found.ids), found.texts) == (list(first.ids), first.texts)
        assert list(found.scores) == list(first.scores)
        index.delete("m1", scope=JANE)
        found = reader.search("train", scope=JANE)
        assert (found.cached, list(found.ids)) == (False, ["m2"])
        assert reader.cache_stats()["shared"].hits == 1


def test_no_text_leaves_the_process(tmp_path: Path, redis_url: str) -> None:
    import redis

    with Index.open(tmp_path / "a.scrubjay") as index:
        index.upsert("m1", "Takes the night train.", scope=JANE)
        Retriever(index, shared_cache=RedisCache(redis_url)).search("train", scope=JANE)
    client = redis.Redis.from_url(redis_url)
    held = [client.get(key) for key in client.keys("*")]
    assert held
    assert not any(b"night" in value for value in held)


class Away:
    """A client whose server is gone."""

    def get(self, *_: Any, **__: Any) -> None:
        raise ConnectionError("gone")

    set = get


def test_without_its_server_a_shared_cache_is_a_miss(tmp_path: Path) -> None:
    with Index.open(tmp_path / "a.scrubjay") as index:
        index.upsert("m1", "Takes the night train.", scope=JANE)
        cache = RedisCache(client=Away())
        retriever = Retriever(index, shared_cache=cache)
        for _ in range(2):
            found = retriever.search("train", scope=JANE)
            assert (list(found.ids), found.mode, found.cached) == (["m1"], "lexical", False)
        assert cache.last_error == "ConnectionError: gone"
        assert retriever.counters.value("shared_cache_errors_total") == 2


def test_a_key_of_the_environment_goes_to_its_provider_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "COHERE_API_KEY", "JINA_API_KEY", "SCRUBJAY_RERANK_API_KEY"):
        monkeypatch.setenv(name, "secret-1")
    server.status = 401
    for ask in (
        lambda: HttpReranker("m", url=server.url).score("q", ["a"]),
        lambda: OpenAIRewriter("m", base_url=server.url).rewrite("q"),
    ):
        with pytest.raises(RetrievalError, match=r"answered 401; no key was sent .*api_key=") as caught:
            ask()
        assert server.asked[-1][2] is None and "secret-1" not in str(caught.value)
