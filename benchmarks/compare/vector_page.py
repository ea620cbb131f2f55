"""The Markdown page of a vector comparison: ratios first, then times and memory, filters, turnovers."""

from __future__ import annotations

from typing import Any

from benchmarks.compare.tables import machine_line, number, pair, table
from benchmarks.compare.vector_engines import F32_GRAPH

LEAST_RECALL = 0.99
WANTED = {100: 2.0, 1_000: 2.0, 10_000: 1.3, 20_000: 1.3, 100_000: 1.5, 1_000_000: 1.5}
"""Required ratio of the fastest library to Scrubjay at equal recall, by the number of vectors."""


def best(rows: list[dict[str, Any]], at: str, *, own: bool) -> dict[str, Any] | None:
    """Return the fastest row at recall .99: of Scrubjay's settings, or of the libraries (NumPy does not count as one).

    A library that reached it on its tuning questions stays in, even if it is slightly lower on others.
    """
    right = [
        row
        for row in rows
        if row["engine"].startswith("scrubjay") == own
        and row["engine"] != "numpy"
        and max(row["recall"], row.get("held_out_recall", 0.0)) >= LEAST_RECALL
    ]
    return min(right, key=lambda row: float(row[at]), default=None)


def ratio(cell: dict[str, Any], at: str) -> float | None:
    """Return the ratio of the fastest library's time to Scrubjay's, both with recall .99."""
    mine, rival = best(cell["rows"], at, own=True), best(cell["rows"], at, own=False)
    return rival[at] / mine[at] if mine and rival else None


def label(cell: dict[str, Any]) -> list[str]:
    return [cell["data"], str(cell["dim"]), f"{cell['n']:,}", str(cell["k"])]


def cell_line(cell: dict[str, Any]) -> str:
    """Format one cell on one line, for watching a run."""
    times = "; ".join(f"{row['engine']} {pair(row)} ({row['recall']:.3f})" for row in cell["rows"])
    return f"{', '.join(label(cell))}: {times}"


def page(report: dict[str, Any]) -> str:
    parts = [
        machine_line(report["machine"]),
        f"{report['queries']:,} questions of single calls, engines interleaved, median of three passes; libraries "
        "tuned on held-out questions to recall .99; recall against exact float32.",
    ]
    if report["cells"]:
        parts += [
            "### Ratios: how many times faster Scrubjay is than the fastest library, both at recall >= .99",
            ratio_table(report["cells"]),
            "### Microseconds (p50 / p95), recall, setting, bytes a vector, seconds to build",
            time_table(report["cells"]),
        ]
    if report.get("filters"):
        parts += [f"### Filters, {report['filters'][0]['n']:,} vectors", filter_table(report["filters"])]
    if report.get("turnovers"):
        parts += ["### Ten full turnovers", turnover_line(report["turnovers"])]
    parts.append("\n".join(remarks(report)))
    return "\n\n".join(parts)


def ratio_table(cells: list[dict[str, Any]]) -> str:
    rows = []
    for cell in cells:
        mine, rival = best(cell["rows"], "p50", own=True), best(cell["rows"], "p50", own=False)
        wanted = WANTED.get(cell["n"])
        p50, p95 = ratio(cell, "p50"), ratio(cell, "p95")
        graph = next((row for row in cell["rows"] if row["engine"] == F32_GRAPH), None)
        memory = f"{mine['bytes_a_vector'] / graph['bytes_a_vector']:.2f}" if mine and graph else "-"
        met = (
            "-"
            if wanted is None or p50 is None or p95 is None
            else "yes"
            if min(p50, p95) >= wanted
            else "**no**"
        )
        rows.append(
            [
                *label(cell),
                mine["engine"] if mine else "none at .99",
                rival["engine"] if rival else "none at .99",
                number(p50) if p50 else "-",
                number(p95) if p95 else "-",
                f"{wanted:g}" if wanted else "-",
                met,
                memory,
            ]
        )
    head = ["data", "dim", "n", "k", "of Scrubjay", "fastest library", "p50", "p95", "wanted", "met"]
    return table([*head, f"memory over {F32_GRAPH}'s"], rows)


def time_table(cells: list[dict[str, Any]]) -> str:
    rows = []
    for cell in cells:
        for row in cell["rows"]:
            setting = "-" if row["setting"] is None else str(row["setting"])
            facts = [pair(row), f"{row['recall']:.4f}", setting, f"{row['bytes_a_vector']:,.0f}"]
            rows.append([*label(cell), row["engine"], *facts, number(row["build_seconds"])])
    head = ["data", "dim", "n", "k", "engine", "p50 / p95", "recall", "setting", "bytes", "build, s"]
    return table(head, rows)


def filter_table(rows: list[dict[str, Any]]) -> str:
    shown = [
        [
            row["kind"],
            f"{row['share']:.2%}",
            pair(row),
            f"{row['recall']:.3f}",
            pair(row["gather"]),
            pair(row["unfiltered"]),
            f"{row['over_better']:.2f}",
            pair(row["alone"]),
            f"{row['over_alone']:.2f}",
        ]
        for row in rows
    ]
    head = [
        "matches",
        "share",
        "filtered, p50 / p95 us",
        "recall@10",
        "gather",
        "no filter",
        "p50 over the better",
        "an index of the matches alone",
        "p50 over it",
    ]
    return table(head, shown)


def turnover_line(found: dict[str, Any]) -> str:
    fresh, turned = found["fresh"], found["turned"]
    return (
        f"{found['n']:,} vectors of {found['dim']} dimensions, each replaced ten times in random order: recall@10 "
        f"{turned['recall']:.4f} (fresh build {fresh['recall']:.4f}), p50 {number(turned['p50'])} us "
        f"({number(fresh['p50'])}), "
        f"p95 {number(turned['p95'])} us ({number(fresh['p95'])}, ratio {found['p95_ratio']:.2f}); "
        f"{found['dead']:,} dead documents left."
    )


def remarks(report: dict[str, Any]) -> list[str]:
    lines = [f"- {name}: {note}." for name, note in report["engines"].items()]
    lines += [f"- {name}: not installed ({why})." for name, why in report["missing"].items()]
    return lines + [f"- {what}." for what in report["skipped"]]
