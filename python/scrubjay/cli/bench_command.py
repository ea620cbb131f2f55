"""`scrubjay bench`: retrieval figures by category on a public data set."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from scrubjay.bench import FORMATS, IndexSearcher, Report, format_of, open_dataset, run, write_hypotheses
from scrubjay.bench.answerers import Answerer
from scrubjay.bench.datasets import Dataset
from scrubjay.bench.figures import Figures
from scrubjay.cli.functions import named_function
from scrubjay.cli.outputs import check_output
from scrubjay.cli.reader_state import InputError
from scrubjay.cli.terminal import dim, render_table
from scrubjay.cli.tune_command import as_query
from scrubjay.embedders.spec import from_spec

_OPTIONS = {
    "beir": {"split", "vectors"},
    "judged": {"split", "vectors"},
    "longmemeval": {"granularity", "roles"},
    "locomo": set[str](),
    "memoryagentbench": {"chunk_words", "sources"},
}
"""Format -> its options on the command line."""


def run_bench(arguments: argparse.Namespace) -> int:
    """Run `scrubjay bench`; 0 if there were questions, 1 if there were none."""
    dataset = _dataset(arguments)
    answerer = None if arguments.answerer is None else load_answerer(arguments.answerer)
    if arguments.hypotheses is not None:
        if answerer is None:
            raise InputError("--hypotheses: expected an --answerer, which gives the answers")
        check_output(arguments.hypotheses, force=arguments.force, reads=[Path(arguments.source)])
    spec = "default" if arguments.embedder == "auto" else arguments.embedder
    embedder = None if arguments.vectors is not None else from_spec(spec)
    query = as_query(arguments.fusion).replace(mode=arguments.mode)
    report = run(
        dataset,
        lambda: IndexSearcher(embedder, query),
        k=arguments.k,
        answerer=answerer,
        passes=arguments.passes,
        limit=arguments.limit,
        progress=False if arguments.no_progress else None,
    )
    if arguments.hypotheses is not None:
        write_hypotheses(arguments.hypotheses, report.answers, replace=arguments.force)
    if arguments.json:
        settings = {
            "source": arguments.source,
            "embedder": None if embedder is None else embedder.name,
            "query": query.to_dict(),
            "k": arguments.k,
            "passes": arguments.passes,
        }
        print(json.dumps({**report.to_dict(), "settings": settings}, ensure_ascii=False, indent=2))
    else:
        show(report)
    return 0 if report.n_questions else 1


def load_answerer(spec: str) -> Answerer:
    """Import the MODULE:FUNCTION of --answerer, also from modules of the working directory."""
    return cast("Callable[[Any], str]", named_function("--answerer", spec))


def _dataset(arguments: argparse.Namespace) -> Dataset:
    format = arguments.format or format_of(arguments.source)
    options = {}
    for name in ("split", "vectors", "granularity", "roles", "chunk_words", "sources"):
        value = getattr(arguments, name)
        if value is None:
            continue
        if name not in _OPTIONS[format]:
            fitting = ", ".join(each for each in FORMATS if name in _OPTIONS[each])
            raise InputError(f"--{name.replace('_', '-')}: expected the format {fitting}, this is {format}")
        options[name] = value
    return open_dataset(arguments.source, format, **options)


def show(report: Report) -> None:
    """Print a table of categories, and the environment of the measurement."""
    everything = report.all
    times = ["search_us"] if everything.search_us else []
    if any(everything.embed_us.values()):
        times.append("embed_us")
    head = ["category", "n", *everything.quality, *everything.answer]
    head += [f"{time.replace('_', ' ')} p50/p95" for time in times]
    parts = list(report.categories.items())
    rows = [_cells(name, figures, everything, times) for name, figures in parts if len(parts) > 1]
    print(render_table(head, [*rows, _cells("all", everything, everything, times)], stretch=0))
    unjudged = everything.n - everything.n_judged
    print(
        dim(
            f"{report.dataset}: {report.n_cases:,} cases, {report.n_documents:,} documents stored in "
            f"{report.load_seconds:.1f} s; {everything.n_judged:,} questions judged"
            + (f", {unjudged:,} without relevant documents" if unjudged else "")
        )
    )


def _cells(name: str, figures: Figures, everything: Figures, times: Sequence[str]) -> list[str]:
    cells = [name, f"{figures.n:,}"]
    cells += [_rate(figures.quality, measure) for measure in everything.quality]
    cells += [_rate(figures.answer, measure) for measure in everything.answer]
    return cells + [_tail(getattr(figures, time)) for time in times]


def _rate(measures: dict[str, float], name: str) -> str:
    return f"{measures[name]:.3f}" if name in measures else "-"


def _tail(times: dict[str, float]) -> str:
    return f"{times['p50']:,.0f}/{times['p95']:,.0f}" if times else "-"
