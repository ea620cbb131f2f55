"""BM25 engines in one run: the same terms, the same k, one pinned core, calls from Python one by one.

    python -m benchmarks.compare lexical [--quick | --full] [--sizes N,N] [--k N,N] [--kinds nat,kw]
                                         [--texts NAME] [--json FILE] [--markdown FILE]

Long questions: --texts changelogs --sizes 30000 --kinds w1,w6,w30,w100,w200 --k 10,100,1000 --no-writes.

Ratios come first, because absolute times drift on shared machines. Beside each time is T_min, the lower bound given by
the numbers of postings, documents and terms of the query. Exit code 1 if Scrubjay's results differ from the formula's.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare import cells, exact, lexical_engines, machine, tables, texts, timing, workload, writes
from benchmarks.compare.lexical_engines import ENGINES, NEEDS, LexicalEngine
from benchmarks.compare.workload import QUERY_KINDS, Terms

QUICK_SIZES, DEFAULT_SIZES, FULL_SIZES = (500,), (1_000, 10_000, 60_000), (1_000, 10_000, 60_000, 1_000_000)
N_QUERIES, N_QUICK_QUERIES = 2_000, 40
SECONDS_A_PASS = 20.0


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def installed(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the engines whose packages are installed, and the others."""
    there: list[str] = []
    for name in names:
        try:
            for package in NEEDS[name]:
                importlib.import_module(package)
            there.append(name)
        except ImportError:
            continue
    return there, [name for name in names if name not in there]


def build(name: str, documents: Sequence[str], terms: Terms) -> tuple[LexicalEngine, dict[str, Any]]:
    engine = ENGINES[name]()
    started = time.perf_counter()
    engine.build(documents, terms)
    seconds = time.perf_counter() - started
    say(f"  {name}: {len(documents):,} documents in {seconds:.1f} s")
    facts: dict[str, Any] = {"seconds": seconds, "documents_per_second": len(documents) / seconds}
    if hasattr(engine, "n_segments"):
        facts["segments"] = engine.n_segments
    return engine, facts


def measure_size(
    names: Sequence[str], documents: Sequence[str], terms: Terms, options: argparse.Namespace
) -> dict[str, Any]:
    """Measure everything about one size of the collection."""
    n = len(documents)
    say(f"{n:,} documents")
    own = exact.Exhaustive(terms)
    peers = own.of_peers(terms)
    engines, built = [], {}
    for name in names:
        engine, built[name] = build(name, documents, terms)
        engines.append(engine)
    report: dict[str, Any] = {
        "documents": n,
        "postings": int(own.postings.sum()),
        "build": built,
        "cells": [],
    }
    for kind in options.kinds:
        queries = options.queries[kind]
        floors = np.array([own.floor_ns(query) for query in queries]) / 1e3
        for k in options.k:
            cell: dict[str, Any] = {
                "kind": kind,
                "k": k,
                "terms": float(np.mean([len(query.distinct) for query in queries])),
                "postings": float(np.mean([own.n_postings(query) for query in queries])),
                "floor_us": {
                    name: float(np.percentile(floors, at)) for name, at in timing.PERCENTILES.items()
                },
                "engines": cells.measure(engines, queries, k, options.seconds),
                "check": cells.check(engines, queries, k, own, peers),
            }
            report["cells"].append(cell)
            say("  " + tables.cell_line(cell))
    scrubjay = next((engine for engine in engines if isinstance(engine, lexical_engines.Scrubjay)), None)
    if scrubjay:
        report["memory"] = writes.memory(scrubjay)
    if options.writes:
        report["writes"] = writes.single_writes(engines, options.extra_texts, options.extra_terms, n)
    return report


def numbers(value: str) -> tuple[int, ...]:
    return tuple(int(number.replace("_", "")) for number in value.split(","))


