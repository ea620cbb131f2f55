"""Vector libraries, each used as its own documentation advises, with the bytes that it stores.

Vectors have unit length and are compared by inner product, which is cosine. `settings` are the ascending values of the
knob that trades time for recall; the driver takes the first with recall .99 on separate questions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from benchmarks.latency.engine import recall_settings
from benchmarks.memories import ROWS_A_CALL
from benchmarks.vectors import Floats

EFS = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024)
RECALLS = (0.9, 0.93, 0.95, 0.97, 0.98, 0.99)
REFINED = (2, 4, 8, 16, 32, 64, 128)
GRAPH_FROM = 50_000
"""From this number of vectors, a scrubjay.Engine is told to build its graph, if it has not already."""


class VectorEngine(Protocol):
    note: str

    def build(self, vectors: Floats) -> None: ...
    def settings(self, k: int) -> Sequence[Any]: ...
    def use(self, setting: Any) -> None: ...
    def search(self, vector: Floats, k: int) -> Any: ...
    def found(self, vector: Floats, k: int) -> list[int]: ...
    def n_bytes(self) -> int: ...


class Scrubjay:
    note = (
        "Engine.search(query=Query(mode='vector')); texts are empty; bytes as reported for vectors and graphs"
    )

    def __init__(self) -> None:
        import scrubjay

        self._engine_of: Callable[[int], Any] = scrubjay.Engine
        self._scope = scrubjay.Scope("bench")
        self._query_of = scrubjay.Query
        self._query = scrubjay.Query(mode="vector")

    def build(self, vectors: Floats) -> None:
        self.engine = self._engine_of(vectors.shape[1])
        for first in range(0, len(vectors), ROWS_A_CALL):
            rows = range(first, min(first + ROWS_A_CALL, len(vectors)))
            self.engine.upsert_many(
                list(rows), [""] * len(rows), scope=self._scope, vectors=vectors[rows.start : rows.stop]
            )
        if len(vectors) >= GRAPH_FROM and hasattr(self.engine, "build_graphs"):
            self.engine.build_graphs()

    def replace(self, rows: Sequence[int], vectors: Floats) -> None:
        """Replace the vectors of some rows."""
        numbers = [int(row) for row in rows]
        self.engine.upsert_many(numbers, [""] * len(numbers), scope=self._scope, vectors=vectors[numbers])

    def settings(self, k: int) -> Sequence[Any]:
        return list(recall_settings(RECALLS))

    def use(self, setting: Any) -> None:
        self._query = self._query_of(mode="vector", **recall_settings(RECALLS)[setting])

    def search(self, vector: Floats, k: int) -> Any:
        ids, scores = self.engine.search(vector=vector, scope=self._scope, k=k, query=self._query)
        return ids, scores

    def found(self, vector: Floats, k: int) -> list[int]:
        return [int(row) for row in self.search(vector, k)[0]]

    def n_bytes(self) -> int:
        stats = self.engine.stats()
        return int(stats["vector_bytes"]) + int(stats.get("graph_bytes", 0))


class Numpy:
    note = "a matrix product and argpartition"

    def build(self, vectors: Floats) -> None:
        self._vectors = np.ascontiguousarray(vectors)

    def settings(self, k: int) -> Sequence[Any]:
        return (None,)

    def use(self, setting: Any) -> None:
        pass

    def search(self, vector: Floats, k: int) -> Any:
        similarities = self._vectors @ vector
        if len(similarities) > k:
            rows = np.argpartition(similarities, len(similarities) - k)[-k:]
        else:
            rows = np.arange(len(similarities))
        return rows[np.argsort(-similarities[rows])]

    def found(self, vector: Floats, k: int) -> list[int]:
        rows: list[int] = self.search(vector, k).tolist()
        return rows

    def n_bytes(self) -> int:
        return int(self._vectors.nbytes)


class Usearch:
    note = "connectivity 16, expansion 128 to build"

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype

    def build(self, vectors: Floats) -> None:
        from usearch.index import Index

        self._index = Index(ndim=vectors.shape[1], metric="ip", dtype=self._dtype)
        self._index.add(np.arange(len(vectors)), vectors, threads=1)  # more threads lose nodes

    def settings(self, k: int) -> Sequence[Any]:
        return [ef for ef in EFS if ef >= k]

    def use(self, setting: Any) -> None:
        self._index.expansion_search = setting  # type: ignore[misc]  # its stub knows no setter

    def search(self, vector: Floats, k: int) -> Any:
        return self._index.search(vector, k, threads=1).keys

    def found(self, vector: Floats, k: int) -> list[int]:
        rows: list[int] = self.search(vector, k).tolist()
        return rows

    def n_bytes(self) -> int:
        return int(self._index.serialized_length)


class Hnswlib:
    note = "M 16, ef_construction 200"

    def build(self, vectors: Floats) -> None:
        import hnswlib

        self._index = hnswlib.Index(space="ip", dim=vectors.shape[1])
        self._index.init_index(max_elements=len(vectors), M=16, ef_construction=200)
        self._index.add_items(vectors, np.arange(len(vectors)))
        self._index.set_num_threads(1)

    def settings(self, k: int) -> Sequence[Any]:
        return [ef for ef in EFS if ef >= k]

    def use(self, setting: Any) -> None:
        self._index.set_ef(setting)

    def search(self, vector: Floats, k: int) -> Any:
        return self._index.knn_query(vector, k, num_threads=1)

    def found(self, vector: Floats, k: int) -> list[int]:
        rows: list[int] = self.search(vector, k)[0][0].tolist()
        return rows

    def n_bytes(self) -> int:
        return int(self._index.index_file_size())


class Faiss:
    """`make(faiss, dim)` creates the index; `knob` names the attribute for the settings."""

    def __init__(
        self, note: str, make: Callable[[Any, int], Any], knob: str | None, values: Sequence[Any]
    ) -> None:
        self.note, self._make, self._knob, self._values = note, make, knob, values

    def build(self, vectors: Floats) -> None:
        import faiss

        self._faiss = faiss
        self._index = self._make(faiss, vectors.shape[1])
        if self._knob == "efSearch":
            self._index.hnsw.efConstruction = 200
        self._index.train(vectors)
        self._index.add(vectors)
        faiss.omp_set_num_threads(1)

    def settings(self, k: int) -> Sequence[Any]:
        if self._knob == "efSearch":
            return [ef for ef in self._values if ef >= k]
        return [value for value in self._values if value is None or value * k <= self._index.ntotal] or [1]

    def use(self, setting: Any) -> None:
        if self._knob == "efSearch":
            self._index.hnsw.efSearch = setting
        elif self._knob is not None:
            setattr(self._index, self._knob, float(setting))

    def search(self, vector: Floats, k: int) -> Any:
        return self._index.search(vector[None], k)

    def found(self, vector: Floats, k: int) -> list[int]:
        return [int(row) for row in self.search(vector, k)[1][0] if row >= 0]

    def n_bytes(self) -> int:
        return len(self._faiss.serialize_index(self._index))


def refined(faiss: Any, codes: Any) -> Any:
    """Return an index that searches codes first and rescores the best k_factor times k by float32. Not made by
    faiss.index_factory, which crashes if usearch was loaded before (faiss 1.15, usearch 2.26)."""
    return faiss.IndexRefineFlat(codes)


ENGINES: dict[str, Callable[[], VectorEngine]] = {
    "scrubjay": Scrubjay,
    "numpy": Numpy,
    "usearch f32": partial(Usearch, "f32"),
    "usearch f16": partial(Usearch, "f16"),
    "hnswlib": Hnswlib,
    "faiss Flat": partial(Faiss, "IndexFlatIP", lambda f, dim: f.IndexFlatIP(dim), None, (None,)),
    "faiss HNSW": partial(
        Faiss,
        "IndexHNSWFlat, M 32, efConstruction 200",
        lambda f, dim: f.IndexHNSWFlat(dim, 32, f.METRIC_INNER_PRODUCT),
        "efSearch",
        EFS,
    ),
    "faiss SQ8 + refine": partial(
        Faiss,
        "IndexScalarQuantizer QT_8bit under IndexRefineFlat",
        lambda f, dim: refined(
            f, f.IndexScalarQuantizer(dim, f.ScalarQuantizer.QT_8bit, f.METRIC_INNER_PRODUCT)
        ),
        "k_factor",
        (1, *REFINED),
    ),
    "faiss RaBitQ + refine": partial(
        Faiss,
        "IndexRaBitQ under IndexRefineFlat",
        lambda f, dim: refined(f, f.IndexRaBitQ(dim, f.METRIC_INNER_PRODUCT)),
        "k_factor",
        REFINED,
    ),
    "faiss RaBitQfs + refine": partial(
        Faiss,
        "IndexRaBitQFastScan under IndexRefineFlat",
        lambda f, dim: refined(f, f.IndexRaBitQFastScan(dim, f.METRIC_INNER_PRODUCT)),
        "k_factor",
        REFINED,
    ),
}
NEEDS = {"usearch": "usearch.index", "hnswlib": "hnswlib", "faiss": "faiss"}
VERSIONS = ("numpy", "usearch", "hnswlib", "faiss-cpu")
F32_GRAPH = "hnswlib"
"""The baseline for memory."""


def installed(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the engines whose packages can be imported, and for the others the reason."""
    there, missing = [], {}
    for name in names:
        try:
            if package := NEEDS.get(name.split()[0]):
                importlib.import_module(package)
            there.append(name)
        except ImportError as error:
            missing[name] = str(error).split("\n")[0]
    return there, missing
