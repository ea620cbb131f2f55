"""The time of assembling a prompt, and whether it contains the rule that is needed; promises beside the figures.

    python -m benchmarks.memory [--facts N] [--quick] [--skip-delivery] [--json]

Speed: one user of 10,000 facts (texts of 20 to 40 words; the default embedder, which runs inside the measured time), 20
policies and 80 preferences, in a file; single calls, warm, on one core, interleaved. Delivery is described in
`benchmarks/delivery.py`; it needs the judged sets (SCRUBJAY_DATA).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import delivery
from benchmarks.corpus import Corpus
from benchmarks.quality.judged import data_folder
from benchmarks.recording import interleaved, use_core
from scrubjay import Scope, embedders
from scrubjay.memory import FactCandidate, Memory

SCOPE = Scope("bench", user="u0")
N_POLICIES, N_PREFERENCES = 20, 80
PROMISES = {"assemble p95 us": "<= 1,000", "known p95 us": "<= 100"}
TURNS = [
    ("user" if i % 2 else "model", f"Turn {i}. What was said next does not matter much.") for i in range(8)
]


def fill(memory: Memory, n_facts: int) -> tuple[dict[str, float], list[str]]:
    """Write the user's memories and a few strangers'; return the write times, and questions."""
    corpus = Corpus(7)
    texts = corpus.texts(n_facts)
    for number in range(N_POLICIES):
        memory.policy(
            f"rule {number:02}", f"Rule {number}: {corpus.query(texts[number])}.", tenant="bench", by="b"
        )
    for number in range(N_PREFERENCES):
        memory.prefer(f"wish {number:02}", f"Wish {number}: {corpus.query(texts[-number])}.", scope=SCOPE)
    start = time.perf_counter()
    for first in range(0, n_facts, 500):
        batch = [
            (FactCandidate(f"{text} ({first + i})", "u0", f"topic {first + i}"), SCOPE, "bench")
            for i, text in enumerate(texts[first : first + 500])
        ]
        memory.propose_all(batch)
    seconds = time.perf_counter() - start
    single = [f"single {i}: {text}" for i, text in enumerate(texts[:200])]
    start = time.perf_counter()
    for i, text in enumerate(single):
        memory.propose(FactCandidate(text), scope=Scope("bench", user=f"stranger {i % 10}"), source="bench")
    each = (time.perf_counter() - start) / len(single)
    queries = [corpus.query(text) for text in texts[:2000]]
    return {
        "facts/s, 500 a transaction": n_facts / seconds,
        "propose us, one each (normal)": each * 1e6,
    }, queries


def speed(n_facts: int, n_queries: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.scrubjay"
        with Memory.open(path, embedders.default(), durability="normal") as memory:
            figures, queries = fill(memory, n_facts)
        with Memory.open(path, embedders.default(), durability="normal") as memory:
            session = memory.session(SCOPE, "r1")
            for author, text in TURNS:
                session.append(author, text)
            calls = {
                "known": lambda _: memory.known(SCOPE),
                "recall k=20": lambda query: memory.recall(query, SCOPE, k=20),
                "assemble": lambda query: memory.assemble(query, SCOPE, 4000, turns=TURNS),
                "session.assemble": lambda query: (session.assemble(query, 4000), session._pending.clear()),
                "index.search k=20": lambda query: memory.documents.search(query, scope=SCOPE, k=20),
            }
            for call in calls.values():
                for query in queries[:50]:
                    call(query)
            assert len(memory.known(SCOPE)) == N_POLICIES + N_PREFERENCES
            made = memory.assemble(queries[0], SCOPE, 4000, turns=TURNS)
            times = interleaved(calls, queries[:n_queries])
            for name in ("known", "recall k=20", "assemble"):
                figures.update(cpu_us(name, calls[name], queries[:n_queries]))
    for name, tail in times.items():
        figures.update({f"{name} {at} us": tail[at] for at in ("p50", "p95", "p99")})
    return {"facts": n_facts, "prompt tokens": made.trace.tokens["total"], **figures}


def cpu_us(name: str, call: Any, queries: list[str]) -> dict[str, float]:
    """Return the CPU time of the calling thread: what an idle machine would show."""
    times = []
    for query in queries:
        start = time.thread_time_ns()
        call(query)
        times.append((time.thread_time_ns() - start) / 1000)
    times.sort()
    return {f"{name} CPU p50 us": times[len(times) // 2], f"{name} CPU p95 us": times[int(len(times) * 0.95)]}


def show(figures: dict[str, Any]) -> None:
    for name, value in figures.items():
        promise = PROMISES.get(name)
        print(f"{name:<34}{value:>12,.1f}" + (f"   promise {promise}" if promise else ""))


def show_delivery(found: dict[str, dict[str, float]]) -> None:
    names = [name for name in next(iter(found.values())) if name != "cases"]
    print(f"\n{'needed rule delivered':<22}{'cases':>8}" + "".join(f"{name:>22}" for name in names))
    for group, row in found.items():
        print(f"{group:<22}{row['cases']:>8,.0f}" + "".join(f"{row[name]:>21.1%} " for name in names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="does it run? 1,000 facts, a few questions")
    parser.add_argument("--skip-delivery", action="store_true", help="speed only")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    use_core(0)
    n_facts, n_queries = (1000, 100) if arguments.quick else (arguments.facts, 2000)
    result: dict[str, Any] = {"speed": speed(n_facts, n_queries)}
    users, cases = delivery.cases_of(data_folder())
    if arguments.quick:
        users = users[:1]
        cases = [case for case in cases if case.scope == users[0].scope] if users else []
    if not cases:
        print("delivery: the judged sets are absent (set SCRUBJAY_DATA)", file=sys.stderr)
    elif not arguments.skip_delivery:
        with tempfile.TemporaryDirectory() as folder:
            result["delivery"] = delivery.delivered(users, cases, embedders.default(), Path(folder))
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    show(result["speed"])
    if "delivery" in result:
        show_delivery(result["delivery"])


if __name__ == "__main__":
    main()
