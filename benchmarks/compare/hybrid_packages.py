"""Packaged hybrid engines, each used as its own documentation advises.

All of them store data in a folder, search one user's documents only (a file or table for each, or a filter on an
indexed field), rank both ways and fuse by reciprocal rank; a search after a write sees it. `settings` are the values of
the knob that trades time for recall, the default first; the driver chooses by the recall it measures.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memories import CANDIDATES, ROWS_A_CALL, RRF_K, Block, Memories, Question
from benchmarks.vectors import Floats

K1, B = 1.2, 0.75
os.environ.setdefault(
    "LANCEDB_LOG", "error"
)  # before lancedb is loaded, which otherwise warns at every search


def batches(block: Block) -> list[range]:
    """Return the documents of a block in batches of a thousand."""
    return [
        range(first, min(first + ROWS_A_CALL, block.last))
        for first in range(block.first, block.last, ROWS_A_CALL)
    ]


class QdrantEdge:
    name = "qdrant-edge"
    note = "one shard, tenant index, HNSW per tenant (payload_m 16), BM25 as sparse vectors, idf of the user"
    settings: Sequence[Any] = (None, 256, 512, "exact")
    n_adds = 200

    def __init__(self, folder: Path) -> None:
        import qdrant_edge as q

        self._q, self._folder = q, folder
        self._setting: Any = None
        self._filters: dict[str | None, Any] = {}

    def build(self, memories: Memories) -> None:
        q = self._q
        config = q.EdgeConfig(
            vectors={"dense": q.EdgeVectorParams(memories.vectors.shape[1], q.Distance.Dot)},
            sparse_vectors={"words": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
            hnsw_config=q.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000, payload_m=16),
            max_search_threads=1,
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        self._shard = q.EdgeShard.create(str(self._folder), config)
        tenant = q.KeywordIndexParams(is_tenant=True)
        self._shard.update(q.UpdateOperation.create_field_index("user", tenant))
        self._average = float(np.mean(np.diff(memories.terms.starts)))
        for block in memories.blocks:
            for rows in batches(block):
                points = [
                    self._point(row, block, memories.terms.of(row).tolist(), memories.vectors[row])
                    for row in rows
                ]
                self._shard.update(q.UpdateOperation.upsert_points(points))
        self._shard.optimize()
        self._number_of = {word: number for number, word in enumerate(memories.terms.words)}

    def open(self) -> None:
        self._shard = self._q.EdgeShard.load(str(self._folder))

    def _point(self, number: int, block: Block, terms: Sequence[int], vector: Floats) -> Any:
        norm = K1 * (1 - B + B * len(terms) / self._average)
        counts = {term: terms.count(term) for term in terms}
        weights = [count * (K1 + 1) / (count + norm) for count in counts.values()]
        words = self._q.SparseVector(list(counts), weights)
        return self._q.Point(number, {"dense": vector.tolist(), "words": words}, {"user": block.user})

    def use(self, setting: Any) -> None:
        self._setting = setting

    def search(self, question: Question, k: int) -> Any:
        q = self._q
        mine = self._filters.get(question.user)
        if mine is None:
            mine = q.Filter(must=[q.FieldCondition("user", match=q.MatchValue(question.user))])
            self._filters[question.user] = mine
        how = (
            q.SearchParams(exact=True) if self._setting == "exact" else q.SearchParams(hnsw_ef=self._setting)
        )
        counts = {term: question.query.terms.count(term) for term in question.query.terms}
        words = q.SparseVector(list(counts), [float(count) for count in counts.values()])
        arms = [
            q.Prefetch(
                CANDIDATES, query=q.Query.Nearest(question.vector, using="dense"), filter=mine, params=how
            ),
            q.Prefetch(
                CANDIDATES,
                query=q.Query.Nearest(words, using="words"),
                filter=mine,
                params=q.SearchParams(idf=q.IdfParams(corpus=mine)),
            ),
        ]
        return self._shard.query(q.QueryRequest(k, prefetches=arms, query=q.Fusion.Rrf(int(RRF_K))))

    def found(self, question: Question, k: int) -> list[int]:
        return [int(point.id) for point in self.search(question, k)]

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        terms = [self._number_of[word] for word in line.split() if word in self._number_of]
        self._shard.update(self._q.UpdateOperation.upsert_points([self._point(number, block, terms, vector)]))

    def close(self) -> None:
        self._shard.close()


@lru_cache(maxsize=1)
def start_zvec() -> None:
    """Initialise zvec, once a process and before numba or usearch are loaded: after them it reads a wrong limit."""
    import zvec

    zvec.init(query_threads=1, optimize_threads=1, log_level=zvec.LogLevel.ERROR)


class Zvec:
    name = "zvec"
    note = "one collection, inverted index on the user, HNSW, full-text index of whitespace words"
    settings: Sequence[Any] = (300, 600)
    n_adds = 100

    def __init__(self, folder: Path) -> None:
        import zvec

        self._z, self._folder = zvec, folder
        start_zvec()
        self._fusion = zvec.RrfReRanker(rank_constant=int(RRF_K))
        self._ef = self.settings[0]

    def build(self, memories: Memories) -> None:
        z = self._z
        schema = z.CollectionSchema(
            name="memories",
            fields=[
                z.FieldSchema("user", z.DataType.STRING, index_param=z.InvertIndexParam()),
                z.FieldSchema(
                    "text",
                    z.DataType.STRING,
                    index_param=z.FtsIndexParam(tokenizer_name="whitespace", filters=[]),
                ),
            ],
            vectors=z.VectorSchema(
                "dense",
                z.DataType.VECTOR_FP32,
                memories.vectors.shape[1],
                index_param=z.HnswIndexParam(metric_type=z.MetricType.IP),
            ),
        )
        self._collection = z.create_and_open(path=str(self._folder), schema=schema)
        for block in memories.blocks:
            for rows in batches(block):
                self._collection.insert(
                    [self._doc(row, block, memories.terms.line(row), memories.vectors[row]) for row in rows]
                )
        self._collection.optimize()

    def open(self) -> None:
        self._collection = self._z.open(str(self._folder))

    def _doc(self, number: int, block: Block, line: str, vector: Floats) -> Any:
        return self._z.Doc(
            id=str(number), vectors={"dense": vector.tolist()}, fields={"user": block.user, "text": line}
        )

    def use(self, setting: Any) -> None:
        self._ef = setting

    def search(self, question: Question, k: int) -> Any:
        z = self._z
        arms = [
            z.Query("text", fts=z.Fts(match_string=" ".join(question.query.words))),
            z.Query("dense", vector=question.vector, param=z.HnswQueryParam(ef=self._ef)),
        ]
        return self._collection.query(
            arms, topk=CANDIDATES, filter=f"user = '{question.user}'", output_fields=[], reranker=self._fusion
        )

    def found(self, question: Question, k: int) -> list[int]:
        return [int(doc.id) for doc in self.search(question, k)][:k]

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        self._collection.insert([self._doc(number, block, line, vector)])

    def close(self) -> None:
        self._collection.close()


class LanceDb:
    name = "lancedb"
    note = "a table for each user, vectors scanned exactly, native full-text index; new rows are scanned beside it"
    settings: Sequence[Any] = (None,)
    n_adds = 10

    def __init__(self, folder: Path) -> None:
        import lancedb
        import pyarrow
        from lancedb.rerankers import RRFReranker

        self._db, self._arrow = lancedb.connect(folder), pyarrow
        self._fusion = RRFReranker(int(RRF_K))
        self._tables: dict[str | None, Any] = {}

    def build(self, memories: Memories) -> None:
        from lancedb.index import FTS

        plain = FTS(
            base_tokenizer="whitespace",
            lower_case=False,
            stem=False,
            remove_stop_words=False,
            ascii_folding=False,
            with_position=False,
        )
        for block in memories.blocks:
            rows = range(block.first, block.last)
            lines = [memories.terms.line(row) for row in rows]
            table = self._rows(list(rows), lines, memories.vectors[block.first : block.last])
            self._tables[block.user] = self._db.create_table(str(block.user), table)
            self._tables[block.user].create_index("text", config=plain)

    def open(self) -> None:
        self._tables = {}

    def _rows(self, numbers: list[int], lines: list[str], vectors: Floats) -> Any:
        a = self._arrow
        flat = a.FixedSizeListArray.from_arrays(a.array(vectors.ravel()), vectors.shape[1])
        return a.table([a.array(numbers), a.array(lines), flat], names=["number", "text", "vector"])

    def use(self, setting: Any) -> None:
        pass

    def search(self, question: Question, k: int) -> Any:
        table = self._tables.get(question.user)
        if table is None:
            table = self._tables[question.user] = self._db.open_table(str(question.user))
        asked = table.search(query_type="hybrid").vector(question.vector).text(" ".join(question.query.words))
        return asked.limit(CANDIDATES).rerank(self._fusion).select(["number"]).to_arrow()

    def found(self, question: Question, k: int) -> list[int]:
        return list(self.search(question, k).column("number").to_pylist()[:k])

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        self._tables[block.user].add(self._rows([number], [line], vector[None]))

    def close(self) -> None:
        self._tables.clear()


class MilvusLite:
    name = "milvus-lite"
    note = "one collection, partition key, HNSW, BM25 function (statistics of the collection)"
    settings: Sequence[Any] = (128, 512)
    n_adds = 20

    def __init__(self, folder: Path) -> None:
        import pymilvus

        self._m = pymilvus
        folder.mkdir(parents=True, exist_ok=True)
        self._client = pymilvus.MilvusClient(str(folder / "milvus.db"))
        self._ef = self.settings[0]

    def build(self, memories: Memories) -> None:
        m, kinds = self._m, self._m.DataType
        schema = self._client.create_schema()
        schema.add_field("id", kinds.INT64, is_primary=True)
        schema.add_field("user", kinds.VARCHAR, max_length=64, is_partition_key=True)
        schema.add_field("text", kinds.VARCHAR, max_length=8_000, enable_analyzer=True)
        schema.add_field("dense", kinds.FLOAT_VECTOR, dim=memories.vectors.shape[1])
        schema.add_field("words", kinds.SPARSE_FLOAT_VECTOR)
        bm25 = m.FunctionType.BM25
        schema.add_function(
            m.Function(
                name="bm25", input_field_names=["text"], output_field_names=["words"], function_type=bm25
            )
        )
        indexes = self._client.prepare_index_params()
        graph = {"M": 16, "efConstruction": 200}
        indexes.add_index("dense", index_type="HNSW", metric_type="IP", params=graph)
        indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        self._client.create_collection(
            "memories", schema=schema, index_params=indexes, consistency_level="Strong"
        )
        for block in memories.blocks:
            for rows in batches(block):
                self._client.insert(
                    "memories",
                    [self._row(row, block, memories.terms.line(row), memories.vectors[row]) for row in rows],
                )
        self._client.flush("memories")
        self.open()

    def open(self) -> None:
        self._client.load_collection("memories")

    def _row(self, number: int, block: Block, line: str, vector: Floats) -> dict[str, Any]:
        return {"id": number, "user": block.user, "text": line, "dense": vector}

    def use(self, setting: Any) -> None:
        self._ef = setting

    def search(self, question: Question, k: int) -> Any:
        mine, words = f"user == '{question.user}'", " ".join(question.query.words)
        arm = self._m.AnnSearchRequest
        arms = [
            arm([words], "words", {}, CANDIDATES, expr=mine),
            arm([question.vector], "dense", {"params": {"ef": self._ef}}, CANDIDATES, expr=mine),
        ]
        return self._client.hybrid_search("memories", arms, self._m.RRFRanker(int(RRF_K)), k)

    def found(self, question: Question, k: int) -> list[int]:
        return [int(hit["id"]) for hit in self.search(question, k)[0]]

    def add(self, number: int, block: Block, line: str, vector: Floats) -> None:
        self._client.insert("memories", [self._row(number, block, line, vector)])

    def close(self) -> None:
        self._client.close()
