"""Search while typing: the requests of the page of `scrubjay serve` for each keystroke, over HTTP.

    python -m benchmarks.keystrokes [--memories 10000] [--questions 40]

starts the command on a file of one user's memories and sends, letter by letter, the requests of the page: an explained
search, on one persistent connection. It prints the wall-clock time from request to answer (p50, p95, highest) and the
CPU time of the server, each by the number of keystrokes; the page must answer within a frame at 60 a second, 16 ms.
Wall clock is meaningful only on an idle machine; CPU time on any.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import scrubjay
from benchmarks.corpus import Corpus

WHO = {"tenant": "acme", "user": "jane"}
FRAME_MS = 16.0
WARM = 3
"""Warm-up questions: they load the scope and warm the code."""


def fill(path: Path, texts: Sequence[str]) -> None:
    """Write memories of one user with the default embedder."""
    with scrubjay.Index.open(path, "default") as index:
        records = ({"id": f"m{n}", "text": text} for n, text in enumerate(texts))
        index.scope(WHO["tenant"], user=WHO["user"]).upsert_many(records, progress=False)


@contextmanager
def served(path: Path) -> Iterator[tuple[int, int]]:
    """Run the command on this file; yield its process id and port."""
    command = [sys.executable, "-m", "scrubjay", "serve", str(path), "--port", "0", "--rate", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            found = re.search(r"listening on http://\S+:(\d+)", line)
            if found is None:
                raise RuntimeError(line + process.stderr.read())
            yield process.pid, int(found[1])
        finally:
            process.terminate()


def worked(process: int) -> float:
    """Return the CPU seconds of all threads of a process so far, by Linux's count in nanoseconds."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((one / "schedstat").read_text(encoding="ascii").split()[0]) for one in threads) * 1e-9


def measure(path: Path, questions: Sequence[str]) -> dict[str, Any]:
    """Type the questions; return times in milliseconds."""
    waits: list[float] = []
    with served(path) as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        begun = 0.0
        for n, question in enumerate(questions):
            if n == WARM:
                waits.clear()
                begun = worked(process)
            for end in range(1, len(question) + 1):
                body = json.dumps({"text": question[:end], "scope": WHO, "k": 10})
                start = time.perf_counter()
                connection.request("POST", "/v1/explain", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                said = answer.read()
                waits.append(1e3 * (time.perf_counter() - start))
                if answer.status != 200:
                    raise RuntimeError(f"{answer.status}: {said[:300]!r}")
        cpu_ms = 1e3 * (worked(process) - begun) / len(waits)
        connection.close()
    waits.sort()
    return {
        "keystrokes": len(waits),
        "wall_ms_p50": round(waits[len(waits) // 2], 2),
        "wall_ms_p95": round(waits[int(0.95 * len(waits))], 2),
        "wall_ms_highest": round(waits[-1], 2),
        "within_a_frame": round(sum(one <= FRAME_MS for one in waits) / len(waits), 4),
        "server_cpu_ms_each": round(cpu_ms, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=40)
    arguments = parser.parse_args()
    corpus = Corpus(seed=1)
    texts = corpus.texts(arguments.memories)
    questions = [corpus.query(text) for text in texts[: arguments.questions + WARM]]
    with tempfile.TemporaryDirectory(prefix="keystrokes-") as folder:
        path = Path(folder) / "memories.scrubjay"
        fill(path, texts)
        print(json.dumps({"memories": len(texts), **measure(path, questions)}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
