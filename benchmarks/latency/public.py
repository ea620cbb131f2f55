"""The user's call: `Index.search` with its defaults, a new scope object, and ids, scores and texts of ten hits read.

Unlike the other workloads this one measures the defaults (automatic fusion, 100 candidates of each ranking) and random
vectors, for which neither codes nor an order of the documents help. The engine's call with the same question follows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import memories as memories_of
from benchmarks import recording
from benchmarks.latency import engine as asked
from benchmarks.latency.sizes import Part, Row, Sizes
from benchmarks.memories import Memories, Question
from benchmarks.vectors import Floats
from scrubjay.backend import Backend

HOW = {"memory": "Index, hits read", "file": "Index on a file, hits read"}
ENGINE, RANK_FUSION = "Scrubjay's engine", "Index, RRF of 50 candidates, hits read"


def public(sizes: Sizes) -> Part:
    """Measure a user of 1,000 memories and one of 10,000, with text and vector given."""
    rows: list[Row] = []
    for workload, n in (("public-1k", sizes.each), ("public-10k", sizes.large)):
        memories = memories_of.of_users(0, 0, n, sizes.dim, use_system=sizes.use_system, seed=sizes.seed)
        memories = memories.with_vectors(random_vectors(n, sizes.dim, sizes.seed))
        questions = memories.questions(memories.blocks, sizes.n_queries, seed=sizes.seed + 8)
        vectors = random_vectors(len(questions), sizes.dim, sizes.seed + 9)
        questions = [one.with_vector(vector) for one, vector in zip(questions, vectors, strict=True)]
        with tempfile.TemporaryDirectory(prefix="scrubjay-latency-") as folder:
            rows += _measured(workload, memories, questions, Path(folder), sizes)
    return {"rows": rows}


def random_vectors(n: int, dim: int, seed: int) -> Floats:
    """Return n uniformly distributed directions, (n, dim) float32."""
    drawn = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    found: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return found


def _measured(
    workload: str, memories: Memories, questions: Sequence[Question], folder: Path, sizes: Sizes
) -> list[Row]:
    import scrubjay

    with ExitStack() as opened:
        indexes = {
            "memory": opened.enter_context(scrubjay.Index(dim=sizes.dim)),
            "file": opened.enter_context(scrubjay.Index.open(folder / "memories.scrubjay", dim=sizes.dim)),
        }
        for index in indexes.values():
            _fill(index, memories)
        engine = Backend.of(indexes["memory"]).engine.native
        rank_fusion = scrubjay.Query(scrubjay.RRF(memories_of.RRF_K), candidates=memories_of.CANDIDATES)

        def arrays(question: Question) -> Any:
            scope = memories_of.scope_of(question)
            ids, scores = engine.search(question.query.text, vector=question.vector, scope=scope, k=asked.K)
            return ids, scores

        calls: dict[str, Callable[[Question], Any]] = {
            HOW[kind]: reader(index) for kind, index in indexes.items()
        }
        calls |= {ENGINE: arrays, RANK_FUSION: reader(indexes["memory"], query=rank_fusion)}
        times = recording.interleaved(calls, questions, seconds=sizes.seconds)
    return [
        {"workload": workload, "how": how, "visible": len(memories), **times[how], "recall": None}
        for how in calls
    ]


def reader(index: Any, **given: Any) -> Callable[[Question], int]:
    """Return the public call with its hits read, which returns the number of hits."""

    def read(question: Question) -> int:
        scope, n = memories_of.scope_of(question), 0
        for hit in index.search(question.query.text, vector=question.vector, scope=scope, k=asked.K, **given):
            _ = (hit.id, hit.score, hit.text)
            n += 1
        return n

    return read


def _fill(index: Any, memories: Memories) -> None:
    """Write the memories as documents of the index; then do the work of background maintenance."""
    for block in memories.blocks:
        scope = memories_of.scope_of(block)
        for first in range(block.first, block.last, memories_of.ROWS_A_CALL):
            rows = range(first, min(first + memories_of.ROWS_A_CALL, block.last))
            records = [
                {"id": f"m{row}", "text": memories.texts[row], "vector": memories.vectors[row]}
                for row in rows
            ]
            index.upsert_many(records, scope=scope, progress=False)
    index.admin.compact()
