"""The index for MTEB ranks by the similarity of the model, and MTEB's own evaluation computes the same figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scrubjay.bench.mteb import ScrubjaySearchIndex

DIM = 16


def similarities(metric: str, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
    q, d = queries.astype(np.float64), documents.astype(np.float64)
    if metric == "dot":
        return q @ d.T
    if metric == "cosine":
        return (q / np.linalg.norm(q, axis=1)[:, None]) @ (d / np.linalg.norm(d, axis=1)[:, None]).T
    return -np.linalg.norm(q[:, None] - d[None], axis=2)


def drawn(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_ranks_as_the_similarity_says(metric: str) -> None:
    documents, queries = drawn(300, 1), drawn(20, 2)
    index = ScrubjaySearchIndex(metric=metric)
    index.add_documents(documents[:100], [f"d{row}" for row in range(100)])
    index.add_documents(documents[100:], [f"d{row}" for row in range(100, 300)])
    scores, places = index.search(queries, 10, similarity_fn=lambda a, b: a)
    wanted = similarities(metric, queries, documents)
    for row, (some, found) in enumerate(zip(scores, places, strict=True)):
        assert found == np.argsort(-wanted[row], kind="stable")[:10].tolist()
        assert some == pytest.approx(wanted[row][found], abs=2e-5)


def test_reranks_only_the_candidates_by_their_places_in_the_list() -> None:
    documents, queries = drawn(50, 1), drawn(2, 2)
    index = ScrubjaySearchIndex()
    index.add_documents(documents, [f"d{row}" for row in range(50)])
    ranked = {"q0": ["d7", "d3", "d20"], "q1": []}
    scores, places = index.search(
        queries, 2, similarity_fn=max, top_ranked=ranked, query_idx_to_id={0: "q0", 1: "q1"}
    )
    wanted = similarities("cosine", queries[:1], documents[[7, 3, 20]])[0]
    assert places == [np.argsort(-wanted)[:2].tolist(), []]
    assert scores[0] == pytest.approx(sorted(wanted, reverse=True)[:2], abs=2e-5)
    with pytest.raises(ValueError, match="query_idx_to_id: expected a mapping"):
        index.search(queries, 2, similarity_fn=max, top_ranked=ranked)


def test_zero_vectors_have_no_cosine_and_clear_removes_everything() -> None:
    documents = drawn(4, 1)
    documents[1] = 0
    index = ScrubjaySearchIndex()
    index.add_documents(documents, list("abcd"))
    scores, places = index.search(np.stack([documents[2], documents[1]]), 10, similarity_fn=max)
    assert sorted(places[0]) == [0, 2, 3] and places[0][0] == 2
    assert (scores[1], places[1]) == ([], [])
    index.clear()
    with pytest.raises(ValueError, match="none were added"):
        index.search(documents, 1, similarity_fn=max)
    index.add_documents(drawn(2, 3), ["x", "y"])
    assert index.search(drawn(2, 3), 1, similarity_fn=max)[1] == [[0], [1]]


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="metric: expected one of cosine, dot, euclidean, got 'MaxSim'"):
        ScrubjaySearchIndex(metric="MaxSim")
    index = ScrubjaySearchIndex()
    with pytest.raises(ValueError, match="idxs: expected 2, as there are embeddings, got 1"):
        index.add_documents(drawn(2, 1), ["a"])
    with pytest.raises(ValueError, match=r"embeddings: expected shape \(n, dim\), got \(16,\)"):
        index.add_documents(drawn(2, 1)[0], ["a"])


@pytest.fixture(scope="module")
def mteb() -> Any:
    return pytest.importorskip("mteb")


def make_task(mteb: Any, kind: str) -> Any:
    """A retrieval or reranking task of 200 documents, 30 queries and graded judgements, all in this process."""
    from datasets import Dataset
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.mocks.mock_tasks.retrieval import general_args

    class Tiny(AbsTaskRetrieval):  # type: ignore[misc, valid-type]
        metadata = TaskMetadata(type=kind, name=f"Tiny{kind}", main_score="ndcg_at_10", **general_args)

        def load_data(self, num_proc: int | None = None, **_: Any) -> None:
            corpus = [{"id": f"d{n}", "text": f"document number {n}", "title": ""} for n in range(200)]
            queries = [{"id": f"q{n}", "text": f"question number {n}"} for n in range(30)]
            split = {
                "corpus": Dataset.from_list(corpus),
                "queries": Dataset.from_list(queries),
                "relevant_docs": {f"q{n}": {f"d{n * 3}": 2, f"d{n + 100}": 1} for n in range(30)},
                "top_ranked": {f"q{n}": [f"d{(n * 7 + k) % 200}" for k in range(40)] for n in range(30)}
                if kind == "Reranking"
                else None,
            }
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

    return Tiny()


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("kind", ["Retrieval", "Reranking"])
@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_mteb_evaluates_to_the_same_figures(
    mteb: Any, kind: str, similarity: str, framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mteb.models.model_meta import ScoringFunction
    from mteb.models.search_wrappers import SearchEncoderWrapper

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    figures = []
    for with_index in (False, True):
        model = mteb.get_model_meta("mteb/baseline-random-encoder").load_model()
        model.mteb_model_meta = model.mteb_model_meta.model_copy(
            update={"similarity_fn_name": ScoringFunction(similarity)}
        )
        if framework == "torch":
            import torch

            model.array_framework, model.dtype = "torch", torch.float32
        backend = ScrubjaySearchIndex(model) if with_index else None
        wrapped = SearchEncoderWrapper(model, index_backend=backend)
        result = mteb.evaluate(
            wrapped, make_task(mteb, kind), cache=None, co2_tracker=False, show_progress_bar=False
        )
        (scores,) = result.task_results[0].scores["test"]
        figures.append({name: value for name, value in scores.items() if isinstance(value, float)})
    assert figures[0]["ndcg_at_10"] > 0
    assert figures[1] == pytest.approx(figures[0], abs=1e-9, nan_ok=True)
