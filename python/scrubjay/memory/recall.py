"""Recall: one search over the facts and episodes in force, in scope.

Provisional, revoked, superseded and expired records are not in the searched collection, so no filter has to exclude
them. A hit's kind and id come from the document; its record is read when it is accessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.fusion import Query, Relevance
from scrubjay.memory.base import Ground, checked_scope
from scrubjay.memory.making import record_of
from scrubjay.memory.records import Episode, Fact
from scrubjay.memory.rows import find_row, is_in_force, is_visible
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.retriever import Retriever
from scrubjay.retrieval.trace import Trace

__all__ = ["Recall", "Recalled", "RecalledHit"]

KINDS = ("fact", "episode")
_BOUNDS = Relevance()
_TIERS = ("high", "standard", "low")
_FRESH = {"faded": {"$exists": False}}


class RecalledHit:
    """One fact or episode that was found."""

    __slots__ = ("_find", "hit")

    def __init__(self, hit: RetrievedHit, find: Callable[[str], Fact | Episode | None]) -> None:
        self.hit = hit
        """The hit as the retrieval has it, with its ranks and similarity."""
        self._find = find

    @property
    def id(self) -> str:
        """The record's id."""
        return self._said("record")

    @property
    def kind(self) -> str:
        """ "fact" or "episode"."""
        return self._said("kind")

    def _said(self, name: str) -> str:
        said = self.hit.metadata.get(name)
        if not isinstance(said, str):
            raise CorruptIndexError(f"its metadata names no {name}", id=self.hit.id, scope=self.scope)
        return said

    @property
    def text(self) -> str:
        """A fact's content, an episode's summary."""
        return self.hit.text

    @property
    def score(self) -> float:
        """The score that ordered it."""
        return self.hit.score

    @property
    def scope(self) -> Scope:
        """The exact scope of the record."""
        return self.hit.scope

    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's metadata, and what the index knows of the record (kind, record, subject, confidence ...)."""
        return self.hit.metadata

    @property
    def identifier(self) -> bool:
        """Whether it holds a rare identifier of the query, and so stands above the fused order."""
        return self.hit.identifier

    @property
    def tier(self) -> str:
        """How much speaks for it: "high", "standard", "low" or "none", by similarity to the query or coverage of its
        terms (see :class:`scrubjay.Relevance`)."""
        return _tier(self.hit, _BOUNDS)

    @property
    def record(self) -> Fact | Episode | None:
        """The record as it is now; None if it is not in force any more."""
        return self._find(self.id)

    def __repr__(self) -> str:
        return f"<scrubjay.RecalledHit {self.kind} {self.score:.4f} {self.text[:60]!r}>"


class Recalled(Sequence[RecalledHit]):
    """What was recalled, best first."""

    def __init__(self, retrieved: Retrieved, hits: Sequence[RecalledHit]) -> None:
        self._hits = hits
        self.retrieved = retrieved
        """The retrieval behind it."""

    @property
    def mode(self) -> str:
        """What really ran: "hybrid", "vector", "lexical", "substring" or "none"."""
        return self.retrieved.mode

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why less ran than was asked for."""
        return self.retrieved.degraded

    @property
    def trace(self) -> Trace:
        """What ran, for how long."""
        return self.retrieved.trace

    @property
    def ids(self) -> list[str]:
        """The records' ids in order."""
        return [hit.id for hit in self._hits]

    @property
    def texts(self) -> list[str]:
        """The texts in order."""
        return [hit.text for hit in self._hits]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[RecalledHit]:
        return iter(self._hits)

    @overload
    def __getitem__(self, position: int) -> RecalledHit: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[RecalledHit]: ...
    def __getitem__(self, position: int | slice) -> RecalledHit | Sequence[RecalledHit]:
        return self._hits[position]

    def __repr__(self) -> str:
        return f"<scrubjay.Recalled {len(self)}, {self.mode}>"


