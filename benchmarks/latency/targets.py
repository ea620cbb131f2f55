"""The latency targets of the project, and their results in a report."""

from __future__ import annotations

from typing import Any

Limit = tuple[str, str, str, str, float]
LIMITS: list[Limit] = [
    # description, workload, method, percentile or figure, maximum
    (
        "the public call, hits read, 1,000 memories, p95 us (AVX2)",
        "public-1k",
        "Index, hits read",
        "p95",
        30.0,
    ),
    (
        "the public call, hits read, 10,000 memories, p95 us (AVX2)",
        "public-10k",
        "Index, hits read",
        "p95",
        85.0,
    ),
    ("fixed cost with arrays, us", "nothing", "Engine, arrays", "p50", 3.0),
    ("fixed cost with Hits, us", "nothing", "Index, Hits", "p50", 6.0),
    ("1,000 memories, p50 us", "user-1k", "hybrid", "p50", 15.0),
    ("1,000 memories, p95 us", "user-1k", "hybrid", "p95", 25.0),
    ("10,000 memories, p50 us", "user-10k", "hybrid", "p50", 55.0),
    ("10,000 memories, p95 us", "user-10k", "hybrid", "p95", 80.0),
    ("coverage, recency and marginal relevance, us more", "signals, added", "with all three", "p50", 15.0),
]
RATIOS: list[tuple[str, tuple[str, str], tuple[str, str], str, float]] = [
    # description, row, row of comparison, percentile, maximum
    (
        "the public call, 1,000 memories, p95, on a file over in memory",
        ("public-1k", "Index on a file, hits read"),
        ("public-1k", "Index, hits read"),
        "p95",
        1.08,
    ),
    (
        "the public call, 10,000 memories, p95, on a file over in memory",
        ("public-10k", "Index on a file, hits read"),
        ("public-10k", "Index, hits read"),
        "p95",
        1.08,
    ),
    (
        "1,000 memories, p95, a million strangers over none",
        ("user-1k", "hybrid@1m"),
        ("user-1k", "hybrid"),
        "p95",
        1.1,
    ),
    (
        "10,000 memories, p95, a million strangers over none",
        ("user-10k", "hybrid@1m"),
        ("user-10k", "hybrid"),
        "p95",
        1.1,
    ),
    (
        "p50, embedding inside over vector given",
        ("text", "text, embedded inside"),
        ("text", "text and vector given"),
        "p50",
        1.5,
    ),
    (
        "search p99 from arrival, written to over quiet",
        ("write", "written to, from arrival"),
        ("write", "quiet, from arrival"),
        "p99",
        2.0,
    ),
    ("p95, 50% filter over none", ("filter", "50.0% of the documents"), ("filter", "no filter"), "p95", 1.2),
    ("p95, 10% filter over none", ("filter", "10.0% of the documents"), ("filter", "no filter"), "p95", 1.2),
    ("p95, 1% filter over none", ("filter", "1.0% of the documents"), ("filter", "no filter"), "p95", 1.2),
]
RECALL: dict[str, float] = {
    # workload -> minimum over all rows
    "user-1k": 0.99,
    "user-10k": 0.99,
    "user-1k scattered": 0.99,
    "multi": 0.99,
    "filter": 0.99,
}
AT_RECALL: list[tuple[str, str, float, str, float]] = [
    # description, workload, minimum recall, percentile, maximum for the fastest row with that recall
    ("one partition of 1,000,000 at recall .98, p95 us", "big", 0.98, "p95", 1_000.0),
]
THREADS = 1.8


def judged(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a line for each target for which the report has figures."""
    rows = {(row["workload"], row["how"]): row for row in report["rows"]}
    found = []
    for what, workload, how, at, most in LIMITS:
        if row := rows.get((workload, how)):
            found.append(
                {"what": what, "wanted": f"<= {most:g}", "measured": row[at], "met": row[at] <= most}
            )
    for what, name, against, at, most in RATIOS:
        if name in rows and against in rows:
            ratio = rows[name][at] / rows[against][at]
            found.append({"what": what, "wanted": f"<= {most:g}", "measured": ratio, "met": ratio <= most})
    for workload, least in RECALL.items():
        if checked := checked_rows(report, workload):
            worst = min(row["recall"] for row in checked)
            what = f"recall@10, {workload} (the worst row)"
            found.append({"what": what, "wanted": f">= {least:g}", "measured": worst, "met": worst >= least})
    for what, workload, least, at, most in AT_RECALL:
        if checked := checked_rows(report, workload):
            right = [row for row in checked if row["recall"] >= least]
            row = min(right, key=lambda one: float(one[at])) if right else None
            found.append(
                {
                    "what": f"{what} ({row['how']})" if row else f"{what} (no row is)",
                    "wanted": f"<= {most:g}",
                    "measured": row[at] if row else None,
                    "met": row is not None and row[at] <= most,
                }
            )
    for row in report.get("threads", []):
        if row["how"] == "one call each":
            what = f"two threads over one, {row['workload']}"
            met = row["ratio"] >= THREADS
            found.append({"what": what, "wanted": f">= {THREADS:g}", "measured": row["ratio"], "met": met})
    return found


def checked_rows(report: dict[str, Any], workload: str) -> list[dict[str, Any]]:
    """Return the rows of a workload whose recall was measured."""
    return [row for row in report["rows"] if row["workload"] == workload and row["recall"] is not None]
