"""The parts of a lexical search, one by one; and the regression test of the instructions of sixteen calls.

    python -m benchmarks.micro [--quick] [--documents N] [--no-instructions] [--levels] [--json FILE]
    python -m benchmarks.micro instructions [--check | --update REASON]

--levels repeats the timings at every SIMD level of this CPU, each in a separate process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare import machine
from benchmarks.micro import filters, guard, instructions, primitives

LEVELS = ("baseline", "avx2", "avx512", "avx512-gather")


def at_each_level(options: argparse.Namespace) -> dict[str, Any]:
    """Run the same timings in child processes, one for each level of this CPU."""
    import scrubjay

    available = (scrubjay.show_config(as_dict=True) or {})["simd_levels"]
    found = {}
    for level in (level for level in LEVELS if level in available):
        command = [sys.executable, "-m", "benchmarks.micro", "--no-instructions", "--json", "-"]
        command += ["--documents", str(options.documents), "--calls", str(options.calls)]
        environment = {**os.environ, "SCRUBJAY_SIMD": level}
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found[level] = json.loads(finished.stdout)["primitives"]
    return found


def lines(report: dict[str, Any]) -> list[str]:
    """Return the report for a terminal."""
    about = report["machine"]
    shown = [
        f"{about['cpu']}, {about['scrubjay'].get('simd_active')}, load {about['load']}, core {about['core']}"
    ]
    measured = report["primitives"]
    shown.append(f"one partition of {measured['documents']:,} documents; microseconds p50 / p95")
    for group in ("call", "k", "words", "keywords"):
        for name, facts in measured[group].items():
            prefix = "" if group == "call" else f"{group} = "
            shown.append(f"  {prefix + name:42} {facts['p50']:9.2f} / {facts['p95']:9.2f}")
    shown += [f"  tokenising {name:31} {value:9.1f}" for name, value in report["tokenizing"].items()]
    if "filters" in report:
        shown += filters.lines(report["filters"])
    if counted := report.get("instructions"):
        shown.append(f"instructions a call, {report['instructions_documents']:,} documents (callgrind)")
        shown += [f"  {name:42} {count:12,}" for name, count in counted.items()]
    for level, levels in report.get("levels", {}).items():
        times = ", ".join(f"{n} words {facts['p50']:.1f}" for n, facts in levels["words"].items())
        shown.append(f"  {level}: {times} us")
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["instructions"]:
        return guard.main(given[1:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.micro", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="few documents and calls: does it run?")
    parser.add_argument("--documents", type=int, help="documents of the partition (default 10,000)")
    parser.add_argument("--calls", type=int, help="calls of one pass (default 2,000)")
    parser.add_argument(
        "--no-instructions", dest="instructions", action="store_false", help="without callgrind"
    )
    parser.add_argument("--levels", action="store_true", help="also at each SIMD level")
    parser.add_argument("--core", type=int)
    parser.add_argument("--json", help="write the report to this file (-: print it instead of the table)")
    options = parser.parse_args(given)
    options.documents = options.documents or (300 if options.quick else 10_000)
    options.calls = options.calls or (20 if options.quick else 2_000)
    core = machine.pin(options.core)
    report: dict[str, Any] = {
        "benchmark": "micro",
        "machine": {**machine.describe(), "core": core},
        "primitives": primitives.measure(options.documents, options.calls),
        "tokenizing": primitives.tokenizing(20 if options.quick else 5_000),
    }
    if options.json != "-":
        report["filters"] = filters.measure(options.documents, options.calls)
    if options.instructions:
        report["instructions_documents"] = n = min(options.documents, 2_000)
        report["instructions"] = instructions.count(n)
    if options.levels:
        report["levels"] = at_each_level(options)
    if options.json and options.json != "-":
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report) if options.json == "-" else "\n".join(lines(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