class Recall(Ground):
    """The part of a memory that searches."""

    retriever: Retriever
    """What runs the searches; over :attr:`documents`."""

    def recall(
        self,
        text: str,
        scope: Scope,
        *,
        kinds: Sequence[str] = KINDS,
        k: int = 10,
        task_type: str | None = None,
        filter: Mapping[str, Any] | None = None,
        relevance: Relevance | str | None = None,
        query: Query | None = None,
    ) -> Recalled:
        """Return the k facts and episodes in force that have most to do with a question.

        Args:
            text: the question.
            scope: who asks. It sees what is its own and what is shared with it, and nothing else influences the result.
            kinds: "fact", "episode" or both.
            k: how many at most.
            task_type: of the episodes.
            filter: conditions on metadata, as in :meth:`scrubjay.Index.search`; the fields kind, subject, predicate,
                confidence, task_type and outcome are there besides the caller's.
            relevance: the least evidence for each ("low", "standard", "high", or a :class:`scrubjay.Relevance`).
            query: all else that a search may be asked (:class:`scrubjay.Query`); None: as the retriever is set.

        Facts that have faded (:meth:`sweep`) come after all others.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        checked_scope(scope)
        conditions = _conditions(kinds, task_type, filter)
        options: dict[str, Any] = {"query": query, "explain": True}
        if conditions is not None:
            options["filter"] = conditions
        found = self.retriever.search(text, scope=scope, k=k, **options)
        hits: Sequence[RetrievedHit]
        hits, n_damaged = _readable(found)
        faded = [hit for hit in hits if hit.metadata.get("faded")]
        if faded:  # rare: one more search, so that they do not displace facts that have not faded
            options["filter"] = _FRESH if conditions is None else {"$and": [conditions, _FRESH]}
            hits = [*_readable(self.retriever.search(text, scope=scope, k=k, **options))[0], *faded][:k]
        if relevance is not None:
            bounds = Relevance(relevance) if isinstance(relevance, str) else relevance
            if not isinstance(bounds, Relevance):
                raise TypeError(f"relevance: expected a str or a Relevance, got {type(relevance).__name__}")
            admitted = _TIERS[: _TIERS.index(bounds.at_least) + 1]
            hits = [hit for hit in hits if _tier(hit, bounds) in admitted]
        if n_damaged:
            reason = (
                f"metadata_damaged: {n_damaged} memories that were found cannot be read, and were left out"
            )
            found = Retrieved(list(found), found.mode, (*found.degraded, reason), found.trace, found.cached)
        return Recalled(found, [RecalledHit(hit, lambda id: self._in_force(id, scope)) for hit in hits])

    def _in_force(self, id: str, scope: Scope) -> Fact | Episode | None:
        with self.reading() as connection:
            row = find_row(connection, id)
            if row is None or not is_visible(row, scope) or not is_in_force(row, self.clock()):
                return None
            return record_of(row)  # type: ignore[return-value]


def _readable(found: Iterable[RetrievedHit]) -> tuple[list[RetrievedHit], int]:
    """Return the hits whose metadata can be read, and how many cannot."""
    readable, n_damaged = [], 0
    for hit in found:
        try:
            whole = {"record", "kind"} <= hit.metadata.keys()
        except CorruptIndexError:
            whole = False
        if whole:
            readable.append(hit)
        else:
            n_damaged += 1
    return readable, n_damaged


def _tier(hit: RetrievedHit, bounds: Relevance) -> str:
    if hit.identifier:
        return "high"
    similarity, coverage = hit.similarity or 0.0, hit.coverage or 0.0
    for tier in _TIERS:
        least_similarity, least_coverage = getattr(bounds, tier)
        if similarity >= least_similarity or coverage >= least_coverage:
            return tier
    return "none"


def _conditions(
    kinds: Sequence[str], task_type: str | None, filter: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not kinds:
        raise TypeError(f"kinds: expected some of {', '.join(KINDS)}, got {kinds!r}")
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(
                f"kinds: expected some of {', '.join(KINDS)} (others are never ranked), got {kind!r}"
            )
    if task_type is not None and not isinstance(task_type, str):
        raise TypeError(f"task_type: expected a str, got {type(task_type).__name__}")
    wanted = []
    if "fact" in kinds:
        wanted.append({"kind": "fact"})
    if "episode" in kinds:
        wanted.append({"kind": "episode", **({} if task_type is None else {"task_type": task_type})})
    every = [] if set(kinds) == set(KINDS) and task_type is None else [{"$or": wanted}]
    if filter is not None:
        every.append(filter)  # type: ignore[arg-type]
    return None if not every else every[0] if len(every) == 1 else {"$and": every}
