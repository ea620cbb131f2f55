"""Judged sets: their files and location.

A set is a folder with `corpus.jsonl`, `queries.jsonl`, `qrels.tsv` and `<model>.docs.npy` / `<model>.queries.npy`; the
data are not part of this project. `SCRUBJAY_DATA` names the folder of sets; the default is `../shared/data`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.base.datafiles import json_lines
from scrubjay.retrieval.judged_sets import judgements, turn_of

SETS = ("locomo_dev", "lme_user_dev", "ident_dev", "techcodes")
VECTOR_SETS = ("wordllama256", "bge_small_int8")
WHOLE_CORPUS = "all"
"""The scope of a set that has only one."""


def data_folder(given: Path | None = None) -> Path:
    """Return the folder of judged sets; it may be absent."""
    if given is not None:
        return given
    default = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data"
    return Path(os.environ.get("SCRUBJAY_DATA", default))


@dataclass(frozen=True)
class Query:
    id: str
    text: str
    scope: str
    category: str
    relevant: frozenset[str]
    row: int
    """Its row in `<model>.queries.npy`."""
    asked_at: str | None = None
    """The time of the question from the set, or that of the last memory of the scope, or None."""


@dataclass(frozen=True)
class Memory:
    id: str
    text: str
    scope: str
    row: int
    created_at: str | None = None
    turn: dict[str, Any] | None = None
    """`run`, `position` and `speaker`, if the set has them."""


@dataclass(frozen=True)
class JudgedSet:
    """One set; files are read on first use."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def memories(self) -> list[Memory]:
        return [
            Memory(
                row["id"],
                row["text"],
                row["meta"].get("scope") or WHOLE_CORPUS,
                index,
                row["meta"].get("ts"),
                turn_of(row["meta"]) or None,
            )
            for index, row in enumerate(self._lines("corpus.jsonl"))
        ]

    @cached_property
    def queries(self) -> list[Query]:
        """The queries with at least one judgement."""
        relevant = judgements(self.folder / "qrels.tsv")
        last: dict[str, str] = {}
        for memory in self.memories:
            if memory.created_at is not None:
                last[memory.scope] = max(memory.created_at, last.get(memory.scope, ""))
        return [
            Query(
                row["id"],
                row["text"],
                row["scope"] or WHOLE_CORPUS,
                row["category"],
                frozenset(relevant[row["id"]]),
                index,
                row.get("ts") or last.get(row["scope"] or WHOLE_CORPUS),
            )
            for index, row in enumerate(self._lines("queries.jsonl"))
            if row["id"] in relevant
        ]

    def originals(self) -> dict[str, str]:
        """Return the text without its error for each query of a set with typing errors."""
        return {row["id"]: row["meta"]["original"] for row in self._lines("queries.jsonl")}

    def part(self, scopes: Collection[str], n_queries: int) -> JudgedSet:
        """Return the set restricted to these scopes, and to at most `n_queries` of their queries, evenly spread."""
        smaller = JudgedSet(self.folder)
        queries = [query for query in self.queries if query.scope in scopes]
        step = max(1, len(queries) // n_queries)
        smaller.__dict__["memories"] = [memory for memory in self.memories if memory.scope in scopes]
        smaller.__dict__["queries"] = queries[::step][:n_queries]
        return smaller

    def document_vectors(self, model: str) -> NDArray[np.float32]:
        return self._vectors(f"{model}.docs.npy")

    def query_vectors(self, model: str) -> NDArray[np.float32]:
        return self._vectors(f"{model}.queries.npy")

    def _vectors(self, name: str) -> NDArray[np.float32]:
        vectors: NDArray[np.float16] = np.load(self.folder / name)
        return vectors.astype(np.float32)

    def _lines(self, name: str) -> Iterator[Mapping[str, Any]]:
        return (row.value for row in json_lines(self.folder / name))


def judged_sets(folder: Path, names: tuple[str, ...] = SETS) -> list[JudgedSet]:
    """Return the sets that are present."""
    return [JudgedSet(folder / name) for name in names if (folder / name / "corpus.jsonl").is_file()]
