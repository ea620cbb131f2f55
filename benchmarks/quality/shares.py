"""Constants of the automatic fusion: cross-validation over the judged sets, with both kinds of vectors.

    python -m benchmarks.quality.shares [--data DIR] [--queries N]

The candidates of both arms, with the scores of both arms, are fused by the formula of `cpp/src/fusion/fuse.hpp` for a
grid of its constants: the exponent of the vector evidence, the lexical share without agreement, its reduction by full
agreement, and the weights of ranks: among the first of either arm, and additionally in the vector ranking. For each
family of sets, the constants are those that serve the other families best; printed are the differences of nDCG@10,
recall@10 and recall@100 from the figures required by `benchmarks/quality/acceptance.py`, with these constants and with
those that serve all families best.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.reference.bm25 import idf
from tests.reference.function_words import marked
from tests.reference.fusion import FIRST_K, LEAST_DEVIATION, NEAR_K, places
from tests.reference.vectors import MOST_FUSED, sampled_places, spread

from benchmarks.quality.acceptance import MOST_BELOW, SETS
from benchmarks.quality.judged import VECTOR_SETS, JudgedSet, Query, data_folder, judged_sets
from benchmarks.quality.rankers import native_engine, native_scope

FAMILIES = {"typo_dev": "locomo_dev"}
"""Sets derived from another one."""
NOT_FITTED = ("dated_dev",)
"""Judged by a date that neither arm knows."""
DEPTH = 100
POWERS = (1.0, 1.25, 1.5)
SHARES = (0.5, 0.55, 0.6, 0.65, 0.7)
SLOPES = (0.0, 0.1)
FIRSTS = (0.0, 3.0, 4.0, 6.0)
NEARS = (0.0, 15.0, 30.0)
GRID = list(itertools.product(POWERS, SHARES, SLOPES, FIRSTS, NEARS))
DISCOUNTS = 1 / np.log2(np.arange(2, 12))

Figures = NDArray[np.float64]
"""nDCG@10, recall@10, recall@100."""


def by_rank(k: float, *ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of 1 / (k + rank); a rank of 0 is missing."""
    parts = [np.where(rank > 0, 1 / (k + np.maximum(rank, 1)), 0.0) for rank in ranks]
    return np.sum(parts, axis=0)


@dataclass(frozen=True)
class Candidates:
    """The scores of both arms for the documents among the first hundred of either, in order of writing."""

    words: NDArray[np.float64]
    """BM25, divided by the standard deviation of BM25 in the scope."""
    meaning: NDArray[np.float64]
    """Cosines, standardised in the scope."""
    lexical_rank: NDArray[np.int64]
    vector_rank: NDArray[np.int64]
    lexical_place: NDArray[np.int64]
    """Like the ranks, but equal scores share the first of theirs."""
    vector_place: NDArray[np.int64]
    identifier: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    n_relevant: int
    agreement: float

    def figures(self, score: NDArray[np.float64], *, tier: bool) -> Figures:
        order = np.lexsort((-score, ~self.identifier)) if tier else np.argsort(-score, kind="stable")
        found = self.relevant[order]
        first = found[:10]
        ideal = DISCOUNTS[: min(self.n_relevant, 10)].sum()
        gain = (first * DISCOUNTS[: len(first)]).sum() / ideal
        return np.array([gain, first.sum() / self.n_relevant, found[:DEPTH].sum() / self.n_relevant])

    def fused(
        self, power: float, share: float, slope: float, first: float, near: float
    ) -> NDArray[np.float64]:
        words = share - slope * self.agreement
        far = np.where(self.meaning > 0, np.abs(self.meaning) ** power, self.meaning)
        of_places = first * by_rank(FIRST_K, self.lexical_place, self.vector_place)
        return words * self.words + (1 - words) * far + of_places + near * by_rank(NEAR_K, self.vector_place)

    def held_to(self) -> dict[str, Figures]:
        scores = {
            "lexical": by_rank(1, self.lexical_rank),
            "vector": by_rank(1, self.vector_rank),
            "RRF(10)": by_rank(10, self.lexical_rank, self.vector_rank),
            "RRF(60)": by_rank(60, self.lexical_rank, self.vector_rank),
        }
        return {name: self.figures(score, tier=False) for name, score in scores.items()}


