"""The demo: what each kind of search finds in readable memories.

`memories.jsonl` holds notes of assistants about several people of two invented organisations: facts shared with all of
a tenant, with one user, or with one agent. `questions.json` holds questions with the ids of the memories that answer
them.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from scrubjay._native import Scope
from scrubjay.demo.remembering import remember
from scrubjay.documents.records import Record
from scrubjay.embedders.protocol import Embedder
from scrubjay.fusion import Query
from scrubjay.index import Hits, Index

__all__ = [
    "Answer",
    "Question",
    "ask",
    "load_memories",
    "load_questions",
    "make_file",
    "make_index",
    "remember",
]

MODES = ("lexical", "vector", "hybrid")


@dataclass(frozen=True)
class Question:
    """A question, its scope, what it demonstrates, and the ids of the memories that answer it."""

    title: str
    text: str
    scope: Scope
    shows: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The result of one mode, and the median time of a search (without embedding the question)."""

    mode: str
    hits: Hits
    search_us: float


def load_memories() -> list[Record]:
    """Return the sample: a few hundred records with unique ids and scopes.

    >>> memories = load_memories()
    >>> len(memories) >= 300, len({memory.id for memory in memories}) == len(memories)
    (True, True)
    """
    rows = map(json.loads, _data("memories.jsonl").splitlines())
    return [
        Record(
            row["id"],
            row["text"],
            Scope(row["tenant"], row.get("user"), row.get("agent")),
            row["metadata"],
            row["created_at"],
        )
        for row in rows
    ]


def load_questions() -> list[Question]:
    """Return the questions of the demo."""
    return [
        Question(
            row["title"],
            row["text"],
            Scope(row["tenant"], row.get("user"), row.get("agent")),
            row["shows"],
            tuple(row["answers"]),
        )
        for row in json.loads(_data("questions.json"))
    ]


def make_index(embedder: Embedder | None, *, progress: bool | None = None) -> Index:
    """Index the sample."""
    index = Index(embedder)
    index.upsert_many(load_memories(), progress=progress)
    return index


def make_file(path: str | Path, embedder: Embedder | None, *, progress: bool | None = None) -> Index:
    """Create a file with the sample and a typed memory (:func:`remember`); return its index."""
    index = Index.open(path, embedder)
    index.upsert_many(load_memories(), progress=progress)
    remember(index)
    return index


def ask(
    index: Index, question: Question, *, k: int = 3, repeats: int = 50
) -> tuple[list[Answer], float | None]:
    """Answer in each mode; return the answers and the median time of embedding the question in microseconds.

    The time is None if the index has no embedder, or one that fails. Searches are timed with the vector given, since an
    index embeds the same question only once.
    """
    embedder = index.embedder
    vector: Any = None
    embed_us: float | None = None
    if embedder is not None:
        try:
            vector = embedder.embed_query(question.text)
            embed_us = median_us(lambda: embedder.embed_query(question.text), min(repeats, 20))
        except Exception:  # noqa: BLE001 - the search below reports the embedder's error
            vector = None

    answers = []
    for mode in MODES:
        query = Query(mode=mode)  # type: ignore[arg-type]

        def search(query: Query = query, *, explain: bool = False) -> Hits:
            return index.search(
                question.text, vector=vector, scope=question.scope, k=k, query=query, explain=explain
            )

        answers.append(Answer(mode, search(explain=True), median_us(search, repeats)))
    return answers, embed_us


def median_us(call: Callable[[], object], repeats: int) -> float:
    """Return the median wall time of `call` in microseconds, after three uncounted calls."""
    for _ in range(3):
        call()
    times_ns = []
    for _ in range(max(1, repeats)):
        start = time.perf_counter_ns()
        call()
        times_ns.append(time.perf_counter_ns() - start)
    return statistics.median(times_ns) / 1000


def _data(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
