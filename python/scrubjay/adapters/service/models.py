"""Models of requests and answers: the source of the OpenAPI document.

Requests are strict: a text is not a number, and unknown fields are refused. Answers are made by hand
(:func:`memory_fields`, `Hits.to_dicts`), since they are most of the work of a request; tests compare them with these
models.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from scrubjay._native import Scope
from scrubjay.fusion import Query
from scrubjay.records import Record

__all__ = [
    "Changes",
    "Count",
    "CountIn",
    "EraseIn",
    "Erased",
    "ExplainIn",
    "Explanation",
    "Failure",
    "Hits",
    "ListIn",
    "Listing",
    "Memory",
    "MemoryIn",
    "PutIn",
    "SearchIn",
    "Status",
    "UpsertIn",
    "WhoAmI",
    "Written",
    "encodable",
    "memory_fields",
]

MAX_K = 1000  # whatever the limits of a service are
MAX_BATCH = 10_000


def encodable(value: Any) -> Any:
    """Refuse half a surrogate pair, which JSON can spell, as a text, and an infinite number."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("expected text that UTF-8 can encode, got half a surrogate pair") from None
    except ValueError:
        raise ValueError("expected finite numbers") from None
    except RecursionError:
        raise ValueError("expected less nesting") from None
    return value


Name = Annotated[str, Field(min_length=1, max_length=256)]
Id = Annotated[str, Field(min_length=1, max_length=512)]
Text = Annotated[str, Field(max_length=200_000)]
QueryText = Annotated[str, Field(max_length=20_000)]
Object = Annotated[dict[str, Any], AfterValidator(encodable)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Vector = Annotated[list[Number], Field(min_length=1, max_length=4096)]
Time = Annotated[str | Number, Field(description="ISO 8601, or seconds since 1970 (UTC)")]
Ids = Annotated[list[Id], Field(max_length=10_000)]
Names = Annotated[list[Name], Field(max_length=1_000)]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Candidates = Annotated[int, Field(ge=1, le=10_000)]
Method = Literal["auto", "rrf", "weighted", "boost", "production"]
Tier = Literal["low", "standard", "high"]
Filter = Annotated[
    Object,
    Field(
        description="conditions on metadata, created_at and expires_at: $eq $ne $gt $gte $lt $lte $in $nin $exists "
        "$contains $and $or $not",
        examples=[{"category": {"$in": ["keys", "infra"]}}],
    ),
]


class Request(BaseModel):
    """What all requests have in common."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ScopeIn(Request):
    """Whose memories; what is left out is the token's."""

    tenant: Name | None = None
    user: Name | None = None
    agent: Name | None = None


class PutIn(Request):
    """One memory, whole. `ttl` is in seconds, and given instead of `expires_at`."""

    text: Text
    metadata: Object | None = None
    created_at: Time | None = None
    expires_at: Time | None = None
    ttl: Number | None = None
    vector: Vector | None = None
    scope: ScopeIn | None = None


class MemoryIn(Request):
    """One of several memories; without an id it gets one."""

    id: Id | None = None
    text: Text
    metadata: Object | None = None
    created_at: Time | None = None
    expires_at: Time | None = None
    ttl: Number | None = None
    vector: Vector | None = None


class UpsertIn(Request):
    """Memories to write, all or none. Of equal ids the last counts."""

    memories: Annotated[list[MemoryIn], Field(min_length=1, max_length=MAX_BATCH)]
    scope: ScopeIn | None = None


class Changes(Request):
    """What changes of a memory; what is left out stays, and what is null (but for the text) is removed."""

    text: Text | None = None
    metadata: Object | None = None
    created_at: Time | None = None
    expires_at: Time | None = None
    vector: Vector | None = None
    scope: ScopeIn | None = None


class AutoIn(Request):
    """Normalised scores, weighed per question by how well the two rankings agree."""

    method: Literal["auto"]


class RRFIn(Request):
    """Reciprocal rank fusion."""

    method: Literal["rrf"]
    k: Number = 60.0
    weights: Pair = [1.0, 1.0]


class WeightedIn(Request):
    """A weighted sum of normalised scores."""

    method: Literal["weighted"]
    weights: Pair = [0.5, 0.5]
    normalise: Literal["zscore", "minmax", "max", "logistic"] = "zscore"


class BoostIn(Request):
    """The vectors admit, the words reorder."""

    method: Literal["boost"]
    gate: Number = 0.0
    weight: Number = 0.3


class ProductionIn(Request):
    """A weighted sum of scaled scores of words and similarities, and a floor."""

    method: Literal["production"]
    weights: Pair = [0.6, 0.4]
    floor: Number = 0.4
    literal: bool = False


class RecencyIn(Request):
    """What is new counts more."""

    weight: Number = 0.3
    half_life_hours: Number = 168.0
    now: Time | None = None


class DatesIn(Request):
    """Memories of the days that the question names count more."""

    weight: Number = 6.0
    now: Time | None = None


class NeighboursIn(Request):
    """Turns of a conversation count for the turns beside them."""

    weight: Number = 0.2


class EntitiesIn(Request):
    """Memories that name what the question is about count more."""

    weight: Number = 0.3
    field: Name = "entities"
    names: Names | None = None


class PriorIn(Request):
    """A number in a memory's metadata is added to its score."""

    weight: Number = 0.3
    field: Name = "importance"


class RelevanceIn(Request):
    """The least evidence that a hit must have; bounds are of similarity and coverage."""

    at_least: Tier = "standard"
    low: Pair = [0.3, 0.3]
    standard: Pair = [0.5, 0.5]
    high: Pair = [0.7, 0.7]


class ExactScope(Request):
    """The very scope of a memory, as hits and memories say it; without a tenant it is the one that the search is in."""

    tenant: Name | None = None
    user: Name | None = None
    agent: Name | None = None


class KeyIn(Request):
    """One very memory."""

    id: Id
    scope: ExactScope


class Ranked(Request):
    """How a search ranks, and what it may find: the fields of :class:`scrubjay.Query`."""

    fusion: Annotated[
        Method
        | Annotated[AutoIn | RRFIn | WeightedIn | BoostIn | ProductionIn, Field(discriminator="method")],
        Field(description="how the rankings become one: a method, or one with its options"),
    ] = "auto"
    mode: Literal["hybrid", "lexical", "keyword", "vector", "semantic"] = "hybrid"
    candidates: Annotated[
        Candidates | Annotated[list[Candidates], Field(min_length=2, max_length=2)] | None,
        Field(description="how many of each ranking are fused, or of [words, meaning]"),
    ] = None
    recall: Annotated[
        Annotated[Number, Field(gt=0, le=1)] | Literal["exact"] | None,
        Field(description="the share of the truly nearest that the ranking by meaning should find"),
    ] = None
    identifier_tier: Annotated[
        bool, Field(description="what holds a rare identifier verbatim comes first")
    ] = True
    spelling: Annotated[
        bool, Field(description="a word that no visible memory holds is read as the nearest that one does")
    ] = True
    coverage: Annotated[Number, Field(description="weight of the share of the question's words")] = 0.0
    recency: RecencyIn | bool | None = None
    dates: Annotated[
        DatesIn | bool | None, Field(description="memories of the days that the text names count more")
    ] = True
    neighbours: Annotated[
        NeighboursIn | bool | None,
        Field(description="turns of a conversation count for the turns of others beside them"),
    ] = True
    entities: EntitiesIn | Names | bool | None = None
    prior: PriorIn | bool | None = None
    mmr: Annotated[
        Annotated[Number, Field(ge=0, le=1)] | None,
        Field(description="from 0, only different, to 1, only relevant"),
    ] = None
    min_score: Number | None = None
    relevance: RelevanceIn | Tier | None = None
    keywords: Annotated[
        QueryText | None, Field(description="replaces the text for the ranking by keywords")
    ] = None
    ids: Annotated[Ids | None, Field(description="only memories with these")] = None
    exclude: Annotated[Ids | None, Field(description="none with these")] = None
    rankings: Annotated[
        Annotated[list[Annotated[list[Id | KeyIn], Field(max_length=10_000)]], Field(max_length=16)] | None,
        Field(description="further rankings, best first; an id is the most specific memory that has it"),
    ] = None

    @property
    def asks(self) -> set[str]:
        """The fields of the query that the request names."""
        return self.model_fields_set & _QUERY_FIELDS

    def query(self, scope: Scope) -> Query:
        """Return the query for a search from a scope.

        Raises:
            TypeError, ValueError: the message names the field.
        """
        given = self.model_dump(include=self.asks - _OF_ONE_SEARCH, exclude_none=True)
        query = Query.from_dict(given)
        own = {name: getattr(self, name) for name in ("keywords", "ids", "exclude")}
        if self.rankings is not None:
            own["rankings"] = [[_entry(entry, scope) for entry in ranking] for ranking in self.rankings]
        own = {name: value for name, value in own.items() if value is not None}
        return query.replace(**own) if own else query


class ExplainIn(Ranked):
    """A question about a question."""

    text: Annotated[QueryText, Field(min_length=1)]
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    filter: Filter | None = None
    scope: ScopeIn | None = None


class SearchIn(Ranked):
    """A question: at least one of text, keywords, vector."""

    text: QueryText | None = None
    vector: Annotated[Vector | None, Field(description="replaces the embedding of the text")] = None
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    filter: Filter | None = None
    explain: bool = False
    scope: ScopeIn | None = None


_QUERY_FIELDS = set(Ranked.model_fields)
_OF_ONE_SEARCH = {"keywords", "ids", "exclude", "rankings"}


def _entry(entry: str | KeyIn, scope: Scope) -> str | tuple[Scope, str]:
    if isinstance(entry, str):
        return entry
    own = entry.scope
    return Scope(own.tenant or scope.tenant, own.user, own.agent), entry.id


class CountIn(Request):
    """Which memories to count."""

    filter: Filter | None = None
    scope: ScopeIn | None = None


class ListIn(Request):
    """Which memories to list, in the order in which they were written."""

    filter: Filter | None = None
    ids: Ids | None = None
    exact: Annotated[bool, Field(description="only of precisely this scope, not those shared with it")] = (
        False
    )
    limit: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    offset: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    order: Literal["newest", "oldest"] = "newest"
    scope: ScopeIn | None = None


class EraseIn(Request):
    """Everything of a scope: with a tenant alone that is all of its users and agents, too, unless `exact`."""

    scope: ScopeIn
    exact: bool = False


class ScopeOut(BaseModel):
    """The scope that a memory was written in."""

    tenant: str
    user: str | None
    agent: str | None


class Memory(BaseModel):
    """One memory."""

    id: str
    text: str
    metadata: dict[str, Any]
    created_at: str | None
    expires_at: str | None
    scope: ScopeOut


class HitOut(BaseModel):
    """One memory that a search found; the evidence from `bm25` on is there if the search explained."""

    id: str
    text: str
    metadata: dict[str, Any]
    created_at: str | None
    scope: ScopeOut
    score: Annotated[float, Field(description="comparable within one answer only")]
    lexical_rank: int | None
    vector_rank: int | None
    bm25: float | None = None
    similarity: float | None = None
    matched_terms: list[str] | None = None
    coverage: float | None = None
    identifier: bool | None = None
    relevance: Annotated[
        Tier | Literal["none"] | None, Field(description="how much speaks for it in absolute terms")
    ] = None
    relevance_parts: Annotated[
        dict[str, Any] | None, Field(description="the evidence that its relevance is made of")
    ] = None
    parts: Annotated[dict[str, float] | None, Field(description="what add up to the score, and `final`")] = (
        None
    )


class Hits(BaseModel):
    """The best memories, best first."""

    hits: list[HitOut]
    mode: Annotated[str, Field(description="what ran: hybrid, lexical, vector or none")]
    degraded: Annotated[list[str], Field(description="why less ran than was asked for")]
    corrections: Annotated[
        dict[str, str], Field(description="words that were searched for in place of misspelt ones")
    ]
    took_us: Annotated[float, Field(description="microseconds of the search itself")]


class Stage(BaseModel):
    """One step: the best of three calls, each measured by itself; the fusion is what is left of the whole."""

    name: str
    us: float


class Explanation(Hits):
    """A search with both of its rankings beside it, and what each step took."""

    lexical: list[HitOut]
    vector: list[HitOut]
    lexical_share: Annotated[float | None, Field(description="what the words weighed, where that was chosen")]
    stages: list[Stage]


class Listing(BaseModel):
    """Memories, and where the next ones begin; null at the end."""

    memories: list[Memory]
    next_offset: int | None


class Written(BaseModel):
    """The ids of what was written, in the order of the request."""

    ids: list[str]


class Count(BaseModel):
    """How many."""

    count: int


class Erased(BaseModel):
    """How many are gone."""

    erased: int


class Status(BaseModel):
    """How the service is."""

    status: Literal["ok"]


class WhoAmI(BaseModel):
    """What the request's token grants; parts that are null may be chosen by each request."""

    name: str
    tenant: str | None
    user: str | None
    agent: str | None
    can: list[str]


class FailureDetail(BaseModel):
    """What went wrong: `code` is for programs, `message` for people."""

    code: str
    message: str


class Failure(BaseModel):
    """The form of every error."""

    error: FailureDetail


def memory_fields(record: Record) -> dict[str, Any]:
    """Return a record as :class:`Memory`."""
    scope = record.scope
    return {
        "id": record.id,
        "text": record.text,
        "metadata": record.metadata or {},
        "created_at": _iso(record.created_at),
        "expires_at": _iso(record.expires_at),
        "scope": {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent},
    }


def _iso(moment: Any) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else None
