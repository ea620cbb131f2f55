"""Notes: the documents that `Index`, adapters, servers and importers wrote beside a memory, as recall sees them.

They passed no gate, so they are no facts: they have no subject, status or history, and they are changed where they were
written. A hit's kind follows from the collection that it was found in, never from its metadata.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.backend import Backend
from scrubjay.errors import CorruptIndexError
from scrubjay.fusion import Query
from scrubjay.index import Index
from scrubjay.memory.model.decoding import as_moment
from scrubjay.memory.read.moments import Moment
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.retriever import Retriever
from scrubjay.retrieval.rewriting import Conversation
from scrubjay.retrieval.trace import Stage, Trace

_MAX_SCOPES = 10_000


@dataclass(frozen=True)
class Note:
    """A document of the index that the memory is in, as it is now.

    Attributes:
        id: within its scope; a number as its digits.
        scope: the exact scope that it was written in.
        text: what is searched and shown.
        metadata: as it was written.
        created_at, expires_at: as they were given.
    """

    id: str
    scope: Scope
    text: str
    created_at: datetime | None
    expires_at: datetime | None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    kind = "note"


class Ranked(NamedTuple):
    """A hit in a ranking of facts and notes: itself, whether it is a note, and the score that ordered it (None: its
    own)."""

    hit: RetrievedHit
    is_note: bool
    score: float | None = None


class IndexNotes:
    """The notes of a memory: one collection of its file, searched through a retriever of its own. Thread-safe.

    Args:
        index: the collection; None: there are no notes.
        retriever: over that collection.
        documents: memory's own collection, whose embeddings of questions are used again.
        version: returns what differs whenever any document may have changed; None: that cannot be said.
    """

    def __init__(
        self,
        index: Index | None,
        retriever: Retriever | None,
        documents: Index,
        version: Callable[[], object | None],
    ) -> None:
        self._index = index
        self._retriever = retriever
        self._backend = None if index is None else Backend.of(index)
        self._documents = Backend.of(documents)
        self._version = version
        self._without: dict[Scope, object] = {}  # scopes that see none, as of a version

    def any(self, scope: Scope) -> bool:
        """Whether `scope` sees any; not asked again where it sees none, until something but traces is written."""
        if self._backend is None:
            return False
        version = self._version()  # first: what is written meanwhile is of a later one
        if version is not None and self._without.get(scope) == version:
            return False
        if self._backend.holds(scope):
            return True
        if version is not None:
            if len(self._without) >= _MAX_SCOPES:
                self._without = {}
            self._without[scope] = version
        return False

    def search(
        self,
        text: str,
        scope: Scope,
        k: int,
        filter: Mapping[str, Any] | None,
        query: Query | None,
        conversation: Conversation | None = None,
    ) -> Retrieved:
        """Return the k best notes for a question, as :meth:`Retriever.search` does."""
        if self._retriever is None:
            return Retrieved([], "none", (), Trace())
        return self._retriever.search(
            text, scope=scope, k=k, filter=filter, query=query, explain=True, conversation=conversation
        )

    def beside(
        self,
        before: Retrieved,
        facts: Sequence[RetrievedHit],
        text: str,
        scope: Scope,
        k: int,
        filter: Mapping[str, Any] | None,
        query: Query | None,
        conversation: Conversation | None = None,
    ) -> tuple[Retrieved, list[Ranked], int]:
        """Return facts and notes as one ranking of k (see :func:`merged`), the retrieval behind it, and how many notes
        cannot be read, which are left out.

        Args:
            before: the retrieval of facts and episodes. An embedder that failed there is not asked again, and a
                question that was embedded is not embedded again.
            facts: what is left of its hits, best first, those that have faded last; they stay last.
        """
        assert self._backend is not None
        if any(reason.startswith("embedder_failed") for reason in before.degraded):
            query = (Query() if query is None else query).replace(mode="lexical")
        else:
            self._documents.lend_query(text, self._backend)
        found = self.search(text, scope, k, filter, query, conversation)
        notes = [hit for hit in found if _is_readable(hit)]
        fresh = [hit for hit in facts if not hit.metadata.get("faded")]
        faded = [Ranked(hit, False) for hit in facts[len(fresh) :]]
        ranked = [*merged(fresh, notes), *faded][:k]
        return joined(before, found, [one.hit for one in ranked]), ranked, len(found) - len(notes)

    def note(self, hit: RetrievedHit) -> Note | None:
        """Return what a hit found as it is now; None if it is gone."""
        assert self._index is not None
        found = self._index.get(hit.id, scope=hit.scope)
        if found is None or found.scope != hit.scope:
            return None
        return Note(
            str(found.id),
            found.scope,
            found.text,
            _moment(found.created_at),
            _moment(found.expires_at),
            dict(found.metadata or {}),
        )

    def close(self) -> None:
        """Release the retriever. The index stays open."""
        if self._retriever is not None:
            self._retriever.close()


def merged(facts: Sequence[RetrievedHit], notes: Sequence[RetrievedHit]) -> list[Ranked]:
    """Return two rankings of different collections as one, each in the order that it has.

    A hit counts by what is comparable between collections: similarity to the question + BM25 / (greatest BM25 of both
    rankings), or the reranker's score where both were reranked; and by no more than those before it in its own ranking.
    Holders of an identifier of the question that lead their ranking come first. On a tie the better rank counts, then
    facts come first. Idf and lengths, and so BM25, stay those of each collection.

    Measured on four judged sets cut at random into two collections (half and half, and nine to one): on average .002 of
    nDCG@10 below one collection that holds everything; the order by ranks alone (RRF) is .05 below.
    """
    every = (*facts, *notes)
    greatest = max((hit.bm25 or 0.0 for hit in every), default=0.0) or 1.0
    known = [hit.similarity for hit in every if hit.similarity is not None]
    farthest = min(0.0, *known) if known else 0.0  # where a vector is missing
    reranked = bool(facts and notes) and None not in (facts[0].rerank_score, notes[0].rerank_score)

    def evidence(hit: RetrievedHit) -> float:
        if reranked:
            return -math.inf if hit.rerank_score is None else hit.rerank_score
        return (farthest if hit.similarity is None else hit.similarity) + (hit.bm25 or 0.0) / greatest

    placed: list[tuple[tuple[bool, float, int, bool], Ranked]] = []
    for is_note, ranking in ((False, facts), (True, notes)):
        least, in_tier = math.inf, True
        for rank, hit in enumerate(ranking):
            least, in_tier = min(least, evidence(hit)), in_tier and hit.identifier
            placed.append(((not in_tier, -least, rank, is_note), Ranked(hit, is_note, least)))
    return [ranked for _, ranked in sorted(placed, key=itemgetter(0))]


def notes_of(filter: Mapping[str, Any] | None, moment: Moment | None) -> Mapping[str, Any] | None:
    """Return the conditions for notes as of a moment. A note has no history: for an earlier time those count that say
    that they were created by then."""
    until = None if moment is None else min(moment.as_of, moment.known_at or moment.now)
    if moment is None or until is None or until >= moment.now:
        return filter
    by_then = {"created_at": {"$lte": as_moment(until).isoformat()}}
    return by_then if filter is None else {"$and": [filter, by_then]}


def joined(before: Retrieved, notes: Retrieved, hits: Sequence[RetrievedHit]) -> Retrieved:
    """Return the retrieval that two retrievals were together.

    Args:
        before: the one of facts and episodes, whose mode counts unless it found nothing.
        notes: the one of notes.
        hits: of both, in order.
    """
    mode = notes.mode if len(notes) and not len(before) else before.mode
    stage = Stage("notes", notes.trace.total_us, n_in=1, n_out=len(notes), details={"mode": notes.mode})
    return Retrieved(
        hits,
        mode,
        tuple(dict.fromkeys((*before.degraded, *notes.degraded))),
        Trace([*before.trace.stages, stage]),
        before.cached and notes.cached,
    )


def _is_readable(hit: RetrievedHit) -> bool:
    try:
        return hit.metadata is not None
    except CorruptIndexError:
        return False


def _moment(given: Any) -> datetime | None:
    return given if isinstance(given, datetime) else None
