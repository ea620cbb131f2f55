"""What a recall returns: hits whose records are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, overload

from scrubjay._native import Scope, named_in
from scrubjay.errors import CorruptIndexError
from scrubjay.index.relevance import best_of
from scrubjay.index.snippets import DEFAULT_WIDTH, Snippet
from scrubjay.memory.model.records import Episode, Fact
from scrubjay.memory.model.rows import Row, is_among, names_seen
from scrubjay.memory.read.index_notes import Note
from scrubjay.memory.read.kept import KeptRecords
from scrubjay.retrieval.result import Retrieved, RetrievedHit
from scrubjay.retrieval.trace import Trace

_NAME = b'"record":"'


def record_in(hit: RetrievedHit) -> str | None:
    """Return the id of a hit's record as its metadata say it, without decoding them; None where that has to be done.

    A name that a text holds has its quotes escaped. What the caller gave may hold such names within: then there are
    several.
    """
    found = named_in(hit, _NAME)
    if found is None or not found.startswith((b"fact_", b"episode_")) or not found.isascii():
        return None
    return found.decode()


class RecalledHit:
    """One fact, episode or note that was found."""

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
        """The hit as the retrieval has it, with its ranks and similarity."""
        self.is_note = is_note
        """Whether it is a note."""
        self._score = score
        self._text: str | None = None  # what stands for that of the hit
        self._tier: str | None = None  # once it was weighed
        self._record: str | None = (
            None  # its id, once that was asked for; '' where metadata have to be decoded
        )

    @property
    def id(self) -> str:
        """The record's id; a note's is unique within its scope."""
        if self.is_note:
            return str(self.hit.id)
        return self._named() or self._said("record")

    @property
    def kind(self) -> str:
        """ "fact", "episode" or "note"."""
        if self.is_note:
            return "note"
        return self._named().partition("_")[0] or self._said("kind")

    def _named(self) -> str:
        if self._record is None:
            self._record = record_in(self.hit) or ""
        return self._record

    def _said(self, name: str) -> str:
        said = self.hit.metadata.get(name)
        if not isinstance(said, str):
            raise CorruptIndexError(f"its metadata names no {name}", id=self.hit.id, scope=self.scope)
        return said

    @property
    def text(self) -> str:
        """A fact's content, an episode's summary, a note's text."""
        return self.hit.text if self._text is None else self._text

    def showing(self, text: str) -> RecalledHit:
        """Return the same hit with a text in place of its own, such as a part of it."""
        other = copy(self)
        other._text = text
        return other

    @property
    def passage(self) -> tuple[int, int] | None:
        """Where the passage that is nearest to the question by meaning is in the text (see
        :attr:`scrubjay.Hit.passage`); None if the text was embedded whole, or the search had no vector."""
        return self.hit.passage

    def snippet(self, width: int = DEFAULT_WIDTH) -> Snippet:
        """Return the part of the text that answers the question, of at most `width` characters (see
        :meth:`scrubjay.Hit.snippet`)."""
        return self.hit.snippet(width)

    def highlights(self) -> list[tuple[int, int]]:
        """Return the words of the text that the question asks for (see :meth:`scrubjay.Hit.highlights`)."""
        return self.hit.highlights()

    @property
    def score(self) -> float:
        """The score that ordered it, comparable within one answer. Among facts and notes it is what both have in
        common (see :func:`scrubjay.memory.read.index_notes.merged`), otherwise that of the retrieval."""
        return self.hit.score if self._score is None else self._score

    @property
    def scope(self) -> Scope:
        """The exact scope of the record."""
        return self.hit.scope

    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's metadata, and what the index knows of the record (kind, record, subject, confidence ...); of a
        note the caller's alone."""
        return self.hit.metadata

    @property
    def identifier(self) -> bool:
        """Whether it holds a rare identifier of the query, and so stands above the fused order."""
        return self.hit.identifier

    @property
    def relevance(self) -> str:
        """How much speaks for it in absolute terms: "high", "standard", "low" or "none" (see
        :mod:`scrubjay.index.relevance`; ``hit.hit.relevance_parts`` says why)."""
        if self._tier is None:
            self._tier = self.hit.relevance
        return self._tier

    @property
    def tier(self) -> str:
        """The same as :attr:`relevance`."""
        return self.relevance

    @property
    def record(self) -> Fact | Episode | Note | None:
        """The record as it is now; None if it is not in force any more, or, a note, not there."""
        return self._find(self)

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
    def relevance(self) -> str:
        """Whether anything fits: the highest :attr:`RecalledHit.relevance`, "none" without hits."""
        return best_of(hit.relevance for hit in self._hits)

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


class FoundRows:
    """The rows and records of an answer as they are now: all are read when the first is asked for.

    Args:
        kept: the records of the memory.
        hits: those of the answer that are records.
        scope: who asked.
    """

    __slots__ = ("_hits", "_kept", "_scope", "_seen")

    def __init__(self, kept: KeptRecords, hits: Sequence[RetrievedHit], scope: Scope) -> None:
        self._kept = kept
        self._hits = hits
        self._scope = scope
        self._seen: frozenset[tuple[str, str, str]] | None = None  # what it may see, once that is asked

    def row(self, id: str) -> Row | None:
        """Return the row of one record, whatever its status; None if there is none that the scope may see.

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
        """Return one record; None if it is not in force now, or there is none that the scope may see.

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
