"""Models of searches and their answers; see :mod:`scrubjay.adapters.service.models`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from scrubjay._native import Scope
from scrubjay.adapters.service.models import (
    MAX_K,
    Filter,
    Id,
    Ids,
    Name,
    Number,
    Request,
    ScopeIn,
    ScopeOut,
    Time,
    Vector,
)
from scrubjay.fusion import Links, Query
from scrubjay.index.snippets import DEFAULT_WIDTH

QueryText = Annotated[str, Field(max_length=20_000)]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
MAX_RANKINGS = 16
Weights = Annotated[
    list[Number],
    Field(
        min_length=2,
        max_length=2 + MAX_RANKINGS + 2,  # the last two by links
        description="of the lexical ranking, the vector ranking and each of the rankings that follow; missing ones "
        "are 1",
    ),
]
Candidates = Annotated[int, Field(ge=1, le=10_000)]
Method = Literal["auto", "rrf", "weighted", "boost", "production"]
Tier = Literal["low", "standard", "high"]
Names = Annotated[list[Name], Field(max_length=1_000)]


class AutoIn(Request):
    """Normalised scores, weighed per question by the agreement of the two rankings."""

    method: Literal["auto"]
    guarantee: bool = True


class RRFIn(Request):
    """Reciprocal rank fusion."""

    method: Literal["rrf"]
    k: Number = 60.0
    weights: Weights = Field([1.0, 1.0])


class WeightedIn(Request):
    """A weighted sum of normalised scores."""

    method: Literal["weighted"]
    weights: Weights = Field([0.5, 0.5])
    normalise: Literal["zscore", "minmax", "max", "logistic"] = "zscore"


class BoostIn(Request):
    """The vectors select, the words reorder."""

    method: Literal["boost"]
    gate: Number = 0.0
    weight: Number = 0.3
    normalise: Literal["max", "logistic"] = "max"


class ProductionIn(Request):
    """A weighted sum of scaled word scores and similarities, with a floor."""

    method: Literal["production"]
    weights: Weights = Field([0.6, 0.4])
    floor: Number = 0.4
    literal: bool = False


class RecencyIn(Request):
    """Boosts recent memories."""

    weight: Number = 0.3
    half_life_hours: Number = 168.0
    now: Time | None = None


class DatesIn(Request):
    """Boosts memories of the days that the question names."""

    weight: Number = 6.0
    now: Time | None = None


class NeighboursIn(Request):
    """Boosts turns of a conversation next to matching turns."""

    weight: Number = 0.2


class EntitiesIn(Request):
    """Boosts memories that name the entities of the question."""

    weight: Number = 0.3
    field: Name = "entities"
    names: Names | None = None


class PriorIn(Request):
    """Adds a number from a memory's metadata to its score."""

    weight: Number = 0.3
    field: Name = "importance"


class RelevanceIn(Request):
    """The minimum evidence for a hit; bounds are of similarity and coverage."""

    at_least: Tier = "standard"
    low: Pair = Field([0.3, 0.3])
    standard: Pair = Field([0.5, 0.5])
    high: Pair = Field([0.7, 0.7])


class ExactScope(Request):
    """The exact scope of a memory, as in hits and memories; without a tenant, that of the search."""

    tenant: Name | None = None
    user: Name | None = None
    agent: Name | None = None


class KeyIn(Request):
    """The key of exactly one memory."""

    id: Id
    scope: ExactScope


SnippetWidth = Annotated[int, Field(ge=20, le=2_000)]
SnippetIn = Annotated[
    SnippetWidth | bool,
    Field(
        description="include a snippet of each text that answers the question: true, or the maximum number of "
        "characters"
    ),
]


class LinksIn(Request):
    """Rankings by links: memories near to others, and memories that many link to."""

    centres: Annotated[
        Annotated[list[Id | KeyIn], Field(max_length=1_000)] | None,
        Field(
            description="memories from which distance is measured; an id means the most specific memory with "
            "that id"
        ),
    ] = None
    hops: Annotated[int, Field(ge=1, le=10)] = 3
    direction: Literal["out", "in", "both"] = "both"
    mentions: Annotated[
        bool,
        Field(
            description="rank the results of the other rankings by the number of memories that link to them"
        ),
    ] = False
    field: Annotated[Name, Field(description="metadata field with the list of linked ids")] = "links"


