"""Vector searches at equal recall: Scrubjay and the libraries, in one run, one pinned core.

    python -m benchmarks.compare vector [--quick | --full] [--sizes N,N] [--dims N,N] [--k N,N] [--data NAME,NAME]
                                        [--engines NAME,NAME] [--only cells,filters,turnovers] [--json FILE]

Each engine's knob is swept on held-out questions up to recall .99; ratios come first. Data: clustered vectors, and the
real embeddings beside the judged sets (`$SCRUBJAY_DATA`, default ../shared/data), if present.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import recording
from benchmarks import vectors as vectors_of
from benchmarks.compare import machine, vector_engines, vector_more, vector_page
from benchmarks.compare.lexical import names_of, numbers, say
from benchmarks.compare.vector_engines import ENGINES, VectorEngine
from benchmarks.compare.vector_recall import Neighbours, caller, finder
from benchmarks.quality.judged import data_folder
from benchmarks.vectors import Floats

LEAST_RECALL = 0.99
N_TUNING, N_QUERIES = 300, 2_000
DATA = ("clustered", "real")
PARTS = ("cells", "filters", "turnovers")


def data_of(name: str, n: int, dim: int, options: argparse.Namespace) -> tuple[Floats, Floats, Floats] | str:
    """Return (vectors, questions to tune on, questions to measure), or the reason why there are none."""
    n_questions = N_TUNING + options.n_queries
    if name == "clustered":
        vectors = vectors_of.clustered(n, dim, options.seed)
        rows = np.random.default_rng(options.seed + 1).integers(n, size=n_questions)
        questions = vectors_of.near(vectors[rows], options.seed + 2)
        return vectors, questions[:N_TUNING], questions[N_TUNING:]
    found = vectors_of.real(dim)
    if found is None:
        return f"no stored embeddings of {dim} dimensions in {data_folder()}"
    documents, questions = found
    if len(documents) < n:
        return f"only {len(documents):,} stored embeddings"
    return documents[:n], questions[:N_TUNING], questions[N_TUNING:n_questions]


def tuned(engine: VectorEngine, exact: Neighbours, k: int) -> tuple[Any, float]:
    """Select the first setting with recall .99, or else the best."""
    best: tuple[float, Any] = (-1.0, None)
    for setting in engine.settings(k):
        engine.use(setting)
        recall = exact.recall(lambda question: engine.found(question, k))
        if recall >= LEAST_RECALL:
            return setting, recall
        best = max(best, (recall, setting), key=lambda one: one[0])
    return best[1], best[0]


def measure_cell(
    built: dict[str, tuple[VectorEngine, dict[str, Any]]],
    vectors: Floats,
    tuning: Floats,
    questions: Floats,
    k: int,
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """Return a row for each engine, tuned; for Scrubjay one for each recall setting."""
    held_out = Neighbours(vectors, tuning[: options.n_tuning], k)
    checked = Neighbours(vectors, questions[: options.n_checked], k)
    rows: dict[str, dict[str, Any]] = {}
    engines: dict[str, VectorEngine] = {}
    for name, (engine, facts) in built.items():
        if name == "scrubjay":
            for setting in engine.settings(k):
                label = name if setting == "default" else f"{name} {setting}"
                engines[label] = copy.copy(engine)  # the same index with separate options
                rows[label] = {"engine": label, "setting": setting, **facts}
        else:
            engines[name] = engine
            setting, recall = tuned(engine, held_out, k)
            rows[name] = {"engine": name, "setting": setting, "held_out_recall": recall, **facts}
    for name, engine in engines.items():
        engine.use(rows[name]["setting"])
        rows[name]["recall"] = checked.recall(finder(engine, k))
    calls = {name: caller(engine, k) for name, engine in engines.items()}
    for name, times in recording.interleaved(calls, list(questions), seconds=options.seconds).items():
        rows[name] |= times
    return list(rows.values())


def built(name: str, vectors: Floats, options: argparse.Namespace) -> tuple[VectorEngine, dict[str, Any]]:
    """Return an engine over the vectors, and the cost of building it on all cores."""
    gc.collect()
    engine = ENGINES[name]()
    started = time.perf_counter()
    with recording.on_cores(options.cores):
        engine.build(vectors)
    seconds = time.perf_counter() - started
    return engine, {"build_seconds": seconds, "bytes_a_vector": engine.n_bytes() / len(vectors)}


def cells(names: Sequence[str], options: argparse.Namespace, skipped: list[str]) -> list[dict[str, Any]]:
    """Measure every combination of data, dimension, size and k."""
    found = []
    for data in options.data:
        for dim in options.dims:
            for n in options.sizes:
                given = data_of(data, n, dim, options)
                if isinstance(given, str):
                    skipped.append(f"{data}, {dim} dimensions, {n:,}: skipped ({given})")
                    continue
                vectors, tuning, questions = given
                engines = {name: built(name, vectors, options) for name in names}
                for k in options.k:
                    if k > n:
                        continue
                    rows = measure_cell(engines, vectors, tuning, questions, k, options)
                    found.append({"data": data, "dim": dim, "n": n, "k": k, "rows": rows})
                    say(vector_page.cell_line(found[-1]))
    return found


def run(options: argparse.Namespace) -> dict[str, Any]:
    options.cores = machine.allowed_cores()
    core = machine.pin(options.core)
    names, missing = vector_engines.installed(options.engines)
    skipped: list[str] = []
    report: dict[str, Any] = {
        "benchmark": "vector",
        "machine": {**machine.describe(vector_engines.VERSIONS), "core": core},
        "queries": options.n_queries,
        "missing": missing,
        "engines": {name: ENGINES[name]().note for name in names},
        "skipped": skipped,
        "cells": cells(names, options, skipped) if "cells" in options.only else [],
    }
    if "filters" in options.only:
        report["filters"] = vector_more.filters(options, skipped)
    if "turnovers" in options.only:
        report["turnovers"] = vector_more.turnovers(options)
    return report


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare vector", description=about)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="few vectors and questions: does it run?")
    amount.add_argument(
        "--full", action="store_true", help="also 1,000,000 vectors (256 dimensions, clustered)"
    )
    parser.add_argument("--sizes", type=numbers, help="vectors (default 100,1000,10000,20000,100000)")
    parser.add_argument("--dims", type=numbers, help="dimensions (default 256,384,768)")
    parser.add_argument("--k", type=numbers, help="neighbours asked for (default 10,50)")
    parser.add_argument("--data", type=names_of(DATA), default=DATA, help=f"of {','.join(DATA)}")
    known = tuple(ENGINES)
    parser.add_argument("--engines", type=names_of(known), default=known, help=f"of {','.join(known)}")
    parser.add_argument("--only", type=names_of(PARTS), default=PARTS, help=f"of {','.join(PARTS)}")
    parser.add_argument("--n-queries", type=int, help=f"questions a cell (default {N_QUERIES:,})")
    parser.add_argument(
        "--seconds", type=float, help="longest pass of one engine; a slower one gets fewer questions"
    )
    parser.add_argument("--core", type=int, help="the core to pin to (default: the last one allowed)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args(arguments)
    quick = options.quick
    options.sizes = options.sizes or ((100, 500) if quick else (100, 1_000, 10_000, 20_000, 100_000))
    options.dims = options.dims or ((64,) if quick else (256, 384, 768))
    options.k = options.k or (10, 50)
    options.n_queries = options.n_queries or (50 if quick else N_QUERIES)
    options.n_tuning, options.n_checked = (20, 20) if quick else (N_TUNING, 500)
    options.seconds = options.seconds or (0.5 if quick else 5.0)
    options.n_filtered, options.n_turned = (500, 300) if quick else (100_000, 10_000)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    report = run(options)
    if options.full and "cells" in options.only:
        options.sizes, options.dims, options.data = (1_000_000,), (256,), ("clustered",)
        names, _ = vector_engines.installed(options.engines)
        report["cells"] += cells(names, options, report["skipped"])
    page = vector_page.page(report)
    print(page)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(page + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
