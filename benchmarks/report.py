"""Combines stored reports into a page with plots, and compares a report with an older one.

    python -m benchmarks.report REPORT.json... [--out DIR] [--no-plots]
    python -m benchmarks.report REPORT.json --against OLDER.json [--tolerance SHARE]

Reports are those of `--json` of benchmarks.latency, benchmarks.compare (lexical, hybrid, vector), benchmarks.micro and
its `instructions`. With --out they become one page `report.md`, one `report.json`, and plots as PNG (matplotlib, extra
`bench`; without it the page says so). Against an older report, times are compared as ratios to the peers or the floor
(a busy machine slows all alike), instructions directly. Exit code 1 if any instruction count grew by more than the
tolerance; times are informative only.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.compare import hybrid_page, tables, vector_page
from benchmarks.latency import page as latency_page
from benchmarks.micro import __main__ as micro

TOLERANCE = 0.03


def instruction_lines(report: dict[str, Any]) -> str:
    about = ", ".join(f"{key} {report[key]}" for key in ("simd", "compiler", "python"))
    rows = [[name, f"{count:,}"] for name, count in report["counts"].items()]
    return f"Callgrind, {about}.\n\n" + tables.table(["call", "instructions"], rows)


PAGES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "latency": ("Latency of the fused call", latency_page.page),
    "hybrid": ("Hybrid searches beside the peers", hybrid_page.page),
    "lexical": ("BM25 beside the peers", tables.lexical_page),
    "vector": ("Vector searches beside the libraries", vector_page.page),
    "micro": ("The parts of a search", lambda report: "\n".join(micro.lines(report))),
    "instructions": ("Instructions of sixteen fixed calls", instruction_lines),
}


def page(report: dict[str, Any]) -> str:
    """Return the report as text."""
    return PAGES[report["benchmark"]][1](report)


def combined(reports: Sequence[dict[str, Any]], pictures: dict[str, str]) -> str:
    """Return one page of several reports, plots first."""
    parts = ["# Benchmarks"]
    parts += [f"![{title}]({name})" for name, title in pictures.items()]
    if not pictures:
        parts.append("No plots: matplotlib is not installed (extra `bench`), or there is nothing to draw.")
    for report in reports:
        parts += [f"## {PAGES[report['benchmark']][0]}", page(report)]
    return "\n\n".join(parts) + "\n"


def write(reports: Sequence[dict[str, Any]], folder: Path, *, with_plots: bool) -> None:
    """Write report.md, report.json and the plots."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = plots.draw(reports, folder) if with_plots else {}
    (folder / "report.md").write_text(combined(reports, pictures), encoding="utf-8")
    by_name: dict[str, Any] = {}
    for report in reports:
        by_name.setdefault(report["benchmark"], []).append(report)
    (folder / "report.json").write_text(json.dumps(by_name, indent=1) + "\n", encoding="utf-8")


def lexical_changes(new: dict[str, Any], old: dict[str, Any]) -> list[list[str]]:
    """Return rows: cell, and time over T_min before and now, p50 and p95."""
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


def hybrid_changes(new: dict[str, Any], old: dict[str, Any]) -> list[list[str]]:
    """Return rows: workload, and the p95 ratio to the fastest peer of each kind, before and now."""
    before = {(one["workload"], one["against"]): one for one in hybrid_page.ratios(old)}
    return [
        [*key, f"{before[key]['p95']:.2f} -> {one['p95']:.2f}"]
        for one in hybrid_page.ratios(new)
        if (key := (one["workload"], one["against"])) in before
    ]


def vector_changes(new: dict[str, Any], old: dict[str, Any]) -> list[list[str]]:
    """Return rows: cell, and the ratio to the fastest library, p50 and p95, before and now."""
    before = {tuple(vector_page.label(cell)): cell for cell in old["cells"]}
    rows = []
    for cell in new["cells"]:
        label = vector_page.label(cell)
        if (then := before.get(tuple(label))) is not None:
            pairs = [(vector_page.ratio(then, at), vector_page.ratio(cell, at)) for at in ("p50", "p95")]
            shown = [f"{one:.2f} -> {other:.2f}" if one and other else "-" for one, other in pairs]
            rows.append([*label, *shown])
    return rows


def latency_changes(new: dict[str, Any], old: dict[str, Any]) -> list[list[str]]:
    """Return rows: workload, method, and microseconds before and now (no peer in the run, so load matters)."""
    before = {(row["workload"], row["how"]): row for row in old["rows"]}
    return [
        [*key, *(f"{before[key][at]:.1f} -> {row[at]:.1f}" for at in ("p50", "p95"))]
        for row in new["rows"]
        if (key := (row["workload"], row["how"])) in before
    ]


CHANGES: dict[str, tuple[list[str], Callable[[dict[str, Any], dict[str, Any]], list[list[str]]]]] = {
    "lexical": (
        ["documents", "queries", "k", "p50 over T_min", "p95 over T_min", "p50, better rival"],
        lexical_changes,
    ),
    "hybrid": (["workload", "against", "times faster at p95"], hybrid_changes),
    "vector": (["data", "dim", "n", "k", "times faster, p50", "p95"], vector_changes),
    "latency": (["workload", "how", "p50, us", "p95, us"], latency_changes),
}


def instruction_changes(new: dict[str, Any], old: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return instructions by query, before and now, for queries counted over the same number of documents."""
    key = "counts" if new["benchmark"] == "instructions" else "instructions"
    then, now = old.get(key) or {}, new.get(key) or {}
    if old.get("instructions_documents") != new.get("instructions_documents"):
        return {}
    return {name: (then[name], count) for name, count in now.items() if name in then}


def against(new: dict[str, Any], old: dict[str, Any], tolerance: float) -> int:
    """Print the changes; return 1 if an instruction count grew by more than the tolerance."""
    if new["benchmark"] in CHANGES:
        head, changes = CHANGES[new["benchmark"]]
        print("\n" + tables.table(head, changes(new, old)))
        return 0
    grown = 0
    for name, (then, now) in instruction_changes(new, old).items():
        worse = now > then * (1 + tolerance)
        grown += worse
        print(f"{name:20} {then:12,} -> {now:12,} ({now / then - 1:+.1%}){'  GREW' if worse else ''}")
    return 1 if grown else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("report", type=Path, nargs="+")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write report.md, report.json and plots there"
    )
    parser.add_argument("--no-plots", dest="plots", action="store_false", help="no PNG files")
    parser.add_argument("--against", type=Path, metavar="OLDER", help="an older report of the same benchmark")
    parser.add_argument(
        "--tolerance", type=float, default=TOLERANCE, help="growth that is no fault (default 0.03)"
    )
    options = parser.parse_args(arguments)
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in options.report]
    if options.out is not None:
        write(reports, options.out, with_plots=options.plots)
        print(f"{options.out / 'report.md'}")
    else:
        for report in reports:
            print(page(report))
    if options.against is None:
        return 0
    if len(reports) != 1:
        parser.error(f"--against: expected one report, got {len(reports)}")
    old = json.loads(options.against.read_text(encoding="utf-8"))
    if old["benchmark"] != reports[0]["benchmark"]:
        parser.error(
            f"--against: expected a report of {reports[0]['benchmark']}, got one of {old['benchmark']}"
        )
    return against(reports[0], old, options.tolerance)


if __name__ == "__main__":
    sys.exit(main())
