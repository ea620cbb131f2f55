"""What does a stored report say, and what became slower since an older one?

    python -m benchmarks.report REPORT.json [--against OLDER.json] [--tolerance SHARE]

Reports are those of `benchmarks.compare lexical --json` and `benchmarks.micro --json`. Against an older one, times are
compared as ratios to the peers or the floor (a busy machine slows all alike), instructions as they are. Exit code 1 if
any instruction count grew by more than the tolerance: times are for reading, instructions for judging.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare import tables
from benchmarks.micro import __main__ as micro

TOLERANCE = 0.03


def page(report: dict[str, Any]) -> str:
    """The report as text."""
    if report["benchmark"] == "micro":
        return "\n".join(micro.lines(report))
    return tables.lexical_page(report)


def lexical_changes(new: dict[str, Any], old: dict[str, Any]) -> list[list[str]]:
    """Rows: cell, and time over T_min then and now, p50 and p95."""
    before = {tuple(tables.label(size, cell)): tables.ratios(cell) for size, cell in tables.each_cell(old)}
    rows = []
    for size, cell in tables.each_cell(new):
        label, now = tables.label(size, cell), tables.ratios(cell)
        then = before.get(tuple(label))
        if then and now:
            shown = [f"{then[name]:.2f} -> {now[name]:.2f}" for name in ("floor_p50", "floor_p95")]
            if "best_p50" in then and "best_p50" in now:
                shown.append(f"{then['best_p50']:.2f} -> {now['best_p50']:.2f}")
            rows.append([*label, *shown])
    return rows


def instruction_changes(new: dict[str, Any], old: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Query -> instructions then and now, of queries that both counted over as many documents."""
    then, now = old.get("instructions") or {}, new.get("instructions") or {}
    if old.get("instructions_documents") != new.get("instructions_documents"):
        return {}
    return {name: (then[name], count) for name, count in now.items() if name in then}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("report", type=Path)
    parser.add_argument("--against", type=Path, metavar="OLDER", help="an older report of the same benchmark")
    parser.add_argument(
        "--tolerance", type=float, default=TOLERANCE, help="growth that is no fault (default 0.03)"
    )
    options = parser.parse_args(arguments)
    new = json.loads(options.report.read_text(encoding="utf-8"))
    print(page(new))
    if options.against is None:
        return 0
    old = json.loads(options.against.read_text(encoding="utf-8"))
    if old["benchmark"] != new["benchmark"]:
        parser.error(f"--against: expected a report of {new['benchmark']}, got one of {old['benchmark']}")
    if new["benchmark"] == "lexical":
        head = ["documents", "queries", "k", "p50 over T_min", "p95 over T_min", "p50, better rival"]
        print("\n" + tables.table(head, lexical_changes(new, old)))
        return 0
    grown = 0
    for name, (then, now) in instruction_changes(new, old).items():
        worse = now > then * (1 + options.tolerance)
        grown += worse
        print(f"{name:20} {then:12,} -> {now:12,} ({now / then - 1:+.1%}){'  GREW' if worse else ''}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
