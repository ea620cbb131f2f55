"""The Markdown page of a hybrid comparison: ratios first, then times, writes, footprint."""

from __future__ import annotations

from typing import Any

from benchmarks.compare.hybrid_engines import GLUED, OWN, PACKAGED
from benchmarks.compare.tables import machine_line, number, table

LEAST_RECALL = 0.99
WANTED = {
    "packaged": ("the fastest packaged engine", 15.0),
    "glued": ("the fastest hand-glued one at recall >= .99", 8.0),
    "any": ("anything at any recall", 4.0),
}


def rivals(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any] | None]:
    """Return the fastest peer of each kind at p95, or None."""

    def kind_of(row: dict[str, Any]) -> str:
        return str(row["engine"]).removesuffix(" (default)")

    def fastest(some: list[dict[str, Any]]) -> dict[str, Any] | None:
        return min(some, key=lambda row: float(row["p95"]), default=None)

    peers = [row for row in rows if row["engine"] not in OWN]
    right = [row for row in peers if row["recall"] >= LEAST_RECALL]
    return {
        "packaged": fastest([row for row in peers if kind_of(row) in PACKAGED]),
        "glued": fastest([row for row in right if kind_of(row) in GLUED]),
        "any": fastest(peers),
    }


def ratios(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the p95 ratio of the fastest peer of each kind to Scrubjay."""
    found = []
    for workload, measured in report["workloads"].items():
        own = next((row for row in measured["rows"] if row["engine"] == "scrubjay"), None)
        if own is None:
            continue
        for kind, rival in rivals(measured["rows"]).items():
            if rival is not None:
                what, wanted = WANTED[kind]
                found.append(
                    {
                        "workload": workload,
                        "against": what,
                        "engine": rival["engine"],
                        "recall": rival["recall"],
                        "p50": rival["p50"] / own["p50"],
                        "p95": rival["p95"] / own["p95"],
                        "wanted": wanted,
                    }
                )
    return found


def page(report: dict[str, Any]) -> str:
    corpus = report["corpus"]
    parts = [
        machine_line(report["machine"]),
        f"{corpus['documents']:,} documents of {corpus['users']} users, {corpus['source']}, "
        f"{report['dim']} dimensions; k = 10, RRF(60), 50 candidates an arm; {report['queries']:,} queries, "
        "three passes, engines interleaved; ids and texts are read; "
        "recall@10 against exact BM25, exact cosine and exact RRF inside the scope.",
        "### Ratios: how many times faster Scrubjay is",
        ratio_table(report),
    ]
    for workload, measured in report["workloads"].items():
        parts += [
            f"### {workload} ({measured['visible']:,} visible documents), microseconds",
            times(measured["rows"]),
        ]
    parts += ["### Building, and single additions that the next search sees", writes(report)]
    if report.get("footprint"):
        parts += [
            f"### {corpus['users']} users: memory, reopening, idle",
            footprint_table(report["footprint"]),
        ]
    parts.append(remarks(report))
    return "\n\n".join(parts)


def ratio_table(report: dict[str, Any]) -> str:
    rows = [
        [
            one["workload"],
            one["against"],
            f"{one['engine']} ({one['recall']:.3f})",
            number(one["p50"]),
            number(one["p95"]),
            f"{one['wanted']:g}",
            "yes" if one["p95"] >= one["wanted"] else "**no**",
        ]
        for one in ratios(report)
    ]
    return table(["workload", "against", "which is (recall)", "p50", "p95", "wanted at p95", "met"], rows)


def times(rows: list[dict[str, Any]]) -> str:
    shown = []
    for row in rows:
        scaled = row.get("threads")
        calls = f"{scaled['one']:,.0f} / {scaled['two']:,.0f} ({scaled['ratio']:.2f})" if scaled else "-"
        tail = [number(row[name]) for name in ("p50", "p95", "p99", "p99.9")]
        setting = "-" if row["setting"] is None else str(row["setting"])
        shown.append([row["engine"], *tail, f"{row['recall']:.3f}", setting, f"{row['queries']:,}", calls])
    head = [
        "engine",
        "p50",
        "p95",
        "p99",
        "p99.9",
        "recall@10",
        "setting",
        "queries",
        "calls/s, 1 / 2 threads",
    ]
    return table(head, shown)


def writes(report: dict[str, Any]) -> str:
    rows = []
    for name, built in report["build"].items():
        added = report["additions"].get(name)
        if added is None:
            shown, seen = "frozen: a new index", "-"
        elif "error" in added:
            shown, seen = added["error"][:80], "-"
        else:
            shown, seen = f"{number(added['us']['p50'])} / {number(added['us']['p95'])}", added["seen"]
        rate = f"{report['corpus']['documents'] / built['seconds']:,.0f}"
        rows.append([name, f"{built['seconds']:.1f}", rate, shown, seen])
    return table(
        ["engine", "build, s", "documents/s", "add one, us (p50 / p95)", "seen by the next search"], rows
    )


def footprint_table(found: dict[str, Any]) -> str:
    rows = []
    for name, one in found.items():
        if "error" in one:
            rows.append([name, one["error"][:80], "-", "-", "-", "-", "-"])
            continue
        opened = one.get("open")
        tail = ["in memory only", "-", "-", "-"]
        if opened:
            tail = [number(opened[key]) for key in ("seconds", "first_searches_seconds", "resident_mb")]
            tail.append(number(1e3 * opened["idle_cpu_share"]))
        disk = number(one["folder_mb"]) if one["folder_mb"] else "-"
        rows.append([name, number(one["build_cpu_seconds"]), number(one["resident_mb"]), disk, *tail])
    head = [
        "engine",
        "build, CPU s",
        "resident MB after it",
        "on disk, MB",
        "open, s",
        "first search of each user, s",
    ]
    return table([*head, "resident MB then", "idle, ms CPU/s"], rows)


def remarks(report: dict[str, Any]) -> str:
    lines = [f"- {name}: {built['note']}." for name, built in report["build"].items()]
    lines += [f"- {name}: not measured here ({why})." for name, why in report["missing"].items()]
    lines += [f"- {name}: left out ({why})." for name, why in report["left_out"].items()]
    return "\n".join(lines)
