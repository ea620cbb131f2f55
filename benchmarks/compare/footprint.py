"""Memory of all users' memories, time to reopen, and the idle cost of an open index.

Each engine is built in one fresh process and opened in another, because the resident set only shows growth.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import memories as memories_of
from benchmarks.ingest import resident_bytes
from benchmarks.memories import Memories

IDLE_SECONDS = 3.0
LONGEST = 1_800


def of_engines(names: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Return the results of `build` and `reopen` for each engine, each in a separate process; or the error."""
    found: dict[str, Any] = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="scrubjay-footprint-") as base:
            given = [
                name,
                str(Path(base) / "data"),
                options.n_users,
                options.each,
                options.large,
                options.dim,
            ]
            given += [not options.quick, options.seed, 0.1 if options.quick else IDLE_SECONDS]
            try:
                found[name] = in_child("build", given)
                found[name]["folder_mb"] = (
                    sum(f.stat().st_size for f in Path(base).rglob("*") if f.is_file()) / 1e6
                )
                found[name]["open"] = in_child("reopen", given)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                found.setdefault(name, {})["error"] = str(error).strip().split("\n")[-1]
    return found


def in_child(call: str, given: Sequence[Any]) -> Any:
    code = "import json, sys; from benchmarks.compare import footprint as f; "
    code += f"print(json.dumps(f.{call}(*json.load(sys.stdin))))"
    finished = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(list(given)),
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )
    if finished.returncode:
        raise RuntimeError(finished.stderr[-2_000:])
    return json.loads(finished.stdout.strip().split("\n")[-1])


def prepared(n_users: int, each: int, large: int, dim: int, use_system: bool, seed: int) -> Memories:
    memories = memories_of.of_users(n_users, each, large, dim, use_system=use_system, seed=seed)
    memories.terms.words  # noqa: B018 - made before the memory is measured
    memories.terms.number_of  # noqa: B018
    return memories


def build(name: str, folder: str, *sizes: Any) -> dict[str, Any]:
    """Runs in the child: return the growth of the resident set, and the CPU time of building."""
    from benchmarks.compare.hybrid_engines import ENGINES

    *shape, _ = sizes
    memories = prepared(*shape)
    engine = ENGINES[name](Path(folder))  # imports the package
    gc.collect()
    before, started = resident_bytes(), time.process_time()
    engine.build(memories)
    spent = time.process_time() - started
    for question in first_questions(memories):
        engine.search(question, 10)
    gc.collect()
    found = {"build_cpu_seconds": spent, "resident_mb": max(0, resident_bytes() - before) / 1e6}
    engine.close()
    return found


def reopen(name: str, folder: str, *sizes: Any) -> dict[str, Any] | None:
    """Runs in the child: return the seconds to open and to answer each user once, the memory, and the idle CPU time."""
    from benchmarks.compare.hybrid_engines import ENGINES

    *shape, idle_seconds = sizes
    memories = prepared(*shape)
    engine: Any = ENGINES[name](Path(folder))
    if not hasattr(engine, "open"):
        return None
    questions = first_questions(memories)
    gc.collect()
    before, started = resident_bytes(), time.perf_counter()
    engine.open()
    opened = time.perf_counter()
    for question in questions:
        engine.search(question, 10)
    answered = time.perf_counter()
    gc.collect()
    resident = max(0, resident_bytes() - before)
    idle = time.process_time()
    time.sleep(idle_seconds)
    idle = time.process_time() - idle
    engine.close()
    return {
        "seconds": opened - started,
        "first_searches_seconds": answered - opened,
        "resident_mb": resident / 1e6,
        "idle_cpu_share": idle / idle_seconds,
    }


def first_questions(memories: Memories) -> list[memories_of.Question]:
    """Return one question of each user."""
    return memories.questions(memories.blocks, len(memories.blocks), seed=77, each=1)