def names_of(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of lists of known names."""

    def read(value: str) -> tuple[str, ...]:
        names = tuple(value.split(","))
        if unknown := sorted(set(names) - set(known)):
            raise argparse.ArgumentTypeError(f"expected some of {','.join(known)}, got {','.join(unknown)}")
        return names

    return read


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare lexical", description=about)
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="500 documents, few queries: does it run?")
    amount.add_argument(
        "--full", action="store_true", help="also 1,000,000 documents, all kinds of queries, deletes"
    )
    parser.add_argument("--sizes", type=numbers, help="documents (default 1000,10000,60000)")
    parser.add_argument("--k", type=numbers, help="hits asked for (default 10,100)")
    kinds = names_of(tuple(QUERY_KINDS))
    parser.add_argument(
        "--kinds", type=kinds, help=f"of {','.join(QUERY_KINDS)} (default nat,kw; --full: all)"
    )
    which = "`changelogs` of this machine or a judged set of $SCRUBJAY_DATA (default: package descriptions)"
    parser.add_argument("--texts", metavar="NAME", help=which)
    engines = names_of(tuple(ENGINES))
    parser.add_argument(
        "--engines", type=engines, default=tuple(ENGINES), help=f"of {','.join(ENGINES)} (default: all)"
    )
    parser.add_argument("--n-queries", type=int, help=f"queries a cell (default {N_QUERIES:,})")
    longest = "of one pass of one engine; a slower one gets fewer queries, at least 8, and the table says so"
    parser.add_argument("--seconds", type=float, default=SECONDS_A_PASS, help=longest)
    parser.add_argument("--no-writes", dest="writes", action="store_false", help="no additions and deletes")
    parser.add_argument(
        "--deletes", action="store_true", help="do spread deletes slow the queries? (--full: yes)"
    )
    parser.add_argument("--core", type=int, help="the core to pin to (default: the last one allowed)")
    parser.add_argument("--seed", type=int, default=0)
    fetch = "first bring Debian's long descriptions into the cache"
    parser.add_argument("--fetch-descriptions", action="store_true", help=fetch)
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args(arguments)
    usual = QUICK_SIZES if options.quick else FULL_SIZES if options.full else DEFAULT_SIZES
    options.sizes = options.sizes or usual
    options.k = options.k or ((10,) if options.quick else (10, 100))
    options.kinds = options.kinds or (tuple(QUERY_KINDS) if options.full or options.quick else ("nat", "kw"))
    options.n_queries = options.n_queries or (N_QUICK_QUERIES if options.quick else N_QUERIES)
    options.deletes |= options.quick or options.full
    return options


def prepare(source: texts.Source, options: argparse.Namespace) -> tuple[list[str], Terms]:
    """Return the documents of the largest size and their terms; queries and further texts are set on the options."""
    documents = workload.documents(source, max(options.sizes), options.seed)
    cache_name = None if options.quick else f"{source.fingerprint}-{options.seed}"
    terms = workload.terms_of(documents, cache_name=cache_name)
    _, held_out = workload.shuffled(source, options.seed)
    options.queries = {
        kind: workload.queries(kind, options.n_queries, held_out, terms, options.seed)
        for kind in options.kinds
    }
    options.extra_texts = held_out[: 50 if options.quick else 2_000]
    options.extra_terms = workload.terms_of(options.extra_texts)
    return documents, terms


def source_of(options: argparse.Namespace) -> texts.Source:
    if options.texts == "changelogs":
        return texts.changelogs()
    return texts.judged(options.texts) if options.texts else texts.source(use_system=not options.quick)


def run(options: argparse.Namespace) -> dict[str, Any]:
    core = machine.pin(options.core)
    if options.fetch_descriptions:
        texts.fetch_descriptions()
    source = source_of(options)
    names, missing = installed(options.engines)
    documents, terms = prepare(source, options)
    report: dict[str, Any] = {
        "benchmark": "lexical",
        "machine": {**machine.describe(), "core": core},
        "corpus": {
            "source": source.kind,
            "real_passages": len(source.passages),
            "seed": options.seed,
            "queries": options.n_queries,
        },
        "engines": {name: lexical_engines.notes()[name] for name in names},
        "missing": missing,
        "sizes": [measure_size(names, documents[:n], terms.head(n), options) for n in sorted(options.sizes)],
        "tiny_partitions": [],
    }
    if "scrubjay" in names:
        n_partitions = 50 if options.quick else 2_000
        report["tiny_partitions"] = [
            writes.tiny_partitions(options.extra_texts, n_partitions, n_words) for n_words in (6, 30)
        ]
    if "scrubjay" in names and options.deletes:
        n = min(60_000, len(documents))
        queries = options.queries[options.kinds[0]]
        report["deletes"] = writes.deletes_spread(documents[:n], terms.head(n), queries, n // 60)
    return report


def wrong_cells(report: dict[str, Any]) -> list[str]:
    """Return the cells in which Scrubjay differs from the exhaustive formula."""
    wrong = []
    for size, cell in tables.each_cell(report):
        facts = cell["check"].get("scrubjay")
        if facts and facts["identical"] < facts["queries"]:
            where = f"{size['documents']:,} documents, {cell['kind']}, k={cell['k']}"
            wrong.append(f"{where}: {facts['identical']} of {facts['queries']} queries equal the formula")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    report = run(options)
    page = tables.lexical_page(report)
    print(page)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(page + "\n", encoding="utf-8")
    wrong = wrong_cells(report)
    for line in wrong:
        say(f"NOT EXACT: {line}")
    return 1 if wrong else 0
