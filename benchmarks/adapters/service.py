"""The overhead of HTTP: the service on loopback beside the same searches within the process.

    python -m benchmarks.adapters.service [--memories 10000] [--queries 2000] [--json]

A server process, as `scrubjay serve` starts it, over a file; a client on one connection, then on eight; and
`Index.search` on the same file in this process, with the same questions. Latencies in microseconds, every sample kept.
With two cores, client and server share them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import scrubjay

SCOPE = scrubjay.Scope("bench", user="jane")
WORDS = """staging production gateway database invoice train window decaf lunch vault prefix rotation deploy rollback
 meeting monday friday budget review contract vendor latency cache index query tenant owner secret certificate renewal
 holiday passport hotel flight aisle seat allergy peanut birthday present violin lesson tuesday garden tomato""".split()


def texts(n: int, seed: int) -> list[str]:
    """Return sentences of a dozen words, each with an identifier."""
    chooser = random.Random(seed)
    return [" ".join(chooser.choices(WORDS, k=12)) + f" tk-{number:05d}" for number in range(n)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    chooser = random.Random(2)
    questions = [
        " ".join(chooser.choices(WORDS, k=4))
        + (f" tk-{chooser.randrange(arguments.memories):05d}" if i % 2 else "")
        for i in range(arguments.queries)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memories.scrubjay"
        with scrubjay.Index.open(path, scrubjay.embedders.default()) as index:
            rows = [{"id": f"m{i}", "text": text} for i, text in enumerate(texts(arguments.memories, 1))]
            index.upsert_many(rows, scope=SCOPE, progress=False)
            inside = measure(lambda question: index.search(question, scope=SCOPE, k=10).to_dicts(), questions)
            bare = measure(lambda question: index.search(question, scope=SCOPE, k=10).ids, questions)
            expected = [str(id) for id in index.search(questions[0], scope=SCOPE, k=10).ids]
        rows_shown = {"in process, ids": bare, "in process, whole hits": inside}
        with Server(path) as server:
            client = Client(server.port)
            assert [hit["id"] for hit in client.search(questions[0])["hits"]] == expected
            rows_shown["over HTTP, one connection"] = measure(client.search, questions)
            rows_shown["the same, on a thread"] = measure(client.search_on_a_thread, questions)
            rows_shown["GET /health/live"] = measure(lambda question: client.get("/health/live"), questions)
            rows_shown["over HTTP, eight connections"] = crowd(server.port, questions, 8, Client.search)
            rows_shown["the same, on threads"] = crowd(server.port, questions, 8, Client.search_on_a_thread)
    report = {name: summary(*times) for name, times in rows_shown.items()}
    if arguments.json:
        print(json.dumps(report, indent=2))
        return 0
    print(f"{arguments.memories:,} memories of one user, hybrid, k = 10; microseconds")
    print(f"{'':<30}{'p50':>9}{'p95':>9}{'p99':>9}{'a second':>10}")
    for name, row in report.items():
        print(f"{name:<30}{row['p50']:>9.0f}{row['p95']:>9.0f}{row['p99']:>9.0f}{row['per_second']:>10,.0f}")
    return 0


def measure(call: Any, questions: Sequence[str]) -> tuple[np.ndarray, float]:
    """Return nanoseconds of each call, after a warm-up with a tenth of them, and the total seconds."""
    for question in questions[: len(questions) // 10]:
        call(question)
    times = np.empty(len(questions))
    begun = time.perf_counter()
    for i, question in enumerate(questions):
        start = time.perf_counter_ns()
        call(question)
        times[i] = time.perf_counter_ns() - start
    return times, time.perf_counter() - begun


def crowd(port: int, questions: Sequence[str], n: int, ask: Any) -> tuple[np.ndarray, float]:
    """Measure `n` threads, each on its own connection, asking as fast as it is answered."""
    found: list[tuple[np.ndarray, float]] = []

    def one(share: Sequence[str]) -> None:
        found.append(measure(partial(ask, Client(port)), share))

    threads = [threading.Thread(target=one, args=(questions[i::n],)) for i in range(n)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.concatenate([times for times, _ in found]), (time.perf_counter() - begun) / 1.1


def summary(times: np.ndarray, seconds: float) -> dict[str, float]:
    """Return percentiles in microseconds, and calls a second."""
    return {
        **{f"p{at}": float(np.percentile(times, at)) / 1e3 for at in (50, 95, 99)},
        "per_second": len(times) / seconds,
    }


class Client:
    """Minimal HTTP/1.1 on one connection, so that the client costs little."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pending = b""

    def search_on_a_thread(self, text: str) -> Any:
        """Search on a thread of the service: it does not run searches with `candidates` on its event loop."""
        return self.search(text, candidates=100)

    def search(self, text: str, **more: Any) -> Any:
        """POST /v1/search and return the parsed answer."""
        body = json.dumps(
            {**more, "text": text, "scope": {"tenant": SCOPE.tenant, "user": SCOPE.user}}
        ).encode()
        return self._ask(
            b"POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body)
        )

    def get(self, path: str) -> Any:
        """GET a path and return the parsed answer."""
        return self._ask(b"GET %s HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" % path.encode())

    def _ask(self, request: bytes) -> Any:
        self._socket.sendall(request)
        data = self._pending
        while b"\r\n\r\n" not in data:
            data += self._socket.recv(1 << 16)
        head, _, rest = data.partition(b"\r\n\r\n")
        assert b" 200 " in head.split(b"\r\n")[0], head
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        while len(rest) < int(length[1]):
            rest += self._socket.recv(1 << 16)
        self._pending = rest[int(length[1]) :]
        return json.loads(rest[: int(length[1])])


class Server:
    """A `scrubjay serve` process on a free port."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-m", "scrubjay", "serve", str(path), "--port", "0", "--rate", "0"]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        found = re.search(r":(\d+)$", line.strip())
        assert found is not None, line + self._process.stderr.read()
        self.port = int(found[1])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)


if __name__ == "__main__":
    sys.exit(main())
