"""A fused search, from Python, by workload: p50 to p99.9, recall against the exact answer, memory, build time.

    python -m benchmarks.latency [--quick | --full] [--only user,multi,...] [--json FILE] [--markdown FILE]

--full adds the store of 1,000,000 documents and the partition of 1,000,000 (some 12 GB of memory, half an hour).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import one_thread  # noqa: F401 - before anything that imports NumPy
from benchmarks.compare import machine
from benchmarks.compare.lexical import names_of, say
from benchmarks.latency import loaded, page, signals, single, targets
from benchmarks.latency.public import public
from benchmarks.latency.sizes import FULL, QUICK, USUAL, Part, Sizes

WORKLOADS: dict[str, Callable[[Sizes], Part]] = {
    "public": public,
    "nothing": single.fixed_cost,
    "users": single.users,
    "multi": single.multi,
    "agent": single.agent,
    "text": single.text,
    "signals": signals.signals,
    "filter": loaded.filtered,
    "write": loaded.write,
    "threads": loaded.threads,
    "big": single.big,
}


def run(names: Sequence[str], sizes: Sizes) -> dict[str, Any]:
    """Run the named workloads in this process."""
    core = machine.pin(sizes.cores[-1] if sizes.cores else None)
    report: dict[str, Any] = {
        "benchmark": "latency",
        "machine": {**machine.describe(("numpy",)), "core": core},
        "sizes": {name: value for name, value in asdict(sizes).items() if name != "cores"},
        "source": "",
        **{section: [] for section in ("rows", "stores", "load", "threads", "notes", "corpus")},
    }
    for name in names:
        say(name)
        part = WORKLOADS[name](sizes)
        for section, rows in part.items():
            report[section] += rows
        for row in part.get("rows", []):
            say(
                f"  {row['workload']}, {row['how']}: {row['p50']:.1f} / {row['p95']:.1f} us, recall {row['recall']}"
            )
    report["source"] = next((row["source"] for row in report.pop("corpus")), "see the sizes")
    report["targets"] = [] if sizes.large < USUAL.large else targets.judged(report)
    return report


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency", description=(__doc__ or "").split("\n")[0]
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="tiny sizes: does it run?")
    amount.add_argument(
        "--full", action="store_true", help="also a million documents, in one store and in one scope"
    )
    known = tuple(WORKLOADS)
    parser.add_argument("--only", type=names_of(known), default=known, help=f"of {','.join(known)}")
    parser.add_argument("--dim", type=int, help="dimensions (default 256)")
    parser.add_argument("--n-queries", type=int, help="queries a row (default 2,000)")
    parser.add_argument("--load-seconds", type=float, help="of one round under load (default 8)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    usual = QUICK if options.quick else FULL if options.full else USUAL
    given = {
        name: value
        for name in ("dim", "n_queries", "load_seconds", "seed")
        if (value := getattr(options, name)) is not None
    }
    report = run(options.only, replace(usual, cores=machine.allowed_cores(), **given))
    shown = page.page(report)
    print(shown)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(shown + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
