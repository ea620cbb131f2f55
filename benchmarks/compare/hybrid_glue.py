"""A baseline: a vector index and a keyword index glued together, with rank fusion in Python.

An arm answers for one user; `Glued` has one of each kind for every user and fuses their results. All are used through
public calls, warm, in memory. Documents are numbers; terms were made in advance (see `workload`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.compare import exact
from benchmarks.compare.workload import Query, Terms
from benchmarks.memories import CANDIDATES, RRF_K, Block, Memories, Question
from benchmarks.vectors import Floats

SHARES = [0.0, *(1.0 / (RRF_K + rank) for rank in range(1, 1 + CANDIDATES))]


def fused(first: Sequence[int], second: Sequence[int], k: int) -> list[int]:
    """Return the k best by reciprocal rank fusion of two rankings."""
    scores = dict(zip(first, SHARES[1:], strict=False))
    for document, share in zip(second, SHARES[1:], strict=False):
        scores[document] = scores.get(document, 0.0) + share
    return sorted(scores, key=scores.__getitem__, reverse=True)[:k]


class DenseArm(Protocol):
    def build(self, vectors: Floats) -> None: ...
    def best(self, vector: Floats, k: int) -> Sequence[int]: ...
    def add(self, row: int, vector: Floats) -> None: ...


class LexicalArm(Protocol):
    def build(self, terms: Terms) -> None: ...
    def best(self, query: Query, k: int) -> Sequence[int]: ...
    def add(self, row: int, line: str) -> None: ...


class FrozenError(Exception):
    """The engine does not support single writes: an addition would rebuild it."""


def top(scores: Any, k: int) -> Any:
    """Return the positions of the k highest scores, best first."""
    if len(scores) <= k:
        return np.argsort(-scores)
    places = np.argpartition(scores, len(scores) - k)[-k:]
    return places[np.argsort(-scores[places])]


def top_found(scores: Any, k: int) -> list[int]:
    """Return the positions of the k highest scores above 0, best first. Most scores are 0, and argpartition is 5 to 70
    times slower among so many equal values than among the rest."""
    places = np.flatnonzero(scores > 0)
    found: list[int] = places[top(scores[places], k)].tolist()
    return found


class NumpyDense:
    """Exact search by one matrix product."""

    def build(self, vectors: Floats) -> None:
        self._vectors = np.ascontiguousarray(vectors)

    def best(self, vector: Floats, k: int) -> Sequence[int]:
        found: list[int] = top(self._vectors @ vector, k).tolist()
        return found

    def add(self, row: int, vector: Floats) -> None:
        raise FrozenError


class NumpyLexical:
    """Precomputed BM25 contributions, a pair of arrays for each term; a query adds some of them up."""

    def build(self, terms: Terms) -> None:
        self._n = len(terms)
        formula = exact.Exhaustive(terms).of_peers(terms)
        self._lists = {
            term: (documents, shares.astype(np.float32))
            for term, documents, shares in formula.contributions()
        }

    def best(self, query: Query, k: int) -> Sequence[int]:
        scores = np.zeros(self._n, dtype=np.float32)
        for term in query.terms:
            found = self._lists.get(term)
            if found is not None:
                scores[found[0]] += found[1]
        return top_found(scores, k)

    def add(self, row: int, line: str) -> None:
        raise FrozenError


class UsearchDense:
    """HNSW with its defaults (connectivity 16, expansion 128 to build); or its exact search."""

    settings: Sequence[Any] = (64, 128, 256, 512, "exact")

    def __init__(self) -> None:
        self._exact = False

    def build(self, vectors: Floats) -> None:
        from usearch.index import Index

        self._index = Index(ndim=vectors.shape[1], metric="ip", dtype="f32")
        self._index.add(np.arange(len(vectors)), vectors, threads=1)

    def use(self, setting: Any) -> None:
        self._exact = setting == "exact"
        if not self._exact:
            self._index.expansion_search = setting  # type: ignore[misc]  # its stub knows no setter

    def best(self, vector: Floats, k: int) -> Sequence[int]:
        found: list[int] = self._index.search(vector, k, threads=1, exact=self._exact).keys.tolist()
        return found

    def add(self, row: int, vector: Floats) -> None:
        self._index.add(row, vector, threads=1)


class ChromaDense:
    """A collection in memory for each user, HNSW by inner product."""

    settings: Sequence[Any] = (100, 200, 400)
    _client: Any = None

    def build(self, vectors: Floats) -> None:
        import chromadb

        if ChromaDense._client is None:
            quiet = chromadb.config.Settings(anonymized_telemetry=False)
            ChromaDense._client = chromadb.EphemeralClient(settings=quiet)
        self._collection = self._client.create_collection(
            f"user-{uuid.uuid4().hex}", configuration={"hnsw": {"space": "ip"}}, embedding_function=None
        )
        for first in range(0, len(vectors), 1_000):
            rows = range(first, min(first + 1_000, len(vectors)))
            self._collection.add(ids=[str(row) for row in rows], embeddings=vectors[rows.start : rows.stop])

    def use(self, setting: Any) -> None:
        self._collection.modify(configuration={"hnsw": {"ef_search": setting}})

    def best(self, vector: Floats, k: int) -> Sequence[int]:
        found = self._collection.query(query_embeddings=[vector], n_results=k, include=[])
        return [int(row) for row in found["ids"][0]]

    def add(self, row: int, vector: Floats) -> None:
        self._collection.add(ids=[str(row)], embeddings=[vector])


class TantivyLexical:
    """In memory, one segment, whitespace tokens; an addition is a commit and a reload."""

    def build(self, terms: Terms) -> None:
        from benchmarks.compare.lexical_engines import Tantivy

        self._engine = Tantivy(heap_bytes=15_000_000)
        self._engine.build([], terms)

    def best(self, query: Query, k: int) -> Sequence[int]:
        return self._engine.found(query, k)

    def add(self, row: int, line: str) -> None:
        self._engine.add(row, "", line)


class Bm25sLexical:
    """get_scores() of its numba backend, and top-k by NumPy."""

    def build(self, terms: Terms) -> None:
        from benchmarks.compare.lexical_engines import Bm25s

        self._engine = Bm25s()
        self._engine.build([], terms)

    def best(self, query: Query, k: int) -> Sequence[int]:
        scores = self._engine.index.get_scores(list(query.words))
        return top_found(scores, k)

    def add(self, row: int, line: str) -> None:
        raise FrozenError


class Glued:
    """A pair of arms for each user, fused in Python."""

    n_adds = 50

    def __init__(
        self,
        name: str,
        note: str,
        dense: Callable[[], DenseArm],
        lexical: Callable[[], LexicalArm],
        folder: Path | None = None,
    ) -> None:
        self.name, self.note, self._kinds = name, note, (dense, lexical)
        self.settings: Sequence[Any] = getattr(dense, "settings", (None,))
        self._arms: dict[str | None, tuple[DenseArm, LexicalArm, int]] = {}

    def build(self, memories: Memories) -> None:
        for block in memories.blocks:
            dense, lexical = self._kinds[0](), self._kinds[1]()
            dense.build(memories.vectors[block.first : block.last])
            lexical.build(memories.terms.part(block.first, block.last))
            self._arms[block.user] = dense, lexical, block.first

    def use(self, setting: Any) -> None:
        if setting is not None:
            for dense, _, _ in self._arms.values():
                dense.use(setting)  # type: ignore[attr-defined]

    def search(self, question: Question, k: int) -> list[int]:
        """Return rows of the user, best first."""
        dense, lexical, _ = self._arms[question.user]
        return fused(lexical.best(question.query, CANDIDATES), dense.best(question.vector, CANDIDATES), k)

    def found(self, question: Question, k: int) -> list[int]:
        first = self._arms[question.user][2]
        return [first + row for row in self.search(question, k)]

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        """Add document `number`, which is beyond the block's."""
        dense, lexical, first = self._arms[block.user]
        lexical.add(number - first, line)
        dense.add(number - first, vector)

    def close(self) -> None:
        self._arms.clear()
