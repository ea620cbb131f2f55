"""Killing the embedder, the reranker, Redis or the vectors leaves an answer each time, with the reason.

The parts are really killed here: a process that serves the model, the file's own bytes. (Redis: test_retrieval_caches.)
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrubjay import Index, Query, Retriever, Scope
from scrubjay.embedders.http import OpenAICompatible
from scrubjay.retrieval import HttpReranker

JANE = Scope("acme", user="jane")

SERVER = textwrap.dedent(
    """
    import json, sys
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.endswith("/rerank"):
                texts = body["documents"]
                answer = {"results": [{"index": i, "relevance_score": len(t)} for i, t in enumerate(texts)]}
            else:
                texts = body["input"]
                answer = {"data": [{"index": i, "embedding": [1.0, float("train" in t or "railway" in t), 0.5]}
                                   for i, t in enumerate(texts)]}
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
    """
)


class Service:
    """A process that serves a model."""

    def __init__(self) -> None:
        self.port = 0
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", SERVER, str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.kill()


def fill(index: Index) -> None:
    index.upsert("train", "Takes the night train.", scope=JANE)
    index.upsert("oak", "An old oak stands before the house, it is said.", scope=JANE)


def test_the_embedder_is_killed(service: Service) -> None:
    index = Index(OpenAICompatible("m", base_url=service.url, dim=3, retries=0, timeout_s=60))
    fill(index)
    retriever = Retriever(index, cache=True)
    assert (retriever.search("railway", scope=JANE)[0].id, retriever.search("train", scope=JANE).mode) == (
        "train",
        "hybrid",
    )
    service.kill()
    found = retriever.search("a train at night", scope=JANE)
    assert (list(found.ids), found.mode) == (["train"], "lexical")
    assert found.degraded[0].startswith("embedder_failed")
    assert retriever.search("train", scope=JANE).cached  # the cached result is still used
    hits = index.search("the old oak", scope=JANE)
    assert (hits[0].id, hits.mode, hits.degraded[0].partition(":")[0]) == (
        "oak",
        "lexical",
        "embedder_failed",
    )
    batch = index.search_batch(["the old oak", "train ride"], scope=JANE)
    assert [(one[0].id, one.mode) for one in batch] == [("oak", "lexical"), ("train", "lexical")]
    service.start()
    again = retriever.search("a train at night", scope=JANE)  # a degraded result was not cached
    assert (again.mode, again.degraded, again.cached) == ("hybrid", (), False)


def test_the_reranker_is_killed(service: Service) -> None:
    index = Index()
    fill(index)
    index.upsert("short", "train train", scope=JANE)
    retriever = Retriever(index, reranker=HttpReranker("m", url=service.url + "/rerank", timeout_s=60))
    assert list(retriever.search("train", scope=JANE).ids) == ["train", "short"]  # the longest first
    service.kill()
    found = retriever.search("train night", scope=JANE)
    assert list(found.ids) == list(index.search("train night", scope=JANE).ids)
    reasons = [reason.partition(":")[0] for reason in found.degraded]
    assert (found.mode, reasons) == ("lexical", ["no_embedder", "reranker_failed"])
    assert list(retriever.search("train", scope=JANE).ids) == ["train", "short"]  # cached scores
    service.start()
    assert [reason.partition(":")[0] for reason in retriever.search("night", scope=JANE).degraded] == [
        "no_embedder"
    ]


def vectors(index: Index) -> None:
    rng = np.random.default_rng(0)
    for i in range(50):
        index.upsert(i, f"oak number {i}", scope=JANE, vector=rng.normal(size=4))


@pytest.mark.parametrize("dtype", ["f16", "f32", "i8"])
@pytest.mark.parametrize("damage", ["empty", "odd", "short", "long", "nan", "zero", "text"])
def test_the_vectors_in_the_file_are_damaged(tmp_path: Path, damage: str, dtype: str) -> None:
    """No image, and rows with damaged vectors: keywords answer, undamaged ones are found by vectors."""
    path = tmp_path / "a.scrubjay"
    with Index.open(path, dtype=dtype) as index:
        vectors(index)
    size = 10 if dtype == "f16" else 16
    data: Any = {
        "empty": b"",
        "odd": b"abc",
        "short": b"\0\x3c" * (size // 2 - 1),
        "long": b"\0\x3c" * (size // 2 + 1),
        "nan": b"\0\0" * (size // 2 - 4) + b"\xff\xff" * 4,
        "zero": b"\0" * size,
        "text": "x" * size,
    }[damage]
    connection = sqlite3.connect(path)
    connection.execute("UPDATE vector SET data = ? WHERE seq > 10", (data,))
    connection.execute("DELETE FROM image")
    connection.commit()
    connection.close()
    for _ in range(2):
        with Index.open(path) as index:
            hits = index.search("oak 30", vector=np.ones(4), scope=JANE, explain=True)
            assert (hits[0].id, hits.mode) == (30, "hybrid")
            assert hits.degraded[0].startswith("vectors_damaged: 40 memories")
            assert {hit.id for hit in hits if hit.vector_rank} <= set(range(10))
            assert len(index.search(vector=np.ones(4), query=Query(mode="vector"), scope=JANE, k=50)) == 10
            found = Retriever(index).search("oak 30", scope=JANE)
            assert (found[0].id, found.mode) == (30, "lexical")
            assert index.search("oak", scope=JANE, query=Query(mode="lexical")).degraded == ()
            (one,) = index.search_batch(["oak 30"], vectors=[np.ones(4)], scope=JANE)
            assert one.degraded == hits.degraded
            problems = index.admin.check().problems
            assert any("vector" in problem for problem in problems)
            index.upsert(500, "oak", scope=JANE, vector=np.ones(4))  # writing still works
            index.delete(500, scope=JANE)
    with Index.open(path) as index:
        assert index.admin.reembed(Four(), progress=False) == 50  # lost vectors are recomputed from texts
        assert index.search("oak 30", scope=JANE).degraded == ()
        assert index.admin.check().problems == []


class Four:
    """An embedder of four numbers."""

    name, dim = "four", 4

    def embed_documents(self, texts: Any) -> Any:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        return np.float32([len(text), text.count("o"), 1, 2])


def test_the_image_in_the_file_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.scrubjay"
    with Index.open(path, dtype="f32") as index:
        vectors(index)
        index.admin.compact()
        wanted = index.search("oak 7", vector=np.ones(4), scope=JANE)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE image SET data = zeroblob(length(data))")
    connection.commit()
    connection.close()
    with Index.open(path) as index:
        found = index.search("oak 7", vector=np.ones(4), scope=JANE)
        assert (found.mode, found.ids.tolist(), found.scores.tolist()) == (
            "hybrid",
            wanted.ids.tolist(),
            wanted.scores.tolist(),
        )


def test_no_memory_has_a_vector(service: Service) -> None:
    """There are no vectors: memories written before there was an embedder are found by keywords."""
    index = Index()
    fill(index)
    index.embedder = OpenAICompatible("m", base_url=service.url, dim=3)
    found = Retriever(index).search("the night train", scope=JANE)
    assert (found[0].id, found[0].vector_rank) == ("train", None)


def test_everything_is_killed_at_once(service: Service) -> None:
    index = Index(OpenAICompatible("m", base_url=service.url, dim=3, retries=0, timeout_s=60))
    fill(index)

    def rewriter(_: str) -> Any:
        raise ConnectionError("away")

    class Redis:
        def get(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError("away")

        set = get

    from scrubjay.retrieval import RedisCache

    retriever = Retriever(
        index,
        rewriter,
        HttpReranker("m", url=service.url + "/rerank", timeout_s=60),
        deadline_s=60,
        shared_cache=RedisCache(client=Redis()),
    )
    service.kill()
    start = time.monotonic()
    found = retriever.search("night train", scope=JANE)
    assert time.monotonic() - start < 30  # no time-out was waited for
    assert (list(found.ids), found.mode) == (["train"], "lexical")
    reasons = {reason.partition(":")[0] for reason in found.degraded}
    assert reasons == {"rewriter_failed", "embedder_failed", "reranker_failed"}
    retriever.close()
