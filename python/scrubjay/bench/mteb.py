"""A search index for MTEB: searches the vectors of any of its models with Scrubjay.

    from mteb.models import SearchEncoderWrapper
    from scrubjay.bench.mteb import ScrubjaySearchIndex

    model = mteb.get_model("intfloat/e5-small")
    searched = SearchEncoderWrapper(model, index_backend=ScrubjaySearchIndex(model))
    mteb.evaluate(searched, tasks)

It implements MTEB's `IndexEncoderSearchProtocol` (mteb 2), and imports nothing of MTEB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import Engine, Scope
from scrubjay.fusion import Query

__all__ = ["ScrubjaySearchIndex"]

_SCOPE = Scope("mteb")
_METRICS = {"cosine": "cosine", "dot": "ip", "euclidean": "l2"}
"""MTEB's names of similarities -> ours."""


class ScrubjaySearchIndex:
    """Documents by the vectors of a model, ranked by the model's similarity. Not thread-safe.

    A zero vector has no cosine: such a document is never found, and such a query finds nothing.

    Args:
        model: its `mteb_model_meta.similarity_fn_name` determines the similarity; None: `metric` does.
        metric: "cosine", "dot" or "euclidean", in place of the model's.
        recall: "exact", or the fraction of the true nearest neighbours that a search should find: at 0.99 large corpora
            are searched by a graph.
        dtype: of the stored vectors, "f32", "f16" or "i8".
        threads: of a search for many queries; None: one per core.

    Raises:
        ValueError: any other similarity.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        metric: str | None = None,
        recall: float | Literal["exact"] = "exact",
        dtype: str = "f32",
        threads: int | None = None,
    ) -> None:
        named = _similarity_of(model) if metric is None else metric
        if named not in _METRICS:
            raise ValueError(f"metric: expected one of {', '.join(_METRICS)}, got {named!r}")
        self._metric, self._dtype, self._threads = _METRICS[named], dtype, threads
        self._query = Query(mode="vector", recall=recall)
        self._engine: Engine | None = None
        self._ids: list[str] = []

    def add_documents(self, embeddings: Any, idxs: Sequence[str]) -> None:
        """Add documents.

        Args:
            embeddings: their vectors, (n, dim), an array or a tensor.
            idxs: their ids.
        """
        vectors = _matrix(embeddings)
        if len(vectors) != len(idxs):
            raise ValueError(f"idxs: expected {len(vectors)}, as there are embeddings, got {len(idxs)}")
        if self._engine is None:
            metric, dtype = cast(Any, self._metric), cast(Any, self._dtype)  # the engine checks them
            self._engine = Engine(vectors.shape[1], metric, dtype=dtype)
        first = len(self._ids)
        self._ids.extend(idxs)
        rows = np.flatnonzero(self._has_direction(vectors))
        self._engine.upsert_many(
            (rows + first).tolist(), [""] * len(rows), scope=_SCOPE, vectors=vectors[rows]
        )

    def search(
        self,
        embeddings: Any,
        top_k: int,
        similarity_fn: Callable[[Any, Any], Any],
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        query_idx_to_id: Mapping[int, str] | None = None,
    ) -> tuple[list[list[float]], list[list[int]]]:
        """Find the most similar documents of each query.

        Args:
            embeddings: vectors of the queries, (n, dim).
            top_k: maximum number of documents per query.
            similarity_fn: ignored: the similarity is the index's.
            top_ranked: id of a query -> ids of the only documents that it may find; None: all.
            query_idx_to_id: index of a query in `embeddings` -> its id; needed with `top_ranked`.

        Returns:
            similarities, best first, and the indexes of the documents: in the order of adding, or in the list of
            `top_ranked`.

        Raises:
            ValueError: nothing was added, or `query_idx_to_id` is missing.
        """
        if self._engine is None:
            raise ValueError("search: expected documents, none were added")
        vectors = _matrix(embeddings)
        if top_ranked is not None:
            if query_idx_to_id is None:
                raise ValueError("query_idx_to_id: expected a mapping with top_ranked, got None")
            return self._rerank(vectors, top_k, top_ranked, query_idx_to_id)
        scores: list[list[float]] = [[] for _ in vectors]
        places: list[list[int]] = [[] for _ in vectors]
        rows = np.flatnonzero(self._has_direction(vectors))
        if len(rows):
            results = self._engine.search_batch(
                vectors=vectors[rows], scope=_SCOPE, k=top_k, query=self._query, threads=self._threads
            )
            for row, result in zip(rows.tolist(), results, strict=True):
                scores[row] = self._similarities(result.scores)
                places[row] = np.asarray(result.ids).tolist()
        return scores, places

    def clear(self) -> None:
        """Remove all documents."""
        self._engine, self._ids = None, []

    def _rerank(
        self,
        vectors: NDArray[np.float32],
        top_k: int,
        top_ranked: Mapping[str, Sequence[str]],
        query_idx_to_id: Mapping[int, str],
    ) -> tuple[list[list[float]], list[list[int]]]:
        assert self._engine is not None
        row_of = {id: row for row, id in enumerate(self._ids)}
        scores: list[list[float]] = []
        places: list[list[int]] = []
        for number, vector in enumerate(vectors):
            candidates = {
                row_of[id]: place for place, id in enumerate(top_ranked.get(query_idx_to_id[number], ()))
            }
            found_scores: list[float] = []
            order: list[int] = []
            if candidates and self._has_direction(vector[None])[0]:
                query = self._query.replace(ids=list(candidates))
                result = self._engine.search(vector=vector, scope=_SCOPE, k=top_k, query=query)
                found_scores = self._similarities(result.scores)
                order = [candidates[int(row)] for row in result.ids]
            scores.append(found_scores)
            places.append(order)
        return scores, places

    def _has_direction(self, vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        if self._metric != "cosine":
            return np.ones(len(vectors), dtype=np.bool_)
        return np.asarray(vectors.any(axis=1))

    def _similarities(self, scores: Any) -> list[float]:
        """Return similarities in MTEB's form: negated distances for l2, whose scores are negated squares."""
        similarities: list[float] = np.asarray(scores, dtype=np.float64).tolist()
        return (
            [-math.sqrt(max(0.0, -score)) for score in similarities] if self._metric == "l2" else similarities
        )


def _similarity_of(model: Any) -> str:
    name = getattr(getattr(model, "mteb_model_meta", None), "similarity_fn_name", None)
    if name is None:
        return "cosine"
    return str(getattr(name, "value", name))


def _matrix(embeddings: Any) -> NDArray[np.float32]:
    """Convert arrays, and tensors of any device, to float32 of shape (n, dim)."""
    if hasattr(embeddings, "detach"):
        embeddings = embeddings.detach().cpu().float().numpy()  # float: NumPy has no bfloat16
    matrix = np.ascontiguousarray(embeddings, dtype=np.float32)
    if matrix.ndim != 2:
        raise ValueError(f"embeddings: expected shape (n, dim), got {matrix.shape}")
    return matrix
