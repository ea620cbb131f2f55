"""The twelve searches and four calls on one document whose instructions are counted, and their data.

Everything is made from fixed seeds with integer arithmetic or correctly rounded operations, so that the same build has
the same counts on every machine: texts by Zipf's law over a made-up vocabulary, vectors around a few centres.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.micro.data import ZipfTexts, fixed_queries

SMALL, LARGE = 1_000, 10_000
DIM = 256
K = 10
CANDIDATES = 50


@dataclass(frozen=True)
class Case:
    """One search: `query` names one of the fixed queries (None: no text).

    Four of the cases have words that their scope does not contain. They have `spelling` off, so that they keep
    measuring the same work; a separate case counts the cost of correction.
    """

    name: str
    user: str
    mode: str
    query: str | None
    spelling: bool = True


CASES = (
    Case("lexical, three keywords, 1,000", "small", "lexical", "three keywords", spelling=False),
    Case("lexical, three keywords, 1,000, one unknown", "small", "lexical", "three keywords"),
    Case("lexical, six words, 10,000", "large", "lexical", "six words"),
    Case("lexical, sixty words, 10,000", "large", "lexical", "sixty words", spelling=False),
    Case("vector, 1,000", "small", "vector", None),
    Case("vector, 10,000", "large", "vector", None),
    Case("hybrid, three keywords, 1,000", "small", "hybrid", "three keywords", spelling=False),
    Case("hybrid, six words, 1,000", "small", "hybrid", "six words", spelling=False),
    Case("hybrid, three keywords, 10,000", "large", "hybrid", "three keywords"),
    Case("hybrid, twelve words, 10,000", "large", "hybrid", "twelve words"),
    Case("hybrid, six words, an empty partition", "nobody", "hybrid", "six words"),
)

# Calls on one document, after the searches, because a deletion changes their results.
GET, UPSERT, DELETE = (
    "get, one document, 10,000",
    "upsert, one new document, 1,000",
    "delete, one document, 10,000",
)
# A search in a separate engine with wide vectors.
WIDE_DIM = 768
WIDE = "vector of 768, 10,000"
# A write to an index on a file.
FILE = "upsert, one new document, 1,000, on a file"
NAMES = (*(case.name for case in CASES), GET, UPSERT, DELETE, WIDE, FILE)


def vectors(n: int, seed: int, dim: int = DIM) -> Any:
    """Return (n, dim) float32 around 64 centres, not normalised; no function of the C library is involved."""
    numbers = np.random.default_rng(seed)
    centres = numbers.random((64, dim), dtype=np.float32) - np.float32(0.5)
    noise = numbers.random((n, dim), dtype=np.float32) - np.float32(0.5)
    return centres[numbers.integers(64, size=n)] + noise


def filled_engine() -> Any:
    """Return an engine with both users' documents, numbered from 0."""
    import scrubjay

    engine = scrubjay.Engine(DIM)
    texts, number = ZipfTexts(seed=1), 0
    for user, n in (("small", SMALL), ("large", LARGE)):
        scope = scrubjay.Scope("micro", user=user)
        rows = list(range(number, number + n))
        engine.upsert_many(rows, texts.texts(n), scope=scope, vectors=vectors(n, seed=n))
        number += n
    return engine


def searches(engine: Any) -> dict[str, Callable[[], Any]]:
    """Return the searches by name."""
    import scrubjay

    queries, asked = fixed_queries(), vectors(1, seed=5)[0]

    def search_of(case: Case) -> Callable[[], Any]:
        scope = scrubjay.Scope("micro", user=case.user)
        text = None if case.query is None else queries[case.query]
        vector = None if case.mode == "lexical" else asked
        query = scrubjay.Query(candidates=CANDIDATES, mode=case.mode, spelling=case.spelling)

        def search() -> Any:
            ids, scores = engine.search(text, vector=vector, scope=scope, k=K, query=query)
            return ids, scores

        return search

    return {case.name: search_of(case) for case in CASES}


def document_calls(engine: Any) -> dict[str, Callable[[], Any]]:
    """Return get, upsert and delete of one document by name; each delete and upsert takes another document."""
    import scrubjay

    small, large = (scrubjay.Scope("micro", user=user) for user in ("small", "large"))
    text, vector = ZipfTexts(seed=3).text(30), vectors(1, seed=6)[0]
    new, doomed = count(SMALL + LARGE), count(SMALL)

    def upsert() -> Any:
        engine.upsert(next(new), text, scope=small, vector=vector)

    def delete() -> Any:
        return engine.delete(next(doomed), scope=large)

    return {GET: lambda: engine.get(SMALL + LARGE // 2, scope=large), UPSERT: upsert, DELETE: delete}


def wide_search() -> Callable[[], Any]:
    """Return a search among LARGE wide vectors, near one of them."""
    import scrubjay

    engine, scope = scrubjay.Engine(WIDE_DIM), scrubjay.Scope("micro")
    rows = vectors(LARGE, seed=LARGE, dim=WIDE_DIM)
    engine.upsert_many(list(range(LARGE)), [""] * LARGE, scope=scope, vectors=rows)
    asked, query = rows[LARGE // 2] + vectors(1, seed=5, dim=WIDE_DIM)[0], scrubjay.Query(mode="vector")

    def search() -> Any:
        ids, scores = engine.search(vector=asked, scope=scope, k=K, query=query)
        return ids, scores

    return search


def file_upsert() -> Callable[[], Any]:
    """Return an upsert into 1,000 documents on a file whose commits do not wait for the disk; each adds one."""
    import scrubjay

    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    path, scope = Path(folder.name) / "memories.scrubjay", scrubjay.Scope("micro", user="small")
    texts, rows = ZipfTexts(seed=1).texts(SMALL), vectors(SMALL, seed=SMALL)
    with scrubjay.Index.open(path, dim=DIM, durability="normal") as filled:
        filled.upsert_many(
            [{"id": row, "text": texts[row], "vector": rows[row]} for row in range(SMALL)],
            scope=scope,
            progress=False,
        )
    index = scrubjay.Index.open(path, dim=DIM, durability="normal")  # with no pending background work
    index.search(texts[0], scope=scope)
    text, vector, new = ZipfTexts(seed=3).text(30), vectors(1, seed=6)[0], count(SMALL)

    def upsert(_: Any = folder) -> Any:  # keeps the folder alive
        index.upsert(next(new), text, scope=scope, vector=vector)

    return upsert


def calls() -> dict[str, Callable[[], Any]]:
    """Return all calls by name, in the order in which they must run."""
    engine = filled_engine()
    return {**searches(engine), **document_calls(engine), WIDE: wide_search(), FILE: file_upsert()}
