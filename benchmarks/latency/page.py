"""The Markdown page of a latency report, with targets beside the measurements."""

from __future__ import annotations

from typing import Any

from benchmarks.compare.tables import machine_line, number, table

STORES = {
    "build_seconds": "build, s",
    "documents_per_second": "documents/s",
    "graph_seconds": "graph, s",
    "resident_bytes_a_document": "resident bytes/document",
    "reported_bytes_a_document": "as reported",
    "text_bytes_a_document": "of it text",
}


def page(report: dict[str, Any]) -> str:
    """Return the whole report."""
    parts = [machine_line(report["machine"]), corpus_line(report)]
    parts += ["### Microseconds a call", times(report["rows"])]
    if report.get("targets"):
        parts += ["### Targets", targets(report["targets"])]
    if report.get("load"):
        parts += ["### Under writes", "\n".join(load_line(facts) for facts in report["load"])]
    if report.get("threads"):
        parts += ["### Calls a second of one thread and of two", threads(report["threads"])]
    if report.get("stores"):
        parts += ["### Building and memory", stores(report["stores"])]
    if report.get("notes"):
        parts.append("\n".join(f"- {row['note']}" for row in report["notes"]))
    return "\n\n".join(parts)


def corpus_line(report: dict[str, Any]) -> str:
    sizes = report["sizes"]
    return (
        f"Texts: {report['source']}; {sizes['dim']} dimensions, clustered vectors; k = 10, 50 candidates an arm, "
        f"RRF(60); {sizes['n_queries']:,} queries, three passes; "
        "recall@10 against exact BM25, exact cosine and exact RRF. public: the defaults (automatic fusion, 100 "
        "candidates an arm), random vectors, a new scope each call, ids, scores and texts of ten hits read."
    )


def times(rows: list[dict[str, Any]]) -> str:
    shown = []
    for row in rows:
        recall = "-" if row["recall"] is None else f"{row['recall']:.3f}"
        tail = [number(row[name]) for name in ("p50", "p95", "p99", "p99.9")]
        shown.append([row["workload"], row["how"], *tail, recall, f"{row['queries']:,}"])
    return table(["workload", "how", "p50", "p95", "p99", "p99.9", "recall@10", "calls"], shown)


def targets(found: list[dict[str, Any]]) -> str:
    rows = [
        [
            one["what"],
            one["wanted"],
            "-" if one["measured"] is None else number(one["measured"]),
            "yes" if one["met"] else "**no**",
        ]
        for one in found
    ]
    return table(["what", "wanted", "measured", "met"], rows)


def load_line(facts: dict[str, Any]) -> str:
    spent = facts["upsert_us"]
    return (
        f"{facts['upserts_a_second']:,.0f} upserts/s reached on {facts['cores']} cores, each in "
        f"{number(spent['p50'])} us (p50) and {number(spent['p99'])} us (p99) from its arrival. Search p99 over quiet "
        f"p99: {facts['p99_ratio_from_arrival']:.2f} from arrival, {facts['p99_ratio_from_start']:.2f} from start."
    )


def threads(rows: list[dict[str, Any]]) -> str:
    shown = [
        [row["workload"], row["how"], f"{row['one']:,.0f}", f"{row['two']:,.0f}", f"{row['ratio']:.2f}"]
        for row in rows
    ]
    return table(["workload", "how", "one", "two", "ratio"], shown)


def stores(rows: list[dict[str, Any]]) -> str:
    shown = [
        [
            row["store"],
            f"{row['documents']:,}",
            *(number(row[name]) if name in row else "-" for name in STORES),
        ]
        for row in rows
    ]
    return table(["store", "documents", *STORES.values()], shown)
