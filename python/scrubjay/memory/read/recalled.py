"""What a recall returns: hits whose records are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.index.relevance import best_of
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.rows import Row, find_row, kind_of, rows_where
from scrubjay.memory.model.records import Episode, Fact
from scrubjay.memory.read.index_notes import Note, Ranked
from scrubjay.retrieval.result import Retrieved
from scrubjay.retrieval.trace import Trace

__all__ = ["FoundRows", "Recalled", "RecalledHit"]

_AT_ONCE = 500  # values in one statement


class RecalledHit:
    """One fact, episode or note that was found."""

    __slots__ = ("_find", "_is_note", "_score", "hit")

    def __init__(self, ranked: Ranked, find: Callable[[RecalledHit], Fact | Episode | Note | None]) -> None:
        self.hit, self._is_note, self._score = ranked
        """The hit as the retrieval has it, with its ranks and similarity."""
        self._find = find

    @property
    def id(self) -> str:
        """The record's id; a note's is unique within its scope."""
        return str(self.hit.id) if self._is_note else self._said("record")

    @property
    def kind(self) -> str:
        """ "fact", "episode" or "note"."""
        return "note" if self._is_note else self._said("kind")

    def _said(self, name: str) -> str:
        said = self.hit.metadata.get(name)
        if not isinstance(said, str):
            raise CorruptIndexError(f"its metadata names no {name}", id=self.hit.id, scope=self.scope)
        return said

    @property
    def text(self) -> str:
        """A fact's content, an episode's summary, a note's text."""
        return self.hit.text

    @property
    def score(self) -> float:
        """The score that ordered it, comparable within one answer. Among facts and notes it is what both have in
        common (see :func:`scrubjay.memory.read.index_notes.merged`), otherwise that of the retrieval."""
        return self._score

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
        return self.hit.relevance

    @property
    def tier(self) -> str:
        """The same as :attr:`relevance`."""
        return self.hit.relevance

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
    """The rows of an answer's records as they are now: all are read when the first is asked for, and again when
    anything was written to the file since.

    Args:
        context: of the memory whose rows they are.
        ranked: the answer.
    """

    def __init__(self, context: MemoryContext, ranked: Sequence[Ranked]) -> None:
        self._context = context
        self._ranked = ranked
        self._read: tuple[object, dict[str, Row]] | None = None  # what the file looked like before

    def row(self, id: str) -> Row | None:
        """Return the row of one record, whatever its status, or None.

        Raises:
            CorruptIndexError, EncryptionError: this row cannot be read.
        """
        store = self._context.store
        if store.cipher.ring is None:  # a key may be destroyed without a trace in the file
            glance = store.glance()  # before reading: what is written meanwhile is noticed the next time
            if self._read is None or self._read[0] != glance:
                self._read = (glance, self._all())
            if id in self._read[1]:
                return self._read[1][id]
        with self._context.snapshot() as connection:
            return find_row(connection, id)

    def _all(self) -> dict[str, Row]:
        """Read all that can be read, one query a kind."""
        ids: dict[str, list[str]] = {}
        for hit, is_note, _ in self._ranked:
            record = hit.metadata.get("record")
            if is_note or not isinstance(record, str) or not record.isascii():
                continue
            if (kind := kind_of(record)) is not None:
                ids.setdefault(kind, []).append(record)
        rows: dict[str, Row] = {}
        with self._context.snapshot() as connection:
            for kind, wanted in ids.items():
                for first in range(0, len(wanted), _AT_ONCE):
                    some = wanted[first : first + _AT_ONCE]
                    condition = f"id IN ({', '.join('?' * len(some))})"
                    rows.update(
                        (row.id, row) for row in rows_where(connection, kind, condition, some, damaged=[])
                    )
        return rows
