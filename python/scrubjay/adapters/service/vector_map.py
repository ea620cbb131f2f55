"""A map of a scope: its vectors on their two principal axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import Scope
from scrubjay.adapters.service.models import memory_fields
from scrubjay.adapters.service.page_models import MapIn
from scrubjay.documents.passage_vectors import mean_of
from scrubjay.documents.records import Record
from scrubjay.index import Index

_N_TEXT = 160  # characters of a memory
_N_DIGITS = 4  # linear algebra libraries differ only below this precision


class Projection:
    """The first two principal components of unit vectors, with deterministic signs.

    Args:
        vectors: shape (n, dim), n > 0; each is scaled to length 1.

    >>> rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.1, 0.0]])
    >>> Projection(rows).places(rows)[:, 0].round(2).tolist()
    [0.54, -1.0, 0.46]
    """

    def __init__(self, vectors: NDArray[Any]) -> None:
        unit = _unit(vectors)
        self._centre = unit.mean(axis=0)
        centred = unit - self._centre
        spread, axes = np.linalg.eigh(centred.T @ centred)  # ascending
        axes = axes[:, ::-1][:, :2]
        # The sign of an eigenvector is arbitrary: make its largest component positive.
        largest = np.abs(axes).argmax(axis=0)
        self._axes = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
        total = spread.sum()
        self.shares: list[float] = [
            round(float(variance / total), _N_DIGITS) if total > 0 else 0.0 for variance in spread[::-1][:2]
        ]
        places = centred @ self._axes
        # Scale each axis by itself; a common scale would make the map a narrow band.
        reach = np.abs(places).max(axis=0)
        self._scale = np.where(reach > 0, reach, 1.0)

    def places(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        """Return the coordinates of vectors, shape (n, 2); the fitted vectors reach 1 or -1 on each axis."""
        places = (_unit(vectors) - self._centre) @ self._axes / self._scale
        if places.shape[1] < 2:  # vectors of one dimension
            places = np.hstack([places, np.zeros_like(places)])
        return np.clip(places, -1.0, 1.0).round(_N_DIGITS) + 0.0  # no negative zero


def draw(index: Index, scope: Scope, asked: MapIn) -> dict[str, Any]:
    """Return the last written memories that `scope` sees with their coordinates, and those of a question.

    >>> index = Index()
    >>> for number, text in enumerate(["Prefers trains.", "Likes railways.", "The staging key."]):
    ...     index.upsert(f"m{number}", text, scope=Scope("acme"), vector=[1.0 - number / 2, number / 2])
    >>> drawn = draw(index, Scope("acme"), MapIn())
    >>> [(point["id"], point["x"]) for point in drawn["points"]], drawn["query"]
    ([('m2', -1.0), ('m1', 0.0), ('m0', 1.0)], None)
    """
    page = index.scroll(scope=scope, filter=asked.filter, limit=asked.limit, descending=True, vectors=True)
    records = [record for record in page if record.vector is not None]
    result: dict[str, Any] = {
        "points": [],
        "query": None,
        "visible": index.count(scope, filter=asked.filter),
        "without_vector": len(page) - len(records),
        "shares": [],
    }
    if not records:
        return result
    vectors = np.array(
        [mean_of(record.vector) for record in records if record.vector is not None], dtype=np.float64
    )
    projection = Projection(vectors)
    result["shares"] = projection.shares
    result["points"] = [
        _point(record, *place)
        for record, place in zip(records, projection.places(vectors).tolist(), strict=True)
    ]
    question = _embedded(index, asked.text)
    if question is not None:
        x, y = projection.places(question[None, :]).tolist()[0]
        result["query"] = {"x": x, "y": y}
    return result


def _point(record: Record, x: float, y: float) -> dict[str, Any]:
    fields = memory_fields(record)
    category = fields["metadata"].get("category")
    return {
        "id": fields["id"],
        "text": fields["text"][:_N_TEXT],
        "created_at": fields["created_at"],
        "scope": fields["scope"],
        "category": category if isinstance(category, str) else None,
        "x": x,
        "y": y,
    }


def _embedded(index: Index, text: str | None) -> NDArray[np.float64] | None:
    """Return the vector of a question; None without a question or a working embedder."""
    if not text or index.embedder is None:
        return None
    try:
        return np.asarray(index.embedder.embed_query(text), dtype=np.float64)
    except Exception:  # noqa: BLE001 - an embedder may raise anything; the map is worth having without the question
        return None


def _unit(vectors: NDArray[Any]) -> NDArray[np.float64]:
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)
