"""The cost of LangGraph items by the depth of their namespace, beside the same texts through the LangChain adapter.

    python -m benchmarks.adapters.items [--items 1000] [--rounds 5]

Each round writes all items of 140 bytes in one batch to a new file, both ways alternately; times are CPU times, which
other work on the machine affects less. Then searches in one namespace and below the prefix of many are timed. Needs the
extras `langgraph` and `langchain`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from langgraph.store.base import PutOp

from scrubjay import Scope
from scrubjay.adapters.langchain import ScrubjayEmbeddings, ScrubjayVectorStore
from scrubjay.adapters.langgraph import ScrubjayStore
from scrubjay.embedders import default

__all__ = ["main"]

_DEPTHS = (1, 2, 3, 5)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args(argv)
    texts = _texts(arguments.items)
    rows: dict[str, list[tuple[float, int]]] = {}
    for _ in range(arguments.rounds + 1):
        rows.setdefault("LangChain", []).append(_cost(lambda path: _langchain(path, texts)))
        for depth in _DEPTHS:
            cost = _cost(lambda path, depth=depth: _langgraph(path, texts, depth))  # type: ignore[misc]
            rows.setdefault(f"LangGraph, depth {depth}", []).append(cost)
    usual_ms, usual_bytes = _median(rows["LangChain"])
    print(f"{arguments.items:,} texts of 140 bytes     CPU ms   ratio        bytes   ratio")
    for name, costs in rows.items():
        ms, n_bytes = _median(costs)
        print(f"{name:28} {ms:8.0f} {ms / usual_ms:7.2f} {n_bytes:12,} {n_bytes / usual_bytes:7.2f}")
    _searches(texts)
    return 0


def _texts(n: int) -> list[str]:
    choose = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(choose.choices(letters, k=choose.randint(3, 9))) for _ in range(2000)]
    return [" ".join(choose.choices(words, k=50))[:140] for _ in range(n)]


def _cost(write: Callable[[Path], None]) -> tuple[float, int]:
    """Return CPU milliseconds, and the bytes of the file."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        write(Path(folder) / "a")
        spent = time.process_time() - start
        return spent * 1000, sum(path.stat().st_size for path in Path(folder).iterdir())


def _median(costs: list[tuple[float, int]]) -> tuple[float, int]:
    """Return the median, without the first round, which imports and compiles code."""
    return statistics.median(ms for ms, _ in costs[1:]), costs[-1][1]


def _langchain(path: Path, texts: list[str]) -> None:
    with ScrubjayVectorStore(
        ScrubjayEmbeddings(default()), path=path, scope=Scope("acme", user="jane")
    ) as store:
        store.add_texts(texts, ids=[f"m{i}" for i in range(len(texts))])


def _langgraph(path: Path, texts: list[str], depth: int) -> None:
    namespace = tuple(f"label{i}" for i in range(depth))
    with ScrubjayStore(path, index={"embed": default(), "fields": ["text"]}) as store:
        store.batch([PutOp(namespace, f"m{i}", {"text": text}) for i, text in enumerate(texts)])


def _searches(texts: list[str]) -> None:
    print("\nsearch of 10, ms of the processor; 10 items in each namespace")
    for n_users in (1, 10, 100, 1000):
        with (
            tempfile.TemporaryDirectory() as folder,
            ScrubjayStore(Path(folder) / "a", index={"embed": default(), "fields": ["text"]}) as store,
        ):
            store.batch(
                [PutOp(("users", f"u{u}"), f"m{i}", {"text": texts[(10 * u + i) % len(texts)]})
                 for u in range(n_users) for i in range(10)]
            )  # fmt: skip
            one, all_of_them = (_time_of(store, prefix, texts) for prefix in (("users", "u0"), ("users",)))
            print(f"{n_users:5} namespaces: in one {one:8.2f}, below the prefix of all {all_of_them:8.2f}")


def _time_of(store: ScrubjayStore, prefix: tuple[str, ...], texts: list[str]) -> float:
    store.search(prefix, query=texts[0])
    times = []
    for text in texts[:7]:
        start = time.process_time()
        store.search(prefix, query=text)
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000


if __name__ == "__main__":
    raise SystemExit(main())
