"""Notes: documents that `Index`, adapters, servers and importers wrote beside a memory, as recall returns them.

They did not pass the gate, so they are not facts: they have no subject, status or history, and are changed where they
were written. The kind of a hit follows from the collection in which it was found, never from its metadata.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.fusion import Query
from scrubjay.index import Index
from scrubjay.index.backend import Backend
from scrubjay.memory.model.decoding import as_moment
from scrubjay.memory.read.time_axes import QueryTime
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.retriever import Retriever
from scrubjay.retrieval.rewriting import Conversation
from scrubjay.retrieval.trace import Stage, Trace

_MAX_SCOPES = 10_000


@dataclass(frozen=True)
class Note:
    """A document of the index that contains the memory, in its present state.

    Attributes:
        id: the id within its scope; an int as its digits.
        scope: the exact scope in which it was written.
        text: the searched text.
        metadata: as written.
        created_at, expires_at: as given.
    """

    id: str
    scope: Scope
    text: str
    created_at: datetime | None
    expires_at: datetime | None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    kind = "note"


class Ranked(NamedTuple):
    """A hit in a ranking of facts and notes: the hit, whether it is a note, and the score by which it was ordered
    (None: its own)."""

    hit: RetrievedHit
    is_note: bool
    score: float | None = None


class IndexNotes:
    """The notes of a memory: one collection of its file, searched through its own retriever. Thread-safe.

    Args:
        index: the collection; None: there are no notes.
        retriever: the retriever of that collection.
        documents: memory's own collection, whose query embeddings are reused.
        version: returns a value that differs whenever any document may have changed; None: unknown.
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
        self._without: dict[Scope, object] = {}  # scope without visible notes -> version when it was read

    def any(self, scope: Scope) -> bool:
        """Whether `scope` sees any note; a negative answer is cached until something other than traces is written."""
        if self._backend is None:
            return False
        version = self._version()  # before reading: a concurrent write belongs to a later version
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
        """Return facts and notes as one ranking of k (see :func:`merged`), the retrieval behind it, and the number of
        unreadable notes, which are left out.

        Args:
            before: the retrieval of facts and episodes. If its embedder failed, it is not called again; if it
                embedded the question, the embedding is reused.
            facts: its remaining hits, best first, faded ones last; they stay last.
        """
        assert self._backend is not None
        if any(reason.startswith("embedder_failed") for reason in before.degraded):
            query = (Query() if query is None else query).replace(mode="lexical")
        else:
            self._documents.lend_query(text, self._backend)
        retrieved = self.search(text, scope, k, filter, query, conversation)
        notes = [hit for hit in retrieved if _is_readable(hit)]
        fresh = [hit for hit in facts if not hit.metadata.get("faded")]
        faded = [Ranked(hit, False) for hit in facts[len(fresh) :]]
        ranked = [*merged(fresh, notes), *faded][:k]
        return joined(before, retrieved, [one.hit for one in ranked]), ranked, len(retrieved) - len(notes)

    def note(self, hit: RetrievedHit) -> Note | None:
        """Return the note of a hit in its present state; None if it no longer exists."""
        assert self._index is not None
        document = self._index.get(hit.id, scope=hit.scope)
        if document is None or document.scope != hit.scope:
            return None
        return Note(
            str(document.id),
            document.scope,
            document.text,
            _moment(document.created_at),
            _moment(document.expires_at),
            dict(document.metadata or {}),
        )

    def close(self) -> None:
        """Release the retriever. The index stays open."""
        if self._retriever is not None:
            self._retriever.close()


def merged(facts: Sequence[RetrievedHit], notes: Sequence[RetrievedHit]) -> list[Ranked]:
    """Return two rankings of different collections as one; the order within each stays.

    Hits are ordered by scores that are comparable between collections: similarity to the question + BM25 / (greatest
    BM25 of both rankings), or the reranker's score if both were reranked; but never above a hit before it in its own
    ranking. Hits that contain an identifier of the question and lead their ranking come first. Ties are broken by the
    better rank, then in favour of facts. Idf and lengths, and so BM25, stay those of each collection.

    Measured on four judged sets split at random into two collections (half and half, and nine to one): on average .002
    nDCG@10 below one collection with everything; ordering by ranks alone (RRF) is .05 below.
    """
    every = (*facts, *notes)
    greatest = max((hit.bm25 or 0.0 for hit in every), default=0.0) or 1.0
    known = [hit.similarity for hit in every if hit.similarity is not None]
    farthest = min(0.0, *known) if known else 0.0  # for hits without a vector
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


def notes_of(filter: Mapping[str, Any] | None, moment: QueryTime | None) -> Mapping[str, Any] | None:
    """Return the filter for notes as of a moment. A note has no history: for an earlier time, notes created by then
    count."""
    until = None if moment is None else min(moment.as_of, moment.known_at or moment.now)
    if moment is None or until is None or until >= moment.now:
        return filter
    by_then = {"created_at": {"$lte": as_moment(until).isoformat()}}
    return by_then if filter is None else {"$and": [filter, by_then]}


def joined(before: Retrieved, notes: Retrieved, hits: Sequence[RetrievedHit]) -> Retrieved:
    """Return two retrievals as one.

    Args:
        before: the retrieval of facts and episodes, whose mode is used unless it found nothing.
        notes: the retrieval of notes.
        hits: the merged hits, in order.
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


def _moment(value: Any) -> datetime | None:
    return value if isinstance(value, datetime) else None
