"""The result of a recall: hits whose records are read on access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, overload

from scrubjay._native import Scope, named_in
from scrubjay.base.errors import CorruptIndexError
from scrubjay.index.relevance import best_of
from scrubjay.index.snippets import DEFAULT_WIDTH, Snippet
from scrubjay.memory.model.records import Episode, Fact
from scrubjay.memory.model.rows import Row, is_among, names_seen
from scrubjay.memory.read.index_notes import Note
from scrubjay.memory.read.row_cache import RecordCache
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.trace import Trace

_NAME = b'"record":"'


def record_in(hit: RetrievedHit) -> str | None:
    """Return the record id of a hit from its undecoded metadata; None if they must be decoded.

    In a text the quotes of such a name are escaped. The caller's nested metadata may contain the name: there are then
    several occurrences.
    """
    found = named_in(hit, _NAME)
    if found is None or not found.startswith((b"fact_", b"episode_")) or not found.isascii():
        return None
    return found.decode()


class RecalledHit:
    """One recalled fact, episode or note."""

    __slots__ = ("_find", "_record", "_score", "_text", "_tier", "hit", "is_note")

    def __init__(
        self,
        find: Callable[[RecalledHit], Fact | Episode | Note | None],
        hit: RetrievedHit,
        is_note: bool = False,
        score: float | None = None,
    ) -> None:
        self._find = find
        self.hit = hit
        """The hit of the retrieval, with its ranks and similarity."""
        self.is_note = is_note
        """Whether it is a note."""
        self._score = score
        self._text: str | None = None  # replaces the text of the hit
        self._tier: str | None = None  # computed on first access
        self._record: str | None = None  # its id, read on first access; '' if the metadata must be decoded

    @property
    def id(self) -> str:
        """The record's id; a note's is unique within its scope."""
        if self.is_note:
            return str(self.hit.id)
        return self._named() or self._metadata_text("record")

    @property
    def kind(self) -> str:
        """ "fact", "episode" or "note"."""
        if self.is_note:
            return "note"
        return self._named().partition("_")[0] or self._metadata_text("kind")

    def _named(self) -> str:
        if self._record is None:
            self._record = record_in(self.hit) or ""
        return self._record

    def _metadata_text(self, name: str) -> str:
        value = self.hit.metadata.get(name)
        if not isinstance(value, str):
            raise CorruptIndexError(f"its metadata names no {name}", id=self.hit.id, scope=self.scope)
        return value

    @property
    def text(self) -> str:
        """A fact's content, an episode's summary, a note's text."""
        return self.hit.text if self._text is None else self._text

    def showing(self, text: str) -> RecalledHit:
        """Return the same hit with another text, such as an excerpt of its own."""
        other = copy(self)
        other._text = text
        return other

    @property
    def passage(self) -> tuple[int, int] | None:
        """The span of the passage in the text that is nearest to the question by meaning (see
        :attr:`scrubjay.Hit.passage`); None if the text was embedded whole, or the search had no vector."""
        return self.hit.passage

    def snippet(self, width: int = DEFAULT_WIDTH) -> Snippet:
        """Return the part of the text that answers the question, of at most `width` characters (see
        :meth:`scrubjay.Hit.snippet`)."""
        return self.hit.snippet(width)

    def highlights(self) -> list[tuple[int, int]]:
        """Return the spans of the text that match the question (see :meth:`scrubjay.Hit.highlights`)."""
        return self.hit.highlights()

    @property
    def score(self) -> float:
        """The score by which it was ordered, comparable within one answer. In a ranking of facts and notes it is the
        merged score (see :func:`scrubjay.memory.read.index_notes.merged`), otherwise that of the retrieval."""
        return self.hit.score if self._score is None else self._score

    @property
    def scope(self) -> Scope:
        """The exact scope of the record."""
        return self.hit.scope

    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's metadata, and the index's fields of the record (kind, record, subject, confidence ...); for a
        note only the caller's."""
        return self.hit.metadata

    @property
    def identifier(self) -> bool:
        """Whether it contains a rare identifier of the query, and is therefore placed above the fused order."""
        return self.hit.identifier

    @property
    def relevance(self) -> str:
        """The absolute strength of its evidence: "high", "standard", "low" or "none" (see
        :mod:`scrubjay.index.relevance`; ``hit.hit.relevance_parts`` has the parts)."""
        if self._tier is None:
            self._tier = self.hit.relevance
        return self._tier

    @property
    def tier(self) -> str:
        """The same as :attr:`relevance`."""
        return self.relevance

    @property
    def record(self) -> Fact | Episode | Note | None:
        """The current record; None if it is no longer in force or, for a note, no longer exists."""
        return self._find(self)

    def __repr__(self) -> str:
        return f"<scrubjay.RecalledHit {self.kind} {self.score:.4f} {self.text[:60]!r}>"


class Recalled(Sequence[RecalledHit]):
    """Recalled hits, best first."""

    def __init__(self, retrieved: Retrieved, hits: Sequence[RecalledHit]) -> None:
        self._hits = hits
        self.retrieved = retrieved
        """The retrieval behind it."""

    @property
    def mode(self) -> str:
        """The mode in which retrieval ran: "hybrid", "vector", "lexical", "substring" or "none"."""
        return self.retrieved.mode

    @property
    def degraded(self) -> tuple[str, ...]:
        """Reasons why less ran than was requested."""
        return self.retrieved.degraded

    @property
    def relevance(self) -> str:
        """The highest :attr:`RecalledHit.relevance`; "none" without hits."""
        return best_of(hit.relevance for hit in self._hits)

    @property
    def trace(self) -> Trace:
        """The stages that ran, with their times."""
        return self.retrieved.trace

    @property
    def ids(self) -> list[str]:
        """The records' ids, in order."""
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


class RecordRows:
    """The rows and records of an answer in their current state; the first access reads all.

    Args:
        kept: the record cache of the memory.
        hits: the hits of the answer that are records.
        scope: the scope of the caller.
    """

    __slots__ = ("_hits", "_kept", "_scope", "_seen")

    def __init__(self, kept: RecordCache, hits: Sequence[RetrievedHit], scope: Scope) -> None:
        self._kept = kept
        self._hits = hits
        self._scope = scope
        self._seen: frozenset[tuple[str, str, str]] | None = None  # the visible scopes, computed on first use

    def row(self, id: str) -> Row | None:
        """Return the row of one record, whatever its status; None if none is visible to the scope.

        Raises:
            CorruptIndexError, EncryptionError: this row cannot be read.
        """
        row = self._kept.row(id, self._scope, self._ids)
        if row is None:
            return None
        if self._seen is None:
            self._seen = names_seen(self._scope)
        return row if is_among(row, self._seen) else None

    def record(self, id: str) -> Fact | Episode | None:
        """Return one record; None if it is not in force now, or none is visible to the scope.

        Raises:
            CorruptIndexError, EncryptionError: it cannot be read.
        """
        row = self.row(id)
        return None if row is None else self._kept.record(row)  # type: ignore[return-value]

    def _ids(self) -> Iterator[str]:
        for hit in self._hits:
            record = record_in(hit) or hit.metadata.get("record")
            if isinstance(record, str) and record.isascii():
                yield record
