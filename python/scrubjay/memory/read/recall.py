"""Recall: one search over the facts and episodes of a scope that are in force, or were at another time, and over its
notes.

Provisional and expired records are not in the searched collection; the documents of all others have their intervals,
and the search filters by a time. The kind and id of a hit come from the document; its record is read on access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from scrubjay._native import Filter, Scope, names_in
from scrubjay.documents.payload import CreatedAt
from scrubjay.filters import FilterLike
from scrubjay.fusion import Query, Relevance
from scrubjay.index.filter_functions import check_filter
from scrubjay.index.relevance import TIERS, checked_tier, reaches
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.rows import rows_where
from scrubjay.memory.ledger.statements import known_rows
from scrubjay.memory.model.documents import holding, ids_of_documents
from scrubjay.memory.model.names import RECALLED_KINDS, RecalledKind
from scrubjay.memory.model.records import Episode, Fact
from scrubjay.memory.model.row_records import record_of
from scrubjay.memory.model.sensitivity import checked_without, not_of
from scrubjay.memory.read.index_notes import IndexNotes, Note, Ranked, notes_of
from scrubjay.memory.read.recall_result import Recalled, RecalledHit, RecordRows
from scrubjay.memory.read.row_cache import RecordCache
from scrubjay.memory.read.search_time import PresentTimes
from scrubjay.memory.read.time_axes import PastRecords, QueryTime, moment_asked
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.retriever import Retriever
from scrubjay.retrieval.rewriting import Conversation
from scrubjay.retrieval.trace import Trace
from scrubjay.store.rows.scopes import names_of

_FRESH = {"faded": {"$exists": False}}
_NAMES = (b'"record":', b'"kind":', b'"faded":')  # in the metadata of documents; the first two always


class Recall:
    """Searches the facts, episodes and notes of a memory."""

    def __init__(self, context: MemoryContext, retriever: Retriever, notes: IndexNotes) -> None:
        self._context = context
        self.retriever = retriever
        self._notes = notes
        self._present = PresentTimes(context)
        self.kept = RecordCache(context)

    def recall(
        self,
        text: str,
        scope: Scope,
        kinds: Sequence[RecalledKind] = RECALLED_KINDS,
        k: int = 10,
        task_type: str | None = None,
        filter: Mapping[str, Any] | None = None,
        relevance: Relevance | str | None = None,
        query: Query | None = None,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
        conversation: Conversation | None = None,
        without: Sequence[str] = (),
    ) -> Recalled:
        """Return the k facts, episodes and notes in force that are most relevant to a question.

        Args:
            text: the question.
            scope: the scope of the caller. Only its own records and those shared with it influence the result.
            kinds: some of "fact", "episode" and "note". Notes are the documents of the index that contains the memory,
                written to the same file by :class:`scrubjay.Index`, adapters, servers and importers.
            k: the maximum number.
            task_type: the task type of episodes.
            filter: conditions on metadata, as in :meth:`scrubjay.Index.search`; the fields kind, subject, predicate,
                confidence, task_type and outcome are present beside the caller's.
            relevance: the minimum for each hit: "low", "standard" or "high" of :attr:`RecalledHit.relevance` ("none"
                or None: no minimum), or your own bounds of similarity and coverage (:class:`scrubjay.Relevance`).
            query: all other options of a search (:class:`scrubjay.Query`); None: those of the retriever.
            as_of: the time at which they must be in force (datetime, ISO 8601, seconds since 1970); None: now.
            known_at: as they were known at this time; None: now. Such a search first reads the rows of the scope. See
                :mod:`scrubjay.memory.read.time_axes`. For an earlier time, notes count that were created by then.
            conversation: the turns before the question, for a rewriter of the retriever that takes them.
            without: sensitivity classes to exclude; for notes, by `sensitivity` in their metadata.

        Facts that have faded (:meth:`MemoryAdmin.sweep`) come after all others. Facts and notes are searched
        separately, with the statistics of their own collections, and merged by similarity and BM25
        (:func:`scrubjay.memory.read.index_notes.merged`); in a scope without notes there is one search.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        checked_scope(scope)
        if isinstance(text, str) and text.isspace():
            text = ""  # an empty question has no answers
        admitted = None if relevance is None else _admitting(relevance)
        if filter is not None:
            check_filter(filter)
        if not isinstance(without, tuple) or without:
            filter = not_of(checked_without(without), filter)
        moment = moment_asked(self._context.clock, as_of, known_at)
        conditions = [*_conditions(kinds, task_type, filter)]
        compiled: FilterLike | None = None
        n_asked = k
        if moment is None:
            now = self._present.moment(scope)
            compiled = None if conditions else _holding(now)
            conditions.append(holding(now))
        elif moment.known_at is None:
            conditions.append(holding(moment.as_of))
        else:
            believed, n_more = self._believed(scope, kinds, moment)
            conditions.append({"record": {"$in": believed}})
            n_asked = k + n_more
        options: dict[str, Any] = {"query": query, "explain": True, "conversation": conversation}

        def search(*more: Mapping[str, Any]) -> Retrieved:
            wanted: FilterLike = {"$and": [*conditions, *more]}
            if not more:
                wanted = compiled or (conditions[0] if len(conditions) == 1 else wanted)
            return self.retriever.search(text, scope=scope, k=n_asked, filter=wanted, **options)

        retrieved = Retrieved([], "none", (), Trace()) if set(kinds) == {"note"} else search()
        hits: Sequence[RetrievedHit]
        hits, n_damaged, may_have_faded = _readable(retrieved)
        faded = [hit for hit in hits if hit.metadata.get("faded")] if may_have_faded else []
        if faded:  # rare: search again, so that they do not displace facts that have not faded
            hits = [*_readable(search(_FRESH))[0], *faded]
        if n_asked != k:
            hits = list({hit.metadata["record"]: hit for hit in reversed(hits)}.values())[::-1]
        hits = hits[:k]
        ranked: list[Ranked] | None = None
        if "note" in kinds and self._notes.any(scope):
            retrieved, ranked, n_lost = self._notes.beside(
                retrieved, hits, text, scope, k, notes_of(filter, moment), query, conversation
            )
            n_damaged += n_lost
            hits = [one.hit for one in ranked if not one.is_note]
        if n_damaged:
            reason = f"metadata_damaged: {n_damaged} memories found cannot be read and were left out"
            retrieved = Retrieved(
                list(retrieved),
                retrieved.mode,
                (*retrieved.degraded, reason),
                retrieved.trace,
                retrieved.cached,
            )
        rows = RecordRows(self.kept, hits, scope)

        def find(hit: RecalledHit) -> Fact | Episode | Note | None:
            if hit.is_note:
                return self._notes.note(hit.hit)
            return rows.record(hit.id) if moment is None else self._then(rows, hit.id, moment)

        recalled = (
            [RecalledHit(find, hit) for hit in hits]
            if ranked is None
            else [RecalledHit(find, *one) for one in ranked]
        )
        if admitted is not None:
            recalled = [one for one in recalled if admitted(one.hit)]
        return Recalled(retrieved, recalled)

    def _then(self, rows: RecordRows, id: str, moment: QueryTime) -> Fact | Episode | None:
        """Return the record of a hit if it was in force at another time."""
        row = rows.row(id)
        if row is None:
            return None
        with self._context.snapshot() as connection:
            past = PastRecords(connection, moment, self._context.is_single)
            then = past.in_force(row)
        return None if then is None else record_of(then, past.now)  # type: ignore[return-value]

    def _believed(self, scope: Scope, kinds: Sequence[str], moment: QueryTime) -> tuple[list[str], int]:
        """Return the ids of the records believed to be in force, and the number of their documents beyond one each."""
        assert moment.known_at is not None
        ids: list[str] = []
        n_more = 0
        with self._context.snapshot() as connection:
            past = PastRecords(connection, moment, self._context.is_single)
            for owner in scope.visible():
                if not self._context.is_readable(owner):
                    continue
                names = names_of(owner)
                if "fact" in kinds:
                    for row in known_rows(
                        connection, names, moment.as_of, moment.known_at, self._context.is_single
                    ):
                        ids.append(row.id)
                        n_more += len(ids_of_documents(row)) - 1
                if "episode" in kinds:
                    condition = "tenant = ? AND user = ? AND agent = ?"
                    for row in rows_where(connection, "episode", condition, names):
                        if past.in_force(row) is not None:
                            ids.append(row.id)
        return ids, n_more

    def close(self) -> None:
        """Release the retrievers. The index stays open."""
        self.retriever.close()
        self._notes.close()


