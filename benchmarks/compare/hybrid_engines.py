"""The engines of the hybrid comparison, and the packages that each needs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from benchmarks import memories as memories_of
from benchmarks.compare import hybrid_glue as glue
from benchmarks.compare import hybrid_packages as packages
from benchmarks.compare import hybrid_sqlite as sqlite
from benchmarks.latency.engine import textbook_query
from benchmarks.memories import Block, Memories, Question, scope_of
from benchmarks.vectors import Floats


class HybridEngine(Protocol):
    """An index over the documents of many users, in its own folder."""

    name: str
    note: str
    settings: Sequence[Any]
    """Values of the knob that trades time for recall: the default first, then ascending."""
    n_adds: int
    """The number of single additions to measure."""

    def build(self, memories: Memories) -> None: ...
    def use(self, setting: Any) -> None: ...
    def search(self, question: Question, k: int) -> Any: ...
    def found(self, question: Question, k: int) -> list[int]: ...
    def add(self, number: int, block: Block, line: str, vector: Floats) -> None: ...
    def close(self) -> None: ...


@runtime_checkable
class Reading(Protocol):
    """An engine that stores texts itself, and so defines how its hits are read."""

    def read(self, question: Question, k: int) -> Any: ...


class ScrubjayEngine:
    name = "scrubjay's engine"
    note = "Engine, in memory; ids and scores as arrays, no text read: what the public call is made of"
    settings: Sequence[Any] = (None,)
    n_adds = 1_000

    def __init__(self, folder: Path) -> None:
        import scrubjay

        self._scrubjay = scrubjay
        self._query = textbook_query()

    def build(self, memories: Memories) -> None:
        self.engine = self._scrubjay.Engine(memories.vectors.shape[1], k1=1.2, b=0.75)
        memories_of.write_blocks(self.engine, memories, memories.blocks)

    def use(self, setting: Any) -> None:
        pass

    def search(self, question: Question, k: int) -> Any:
        ids, scores = self.engine.search(
            question.query.text,
            vector=question.vector,
            scope=question.scope,
            k=k,
            query=self._query,
        )
        return ids, scores

    def read(self, question: Question, k: int) -> Any:
        return self.search(question, k)

    def found(self, question: Question, k: int) -> list[int]:
        return [int(number) for number in self.search(question, k)[0]]

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        self.engine.upsert(number, line, scope=scope_of(block), vector=vector)

    def close(self) -> None:
        del self.engine


class IndexCalls:
    """The public calls of an open index, shared by the engines that have one."""

    def __init__(self, index: Any) -> None:
        self.index = index
        self._query = textbook_query()

    def fill(self, memories: Memories) -> None:
        for block in memories.blocks:
            for rows in packages.batches(block):
                records = [
                    {"id": row, "text": memories.texts[row], "vector": memories.vectors[row]} for row in rows
                ]
                self.index.upsert_many(records, scope=scope_of(block), progress=False)

    def search(self, question: Question, k: int) -> Any:
        return self.index.search(
            question.query.text,
            vector=question.vector,
            scope=scope_of(question),
            k=k,
            query=self._query,
        )

    def read(self, question: Question, k: int) -> Any:
        return [(hit.id, hit.score, hit.text) for hit in self.search(question, k)]


class ScrubjayIndex:
    name = "scrubjay"
    note = (
        "Index, in memory: a new scope each call, ids, scores and texts of the hits read; terms made inside"
    )
    settings: Sequence[Any] = (None,)
    n_adds = 1_000

    def __init__(self, folder: Path) -> None:
        import scrubjay

        self._new = scrubjay.Index

    def build(self, memories: Memories) -> None:
        self._calls = IndexCalls(self._new(dim=memories.vectors.shape[1], k1=1.2, b=0.75))
        self._calls.fill(memories)

    def use(self, setting: Any) -> None:
        pass

    def search(self, question: Question, k: int) -> Any:
        return self._calls.search(question, k)

    def read(self, question: Question, k: int) -> Any:
        return self._calls.read(question, k)

    def found(self, question: Question, k: int) -> list[int]:
        return [int(hit.id) for hit in self._calls.search(question, k)]

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        self._calls.index.upsert(number, line, scope=scope_of(block), vector=vector)

    def close(self) -> None:
        self._calls.index.close()


class ScrubjayFile:
    name = "scrubjay file"
    note = "the same in one durable file (durability normal)"
    settings: Sequence[Any] = (None,)
    n_adds = 200

    def __init__(self, folder: Path) -> None:
        import scrubjay

        self._open = scrubjay.Index.open
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "memories.scrubjay"

    def build(self, memories: Memories) -> None:
        index = self._open(self._path, dim=memories.vectors.shape[1], durability="normal", k1=1.2, b=0.75)
        self._calls = IndexCalls(index)
        self._calls.fill(memories)

    def open(self) -> None:
        self._calls = IndexCalls(self._open(self._path, durability="normal", k1=1.2, b=0.75))

    def use(self, setting: Any) -> None:
        pass

    def search(self, question: Question, k: int) -> Any:
        return self._calls.search(question, k)

    def read(self, question: Question, k: int) -> Any:
        return self._calls.read(question, k)

    def found(self, question: Question, k: int) -> list[int]:
        return [int(hit.id) for hit in self._calls.search(question, k)]

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        self._calls.index.upsert(number, line, scope=scope_of(block), vector=vector)

    def close(self) -> None:
        self._calls.index.close()


def glued(name: str, note: str, dense: Any, lexical: Any) -> Callable[[Path], HybridEngine]:
    return partial(glue.Glued, name, note, dense, lexical)


ENGINES: dict[str, Callable[[Path], HybridEngine]] = {
    "scrubjay": ScrubjayIndex,
    "scrubjay file": ScrubjayFile,
    "scrubjay's engine": ScrubjayEngine,
    "numpy": glued("numpy", "arrays for each user, frozen", glue.NumpyDense, glue.NumpyLexical),
    "usearch + tantivy": glued(
        "usearch + tantivy", "indexes for each user, in memory", glue.UsearchDense, glue.TantivyLexical
    ),
    "usearch + bm25s": glued(
        "usearch + bm25s", "indexes for each user, in memory, frozen", glue.UsearchDense, glue.Bm25sLexical
    ),
    "chroma + bm25s": glued(
        "chroma + bm25s", "a collection for each user, in memory, frozen", glue.ChromaDense, glue.Bm25sLexical
    ),
    "qdrant-edge": packages.QdrantEdge,
    "sqlite fts5 + sqlite-vec": sqlite.SqliteVec,
    "sqlite-hybrid-search": sqlite.SqliteHybridSearch,
    "zvec": packages.Zvec,
    "lancedb": packages.LanceDb,
    "milvus-lite": packages.MilvusLite,
}
NEEDS: dict[str, Sequence[str]] = {
    "usearch + tantivy": ("usearch.index", "tantivy"),
    "usearch + bm25s": ("usearch.index", "bm25s", "numba"),
    "chroma + bm25s": ("chromadb", "bm25s", "numba"),
    "qdrant-edge": ("qdrant_edge",),
    "sqlite fts5 + sqlite-vec": ("sqlite_vec",),
    "sqlite-hybrid-search": ("sqlite_hybrid_search",),
    "zvec": ("zvec",),
    "lancedb": ("lancedb", "pyarrow"),
    "milvus-lite": ("pymilvus", "milvus_lite"),
}
OWN = ("scrubjay", "scrubjay file", "scrubjay's engine")
PACKAGED = tuple(kind.name for kind in (packages.QdrantEdge, sqlite.SqliteVec, sqlite.SqliteHybridSearch))
PACKAGED += (packages.Zvec.name, packages.LanceDb.name, packages.MilvusLite.name)
GLUED = ("numpy", "usearch + tantivy", "usearch + bm25s", "chroma + bm25s")
VERSIONS = (
    "numpy",
    "usearch",
    "tantivy",
    "bm25s",
    "numba",
    "chromadb",
    "qdrant-edge-py",
    "sqlite-vec",
    "sqlite-hybrid-search",
    "zvec",
    "lancedb",
    "pymilvus",
    "milvus-lite",
)
LEFT_OUT = {
    "PostgreSQL + pg_search": "needs a server",
    "DuckDB": "its vss and fts extensions come from a network repository",
    "txtai": "needs torch",
    "seekdb": "needs a server process",
}


def installed(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the engines whose packages can be imported, and for the others the reason."""
    there, missing = [], {}
    for name in sorted(names, key=lambda name: name != packages.Zvec.name):
        try:
            if name == packages.Zvec.name:
                packages.start_zvec()
            for package in NEEDS.get(name, ()):
                importlib.import_module(package)
            if name == sqlite.SqliteVec.name:
                sqlite.sqlite_with_extensions()
            there.append(name)
        except Exception as error:  # noqa: BLE001 - a broken package must not end the comparison
            missing[name] = f"{type(error).__name__}: {error}".split("\n")[0]
    return [name for name in names if name in there], missing
