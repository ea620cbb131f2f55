"""Quality and CPU time by the number of reranked hits, with the offline cross-encoder.

python -m benchmarks.quality.depths [--data FOLDER] [--set locomo_dev ...] [--vectors NAME] [--questions 120]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.judged import data_folder
from benchmarks.quality.offline_models import fetched_reranker
from benchmarks.quality.table import cache_folder
from scrubjay import Index
from scrubjay.retrieval import OnnxReranker
from scrubjay.retrieval.judged_sets import read_judged
from scrubjay.retrieval.trials import METRICS, Setting, Trials

DEPTHS = (0, 5, 10, 20, 30, 50, 100)


class Timed:
    """A reranker that measures the CPU time of a pair."""

    name = "timed"

    def __init__(self, reranker: OnnxReranker) -> None:
        self._reranker = reranker
        self.cpu_s = 0.0
        self.n_pairs = 0

    def score(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        start = time.process_time()
        scores = self._reranker.score(query, texts)
        self.cpu_s += time.process_time() - start
        self.n_pairs += len(texts)
        return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of judged sets; default: SCRUBJAY_DATA")
    parser.add_argument(
        "--set", action="append", dest="sets", help="a folder of the data; default: locomo_dev"
    )
    parser.add_argument("--vectors", default="wordllama256")
    parser.add_argument("--questions", type=int, default=120, help="drawn from each set with one seed")
    arguments = parser.parse_args()
    for name in arguments.sets or ["locomo_dev"]:
        judged = read_judged(data_folder(arguments.data) / name, arguments.vectors)
        index = Index()
        index.upsert_many(judged.records, progress=False)
        drawn = np.random.default_rng(0).permutation(len(judged.queries))[: arguments.questions]
        timed = Timed(OnnxReranker(fetched_reranker(cache_folder()), threads=1))
        trials = Trials(index, [judged.queries[place] for place in drawn], 0, None, timed)
        print(f"\n{name}, {arguments.vectors}, {len(drawn)} of {len(judged.queries)} questions")
        print("depth", *METRICS, "CPU ms a question", sep="\t")
        for depth in DEPTHS:
            figures = trials.scores(Setting(rerank=depth)).mean(axis=1)
            ms = depth * timed.cpu_s * 1000 / max(1, timed.n_pairs)
            print(depth, *(f"{figure:.3f}" for figure in figures), f"{ms:.0f}", sep="\t", flush=True)


if __name__ == "__main__":
    main()
