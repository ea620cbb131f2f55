"""Models of the page's own routes: about, scopes and map."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from scrubjay.adapters.service.models import Filter, Request, ScopeIn, ScopeOut
from scrubjay.adapters.service.search_models import QueryText

MAX_POINTS = 2_000
MAX_SCOPES = 1_000


class Example(BaseModel):
    """A question worth asking, and what it demonstrates."""

    title: str
    text: str
    scope: ScopeOut
    shows: str


class About(BaseModel):
    """The service and its limits."""

    version: str
    embedder: Annotated[
        str | None, Field(description="name of the embedder; null: searches go by words only")
    ]
    max_k: int
    memory: Annotated[bool, Field(description="whether the routes below /v1/memory exist")]
    examples: list[Example]


class ScopeCount(ScopeOut):
    """A scope with memories."""

    own: Annotated[int, Field(description="memories of exactly this scope")]
    visible: Annotated[int, Field(description="memories visible to a search from it, including shared ones")]
    memory: Annotated[
        bool, Field(description="whether the typed memory has facts or episodes of exactly this scope")
    ]


class Scopes(BaseModel):
    """The scopes that the token may name, sorted."""

    scopes: list[ScopeCount]
    more: Annotated[bool, Field(description="whether there are more scopes")]
    next_cursor: Annotated[str | None, Field(description="for the next page; null at the end")]


class MapIn(Request):
    """The memories to draw, and optionally a question to place among them."""

    text: Annotated[QueryText | None, Field(description="a question, placed among the memories")] = None
    filter: Filter | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_POINTS, description="number of the last written memories")] = (
        1_000
    )
    scope: ScopeIn | None = None


class Place(BaseModel):
    """The coordinates of a vector, from -1 to 1 each."""

    x: float
    y: float


class Point(Place):
    """A memory with the coordinates of its vector."""

    id: str
    text: Annotated[str, Field(description="beginning of the text")]
    created_at: str | None
    scope: ScopeOut
    category: Annotated[str | None, Field(description="`category` of its metadata, if that is a text")]


class Map(BaseModel):
    """The memories of a scope on their two principal axes; near means similar, as far as two axes can show."""

    points: list[Point]
    query: Place | None
    visible: Annotated[int, Field(description="memories visible to a search")]
    without_vector: Annotated[
        int, Field(description="visible memories without a vector, which are not drawn")
    ]
    shares: Annotated[
        list[float],
        Field(description="fraction of the variance of the vectors along each axis", max_length=2),
    ]