class Ranked(Request):
    """How a search ranks, and which memories it may find: the fields of :class:`scrubjay.Query`."""

    fusion: Annotated[
        Method
        | Annotated[AutoIn | RRFIn | WeightedIn | BoostIn | ProductionIn, Field(discriminator="method")],
        Field(description="fusion of the rankings: a method, or a method with its options"),
    ] = "auto"
    mode: Literal["hybrid", "lexical", "keyword", "vector", "semantic"] = "hybrid"
    candidates: Annotated[
        Candidates | Annotated[list[Candidates], Field(min_length=2, max_length=2)] | None,
        Field(description="number of candidates of each ranking, or of [words, meaning]"),
    ] = None
    recall: Annotated[
        Annotated[Number, Field(gt=0, le=1)] | Literal["exact"] | None,
        Field(
            description="target recall of the vector ranking, as a fraction of the true nearest neighbours"
        ),
    ] = None
    identifier_tier: Annotated[
        bool, Field(description="memories that contain a rare identifier verbatim come first")
    ] = True
    spelling: Annotated[
        bool,
        Field(description="replace a word that no visible memory contains by the nearest one that occurs"),
    ] = True
    coverage: Annotated[
        Number, Field(description="weight of the fraction of the question's words in the text")
    ] = 0.0
    recency: RecencyIn | bool | None = None
    dates: Annotated[
        DatesIn | bool | None, Field(description="boost memories of the days that the text names")
    ] = True
    neighbours: Annotated[
        NeighboursIn | bool | None,
        Field(description="boost turns of a conversation next to matching turns"),
    ] = True
    entities: EntitiesIn | Names | bool | None = None
    prior: PriorIn | bool | None = None
    mmr: Annotated[
        Annotated[Number, Field(ge=0, le=1)] | None,
        Field(description="from 0, only different, to 1, only relevant"),
    ] = None
    min_score: Number | None = None
    relevance: RelevanceIn | Tier | None = None
    keywords: Annotated[QueryText | None, Field(description="replaces the text in the keyword ranking")] = (
        None
    )
    ids: Annotated[Ids | None, Field(description="only memories with these ids")] = None
    exclude: Annotated[Ids | None, Field(description="no memories with these ids")] = None
    rankings: Annotated[
        Annotated[list[Annotated[list[Id | KeyIn], Field(max_length=10_000)]], Field(max_length=MAX_RANKINGS)]
        | None,
        Field(description="further rankings, best first; an id means the most specific memory with that id"),
    ] = None
    links: Annotated[
        LinksIn | None, Field(description="rankings by links between memories: by distance, by mentions")
    ] = None

    @property
    def asks(self) -> set[str]:
        """The query fields that the request sets."""
        return self.model_fields_set & _QUERY_FIELDS

    def query(self, scope: Scope) -> Query:
        """Return the query of a search from a scope.

        Raises:
            TypeError, ValueError: the message names the field.
        """
        fields = self.model_dump(include=self.asks - _OF_ONE_SEARCH)
        query = Query.from_dict(fields)
        options = {name: getattr(self, name) for name in ("keywords", "ids", "exclude")}
        if self.rankings is not None:
            options["rankings"] = [[_entry(entry, scope) for entry in ranking] for ranking in self.rankings]
        if self.links is not None:
            centres = [_entry(entry, scope) for entry in self.links.centres or ()]
            options["links"] = Links(centres, **self.links.model_dump(exclude={"centres"}))
        options = {name: value for name, value in options.items() if value is not None}
        return query.replace(**options) if options else query


class ExplainIn(Ranked):
    """A question to explain."""

    text: Annotated[QueryText, Field(min_length=1)]
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    snippet: Annotated[
        int, Field(ge=40, le=4_000, description="approximate number of characters of each snippet")
    ] = 240
    filter: Filter | None = None
    scope: ScopeIn | None = None


