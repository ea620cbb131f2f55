"""CPU time of the calls of a memory, beside a search of the index and a write to it.

    python -m benchmarks.memory_cost [--facts N] [--quick] [--json]

One user of 9,742 facts with the default embedder, in a file of normal durability; policies and preferences as in
`benchmarks/memory.py`. Reads are interleaved call by call, so that noise affects all alike; the figures are the CPU
time of the calling thread, and the ratio to `Index.search` of the same scope with the same questions. A turn is what a
run records: the user's message, the prompt, the model's answer. Writes are batches of the same texts, through the gate
and into the index. Texts and questions: `lme_user_dev` (SCRUBJAY_DATA), or generated ones.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus
from benchmarks.quality.judged import data_folder, judged_sets
from benchmarks.recording import use_core
from scrubjay import Index, Scope, embedders
from scrubjay.memory import FactCandidate, Memory

SCOPE = Scope("bench", user="u0")
N_FACTS, N_QUESTIONS, BATCH = 9742, 400, 500
PROMISES = {"recall": 1.2, "ten records": 1.5, "assemble": 2.5, "recorded turn": 6.0, "propose": 3.0}


def material(n_facts: int) -> tuple[list[str], list[str]]:
    """Return texts of facts, and questions about them."""
    found = judged_sets(data_folder(), ("lme_user_dev",))
    if not found:
        corpus = Corpus(7)
        texts = corpus.texts(n_facts)
        return texts, [corpus.query(text) for text in texts[:N_QUESTIONS]]
    texts = list(dict.fromkeys(memory.text[:400] for memory in found[0].memories))
    return texts[:n_facts], [query.text for query in found[0].queries]


def written_us(write: Callable[[list[str]], Any], texts: Sequence[str]) -> float:
    """Return the CPU time of one text, in batches; the median batch."""
    each = []
    for first in range(0, len(texts), BATCH):
        batch = list(texts[first : first + BATCH])
        start = time.thread_time_ns()
        write(batch)
        each.append((time.thread_time_ns() - start) / 1000 / len(batch))
    return statistics.median(each)


def writes(folder: Path, memory: Memory, texts: Sequence[str]) -> dict[str, float]:
    with Index.open(folder / "index.scrubjay", embedders.default(), durability="normal") as index:
        plain = written_us(
            lambda batch: index.upsert_many([{"id": text, "text": text, "scope": SCOPE} for text in batch]),
            texts,
        )
    gated = written_us(
        lambda batch: memory.propose_all([(FactCandidate(text), SCOPE, "bench") for text in batch]), texts
    )
    return {"index write us": plain, "propose us": gated, "propose": gated / plain}


def reads(memory: Memory, questions: Sequence[str]) -> dict[str, float]:
    session = memory.session(SCOPE, "r1")

    def turn(question: str) -> None:
        session.user(question)
        session.assemble(question, 2000)
        session.model("Noted.")

    calls: dict[str, Callable[[str], Any]] = {
        "search": lambda question: memory.documents.search(question, scope=SCOPE, k=10),
        "recall": lambda question: memory.recall(question, SCOPE, k=10),
        "ten records": lambda question: [hit.record for hit in memory.recall(question, SCOPE, k=10)],
        "assemble": lambda question: memory.assemble(question, SCOPE, 2000),
        "recorded turn": turn,
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for question in questions[:10]:
            call(question)
    gc.collect()
    gc.freeze()
    for question in questions:
        for name, call in calls.items():
            start = time.thread_time_ns()
            call(question)
            times[name].append((time.thread_time_ns() - start) / 1000)
    base = statistics.median(times["search"])
    figures = {f"{name} us": statistics.median(each) for name, each in times.items()}
    return {**figures, **{name: figures[f"{name} us"] / base for name in calls if name != "search"}}


def measured(n_facts: int, n_questions: int) -> dict[str, float]:
    texts, questions = material(n_facts)
    questions = (questions * (n_questions // len(questions) + 1))[:n_questions]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Memory.open(folder / "m.scrubjay", embedders.default(), durability="normal") as memory:
            for number in range(20):
                memory.policy(f"rule {number:02}", f"Rule {number}: be plain.", tenant="bench", by="b")
            for number in range(80):
                memory.prefer(f"wish {number:02}", f"Wish {number}: be short.", scope=SCOPE)
            figures = writes(folder, memory, texts)
        with Memory.open(folder / "m.scrubjay", embedders.default(), durability="normal") as memory:
            return {"facts": len(texts), **figures, **reads(memory, questions)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--facts", type=int, default=N_FACTS)
    parser.add_argument("--quick", action="store_true", help="does it run? 1,000 facts, a few questions")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    use_core(0)
    figures = measured(*((1000, 40) if arguments.quick else (arguments.facts, N_QUESTIONS)))
    if arguments.json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        promise = f"   at most {PROMISES[name]}" if name in PROMISES else ""
        print(f"{name:<20}{value:>12,.2f}{promise}")


if __name__ == "__main__":
    main()
