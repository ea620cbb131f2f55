"""Search results of the model: the interface of the native result, as plain lists and arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.scopes import AnyScope, DocumentKey, key


@dataclass(frozen=True)
class Document:
    """A stored document as `get` returns it."""

    id: str | int
    text: str
    scope: AnyScope
    payload: bytes | None
    vector: NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.uint32]] | None
    version: int = 0

    @property
    def key(self) -> DocumentKey:
        return key(self.scope), self.id


@dataclass(frozen=True)
class Hit:
    """One row of a result; ranks are 0 and values NaN where a retriever does not know the document."""

    document: Document
    score: float
    lexical_rank: int
    vector_rank: int
    bm25: float
    similarity: float
    coverage: float
    matched_terms: Sequence[str]
    identifier: bool = False
    parts: Mapping[str, float] = field(default_factory=dict)
    information: float = math.nan
    passage: tuple[int, int] | None = None
    another: bool = False


class Result:
    """Hits in order, best first."""

    def __init__(
        self,
        hits: Sequence[Hit],
        mode: str,
        lexical_share: float = math.nan,
        spread: tuple[float, float] = (math.nan, math.nan),
        query_information: float = math.nan,
        corrections: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._hits = list(hits)
        self.similarity_spread = spread
        self.query_information = query_information
        self.corrections = list(corrections)
        self.mode = mode
        self.lexical_share = lexical_share

    @property
    def ids(self) -> NDArray[Any]:
        ids = [hit.document.id for hit in self._hits]
        if ids and isinstance(ids[0], str):
            array = np.empty(len(ids), dtype=object)
            array[:] = ids
            return array
        return np.array(ids, dtype=np.int64)

    @property
    def scores(self) -> NDArray[np.float64]:
        return np.array([hit.score for hit in self._hits], dtype=np.float64)

    @property
    def lexical_ranks(self) -> NDArray[np.int32]:
        return np.array([hit.lexical_rank for hit in self._hits], dtype=np.int32)

    @property
    def vector_ranks(self) -> NDArray[np.int32]:
        return np.array([hit.vector_rank for hit in self._hits], dtype=np.int32)

    @property
    def bm25(self) -> NDArray[np.float64]:
        return np.array([hit.bm25 for hit in self._hits], dtype=np.float64)

    @property
    def similarities(self) -> NDArray[np.float32]:
        return np.array([hit.similarity for hit in self._hits], dtype=np.float32)

    @property
    def information(self) -> NDArray[np.float64]:
        return np.array([hit.information for hit in self._hits], dtype=np.float64)

    @property
    def coverage(self) -> NDArray[np.float64]:
        return np.array([hit.coverage for hit in self._hits], dtype=np.float64)

    @property
    def another(self) -> NDArray[np.bool_]:
        return np.array([hit.another for hit in self._hits], dtype=np.bool_)

    @property
    def identifiers(self) -> NDArray[np.bool_]:
        return np.array([hit.identifier for hit in self._hits], dtype=np.bool_)

    def text(self, index: int) -> str:
        return self._hits[index].document.text

    def payload(self, index: int) -> bytes | None:
        return self._hits[index].document.payload

    def scope(self, index: int) -> AnyScope:
        return self._hits[index].document.scope

    def matched_terms(self, index: int) -> list[str]:
        return list(self._hits[index].matched_terms)

    def passage(self, index: int) -> tuple[int, int] | None:
        return self._hits[index].passage

    def parts(self, index: int) -> dict[str, float]:
        return dict(self._hits[index].parts)

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        yield self.ids
        yield self.scores