class SearchIn(Ranked):
    """A question: at least one of text, keywords and vector."""

    text: QueryText | None = None
    vector: Annotated[Vector | None, Field(description="replaces the embedding of the text")] = None
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    filter: Filter | None = None
    explain: bool = False
    snippet: SnippetIn = False
    scope: ScopeIn | None = None


_QUERY_FIELDS = set(Ranked.model_fields)
_OF_ONE_SEARCH = {"keywords", "ids", "exclude", "rankings", "links"}


def _entry(entry: str | KeyIn, scope: Scope) -> str | tuple[Scope, str]:
    if isinstance(entry, str):
        return entry
    exact = entry.scope
    return Scope(exact.tenant or scope.tenant, exact.user, exact.agent), entry.id


class Piece(BaseModel):
    """A part of a text, and how it matches the question."""

    text: str
    match: Literal["word", "identifier"] | None


class Snippet(BaseModel):
    """The part of a text around its best matches."""

    pieces: list[Piece]
    before: Annotated[bool, Field(description="whether the text begins earlier")]
    after: Annotated[bool, Field(description="whether the text goes on")]
    start: Annotated[
        int | None, Field(description="its first character in the text; characters are code points")
    ] = None
    end: Annotated[int | None, Field(description="end of the snippet, exclusive")] = None


class HitOut(BaseModel):
    """One memory of a search; the evidence from `bm25` on is present if the search was explained."""

    id: str
    text: str
    metadata: dict[str, Any]
    created_at: str | None
    scope: ScopeOut
    score: Annotated[float, Field(description="comparable within one answer only")]
    lexical_rank: int | None
    vector_rank: int | None
    passage: Annotated[
        list[int] | None,
        Field(
            description="range of the passage nearest to the question by meaning, [first character, "
            "end]; only if the text was embedded in passages",
            min_length=2,
            max_length=2,
        ),
    ] = None
    snippet: Annotated[Snippet | None, Field(description="only if requested")] = None
    bm25: float | None = None
    similarity: float | None = None
    matched_terms: list[str] | None = None
    coverage: float | None = None
    identifier: bool | None = None
    relevance: Annotated[Tier | Literal["none"] | None, Field(description="tier of absolute relevance")] = (
        None
    )
    relevance_parts: Annotated[dict[str, Any] | None, Field(description="the evidence for its relevance")] = (
        None
    )
    parts: Annotated[dict[str, float] | None, Field(description="the summands of the score, and `final`")] = (
        None
    )


class Hits(BaseModel):
    """The best memories, best first."""

    hits: list[HitOut]
    mode: Annotated[str, Field(description="the mode that ran: hybrid, lexical, vector or none")]
    degraded: Annotated[list[str], Field(description="reasons for degraded results")]
    corrections: Annotated[dict[str, str], Field(description="replacements of misspelt words")]
    took_us: Annotated[float, Field(description="microseconds of the search itself")]


class ExplainedHit(HitOut):
    """A hit with the parts of its text that match the question."""

    snippet: Snippet


class Explanation(BaseModel):
    """A search together with both of its rankings."""

    hits: list[ExplainedHit]
    mode: Annotated[str, Field(description="the mode that ran: hybrid, lexical, vector or none")]
    degraded: Annotated[list[str], Field(description="reasons for degraded results")]
    corrections: Annotated[dict[str, str], Field(description="replacements of misspelt words")]
    took_us: Annotated[float, Field(description="microseconds of one whole search without explanation")]
    embed_us: Annotated[
        float | None,
        Field(description="microseconds of one more embedding of the text, if the embedder is native"),
    ]
    lexical: list[ExplainedHit]
    vector: list[ExplainedHit]
    lexical_share: Annotated[
        float | None, Field(description="weight of the words, if it was chosen automatically")
    ]


def snippet_width(asked: int | bool) -> int | None:
    """Return the maximum length of an answer's snippets; None for no snippets."""
    if asked is True:
        return DEFAULT_WIDTH
    return None if asked is False else asked
