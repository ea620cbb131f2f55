"""BM25 engines in one run: the same terms, the same k, one pinned core, calls from Python one by one.

    python -m benchmarks.compare lexical [--quick | --full] [--sizes N,N] [--k N,N] [--kinds nat,kw] [--json FILE] [--markdown FILE]

Ratios come first: absolute times drift on shared machines. Beside each time stands T_min, the floor that the number of
postings, documents and terms of the query allows. Exit code 1 if Scrubjay's results differ from the exhaustive formula.
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

from benchmarks.compare import exact, lexical_engines, machine, tables, texts, timing, workload, writes
from benchmarks.compare.lexical_engines import ENGINES, NEEDS, LexicalEngine
from benchmarks.compare.workload import QUERY_KINDS, Query, Terms

QUICK_SIZES, DEFAULT_SIZES, FULL_SIZES = (500,), (1_000, 10_000, 60_000), (1_000, 10_000, 60_000, 1_000_000)
N_QUERIES, N_QUICK_QUERIES = 2_000, 40
N_PASSES = 3
N_CHECKED_POSTINGS = 20_000_000
MAX_CHECKED, LEAST_CHECKED = 200, 10
SECONDS_A_PASS = 20.0
"""An engine that needs longer for the queries of a cell gets fewer of them, at least 8; the table says so."""
SLOW = 1.5
"""One that needs even longer than this share of it gets one pass."""


def say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def installed(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The engines whose packages are there, and those that are left out."""
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


def calls_of(engine: LexicalEngine) -> dict[str, Callable[[Query, int], Any]]:
    """How an engine is called, under the names of the table's rows."""
    calls = {engine.name: engine.search}
    if hasattr(engine, "bare"):
        calls[f"{engine.name} bare"] = engine.bare
    return calls


def measure_cell(engines: Sequence[LexicalEngine], queries: Sequence[Query], k: int, seconds: float) -> dict[str, Any]:
    """Percentiles for each way to call each engine; the passes alternate between the engines."""
    calls = {name: call for engine in engines for name, call in calls_of(engine).items()}
    items = {name: timing.affordable(lambda query, call=call: call(query, k), queries, seconds) for name, call in calls.items()}  # type: ignore[misc]
    passes: dict[str, list[Any]] = {name: [] for name in calls}
    for number in range(N_PASSES):
        for name, call in calls.items():
            if number and passes[name][0].sum() > SLOW * seconds * 1e9:
                continue
            passes[name].append(timing.time_calls(lambda query, call=call: call(query, k), items[name]))  # type: ignore[misc]
    return {name: {**timing.percentiles_us(passes[name]), "queries": len(items[name])} for name in calls}