@lru_cache(maxsize=1024)  # many searches share the present moment of a tenant
def _holding(moment: int) -> Filter:
    """Return the compiled filter for documents that hold at a time."""
    return Filter(holding(moment))


def _readable(retrieved: Sequence[RetrievedHit]) -> tuple[list[RetrievedHit], int, bool]:
    """Return the hits with readable metadata, the number of others, and whether any may have faded.

    Nothing is parsed: damaged metadata do not begin like metadata, and in a value the quotes of such a name are
    escaped.
    """
    hits = list(retrieved)
    names = names_in(hits, _NAMES)
    readable = [hit for hit, held in zip(hits, names, strict=True) if held & 3 == 3]
    return readable, len(hits) - len(readable), any(held == 7 for held in names)


def _admitting(relevance: Relevance | str) -> Callable[[RetrievedHit], bool]:
    """Return a predicate for hits with at least the given evidence."""
    if isinstance(relevance, str):
        least = checked_tier(relevance, "relevance")
        return lambda hit: reaches(hit.relevance, least)
    if not isinstance(relevance, Relevance):
        raise TypeError(f"relevance: expected a str or a Relevance, got {type(relevance).__name__}")
    bounds = [getattr(relevance, tier) for tier in TIERS[TIERS.index(relevance.at_least) :]]

    def has_enough(hit: RetrievedHit) -> bool:
        similarity, coverage = hit.similarity or 0.0, hit.coverage or 0.0
        return hit.identifier or any(
            similarity >= least_similarity or coverage >= least_coverage
            for least_similarity, least_coverage in bounds
        )

    return has_enough


def _conditions(
    kinds: Sequence[str], task_type: str | None, filter: Mapping[str, Any] | None
) -> Iterator[Mapping[str, Any]]:
    if kinds is RECALLED_KINDS and task_type is None:  # nearly always
        if filter is not None:
            yield filter
        return
    if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not kinds:
        raise TypeError(f"kinds: expected some of {', '.join(RECALLED_KINDS)}, got {kinds!r}")
    for kind in kinds:
        if kind not in RECALLED_KINDS:
            raise ValueError(
                f"kinds: expected some of {', '.join(RECALLED_KINDS)} (others are never ranked), got {kind!r}"
            )
    if task_type is not None and not isinstance(task_type, str):
        raise TypeError(f"task_type: expected a str, got {type(task_type).__name__}")
    wanted: list[Mapping[str, Any]] = []
    if "fact" in kinds:
        wanted.append({"kind": "fact"})
    if "episode" in kinds:
        wanted.append({"kind": "episode", **({} if task_type is None else {"task_type": task_type})})
    if not {"fact", "episode"} <= set(kinds) or task_type is not None:
        yield {"$or": wanted}
    if filter is not None:
        yield filter
