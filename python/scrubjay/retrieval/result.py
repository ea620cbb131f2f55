"""The result of a retrieval: hits like those of a search, in an order that later stages may have changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import Scope, hits_of
from scrubjay.base.initialised import guarded
from scrubjay.index import Hit, Hits
from scrubjay.index.relevance import best_of
from scrubjay.retrieval.trace import Trace


@guarded
class RetrievedHit(Hit):
    """A hit with its scores from the stages after the search."""

    # Not in slots: few hits set these attributes, and the others then need no constructor.
    _evidence: tuple[int | None, int | None, bool] | None = None
    _own_score: float | None = None
    queries: tuple[int, ...] = (0,)
    """The queries that found it: 0 is the verbatim one, then the rewritten one, then the expansions."""
    rerank_score: float | None = None
    """The reranker's score, or None if it was not reranked."""

    def __init__(self, hits: Hits, position: int, score: float, queries: tuple[int, ...]) -> None:
        super().__init__(hits, position)
        self._own_score = score
        self.queries = queries

    @property
    def score(self) -> float:
        """The score of the best of its queries, or the reranker's."""
        return self.fused_score if self.rerank_score is None else self.rerank_score

    @property
    def fused_score(self) -> float:
        """The fused score of its best query, regardless of the reranker."""
        return super().score if self._own_score is None else self._own_score

    @property
    def evidence(self) -> tuple[int | None, int | None, bool]:
        """Lexical rank, vector rank, and whether it is in the identifier tier."""
        if self._evidence is None:
            return super().lexical_rank, super().vector_rank, super().identifier
        return self._evidence

    @property
    def payload(self) -> bytes | None:
        """The encoded metadata (see :mod:`scrubjay.documents.payload`)."""
        payload: bytes | None = self._result.payload(self._position)
        return payload

    def found_with(self, lexical_rank: int | None, vector_rank: int | None, identifier: bool) -> None:
        """Set the evidence with which another process found the hit.

        Args:
            lexical_rank, vector_rank: from 1; None: not among those candidates.
            identifier: whether it is in the identifier tier.
        """
        self._evidence = (lexical_rank, vector_rank, identifier)

    @property
    def lexical_rank(self) -> int | None:
        """The rank, from 1, among the lexical candidates; None if the document is not one of them."""
        return super().lexical_rank if self._evidence is None else self._evidence[0]

    @property
    def vector_rank(self) -> int | None:
        """The rank, from 1, among the vector candidates; None if the document is not one of them."""
        return super().vector_rank if self._evidence is None else self._evidence[1]

    @property
    def identifier(self) -> bool:
        """Whether the document is in the identifier tier."""
        return super().identifier if self._evidence is None else self._evidence[2]

    def to_dict(self, *, snippet: int | None = None) -> dict[str, Any]:
        """Return everything known about the hit as JSON types; see :meth:`scrubjay.Hit.to_dict`."""
        fields = super().to_dict(snippet=snippet)
        fields["queries"] = list(self.queries)
        if self.rerank_score is not None:
            fields["rerank_score"] = self.rerank_score
        return fields


def retrieved_hits(ranking: Hits) -> list[RetrievedHit]:
    """Return the hits of one query in order; created in one native call."""
    hits: list[RetrievedHit] = hits_of(RetrievedHit, ranking, ranking._result)
    return hits


class Retrieved(Sequence[RetrievedHit]):
    """The hits of one retrieval, as :class:`scrubjay.Hits` has them: indexing, iteration, `ids`, `scores` and so on."""

    def __init__(
        self,
        hits: Sequence[RetrievedHit],
        mode: str,
        degraded: tuple[str, ...],
        trace: Trace,
        cached: bool = False,
    ) -> None:
        self._hits = list(hits)
        self.mode = mode
        """The mode that really ran: "hybrid", "vector", "lexical", "substring" or "none"."""
        self.degraded = degraded
        """The reasons why less ran than was requested, each "code: sentence"."""
        self.trace = trace
        """The stages that ran, with their durations."""
        self.cached = cached
        """Whether it comes from a cache."""

    @property
    def ids(self) -> NDArray[Any]:
        """The ids in order: int64 of shape (n,), or an object array of str."""
        ids = [hit.id for hit in self._hits]
        if ids and isinstance(ids[0], str):
            array = np.empty(len(ids), dtype=object)
            array[:] = ids
            return array
        return np.array(ids, dtype=np.int64)

    @property
    def keys(self) -> list[tuple[Scope, str | int]]:
        """The keys in order: pairs of exact scope and id. Several hits may have the same id."""
        return [(hit.scope, hit.id) for hit in self._hits]

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores in order, float64 of shape (n,)."""
        return np.array([hit.score for hit in self._hits], dtype=np.float64)

    @property
    def texts(self) -> list[str]:
        """The texts in order."""
        return [hit.text for hit in self._hits]

    @property
    def relevance(self) -> str:
        """Whether any hit fits the question: the highest relevance of a hit; "none" without hits. Needs
        explain=True."""
        return best_of(hit.relevance for hit in self._hits)

    def to_dicts(self, *, snippet: int | None = None) -> list[dict[str, Any]]:
        """Return the hits as JSON-serialisable dicts, each with a snippet of `snippet` characters if that is given."""
        return [hit.to_dict(snippet=snippet) for hit in self._hits]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[RetrievedHit]:
        return iter(self._hits)

    @overload
    def __getitem__(self, position: int) -> RetrievedHit: ...
    @overload
    def __getitem__(self, position: slice) -> list[RetrievedHit]: ...
    def __getitem__(self, position: int | slice) -> RetrievedHit | list[RetrievedHit]:
        return self._hits[position]

    def __repr__(self) -> str:
        notes = "".join(f", {reason.partition(':')[0]}" for reason in self.degraded)
        if self.cached:
            notes += ", cached"
        return f"<scrubjay.Retrieved {len(self)}, {self.mode}{notes}: {self.trace!r}>"
