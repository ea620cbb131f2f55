"""Instructions, and so microseconds, of one search by part of the library, counted inside the call by callgrind.

    python -m benchmarks.micro.profile [--quick] [--json FILE]

The call is the public one: `Index.search` with text and vector, default fusion, ids, scores and texts of ten hits read.
Each function's own instructions are attributed to its part of the library; an inlined function counts for its caller.
The microseconds are the p50 of the same call without callgrind, at the same SIMD level (AVX2: callgrind does not
support AVX-512), split by the shares of instructions, which is approximate because instructions differ in time.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from benchmarks.micro import instructions

SIZES = {False: (1_000, 10_000), True: (100, 200)}
N_TIMED = 400
N_COUNTED = 5
"""The number of calls. The one with the fewest instructions counts, because callgrind includes other threads."""
NOTE = (
    "Own instructions of each part, counted by callgrind at AVX2; microseconds are the p50 of the call without it, "
    "split by these shares."
)
PARTS = {
    "text": "text: analysis of the question",
    "lexical": "lexical: postings, BM25, top-k",
    "vector": "vector: codes, rescoring, graph",
    "filter": "filter",
    "fusion": "fusion",
    "embed": "embedding",
    "engine": "engine: snapshot, planning, ranking, evidence",
    "base": "base: hashing, bitmaps, top-k",
}
VECTOR_KERNELS = ("dot", "l2", "squared", "code", "quant", "bound")
PYTHON, NUMPY, BORDER, OTHER = "Python", "NumPy", "border: pybind11, arguments, hits", "C library, memory"


def names(sizes: Sequence[int]) -> list[str]:
    """Return the names of the profiled calls: with known words only, and with some unknown ones."""
    return [
        f"{n:,} memories in {place}"
        for n in sizes
        for place in ("memory", "a file", "memory, unknown words asked")
    ]


def calls(sizes: Sequence[int], users: Any) -> dict[str, Callable[[], Any]]:
    """Return the calls by these names; each repeats one question."""
    from benchmarks.micro.test_search import read
    from benchmarks.micro.users import Asked, questions, records

    def search(index: Any, asked: Asked) -> int:
        return read(index.search(asked.text, vector=asked.vector, scope=asked.scope, k=10))

    found = []
    for n in sizes:
        drawn = questions(f"u{n}")[0]
        known = Asked(" ".join(records(n)[n // 2]["text"].split()[:6]), drawn.vector, drawn.user)
        found += [partial(search, users.index(kind, n), known) for kind in ("memory", "file")]
        found.append(partial(search, users.index("memory", n), drawn))
    return dict(zip(names(sizes), found, strict=True))


def child(sizes: Sequence[int], *, timed: bool) -> None:
    """Runs in a separate process: run the calls between callgrind's markers, or print their times as JSON."""
    from benchmarks.micro.users import Users

    with tempfile.TemporaryDirectory() as folder, Users(Path(folder)) as users:
        found = calls(sizes, users)
        for n in sizes:
            users.index("file", n).admin.compact()  # the work of background maintenance
        gc.collect()
        gc.disable()  # a collection within a call would count for it
        if not timed:
            instructions.measured(
                {f"{name}, {time}": call for name, call in found.items() for time in range(N_COUNTED)}
            )
            return
        print(json.dumps({name: p50_us(call) for name, call in found.items()}))


