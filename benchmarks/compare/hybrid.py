"""Hybrid searches of one user's memories: Scrubjay and its peers in one run, same data, one pinned core.

    python -m benchmarks.compare hybrid [--quick | --full] [--engines NAME,NAME] [--json FILE] [--markdown FILE]

101 users (100 x 1,000 memories, one x 10,000), RRF(60) over 50 candidates an arm, k = 10. All engines return the ids
and texts of the hits; the row "scrubjay's engine" is the native call without them. Each engine is tuned on separate
questions until its recall reaches .99, or as far as it goes; ratios come first. Peers' packages:
`pip install -r benchmarks/compare/requirements.txt`; packages that are not installed are listed as such.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import memories as memories_of
from benchmarks import recording
from benchmarks import vectors as vectors_of
from benchmarks.compare import footprint, hybrid_engines, hybrid_page, machine, workload, writes
from benchmarks.compare.hybrid_engines import ENGINES, OWN, HybridEngine, Reading
from benchmarks.compare.hybrid_glue import FrozenError
from benchmarks.compare.lexical import names_of, say
from benchmarks.ingest import resident_bytes
from benchmarks.memories import Block, Exact, Memories, Question
from benchmarks.vectors import Floats

K = 10
LEAST_RECALL = 0.99
N_TUNING = 50
N_SEEN = 5


def built(name: str, memories: Memories, folder: Path) -> tuple[HybridEngine, dict[str, Any]]:
    """Return an engine with all documents, and the cost of building it."""
    gc.collect()
    before, started, started_cpu = resident_bytes(), time.perf_counter(), time.process_time()
    engine = ENGINES[name](folder)
    engine.build(memories)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - started_cpu
    say(f"  {name}: {len(memories):,} documents in {seconds:.1f} s")
    return engine, {
        "note": engine.note,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "resident_mb": max(0, resident_bytes() - before) / 1e6,
    }


def tuned(engine: HybridEngine, questions: Sequence[Question], exact: Exact) -> dict[str, Any]:
    """Select the first setting whose recall reaches .99, or else the best."""
    tried: list[tuple[float, Any]] = []
    for setting in engine.settings:
        engine.use(setting)
        found = [(question, engine.found(question, K)) for question in questions]
        tried.append((exact.mean_recall(found, K), setting))
        if tried[-1][0] >= LEAST_RECALL:
            break
    recall, setting = tried[-1] if tried[-1][0] >= LEAST_RECALL else max(tried, key=lambda one: one[0])
    return {"setting": setting, "recall": recall}


def call_of(engine: HybridEngine, memories: Memories) -> Callable[[Question], Any]:
    """Return the caller's operation: search, and read ids and texts. For peers the program has the texts, in a list."""
    if isinstance(engine, Reading):
        read = engine.read
        return lambda question: read(question, K)
    found, texts = engine.found, memories.texts
    return lambda question: [(number, texts[number]) for number in found(question, K)]