def check(engines: Sequence[LexicalEngine], queries: Sequence[Query], k: int, own: exact.Exhaustive, peers: exact.Exhaustive) -> dict[str, Any]:
    """For each engine the mean share of its formula's k best that it returns, and its mean overlap with Scrubjay's."""
    postings = max(1, int(np.mean([own.n_postings(query) for query in queries])) + own.n_documents)
    n_checked = max(LEAST_CHECKED, min(MAX_CHECKED, N_CHECKED_POSTINGS // postings))
    checked = queries[:: max(1, len(queries) // n_checked)][:n_checked]
    report: dict[str, Any] = {}
    reference = [exact.best(own.scores(query), k).tolist() for query in checked]
    for engine in engines:
        if engine.name == "fts5":
            found = [engine.found(query, k) for query in checked[:LEAST_CHECKED]]
        else:
            found = [engine.found(query, k) for query in checked]
        facts = {
            "queries": len(found),
            "recall": float(np.mean([exact.recall(one, peers.scores(query), k) for one, query in zip(found, checked, strict=False)])),
            "overlap": float(np.mean([len(set(one) & set(right)) / max(1, len(right)) for one, right in zip(found, reference, strict=False)])),
        }
        if isinstance(engine, lexical_engines.Scrubjay):
            facts["recall"] = float(np.mean([exact.recall(one, own.scores(query), k) for one, query in zip(found, checked, strict=True)]))
            facts["identical"] = sum(scrubjay_is_exact(engine, query, k, own) for query in checked)
        report[engine.name] = facts
    return report


def scrubjay_is_exact(engine: lexical_engines.Scrubjay, query: Query, k: int, own: exact.Exhaustive) -> bool:
    """Same documents, same order, same scores to the last bit."""
    ids, scores = engine.search(query, k)
    right = own.scores(query)
    best = exact.best(right, k)
    return bool(np.array_equal(np.asarray(ids), best) and np.array_equal(np.asarray(scores), right[best]))


def measure_size(n: int, names: Sequence[str], documents: Sequence[str], terms: Terms, options: argparse.Namespace) -> dict[str, Any]:
    """Everything about one size of the collection."""
    say(f"{n:,} documents")
    own = exact.Exhaustive(terms)
    peers = own.of_peers(terms)
    engines, built = [], {}
    for name in names:
        engine, built[name] = build(name, documents, terms)
        engines.append(engine)
    report: dict[str, Any] = {"documents": n, "postings": int(own.postings.sum()), "build": built, "cells": []}
    for kind in options.kinds:
        queries = options.queries[kind]
        floors = np.array([own.floor_ns(query) for query in queries]) / 1e3
        for k in options.k:
            cell: dict[str, Any] = {
                "kind": kind,
                "k": k,
                "terms": float(np.mean([len(query.distinct) for query in queries])),
                "postings": float(np.mean([own.n_postings(query) for query in queries])),
                "floor_us": {name: float(np.percentile(floors, at)) for name, at in timing.PERCENTILES.items()},
                "engines": measure_cell(engines, queries, k, options.seconds),
                "check": check(engines, queries, k, own, peers),
            }
            report["cells"].append(cell)
            say("  " + tables.cell_line(cell))
    scrubjay = next((engine for engine in engines if isinstance(engine, lexical_engines.Scrubjay)), None)
    if scrubjay:
        report["memory"] = writes.memory(scrubjay)
    if options.writes:
        report["writes"] = writes.single_writes(engines, options.extra_texts, options.extra_terms, n)
    return report


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    def numbers(value: str) -> tuple[int, ...]:
        return tuple(int(number.replace("_", "")) for number in value.split(","))

    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare lexical", description=(__doc__ or "").split("\n")[0])
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="500 documents, few queries: does it run?")
    amount.add_argument("--full", action="store_true", help="also 1,000,000 documents, long and stop-word queries, deletes")
    parser.add_argument("--sizes", type=numbers, help="documents, ascending (default 1000,10000,60000)")
    parser.add_argument("--k", type=numbers, help="hits asked for (default 10,100)")
    parser.add_argument("--kinds", type=lambda value: tuple(value.split(",")), help=f"of {','.join(QUERY_KINDS)} (default nat,kw; --full: all)")
    parser.add_argument("--engines", type=lambda value: tuple(value.split(",")), default=tuple(ENGINES), help=f"of {','.join(ENGINES)}")
    parser.add_argument("--n-queries", type=int, help=f"queries a cell (default {N_QUERIES:,})")
    parser.add_argument("--seconds", type=float, default=SECONDS_A_PASS, help="for one pass of one engine, before it gets fewer queries")
    parser.add_argument("--no-writes", dest="writes", action="store_false", help="leave out additions and deletes")
    parser.add_argument("--core", type=int, help="the core to pin to (default: the last one allowed)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fetch-descriptions", action="store_true", help="first bring Debian's long descriptions into the cache")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args(arguments)
    options.sizes = options.sizes or (QUICK_SIZES if options.quick else FULL_SIZES if options.full else DEFAULT_SIZES)
    options.k = options.k or ((10,) if options.quick else (10, 100))
    options.kinds = options.kinds or (tuple(QUERY_KINDS) if options.full or options.quick else ("nat", "kw"))
    options.n_queries = options.n_queries or (N_QUICK_QUERIES if options.quick else N_QUERIES)
    for given, known in ((options.kinds, QUERY_KINDS), (options.engines, ENGINES)):
        if unknown := sorted(set(given) - set(known)):
            parser.error(f"expected some of {', '.join(known)}, got {', '.join(unknown)}")
    return options


def run(options: argparse.Namespace) -> dict[str, Any]:
    core = machine.pin(options.core)
    if options.fetch_descriptions:
        texts.fetch_descriptions()
    source = texts.source(use_system=not options.quick)
    names, missing = installed(options.engines)
    largest = max(options.sizes)
    documents = workload.documents(source, largest, options.seed)
    cache_name = None if options.quick else f"{source.fingerprint}-{options.seed}"
    terms = workload.terms_of(documents, cache_name=cache_name)
    _, held_out = workload.shuffled(source, options.seed)
    options.queries = {kind: workload.queries(kind, options.n_queries, held_out, terms, options.seed) for kind in options.kinds}
    n_extra = min(len(held_out), 50 if options.quick else 2_000)
    options.extra_texts = held_out[:n_extra]
    options.extra_terms = workload.terms_of(options.extra_texts)
    n_partitions = 50 if options.quick else 2_000
    tiny = [writes.tiny_partitions(held_out, n_partitions, n_words) for n_words in (6, 30)] if "scrubjay" in names else []
    report: dict[str, Any] = {
        "benchmark": "lexical",
        "machine": {**machine.describe(), "core": core},
        "corpus": {"source": source.kind, "real_passages": len(source.passages), "seed": options.seed, "queries": options.n_queries},
        "engines": {name: lexical_engines.notes()[name] for name in names},
        "missing": missing,
        "tiny_partitions": tiny,
        "sizes": [],
    }
    for n in sorted(options.sizes):
        report["sizes"].append(measure_size(n, names, documents[:n], terms.head(n), options))
    if "scrubjay" in names and (options.full or options.quick):
        n = min(60_000, largest)
        report["deletes"] = writes.deletes_spread(documents[:n], terms.head(n), options.queries[options.kinds[0]], n // 60)
    return report


def wrong_cells(report: dict[str, Any]) -> list[str]:
    """Where Scrubjay is not the exhaustive formula."""
    return [
        f"{size['documents']:,} documents, {cell['kind']}, k={cell['k']}: {facts['identical']} of {facts['queries']} queries equal the formula"
        for size in report["sizes"]
        for cell in size["cells"]
        if (facts := cell["check"].get("scrubjay")) and facts["identical"] < facts["queries"]
    ]


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