def p50_us(call: Callable[[], Any]) -> float:
    """Return the median of single calls, warm."""
    spent = []
    for _ in range(N_TIMED):
        started = perf_counter_ns()
        call()
        spent.append(perf_counter_ns() - started)
    return float(np.median(spent[N_TIMED // 10 :])) / 1e3


def measure(sizes: Sequence[int]) -> dict[str, Any] | None:
    """Return the shares of each call, largest first; None without valgrind."""
    code = f"from benchmarks.micro import profile as p; p.child({tuple(sizes)}, timed={{}})"
    dumps = instructions.dumped(len(names(sizes)) * N_COUNTED, code.format(False))
    if dumps is None:
        return None
    finished = subprocess.run(
        [sys.executable, "-c", code.format(True)],
        env=instructions.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    times = json.loads(finished.stdout.splitlines()[-1])
    nothing, *counted = map(own_costs, dumps)
    each = [
        min(counted[first : first + N_COUNTED], key=lambda costs: costs.total())
        for first in range(0, len(counted), N_COUNTED)
    ]
    report: dict[str, Any] = {
        "benchmark": "profile",
        "simd": instructions.simd_level(),
        "note": NOTE,
        "calls": {},
    }
    for name, costs in zip(names(sizes), each, strict=True):
        parts: Counter[str] = Counter()
        for (object_file, function), cost in (costs - nothing).items():
            parts[part_of(object_file, function)] += cost
        total = sum(parts.values())
        shares = {part: cost / total for part, cost in parts.most_common()}
        report["calls"][name] = {"p50_us": times[name], "instructions": total, "shares": shares}
    return report


def part_of(object_file: str, function: str) -> str:
    """Return the part of the library of a function.

    >>> part_of("_native.so", "scrubjay::lexical::PostingTable::find_slot(unsigned long) const")
    'lexical: postings, BM25, top-k'
    """
    if "_native" in object_file:
        found = re.search(r"scrubjay::(\w+)::", function)
        if found and found[1] == "simd":
            kernel = function.rsplit("::", 1)[-1]
            return f"kernels: {'vectors' if kernel.startswith(VECTOR_KERNELS) else 'postings, top-k'}"
        return PARTS.get(found[1], BORDER) if found else BORDER
    if "numpy" in object_file or "_multiarray" in object_file:
        return NUMPY
    return PYTHON if "python" in object_file else OTHER


def own_costs(dump: str) -> Counter[tuple[str, str]]:
    """Return the own instructions by (object file, function) from one dump of callgrind."""
    costs: Counter[tuple[str, str]] = Counter()
    names: dict[str, dict[str, str]] = {"ob": {}, "fn": {}}
    current = {"ob": "", "fn": ""}
    lines: Iterator[str] = iter(dump.splitlines())
    for line in lines:
        if line.startswith("calls="):
            next(lines, None)  # the inclusive cost of the callee
            continue
        key, equals, value = line.partition("=")
        if equals and key in ("ob", "fn", "cob", "cfn"):
            name = _decompressed(value, names[key[-2:]])
            if not key.startswith("c"):
                current[key] = name
        elif line and (line[0].isdigit() or line[0] in "+-*"):
            _, _, cost = line.partition(" ")
            if cost.isdigit():
                costs[current["ob"], current["fn"]] += int(cost)
    return costs


def _decompressed(value: str, known: dict[str, str]) -> str:
    """Return a name: callgrind writes "(7) name" once and "(7)" afterwards."""
    found = re.match(r"(\(\d+\))(?: (.*))?$", value)
    if found is None:
        return value
    if found[2]:
        known[found[1]] = found[2]
    return known.get(found[1], value)


def lines(report: dict[str, Any]) -> list[str]:
    """Return the report for a terminal."""
    shown = [report["note"]]
    for name, call in report["calls"].items():
        shown.append(f"{name}: {call['p50_us']:.1f} us, {call['instructions']:,} instructions")
        shown += [
            f"  {part:48} {share:6.1%} {share * call['p50_us']:8.2f} us"
            for part, share in call["shares"].items()
        ]
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.micro.profile", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="few memories: does it run?")
    parser.add_argument("--json", type=Path, help="write the report to this file")
    options = parser.parse_args(arguments)
    report = measure(SIZES[options.quick])
    if report is None:
        print("no valgrind here (Debian package valgrind): nothing was counted", file=sys.stderr)
        return 2
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
