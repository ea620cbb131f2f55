"""The default ranking against its parts, on sets and models derived from the judged ones.

    python -m benchmarks.quality.unseen [--data DIR] [--set NAME ...] [--queries N] [--json FILE]

Trial pairs are derived from the judged sets. Sets: a half and a quarter of the memories, all scopes in one, and scopes
of 24 memories each.
Vectors: WordLlama cut to 64 dimensions, the table of the package, bge with noise (a cosine of .8 to the original) and
randomly projected to 64 dimensions, and latent semantic analysis of the texts. For each pair: nDCG@10, recall@10 and
recall@100 of the default minus the best of both arms and of every fixed fusion (RRF(60) in recall@100), with the
interval of `known_items.py`; then, for each ranking, its mean difference from the default and the number of pairs on
which it is better. The best of fourteen is chosen after the fact, so a default as good as any is slightly below it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import metrics
from benchmarks.quality.acceptance import DEPTH, MOST_BELOW, SETS
from benchmarks.quality.judged import WHOLE_CORPUS, JudgedSet, Memory, Query, data_folder, judged_sets
from benchmarks.quality.known_items import Figures, compared
from benchmarks.quality.rankers import asked_then, native_engine, native_scope

Vectors = NDArray[np.float32]

NOISE = 0.75
"""Length of the noise added to a unit vector: the cosine to the original is about .8."""
FEW_DIMENSIONS = 64
POWER_ITERATIONS = 2
PART_OF_TERMS = 200_000
"""Occurrences of terms that are multiplied at once."""


@dataclass(frozen=True)
class Trial(JudgedSet):
    """A judged set with other memories, or with vectors of another model."""

    variant: str = "whole"

    @cached_property
    def memories(self) -> list[Memory]:
        memories = JudgedSet(self.folder).memories
        if self.variant == "merged":
            return [_merged(memory) for memory in memories]
        if self.variant == "small":
            return [replace(memory, scope=self.small_scopes[memory.id]) for memory in memories]
        return [memory for memory in memories if _drawn(memory.id) < PARTS[self.variant]]

    @cached_property
    def queries(self) -> list[Query]:
        """The queries that still have a judgement."""
        queries = JudgedSet(self.folder).queries
        if self.variant == "merged":
            return [replace(query, scope=WHOLE_CORPUS) for query in queries]
        if self.variant == "small":
            return [self._within_small_scope(query) for query in queries]
        ids = {memory.id for memory in self.memories}
        left = [replace(query, relevant=query.relevant & ids) for query in queries]
        return [query for query in left if query.relevant]

    @cached_property
    def small_scopes(self) -> dict[str, str]:
        """The scope of each memory if every scope is cut into parts of 24 consecutive memories."""
        n_before: Counter[str] = Counter()
        scopes = {}
        for memory in JudgedSet(self.folder).memories:
            scopes[memory.id] = f"{memory.scope} {n_before[memory.scope] // SMALL}"
            n_before[memory.scope] += 1
        return scopes

    def _within_small_scope(self, query: Query) -> Query:
        """Return the query in the first scope that has a relevant memory, judged by those of this scope."""
        scope = min(self.small_scopes[id] for id in query.relevant)
        relevant = frozenset(id for id in query.relevant if self.small_scopes[id] == scope)
        return replace(query, scope=scope, relevant=relevant)

    def document_vectors(self, model: str) -> Vectors:
        return MODELS[model](self)[0]

    def query_vectors(self, model: str) -> Vectors:
        return MODELS[model](self)[1]

    @cached_property
    def texts(self) -> tuple[list[str], list[str]]:
        """The texts of all memories and questions of the folder, in the order of its vectors."""
        return (
            [str(row["text"]) for row in self._lines("corpus.jsonl")],
            [str(row["text"]) for row in self._lines("queries.jsonl")],
        )

    def stored(self, model: str) -> tuple[Vectors, Vectors]:
        original = JudgedSet(self.folder)
        return _unit(original.document_vectors(model)), _unit(original.query_vectors(model))


PARTS = {"whole": 1.0, "half": 0.5, "quarter": 0.25}
VARIANTS = (*PARTS, "merged", "small")
SMALL = 24
"""The number of memories of a small scope."""


def _drawn(id: str) -> float:
    return int.from_bytes(sha256(f"unseen {id}".encode()).digest()[:4], "big") / 2**32


def _merged(memory: Memory) -> Memory:
    """Return the memory in the scope of all, with its run distinct from those of other scopes."""
    turn = memory.turn and {**memory.turn, "run": f"{memory.scope} {memory.turn['run']}"}
    return replace(memory, scope=WHOLE_CORPUS, turn=turn)


def _unit(vectors: Vectors) -> Vectors:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


def _stored(model: str) -> Callable[[Trial], tuple[Vectors, Vectors]]:
    return lambda trial: trial.stored(model)


def _cut(trial: Trial) -> tuple[Vectors, Vectors]:
    documents, queries = trial.stored("wordllama256")
    return _unit(documents[:, :FEW_DIMENSIONS]), _unit(queries[:, :FEW_DIMENSIONS])


def _noised(trial: Trial) -> tuple[Vectors, Vectors]:
    chance = np.random.default_rng(0)
    documents, queries = trial.stored("bge_small_int8")

    def noised(vectors: Vectors) -> Vectors:
        noise = chance.standard_normal(vectors.shape) * (NOISE / np.sqrt(vectors.shape[1]))
        return _unit(vectors + noise.astype(np.float32))

    return noised(documents), noised(queries)


def _projected(trial: Trial) -> tuple[Vectors, Vectors]:
    documents, queries = trial.stored("bge_small_int8")
    directions = np.random.default_rng(0).standard_normal((documents.shape[1], FEW_DIMENSIONS))
    return _unit(documents @ directions), _unit(queries @ directions)


def _tabled(trial: Trial) -> tuple[Vectors, Vectors]:
    from scrubjay.embedders.spec import from_spec

    embedder: Any = from_spec("static")
    documents, queries = trial.texts
    return embedder.embed_documents(documents), embedder.embed_queries(queries)


def _latent(trial: Trial) -> tuple[Vectors, Vectors]:
    """Latent semantic analysis by a randomised range finder [Halko, Martinsson, Tropp 2011] of tf-idf."""
    documents, queries = trial.texts
    terms = [_terms(text) for text in documents]
    frequency = Counter(term for one in terms for term in one)
    columns = {term: place for place, term in enumerate(frequency)}
    weight = np.log(len(documents) / np.array(list(frequency.values())))

    def matrix(rows: list[Counter[str]]) -> _Sparse:
        known = [
            (row, columns[term], n)
            for row, one in enumerate(rows)
            for term, n in one.items()
            if term in columns
        ]
        row, column, n = (np.array(part) for part in zip(*known, strict=True))
        values = (1 + np.log(n)) * weight[column]
        length = np.sqrt(np.bincount(row, values**2, len(rows)))
        return _Sparse(row, column, values / np.maximum(length[row], 1e-9), (len(rows), len(columns)))

    held = matrix(terms)
    found = np.random.default_rng(0).standard_normal((len(columns), FEW_DIMENSIONS))
    for _ in range(POWER_ITERATIONS):
        found = np.linalg.qr(held.transposed @ (held @ found))[0]
    return _unit(held @ found), _unit(matrix([_terms(text) for text in queries]) @ found)


def _terms(text: str) -> Counter[str]:
    from scrubjay import _native

    return Counter(str(term) for term, *_ in _native.analyze(text))


@dataclass(frozen=True)
class _Sparse:
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    values: NDArray[np.float64]
    shape: tuple[int, int]

    @property
    def transposed(self) -> _Sparse:
        order = np.argsort(self.column, kind="stable")
        return _Sparse(self.column[order], self.row[order], self.values[order], self.shape[::-1])

    def __matmul__(self, other: NDArray[np.float64]) -> NDArray[np.float64]:
        product = np.zeros((self.shape[0], other.shape[1]))
        for start in range(0, len(self.row), PART_OF_TERMS):
            part = slice(start, start + PART_OF_TERMS)
            rows, first = np.unique(self.row[part], return_index=True)
            product[rows] += np.add.reduceat(
                other[self.column[part]] * self.values[part, None], first, axis=0
            )
        return product


MODELS: dict[str, Callable[[Trial], tuple[Vectors, Vectors]]] = {
    "wordllama256": _stored("wordllama256"),
    "wordllama64": _cut,
    "table": _tabled,
    "bge": _stored("bge_small_int8"),
    "bge noised": _noised,
    "bge64": _projected,
    "latent": _latent,
}
OF_PARTS = ("wordllama256", "table", "bge")
"""Models for the variants other than "whole"."""


def trials(judged: JudgedSet) -> Iterator[tuple[Trial, str]]:
    """Yield the trials of one set; "merged" is skipped for a set with one scope, "small" for one of small scopes."""
    for variant in VARIANTS:
        if variant == "merged" and len({query.scope for query in judged.queries}) == 1:
            continue
        if variant == "small" and max(Counter(memory.scope for memory in judged.memories).values()) <= SMALL:
            continue
        for model in MODELS if variant == "whole" else OF_PARTS:
            yield Trial(judged.folder, variant), model


def searches() -> dict[str, Any]:
    """Return the searches: the default first, then those it is compared with."""
    from scrubjay import RRF, Boost, Production, Weighted
    from scrubjay import Query as Asked

    plain: dict[str, Any] = {
        "identifier_tier": False, "dates": False, "neighbours": False, "candidates": DEPTH,
    }  # fmt: skip
    return {
        "default": Asked(),
        "BM25": Asked(mode="lexical"),
        "vectors": Asked(mode="vector"),
        "RRF(10)": Asked(RRF(10), **plain),
        "RRF(60)": Asked(RRF(60), **plain),
        "RRF(10), words twice": Asked(RRF(10, (1.0, 0.5))),
        "RRF(10), vectors twice": Asked(RRF(10, (0.5, 1.0))),
        **{
            f"weighted, {normalise}": Asked(Weighted(normalise=normalise))
            for normalise in ("zscore", "minmax", "max", "logistic")
        },
        "zscore .3/.7": Asked(Weighted((0.3, 0.7))),
        "zscore .7/.3": Asked(Weighted((0.7, 0.3))),
        "boost": Asked(Boost()),
        "production": Asked(Production()),
    }


def figures(trial: Trial, model: str, n_queries: int) -> dict[str, Figures]:
    """Return the figures of each search for `n_queries` questions, evenly spread."""
    engine, vectors = native_engine(trial, model), trial.query_vectors(model)
    queries = [query for query in trial.queries if vectors[query.row].any()]
    queries = queries[:: max(1, len(queries) // n_queries)]
    report: dict[str, Figures] = {}
    for name, asked in searches().items():
        rows = []
        for query in queries:
            found = list(
                engine.search(
                    query.text, vector=vectors[query.row], scope=native_scope(query.scope), k=DEPTH,
                    query=asked_then(asked, query),
                ).ids
            )  # fmt: skip
            rows.append(
                (
                    metrics.ndcg(found[:10], query.relevant),
                    metrics.recall(found[:10], query.relevant),
                    len(query.relevant & set(found)) / len(query.relevant),
                )
            )
        report[name] = np.array(rows)
    return report


def print_pair(pair: str, report: dict[str, Figures], comparison: dict[str, dict[str, Any]]) -> None:
    cells = "".join(
        f"{said['by']:+8.3f} {said['held to']:<22}{'below' if said['below'] else '':<6}"
        for said in comparison.values()
    )
    print(f"{pair:<36}{len(report['default']):>4} {cells}", flush=True)


def print_rankings(reports: Sequence[dict[str, Figures]]) -> None:
    """Print for each ranking the mean difference from the default, and how many pairs exceed it by over MOST_BELOW."""
    print(f"\n{'less the default, and better on':<36}" + "".join(f"{figure:>18}" for figure in MOST_BELOW))
    for name in list(searches())[1:]:
        by = np.array([(report[name] - report["default"]).mean(axis=0) for report in reports])
        better = (by > list(MOST_BELOW.values())).sum(axis=0)
        cells = "".join(f"{mean:+12.4f} {n:>5}" for mean, n in zip(by.mean(axis=0), better, strict=True))
        print(f"{name:<36}{cells}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.unseen", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--set", action="append", dest="sets", choices=SETS, help="only this set")
    parser.add_argument("--queries", type=int, default=150, help="at most about so many of a set")
    parser.add_argument("--json", type=Path, help="write the figures of each question to this file")
    options = parser.parse_args(arguments)
    sets = judged_sets(data_folder(options.data), tuple(options.sets or SETS))
    if not sets:
        print(f"no judged sets in {data_folder(options.data)}; name the folder with --data", file=sys.stderr)
        return 2
    reports: dict[str, dict[str, Figures]] = {}
    n_below: Counter[str] = Counter()
    for judged in sets:
        for trial, model in trials(judged):
            pair = f"{judged.name}, {trial.variant}, {model}"
            report = reports[pair] = figures(trial, model, options.queries)
            comparison = compared(report)
            n_below.update(figure for figure, said in comparison.items() if said["below"])
            print_pair(pair, report, comparison)
            if options.json:
                written = {
                    name: {one: rows.tolist() for one, rows in each.items()} for name, each in reports.items()
                }
                options.json.write_text(json.dumps(written) + "\n", encoding="utf-8")
    print_rankings(list(reports.values()))
    below = ", ".join(f"{n_below[figure]} in {figure}" for figure in MOST_BELOW)
    print(f"{len(reports)} pairs; below beyond chance: {below}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
