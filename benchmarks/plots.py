"""Plots of reports as PNG: latency against size, recall against latency, time by stage.

matplotlib is optional (extra `bench`): without it nothing is drawn.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Reports = Sequence[dict[str, Any]]
OWN_COLOUR, SIZE, DPI = "#1f5fa8", (8.0, 4.8), 130


def draw(reports: Reports, folder: Path) -> dict[str, str]:
    """Write the plots for which there are figures; return titles by file name. {} without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        return {}
    importlib.import_module("matplotlib").use("Agg")
    drawn = {}
    for name, (title, plot) in PLOTS.items():
        pyplot = importlib.import_module("matplotlib.pyplot")
        figure, axes = pyplot.subplots(figsize=SIZE)
        if plot(axes, reports):
            axes.set_title(title)
            figure.tight_layout()
            figure.savefig(folder / name, dpi=DPI)
            drawn[name] = title
        pyplot.close(figure)
    return drawn


def of_kind(reports: Reports, kind: str) -> list[dict[str, Any]]:
    return [report for report in reports if report["benchmark"] == kind]


def hybrid_by_size(axes: Any, reports: Reports) -> bool:
    """Draw p95 of every engine against the number of visible documents."""
    found = of_kind(reports, "hybrid")
    if not found:
        return False
    points: dict[str, list[tuple[int, float]]] = {}
    for measured in found[-1]["workloads"].values():
        for row in measured["rows"]:
            points.setdefault(row["engine"], []).append((measured["visible"], row["p95"]))
    lines(axes, points, "visible documents", "p95 of a hybrid search, microseconds")
    return True


