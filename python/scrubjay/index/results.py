"""The results of a search, and the evidence for each hit.

`Hits` holds the engine's result and computes everything else on demand, because its construction is part of the latency
of every search.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from scrubjay._native import HitView, Result, Scope, hits_of
from scrubjay.base.errors import CorruptIndexError
from scrubjay.documents import payload
from scrubjay.documents.records import as_text
from scrubjay.documents.tables import as_html, to_arrow, to_pandas
from scrubjay.embedders.protocol import ZERO_VECTOR
from scrubjay.index.frozen import FrozenResult, freeze
from scrubjay.index.question_words import Reading, Wording
from scrubjay.index.relevance import RelevanceParts, best_of, evidence
from scrubjay.index.snippets import DEFAULT_WIDTH, Snippet, checked_width

_COLUMNS = (
    "id", "score", "text", "tenant", "user", "agent", "created_at", "metadata", "lexical_rank", "vector_rank",
)  # fmt: skip
_EVIDENCE = ("bm25", "similarity", "coverage", "matched_terms", "relevance")


@dataclass(frozen=True)
class ScoreParts:
    """The summands of a hit's score: all fields but `final` add up to `final`, up to rounding.

    `words` and `meaning` are the lexical and the vector part as the fusion weighs them: reciprocal ranks (RRF),
    weighted z-scores plus the terms for the place in each ranking (Auto; they may be negative), normalised scores
    (Weighted, Production), `weight` times the share of the maximum BM25 and the similarity (Boost). In a search of one
    ranking they are BM25 or the similarity. `rankings` is the part of the caller's rankings, `guarantee` what raises a
    hit among the first ten because one ranking is sure of it (Auto), `dates` the part of the days that the question
    names.

    Signals are added to scores between 0 and 1. If there are any, the parts above are divided by the range of the
    candidates' scores, and `scaling` is the offset that moves the lowest of them to 0 (the same for every hit; if all
    scores are equal, the offset that makes them 1). `coverage`, `recency`, `entities` and `prior` are the weighted
    signals; `identifier` is the offset that places the identifier tier before the others.
    >>> parts = ScoreParts(words=0.4, meaning=0.3, recency=0.2, prior=0.1, final=1.0)
    >>> round(parts.boosts, 3)
    0.1
    """

    words: float = 0.0
    meaning: float = 0.0
    rankings: float = 0.0
    guarantee: float = 0.0
    dates: float = 0.0
    scaling: float = 0.0
    coverage: float = 0.0
    recency: float = 0.0
    entities: float = 0.0
    prior: float = 0.0
    identifier: float = 0.0
    final: float = 0.0

    @property
    def boosts(self) -> float:
        """The sum of guarantee, dates, coverage, entities, prior and identifier."""
        return self.guarantee + self.dates + self.coverage + self.entities + self.prior + self.identifier


class Hits:
    """The hits of one search, best first; the engine breaks ties (partition order, then order of writing).

    `len(hits)`, iteration, `hits[0]`, `hits[-1]` and `hits[1:3]` (a list) give :class:`Hit` objects.
    """

    __slots__ = ("_asked", "_columns", "_degraded", "_explained", "_freshness", "_reading", "_result")

    def __init__(
        self,
        result: Result | FrozenResult,
        degraded: tuple[str, ...] = (),
        explained: bool = False,
        freshness: float = 0.0,
        asked: str | bytes | None = None,
        reading: Reading | None = None,
    ) -> None:
        self._result = result
        self._asked = asked
        self._reading = reading
        self._freshness = freshness
        self._degraded = degraded
        self._explained = explained
        self._columns: dict[str, Any] | None = None

    @property
    def ids(self) -> NDArray[Any]:
        """The ids, best first: int64 of shape (n,), or an object array of str if the index has str ids."""
        return self._column("ids")

    @property
    def keys(self) -> list[tuple[Scope, str | int]]:
        """The keys, best first: pairs of exact scope and id. Several hits may have the same id."""
        return list(zip(map(self._result.scope, range(len(self._result))), self.ids.tolist(), strict=True))

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores that order the hits, float64 of shape (n,), descending.

        In mode "hybrid" they are fused scores, comparable within this result only; in mode "lexical" BM25; in mode
        "vector" the similarity of the index's metric. With marginal relevance the order differs from that of the
        scores.
        """
        return self._column("scores")

    @property
    def mode(self) -> str:
        """The mode that really ran: "hybrid", "lexical", "vector" or "none"."""
        return self._result.mode

    @property
    def freshness(self) -> float:
        """The number of seconds for which writes of other processes may be missing; 0.0 in memory and in a file."""
        return self._freshness

    @property
    def degraded(self) -> tuple[str, ...]:
        """The reasons why less ran than was requested, each "code: sentence"; empty if nothing was lost."""
        if self._result.nothing_embedded:
            return (*self._degraded, ZERO_VECTOR)
        return self._degraded

    @property
    def corrections(self) -> dict[str, str]:
        """The misspelt words of the text, each with the word of visible documents that replaced it in the search.

        Matched terms are those of the replacements. Empty with ``Query(spelling=False)``.
        """
        return dict(self._result.corrections)

    @property
    def lexical_share(self) -> float | None:
        """The weight of the lexical scores, 0 to 1, if :class:`Auto` chose it; otherwise None."""
        return _none_if_nan(self._result.lexical_share)

    @property
    def vector_work(self) -> dict[str, int]:
        """The work of the vector search, as counts; all 0 if no vector was searched for.

        codes, originals: compressed vectors (in large scopes mostly one bit an element) and stored vectors that were
        compared; a scan skips deleted and hidden documents, but counts them. in_graphs: vectors of the graphs that were
        searched instead of scanned; in_view: the number of candidates that those searches kept (the ef of HNSW).
        graphs_given_up: graphs that were scanned because too few visible documents lay near the query.
        """
        return self._result.vector_work

    @property
    def relevance(self) -> str:
        """Whether any hit fits the question: the highest :attr:`Hit.relevance`; "none" without hits. Needs
        explain=True."""
        if not self._explained:
            raise ValueError("relevance: known only to a search with explain=True")
        return best_of(parts.tier for parts in self._relevance())

    def _relevance(self) -> list[RelevanceParts]:
        """Return the evidence for each hit; computed at the first call."""
        if self._columns is None:
            self._columns = {}
        parts: list[RelevanceParts] | None = self._columns.get("relevance")
        if parts is None:
            parts = self._columns["relevance"] = evidence(self._result)
        return parts

    @property
    def texts(self) -> list[str]:
        """The texts, best first."""
        return list(self._result.texts)

    def to_pandas(self) -> Any:
        """Return the hits as a pandas.DataFrame, one row per hit, best first (extra "tables").

        Columns: id, score, text, tenant, user, agent, created_at, metadata (dicts), lexical_rank, vector_rank; after a
        search with explain=True also bm25, similarity, coverage, matched_terms, relevance.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return to_pandas(self._rows(), self._names())

    def to_arrow(self) -> Any:
        """Return the hits as a pyarrow.Table with the columns of :meth:`to_pandas`; metadata is JSON.

        Raises:
            MissingExtraError: pyarrow is not installed.
        """
        return to_arrow(self._rows(), self._names())

    def _names(self) -> tuple[str, ...]:
        return (*_COLUMNS, *_EVIDENCE) if self._explained else _COLUMNS

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for hit in self:
            scope = hit.scope
            row: dict[str, Any] = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent}
            rows.append({**row, **{name: getattr(hit, name) for name in self._names() if name not in row}})
        return rows

    def to_dicts(self, *, snippet: int | None = None) -> list[dict[str, Any]]:
        """Return the hits as JSON-serialisable dicts (see :meth:`Hit.to_dict`), each with a snippet of `snippet`
        characters if that is given."""
        return [hit.to_dict(snippet=snippet) for hit in self]

    def _wording(self) -> Wording:
        """Return the analysed question; analysed at the first call."""
        if self._columns is None:
            self._columns = {}
        wording: Wording | None = self._columns.get("wording")
        if wording is None:
            wording = self._columns["wording"] = Wording(self._asked, self._reading, self._result)
        return wording

    def _column(self, name: str) -> NDArray[Any]:
        """Return one of the result's arrays, cached after the first call."""
        if self._columns is None:
            self._columns = {}
        column: NDArray[Any] | None = self._columns.get(name)
        if column is None:
            column = self._columns[name] = getattr(self._result, name)
        return column

    def __len__(self) -> int:
        return len(self._result)

    def __iter__(self) -> Iterator[Hit]:
        return iter(hits_of(Hit, self, self._result))

    @overload
    def __getitem__(self, position: int) -> Hit: ...
    @overload
    def __getitem__(self, position: slice) -> list[Hit]: ...
    def __getitem__(self, position: int | slice) -> Hit | list[Hit]:
        n_hits = len(self._result)
        if isinstance(position, slice):
            return [Hit(self, i) for i in range(*position.indices(n_hits))]
        try:
            position = operator.index(position)
        except TypeError:
            raise TypeError(f"position: expected an int or a slice, got {type(position).__name__}") from None
        if not -n_hits <= position < n_hits:
            raise IndexError(f"position: expected -{n_hits} to {n_hits - 1}, got {position}")
        return Hit(self, position % n_hits)

    def __reduce__(self) -> tuple[Any, ...]:  # detached from the engine: texts, metadata, evidence are copied
        result = self._result
        corrected = None if self._asked is None else result.corrected(as_text(self._asked))
        frozen = freeze(result, self._explained)
        return Hits, (frozen, self._degraded, self._explained, self._freshness, corrected, self._reading)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        n_hits = len(self)
        caption = f"{n_hits} {'hit' if n_hits == 1 else 'hits'}, {self.mode}" + "".join(
            f"; {reason}" for reason in self.degraded
        )
        rows = [
            [i, hit.id, hit.score, hit.text, hit.lexical_rank, hit.vector_rank]
            for i, hit in enumerate(self, start=1)
        ]
        return as_html(caption, ["", "id", "score", "text", "words", "meaning"], rows)

    def __repr__(self) -> str:
        n_hits = len(self)
        head = f"<scrubjay.Hits {n_hits} {'hit' if n_hits == 1 else 'hits'}, {self.mode}"
        if degraded := self.degraded:
            head += f", degraded: {'; '.join(reason.partition(':')[0] for reason in degraded)}"
        lines = [f"  {i + 1}. {_line(hit)}" for i, hit in enumerate(self[:5])]
        if n_hits > 5:
            lines.append(f"  ... {n_hits - 5} more")
        return "\n".join([head + ">", *lines])


