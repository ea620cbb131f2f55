"""The default ranking against its parts, on texts that it was not tuned on.

    python -m benchmarks.quality.known_items [--transformer FOLDER] [--json FILE]

The sets are those of `machine_sets.py`, so their texts differ between machines. For each set and embedder (WordLlama,
the table of the package, and, given a folder with an ONNX model, a bge model in it): nDCG@10, recall@10 and recall@100
of the default, of both arms and of every fixed fusion of the package, and the difference of the default from the best
of the others (from RRF(60) in recall@100), with a 95% interval of the mean difference by resampling the questions. The
best of eleven is chosen after the fact, so a default as good as any is slightly below it; "below" marks differences
beyond the tolerance of `acceptance.py` whose interval excludes 0.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import metrics
from benchmarks.quality.acceptance import DEPTH, MOST_BELOW
from benchmarks.quality.machine_sets import MachineSet, machine_sets
from benchmarks.quality.rankers import native_scope

N_RESAMPLED = 1000

Figures = NDArray[np.float64]
"""One row for each question, one column for each of MOST_BELOW."""


def searches() -> dict[str, Any]:
    """Return the searches: the default first, then those it is compared with."""
    from scrubjay import RRF, Boost, Production, Query, Weighted

    plain: dict[str, Any] = {
        "identifier_tier": False,
        "dates": False,
        "neighbours": False,
        "candidates": DEPTH,
    }
    return {
        "default": Query(),
        "BM25": Query(mode="lexical"),
        "vectors": Query(mode="vector"),
        "RRF(10)": Query(RRF(10), **plain),
        "RRF(60)": Query(RRF(60), **plain),
        **{
            f"weighted, {normalise}": Query(Weighted(normalise=normalise), **plain)
            for normalise in ("zscore", "minmax", "max", "logistic")
        },
        "boost": Query(Boost(), **plain),
        "production": Query(Production(), **plain),
    }


def figures(judged: MachineSet, embedder: Any) -> dict[str, Figures]:
    """Return the figures of each search, for every question that has a vector."""
    from scrubjay import _native

    engine = _native.Engine()
    vectors = np.asarray(embedder.embed_documents([document.text for document in judged.documents]))
    engine.upsert_many(
        [document.id for document in judged.documents],
        [document.text for document in judged.documents],
        scope=[native_scope(document.scope) for document in judged.documents],
        vectors=[row if row.any() else None for row in vectors],
    )
    asked = np.asarray(embedder.embed_queries([question.text for question in judged.questions]))
    report: dict[str, Figures] = {}
    for name, query in searches().items():
        rows = []
        for question, vector in zip(judged.questions, asked, strict=True):
            if not vector.any():
                continue
            scope = native_scope(question.scope)
            found = list(engine.search(question.text, vector=vector, scope=scope, k=DEPTH, query=query).ids)
            rows.append(
                (
                    metrics.ndcg(found[:10], question.relevant),
                    metrics.recall(found[:10], question.relevant),
                    len(question.relevant & set(found)) / len(question.relevant),
                )
            )
        report[name] = np.array(rows)
    return report


def compared(report: dict[str, Figures]) -> dict[str, dict[str, Any]]:
    """Return for each figure the best other search, the mean difference, its interval, and whether it is below."""
    chance = np.random.default_rng(0)
    others = [name for name in report if name != "default"]
    comparison: dict[str, dict[str, Any]] = {}
    for column, (figure, most) in enumerate(MOST_BELOW.items()):
        means = {name: report[name][:, column].mean() for name in others}
        held_to = "RRF(60)" if figure == "recall@100" else max(others, key=means.__getitem__)
        by = report["default"][:, column] - report[held_to][:, column]
        resampled = by[chance.integers(len(by), size=(N_RESAMPLED, len(by)))].mean(axis=1)
        low, high = np.quantile(resampled, [0.025, 0.975])
        comparison[figure] = {
            "held to": held_to,
            "by": float(by.mean()),
            "interval": (float(low), float(high)),
            "below": bool(by.mean() < -most and high < 0),
        }
    return comparison


def chosen_embedders(transformer: Path | None) -> dict[str, Any]:
    from scrubjay import embedders
    from scrubjay.embedders.spec import from_spec

    chosen: dict[str, Any] = {"WordLlama": embedders.default(), "own table": from_spec("static")}
    if transformer is not None:
        chosen["transformer"] = embedders.OnnxFolder(
            transformer,
            pooling="cls",
            max_length=128,
            query_prefix="Represent this sentence for searching relevant passages: ",
        )
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.known_items", description=__doc__)
    parser.add_argument(
        "--transformer", type=Path, help="a folder with model.onnx and tokenizer.json of a bge model"
    )
    parser.add_argument("--root", type=Path, default=Path("/"), help="where the texts of the machine are")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    chosen = chosen_embedders(options.transformer)
    written: dict[str, Any] = {}
    means: dict[str, list[Figures]] = {}
    for judged in machine_sets(options.root):
        for name, embedder in chosen.items():
            report = figures(judged, embedder)
            comparison = compared(report)
            pair = f"{judged.name}, {name}"
            written[pair] = {
                "questions": len(judged.questions),
                "documents": len(judged.documents),
                "means": {search: rows.mean(axis=0).tolist() for search, rows in report.items()},
                "compared": comparison,
            }
            for search, rows in report.items():
                means.setdefault(search, []).append(rows.mean(axis=0))
            print(f"{pair}: {len(judged.questions)} questions, {len(judged.documents)} documents")
            for figure, said in comparison.items():
                low, high = said["interval"]
                below = "  below" if said["below"] else ""
                print(
                    f"  {figure:<12}{said['by']:+.4f} ({low:+.4f} to {high:+.4f}) from {said['held to']}{below}"
                )
    print(f"\n{'mean of all pairs':<22}" + "".join(f"{figure:>12}" for figure in MOST_BELOW))
    for search, rows in means.items():
        print(f"{search:<22}" + "".join(f"{value:12.4f}" for value in np.mean(rows, axis=0)))
    if options.json:
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