def hybrid_bars(axes: Any, reports: Reports) -> bool:
    """Draw p95 of every tuned engine, a bar for each workload, the fastest on top."""
    found = of_kind(reports, "hybrid")
    if not found:
        return False
    workloads = found[-1]["workloads"]
    by_engine: dict[str, dict[str, dict[str, Any]]] = {}
    for workload, measured in workloads.items():
        for row in measured["rows"]:
            if not row["engine"].endswith("(default)"):
                by_engine.setdefault(row["engine"], {})[workload] = row
    slowest = sorted(by_engine, key=lambda engine: -max(row["p95"] for row in by_engine[engine].values()))
    height = 0.8 / len(workloads)
    for n, (workload, measured) in enumerate(workloads.items()):
        for place, engine in enumerate(slowest):
            row = by_engine[engine].get(workload)
            if row is None:
                continue
            own = engine.startswith("scrubjay")
            at = place + height * ((len(workloads) - 1) / 2 - n)
            colour = OWN_COLOUR if own else "#888888"
            axes.barh(at, row["p95"], height, color=colour, alpha=1.0 if n == 0 else 0.6)
            text = f" {row['p95']:,.0f}  ({measured['visible']:,} memories, recall {row['recall']:.3f})"
            axes.text(row["p95"], at, text, va="center", fontsize=6)
    axes.set_yticks(range(len(slowest)), slowest, fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(left=5, right=100 * max(row["p95"] for rows in by_engine.values() for row in rows.values()))
    axes.set_xlabel("p95 of a hybrid search, microseconds")
    return True


def hybrid_recall(axes: Any, reports: Reports) -> bool:
    """Draw recall against p95 of every engine, a mark for each workload."""
    found = of_kind(reports, "hybrid")
    if not found:
        return False
    for shape, (workload, measured) in zip("os^v", found[-1]["workloads"].items(), strict=False):
        for row in measured["rows"]:
            mark(axes, row["engine"], row["p95"], row["recall"], shape)
        axes.plot([], [], shape, color="#666666", label=workload)
    recall_axes(axes, "p95 of a hybrid search, microseconds")
    axes.legend(fontsize=8)
    return True


def vector_by_size(axes: Any, reports: Reports) -> bool:
    """Draw p50 at recall .99 against the number of vectors, k = 10, for the data and dimension measured most."""
    cells = [cell for report in of_kind(reports, "vector") for cell in report["cells"] if cell["k"] == 10]
    if not cells:
        return False
    kinds = [(cell["data"], cell["dim"]) for cell in cells]
    chosen = max(dict.fromkeys(kinds), key=kinds.count)
    points: dict[str, list[tuple[int, float]]] = {}
    for cell in cells:
        if (cell["data"], cell["dim"]) == chosen:
            for row in cell["rows"]:
                points.setdefault(row["engine"], []).append((cell["n"], row["p50"]))
    lines(axes, points, f"vectors ({chosen[0]}, {chosen[1]} dimensions)", "p50 of a search, microseconds")
    return True


def vector_recall(axes: Any, reports: Reports) -> bool:
    """Draw recall against p50 in the largest cell, k = 10: Scrubjay at each setting, the libraries as tuned."""
    cells = [cell for report in of_kind(reports, "vector") for cell in report["cells"] if cell["k"] == 10]
    if not cells:
        return False
    cell = max(cells, key=lambda cell: int(cell["n"]))
    for row in cell["rows"]:
        mark(axes, row["engine"], row["p50"], row["recall"], "o")
    recall_axes(axes, f"p50, microseconds ({cell['n']:,} vectors, {cell['data']}, {cell['dim']} dimensions)")
    return True


def mark(axes: Any, engine: str, spent: float, recall: float, shape: str) -> None:
    """Draw one engine with its name."""
    own = engine.startswith("scrubjay")
    axes.plot(spent, recall, shape, color=OWN_COLOUR if own else "#999999", markersize=7)
    axes.annotate(engine, (spent, recall), fontsize=6, xytext=(4, 3), textcoords="offset points")


def recall_axes(axes: Any, across: str) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel("recall@10")
    axes.grid(alpha=0.3)


def stages(axes: Any, reports: Reports) -> bool:
    """Draw the call on nothing, each arm, and both, stacked."""
    rows = [
        row
        for report in of_kind(reports, "latency")
        for row in report["rows"]
        if " by stage" in row["workload"]
    ]
    if not rows:
        return False
    by: dict[str, dict[str, float]] = {}
    for row in rows:
        by.setdefault(row["workload"].removesuffix(" by stage"), {})[row["how"]] = row["p50"]
    for place, spent in enumerate(by.values()):
        nothing = spent["nothing"]
        parts = {
            "call, arguments, analysis": nothing,
            "lexical arm": max(0.0, spent["lexical"] - nothing),
            "vector arm": max(0.0, spent["vector"] - nothing),
        }
        parts["fusion and the rest"] = max(0.0, spent["both"] - sum(parts.values()))
        start = 0.0
        for colour, (part, width) in zip(
            ("#bbbbbb", "#e0a030", OWN_COLOUR, "#60a060"), parts.items(), strict=True
        ):
            axes.barh(place, width, left=start, color=colour, label=part if place == 0 else None)
            start += width
        axes.text(start, place, f" {spent['both']:.1f}", va="center", fontsize=8)
    axes.set_yticks(range(len(by)), list(by))
    axes.set_xlabel("p50 of a fused search, microseconds")
    axes.legend(fontsize=8)
    return True


def tails(axes: Any, reports: Reports) -> bool:
    """Draw p50 to p99.9 of each workload of fused searches."""
    found = of_kind(reports, "latency")
    rows = [
        row
        for report in found
        for row in report["rows"]
        if row["how"].startswith(("hybrid", "quiet", "written"))
    ]
    if not rows:
        return False
    percentiles = ("p50", "p95", "p99", "p99.9")
    for row in rows:
        label = f"{row['workload']}, {row['how']}"
        axes.plot(percentiles, [row[name] for name in percentiles], marker="o", markersize=3, label=label)
    axes.set_yscale("log")
    axes.set_ylabel("microseconds")
    axes.legend(fontsize=6, ncols=2)
    axes.grid(alpha=0.3)
    return True


def lines(axes: Any, points: dict[str, list[tuple[int, float]]], across: str, up: str) -> None:
    """Draw a line for each engine, both axes logarithmic."""
    strokes = iter(("-", "--", ":", "-.", "-", "--"))
    for engine, pairs in points.items():
        own = engine.startswith("scrubjay")
        style: dict[str, Any] = {"linewidth": 1.0}
        if own:
            style = {"color": OWN_COLOUR, "linewidth": 2.5, "linestyle": next(strokes, "-")}
        xs, ys = zip(*sorted(pairs), strict=True)
        axes.plot(xs, ys, marker="o", markersize=3, label=engine, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.legend(fontsize=7, ncols=2)
    axes.grid(alpha=0.3, which="both")


PLOTS: dict[str, tuple[str, Callable[[Any, Reports], bool]]] = {
    "hybrid.png": ("A hybrid search of one user's memories, from Python", hybrid_bars),
    "hybrid_latency_by_size.png": ("Hybrid search of one user's memories", hybrid_by_size),
    "hybrid_recall_by_latency.png": ("Recall against latency, hybrid", hybrid_recall),
    "vector_latency_by_size.png": ("Vector search at recall .99 (scrubjay: each setting)", vector_by_size),
    "vector_recall_by_latency.png": ("Recall against latency, vectors", vector_recall),
    "stages.png": ("Time by stage", stages),
    "tails.png": ("Tails", tails),
}