class ScopeTerms:
    """Document frequencies of one scope, for the standard deviation of BM25 in it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.n_documents = len(texts)
        self.frequency = Counter(term for text in texts for term in {term for term, _ in _analyze(text)})

    def deviation(self, text: str) -> float:
        counts = Counter(term for term, _ in _analyze(text))
        function_words = marked(text, counts)
        total = 0.0
        for term, count in counts.items():
            if not self.frequency[term]:
                continue
            weight = idf(self.n_documents, self.frequency[term])
            weight = count * min(weight, function_words.get(term, weight))
            held = self.frequency[term] / self.n_documents
            total += weight * weight * held * (1 - held)
        return max(math.sqrt(total), LEAST_DEVIATION)


def _analyze(text: str) -> list[tuple[str, str]]:
    from scrubjay import _native

    return [(term, kind) for term, kind, *_ in _native.analyze(text)]


def candidates(judged: JudgedSet, model: str, n_queries: int) -> Iterator[Candidates]:
    """Yield the candidates of `n_queries` of a set's queries, evenly spread."""
    engine = native_engine(judged, model)
    rows = {name: vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for name, vectors in (
        ("documents", judged.document_vectors(model)), ("queries", judged.query_vectors(model)),
    )}  # fmt: skip
    scopes: dict[str, list[Any]] = {}
    for memory in judged.memories:
        scopes.setdefault(memory.scope, []).append(memory)
    terms = {name: ScopeTerms([memory.text for memory in memories]) for name, memories in scopes.items()}
    for query in judged.queries[:: max(1, len(judged.queries) // n_queries)]:
        memories = scopes[query.scope]
        cosines = rows["documents"][[memory.row for memory in memories]] @ rows["queries"][query.row]
        deviation = terms[query.scope].deviation(query.text)
        yield of_query(engine, query, [memory.id for memory in memories], cosines, deviation)


def of_query(
    engine: Any, query: Query, ids: list[str], cosines: NDArray[np.float32], deviation: float
) -> Candidates:
    from scrubjay import Query as Asked

    place = {id: index for index, id in enumerate(ids)}
    scope, n = native_scope(query.scope), len(ids)
    lexical = engine.search(query.text, scope=scope, k=n, query=Asked(mode="lexical"))
    tier = engine.search(query.text, vector=[*cosines[:0], *np.ones(engine.dim)], scope=scope, k=4 * DEPTH)
    bm25, lexical_rank, vector_rank = np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64)
    identifier = np.zeros(n, np.bool_)
    found = [place[id] for id in lexical.ids]
    bm25[found] = lexical.scores
    lexical_rank[found[:DEPTH]] = np.arange(1, len(found[:DEPTH]) + 1)
    nearest = np.argsort(-cosines, kind="stable")[:DEPTH]
    vector_rank[nearest] = np.arange(1, len(nearest) + 1)
    identifier[[place[id] for id, held in zip(tier.ids, tier.identifiers, strict=True) if held]] = True
    mean, width = spread([float(cosines[one]) for one in sampled_places(n, MOST_FUSED)])
    lexical_place, vector_place = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for ranking, scores, of_each in (
        (found[:DEPTH], bm25, lexical_place),
        ([int(one) for one in nearest], cosines, vector_place),
    ):
        for document, rank in places(ranking, dict(enumerate(scores.tolist()))).items():
            of_each[document] = rank
    kept = np.flatnonzero((lexical_rank > 0) | (vector_rank > 0) | identifier)
    relevant = np.array([ids[one] in query.relevant for one in kept])
    other = [vector_rank[found[0]] if found else 0, lexical_rank[nearest[0]]]
    return Candidates(
        bm25[kept] / deviation,
        (cosines[kept] - mean) / width if width > 0 else np.zeros(len(kept)),
        lexical_rank[kept],
        vector_rank[kept],
        lexical_place[kept],
        vector_place[kept],
        identifier[kept],
        relevant,
        len(query.relevant),
        sum(1 / math.sqrt(rank) for rank in other if rank) / 2,
    )


def differences(judged: JudgedSet, model: str, n_queries: int) -> NDArray[np.float64]:
    """Return the differences of each point of the grid from the required figures: (grid, figure)."""
    sums, n = np.zeros((len(GRID), 3)), 0
    held: dict[str, Figures] = {}
    for one in candidates(judged, model, n_queries):
        sums += [one.figures(one.fused(*constants), tier=True) for constants in GRID]
        for name, figures in one.held_to().items():
            held[name] = held.get(name, np.zeros(3)) + figures
        n += 1
    least = np.max(list(held.values()), axis=0)
    least[2] = held["RRF(60)"][2]
    return (sums - least) / n


def best(found: Sequence[NDArray[np.float64]]) -> int:
    """Return the point of the grid that serves these pairs best; losses count more than gains."""
    weights = np.array([1.0, 0.7, 0.3])
    return int(np.argmax(sum((one + 1.5 * np.minimum(one, 0)) @ weights for one in found)))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.shares", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--queries", type=int, default=300, help="at most about so many of a set")
    options = parser.parse_args(arguments)
    pairs = {
        (judged.name, model): differences(judged, model, options.queries)
        for judged in judged_sets(data_folder(options.data), SETS)
        for model in VECTOR_SETS
    }
    if not pairs:
        print(f"no judged sets in {data_folder(options.data)}; name the folder with --data", file=sys.stderr)
        return 2
    fitted = {pair: found for pair, found in pairs.items() if pair[0] not in NOT_FITTED}
    of_all = best(list(fitted.values()))
    print("power, share, slope, first, near:", GRID[of_all])
    chosen, n_short = [], 0
    for (name, model), found in pairs.items():
        family = FAMILIES.get(name, name)
        others = [each for (other, _), each in fitted.items() if FAMILIES.get(other, other) != family]
        place = best(others or list(fitted.values()))
        chosen.append(found[place])
        n_short += bool((found[place] < -np.array(list(MOST_BELOW.values()))).any())
        cells = ("/".join(f"{value:+.3f}" for value in found[one]) for one in (place, of_all))
        print(f"{name + ', ' + model:32}" + "   ".join(cells), GRID[place])
    print(
        f"cross-validated mean {'/'.join(f'{value:+.4f}' for value in np.mean(chosen, axis=0))}, {n_short} short"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