class Hit(HitView):
    """One hit: a view of one position of a result. Text and metadata are those of the document when it was found.

    `id` is the caller's id, `score` orders the hits (see :attr:`Hits.scores` for its meaning), `text` is the text as
    written. All are read natively; each access of `text` creates a new str.
    """

    __slots__ = ()

    def __init__(self, hits: Hits, position: int) -> None:
        super().__init__(hits, hits._result, position)

    if TYPE_CHECKING:
        _hits: Hits
        _result: Result | FrozenResult
        _position: int
        _payload: tuple[dict[str, Any], datetime | None] | None

    def __eq__(self, other: object) -> bool:
        """Return whether the other hit is at the same position of the same search."""
        if not isinstance(other, Hit):
            return NotImplemented
        return self._result is other._result and self._position == other._position

    def __hash__(self) -> int:
        return hash((id(self._result), self._position))

    @property
    def lexical_rank(self) -> int | None:
        """The rank, from 1, among the lexical candidates; None if the document is not one of them."""
        return int(self._hits._column("lexical_ranks")[self._position]) or None

    @property
    def vector_rank(self) -> int | None:
        """The rank, from 1, among the vector candidates; None if the document is not one of them."""
        return int(self._hits._column("vector_ranks")[self._position]) or None

    @property
    def identifier(self) -> bool:
        """Whether the document is in the identifier tier: it holds a rare identifier of the query verbatim."""
        return bool(self._hits._column("identifiers")[self._position])

    @property
    def scope(self) -> Scope:
        """The exact scope that the document was written in."""
        return self._result.scope(self._position)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata; an empty dict if none was given. Each access of this object returns the same dict.

        Raises:
            CorruptIndexError: the stored metadata are damaged. Text and score are still readable.
        """
        return self._decoded()[0]

    @property
    def created_at(self) -> datetime | None:
        """The creation time, an aware datetime in UTC; None if none was given."""
        return self._decoded()[1]

    @property
    def pending(self) -> bool:
        """Whether the text had not been embedded yet when it was found: only words can have found it."""
        return payload.is_pending(self._result.payload(self._position))

    @property
    def bm25(self) -> float | None:
        """The BM25 score, >= 0; None if no query term matches (or, without explain, if it is unknown)."""
        return _none_if_nan(self._hits._column("bm25")[self._position])

    @property
    def similarity(self) -> float | None:
        """The similarity to the query by the index's metric, higher is nearer (l2: the negated squared distance).

        None if the document or the query has no vector (or, without explain, if it is unknown).
        """
        return _none_if_nan(self._hits._column("similarities")[self._position])

    @property
    def cosine(self) -> float | None:
        """Alias of :attr:`similarity`, for an index with metric="cosine"."""
        return self.similarity

    @property
    def passage(self) -> tuple[int, int] | None:
        """The passage of the text that is nearest to the question by meaning, as (first character, end): the end is
        exclusive. None if the text was embedded as a whole, or the search had no vector."""
        passage: tuple[int, int] | None = self._result.passage(self._position)
        return passage

    @property
    def matched_terms(self) -> list[str]:
        """The query's terms that the document holds, as analysed (stemmed, folded). Needs explain=True."""
        self._need_explain("matched_terms")
        return self._result.matched_terms(self._position)

    @property
    def coverage(self) -> float | None:
        """The fraction of the query's distinct terms that the document holds, 0 to 1. Needs explain=True."""
        self._need_explain("coverage")
        return _none_if_nan(self._hits._column("coverage")[self._position])

    @property
    def relevance(self) -> str:
        """The strength of the evidence in absolute terms: "high", "standard", "low" or "none"; comparable between
        searches, scopes and embedders. Needs explain=True. See :mod:`scrubjay.index.relevance`."""
        self._need_explain("relevance")
        return self._hits._relevance()[self._position].tier

    @property
    def relevance_parts(self) -> RelevanceParts:
        """The evidence from which the relevance is computed. Needs explain=True."""
        self._need_explain("relevance_parts")
        return self._hits._relevance()[self._position]

    @property
    def parts(self) -> ScoreParts:
        """The summands of the score: words, meaning, recency, boosts and so on. Needs explain=True."""
        self._need_explain("parts")
        return ScoreParts(**self._result.parts(self._position), final=self.score)

    def highlights(self) -> list[tuple[int, int]]:
        """Return the spans of the text's words that match the question, in order, as (first character, end); the end is
        exclusive.

        Spans cover whole words as written, whatever their stems; function words are left out unless the question has no
        others. For misspelt words, their replacements are marked. Empty if the search had no text.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> index.upsert(7, "She sailed to Riga. Sailing is slow.", scope=Scope("acme"))
        >>> hit = index.search("who sails?", scope=Scope("acme"))[0]
        >>> [hit.text[start:end] for start, end in hit.highlights()]
        ['sailed', 'Sailing']
        """
        return [(mark.start, mark.end) for mark in self._hits._wording().marks(self.text)]

    def snippet(self, width: int = DEFAULT_WIDTH) -> Snippet:
        """Return the part of the text that best answers the question: the whole text if it is no longer than `width`
        characters (20 or more), otherwise whole sentences where they fit (see :mod:`scrubjay.index.snippets`). In a
        text with passages it is taken from :attr:`passage`, unless the question's words occur only outside of that.

        >>> from scrubjay import Index
        >>> index = Index()
        >>> log = "Deployed at noon. " * 40 + "The rollback took nine minutes. " + "Nothing else. " * 40
        >>> index.upsert(7, log, scope=Scope("acme"))
        >>> str(index.search("rollback", scope=Scope("acme"))[0].snippet(width=60))
        '… The rollback took nine minutes. Nothing else. Nothing else. …'
        """
        return self._hits._wording().snippet(self.text, width, self.passage)

    def to_dict(self, *, snippet: int | None = None) -> dict[str, Any]:
        """Return everything known about the hit as JSON types: the evidence if the search had explain=True, `pending`
        if it is True, `passage` ([first character, end]) if there is one, and a snippet (:meth:`Snippet.to_dict`) of
        `snippet` characters if that is given."""
        created_at = self.created_at
        scope = self.scope
        fields: dict[str, Any] = {
            "id": self.id,
            "score": self.score,
            "lexical_rank": self.lexical_rank,
            "vector_rank": self.vector_rank,
            "text": self.text,
            "scope": {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent},
            "metadata": self.metadata,
            "created_at": None if created_at is None else created_at.isoformat(),
        }
        passage = self.passage
        if passage is not None:
            fields["passage"] = list(passage)
        if snippet is not None:
            fields["snippet"] = self.snippet(checked_width(snippet, "snippet")).to_dict()
        if self.pending:
            fields["pending"] = True
        if self._hits._explained:
            fields["bm25"] = self.bm25
            fields["similarity"] = self.similarity
            fields["matched_terms"] = self.matched_terms
            fields["coverage"] = self.coverage
            fields["identifier"] = self.identifier
            fields["relevance"] = self.relevance
            fields["relevance_parts"] = dict(vars(self.relevance_parts))
            fields["parts"] = dict(vars(self.parts))
        return fields

    def __repr__(self) -> str:
        return f"<scrubjay.Hit {_line(self)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Hit, (self._hits, self._position)

    def _decoded(self) -> tuple[dict[str, Any], datetime | None]:
        if self._payload is None:
            try:
                self._payload = payload.decode(self._result.payload(self._position))
            except CorruptIndexError as error:
                raise error.located(id=self.id, scope=self.scope) from None
        return self._payload

    def _need_explain(self, name: str) -> None:
        if not self._hits._explained:
            raise ValueError(f"{name}: known only to a search with explain=True")


def _none_if_nan(value: Any) -> float | None:
    number = float(value)
    return None if math.isnan(number) else number


def _line(hit: Hit) -> str:
    ranks = [
        f"{name} #{rank}"
        for name, rank in (("lexical", hit.lexical_rank), ("vector", hit.vector_rank))
        if rank
    ]
    text = " ".join(hit.text.split())
    preview = text if len(text) <= 60 else text[:57] + "..."
    return f"{hit.id!r} {hit.score:.4f} ({', '.join(ranks) or 'caller-ranked'}) {preview!r}"
