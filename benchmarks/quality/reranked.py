"""The gain of a cross-encoder over the default search, on every question of a set, by each way of using its scores.

    python -m benchmarks.quality.reranked [--data DIR] [--set NAME ...] [--vectors NAME] [--questions N] [--json FILE]

The offline cross-encoder (offline_models.py) reorders the first 20 and 30 hits of the default: in its own order or
beside the fused scores, reading the texts alone or with their surroundings. The score of a pair of
question and text does not depend on the other pairs, so each pair is scored once for all ways.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare.texts import cache_folder
from benchmarks.quality import metrics
from benchmarks.quality.judged import JudgedSet, data_folder, judged_sets
from benchmarks.quality.offline_models import fetched_reranker
from benchmarks.quality.rankers import asked_then, native_scope
from scrubjay import Index, Query, Retriever
from scrubjay.retrieval import OnnxReranker
from scrubjay.retrieval.reranking import Reranker

WAYS: dict[str, dict[str, Any]] = {
    "its own order": {"fused_weight": 0, "surroundings": False},
    "its own order, with surroundings": {"fused_weight": 0},
    "texts alone, beside": {"surroundings": False},
    "the default": {},
}
DEPTHS = (20, 30)
NONE = "no reranker"


class ReadOnce:
    """A reranker that reads each pair of one question once."""

    name = "read once"

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._query = ""
        self._known: dict[str, float] = {}

    def score(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        if query != self._query:
            self._query, self._known = query, {}
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        scores = self._reranker.score(query, missing) if missing else np.empty(0, np.float32)
        self._known.update(zip(missing, scores.tolist(), strict=True))
        return np.array([self._known[text] for text in texts], dtype=np.float32)


def filled_index(judged: JudgedSet, model: str) -> Index:
    """All memories of a set with their stored vectors."""
    vectors = judged.document_vectors(model)
    index = Index(dim=vectors.shape[1])
    index.upsert_many(
        {
            "id": memory.id,
            "text": memory.text,
            "scope": native_scope(memory.scope),
            "metadata": memory.turn or {},
            "created_at": memory.created_at,
            "vector": vectors[memory.row],
        }
        for memory in judged.memories
    )
    return index


def figures(judged: JudgedSet, model: str, reranker: Reranker, n_questions: int | None) -> dict[str, Any]:
    """Mean recall@10 and nDCG@10 of each way over `n_questions` questions, evenly spread; None: all."""
    index, vectors, once = filled_index(judged, model), judged.query_vectors(model), ReadOnce(reranker)
    ways = {NONE: Retriever(index)} | {
        f"the first {depth}, {way}": Retriever(index, reranker=once, rerank=depth, **options)
        for depth in DEPTHS
        for way, options in WAYS.items()
    }
    queries = judged.queries[:: max(1, len(judged.queries) // (n_questions or len(judged.queries)))]
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for query in queries:
        for way, retriever in ways.items():
            hits = retriever.search(
                query.text,
                scope=native_scope(query.scope),
                k=metrics.DEPTH,
                vector=vectors[query.row],
                query=asked_then(Query(), query),
            )
            ids = [str(id) for id in hits.ids]
            found[way].append((metrics.recall(ids, query.relevant), metrics.ndcg(ids, query.relevant)))
    means = {way: np.mean(rows, axis=0).tolist() for way, rows in found.items()}
    return {"questions": len(queries), "of": len(judged.queries), "recall@10, nDCG@10": means}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.reranked", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--set", action="append", dest="sets", help="default: locomo_dev")
    parser.add_argument("--vectors", default="bge_small_int8", help="the stored vectors")
    parser.add_argument("--questions", type=int, help="about so many of a set, evenly spread; default: all")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    reranker = OnnxReranker(fetched_reranker(cache_folder()), threads=1)
    report = {}
    for judged in judged_sets(data_folder(options.data), tuple(options.sets or ["locomo_dev"])):
        said = report[judged.name] = figures(judged, options.vectors, reranker, options.questions)
        print(f"\n{judged.name}, {options.vectors}, {said['questions']} of {said['of']} questions")
        print(f"{'recall@10 / nDCG@10':<50}")
        for way, (recall, ndcg) in said["recall@10, nDCG@10"].items():
            print(f"{way:<50}{recall:.4f} / {ndcg:.4f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