def measure(
    engines: dict[str, HybridEngine], memories: Memories, block_size: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Return percentiles and recall of every engine on one workload; passes interleaved between the engines."""
    blocks = [block for block in memories.blocks if len(block) == block_size]
    questions = memories.questions(blocks, options.n_queries, seed=options.seed + 1)
    tuning = memories.questions(blocks, N_TUNING, seed=options.seed + 1_000, each=2)
    exacts = {True: Exact(memories), False: Exact(memories, of_peers=True)}
    rows: dict[str, dict[str, Any]] = {}
    calls: dict[str, Callable[[Question], Any]] = {}
    for name, engine in engines.items():
        rows[name] = {"engine": name, **tuned(engine, tuning, exacts[name in OWN])}
        engine.use(rows[name]["setting"])
        calls[name] = call_of(engine, memories)
        say(f"  {name}: setting {rows[name]['setting']}, recall {rows[name]['recall']:.3f}")
    for name, times in recording.interleaved(calls, questions, seconds=options.seconds).items():
        rows[name] |= times
    checked = questions[:: max(1, len(questions) // options.n_checked)][: options.n_checked]

    def recall_of(name: str) -> float:
        found = [(question, engines[name].found(question, K)) for question in checked]
        return exacts[name in OWN].mean_recall(found, K)

    for name, engine in engines.items():
        rows[name]["recall"] = recall_of(name)
        default = engine.settings[0]
        if rows[name]["setting"] != default:  # faster with lower recall: counts "at any recall"
            engine.use(default)
            label = f"{name} (default)"
            times = recording.interleaved({label: calls[name]}, questions, seconds=options.seconds)[label]
            rows[label] = {"engine": label, "setting": default, "recall": recall_of(name), **times}
            engine.use(rows[name]["setting"])
    if len(options.cores) > 1 and options.load_seconds:
        for name in engines:
            scaled = recording.scaling(
                calls[name], questions, options.cores, options.load_seconds, n_rounds=2
            )
            rows[name]["threads"] = scaled
    return {"visible": block_size, "rows": list(rows.values())}


def additions(
    engines: dict[str, HybridEngine], memories: Memories, options: argparse.Namespace
) -> dict[str, Any]:
    """Return the times of single writes in microseconds, and whether the next search saw each."""
    block = memories.blocks[0]
    fresh = vectors_of.clustered(
        max(engine.n_adds for engine in engines.values()), options.dim, options.seed + 5
    )
    found: dict[str, Any] = {}
    for name, engine in engines.items():
        n = min(engine.n_adds, options.n_queries)
        rows = [
            (len(memories) + place, block, memories.terms.line(place), fresh[place]) for place in range(n)
        ]
        try:
            spent = np.array([writes.time_write(engine.add, *row) for row in rows[N_SEEN:]])
            found[name] = {"us": recording.tail_us([spent]), "writes": len(spent)}
            seen = [is_seen(engine, memories, *row) for row in rows[:N_SEEN]]
            found[name]["seen"] = f"{sum(seen)} of {len(seen)}"
        except FrozenError:
            found[name] = None
        except Exception as error:  # noqa: BLE001 - a peer that fails to write is reported, not fatal
            found[name] = {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
    return found


def is_seen(
    engine: HybridEngine, memories: Memories, number: int, block: Block, line: str, vector: Floats
) -> bool:
    """Write one document and return whether a search finds it at once."""
    engine.add(number, block, line, vector)
    [query] = workload.as_queries([memories.texts[number - len(memories)]], memories.terms)
    return number in engine.found(
        Question(query, vector, block.user, block.agent, block.first, block.last), K
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    options.cores = machine.allowed_cores()
    core = machine.pin(options.core)
    if options.cores and core is not None:
        options.cores = [core, *(other for other in options.cores if other != core)]
    names, missing = hybrid_engines.installed(options.engines)
    memories = memories_of.of_users(
        options.n_users,
        options.each,
        options.large,
        options.dim,
        use_system=not options.quick,
        seed=options.seed,
    )
    report: dict[str, Any] = {
        "benchmark": "hybrid",
        "machine": {**machine.describe(hybrid_engines.VERSIONS), "core": core},
        "corpus": {"source": memories.source, "documents": len(memories), "users": options.n_users + 1},
        "dim": options.dim,
        "queries": options.n_queries,
        "missing": missing,
        "left_out": hybrid_engines.LEFT_OUT,
        "build": {},
        "workloads": {},
    }
    with tempfile.TemporaryDirectory(prefix="scrubjay-compare-") as base:
        engines: dict[str, HybridEngine] = {}
        for place, name in enumerate(names):
            try:
                engines[name], report["build"][name] = built(name, memories, Path(base) / f"engine{place}")
            except Exception as error:  # noqa: BLE001 - a peer that fails to build is reported, not fatal
                report["missing"][name] = f"failed to build: {type(error).__name__}: {error}".split("\n")[0]
        for workload, size in (("user-1k", options.each), ("user-10k", options.large)):
            say(workload)
            report["workloads"][workload] = measure(engines, memories, size, options)
        report["additions"] = additions(engines, memories, options)
        for engine in engines.values():
            engine.close()
    if options.footprint:
        report["footprint"] = footprint.of_engines(list(engines), options)
    return report


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare hybrid", description=about)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="few documents and queries: does it run?")
    amount.add_argument(
        "--full", action="store_true", help="also the footprint: memory, reopening, idle cost"
    )
    known = tuple(ENGINES)
    parser.add_argument("--engines", type=names_of(known), default=known, help=f"of {','.join(known)}")
    parser.add_argument("--dim", type=int)
    parser.add_argument("--n-queries", type=int, help="queries a workload (default 2,000)")
    parser.add_argument(
        "--seconds", type=float, help="longest pass of one engine; a slower one gets fewer queries"
    )
    parser.add_argument("--load-seconds", type=float, help="of one throughput round (default 1; 0: none)")
    parser.add_argument("--footprint", action="store_true", help="also memory, reopening and idle cost")
    parser.add_argument("--core", type=int, help="the core to pin to (default: the last one allowed)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args(arguments)
    quick = options.quick
    options.n_users, options.each, options.large = (3, 100, 300) if quick else (100, 1_000, 10_000)
    options.dim = options.dim or (32 if quick else 256)
    options.n_queries = options.n_queries or (40 if quick else 2_000)
    options.n_checked = 20 if quick else 200
    options.seconds = options.seconds or (1.0 if quick else 10.0)
    options.load_seconds = (0.1 if quick else 1.0) if options.load_seconds is None else options.load_seconds
    options.footprint |= options.full
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    report = run(options)
    page = hybrid_page.page(report)
    print(page)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(page + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
