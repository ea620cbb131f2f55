"""Models of what the page asks beside the verbs: who is here, what the service is, where memories lie."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from scrubjay.adapters.service.models import Filter, Request, ScopeIn, ScopeOut
from scrubjay.adapters.service.search_models import QueryText

MAX_POINTS = 2_000
MAX_SCOPES = 1_000


class Example(BaseModel):
    """A question that is worth asking here, and what it shows."""

    title: str
    text: str
    scope: ScopeOut
    shows: str


class About(BaseModel):
    """What the service is, and what it takes."""

    version: str
    embedder: Annotated[str | None, Field(description="its name; null: searches go by words only")]
    max_k: int
    memory: Annotated[bool, Field(description="whether it has the routes below /v1/memory")]
    examples: list[Example]


class ScopeCount(ScopeOut):
    """A scope that holds memories."""

    own: Annotated[int, Field(description="memories of exactly this scope")]
    visible: Annotated[int, Field(description="memories that a search from it looks at, the shared ones too")]
    memory: Annotated[
        bool, Field(description="whether the typed memory has facts or episodes of exactly this scope")
    ]


class Scopes(BaseModel):
    """The scopes that the token may name, in order."""

    scopes: list[ScopeCount]
    more: Annotated[bool, Field(description="whether there are further ones")]
    next_cursor: Annotated[str | None, Field(description="for the next page; null at the end")]


class MapIn(Request):
    """Which memories to draw, and perhaps a question to place among them."""

    text: Annotated[QueryText | None, Field(description="a question, placed among the memories")] = None
    filter: Filter | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_POINTS, description="the last written ones")] = 1_000
    scope: ScopeIn | None = None


class Place(BaseModel):
    """Where a vector lies: from -1 to 1 each."""

    x: float
    y: float


class Point(Place):
    """A memory, and where its vector lies."""

    id: str
    text: Annotated[str, Field(description="its beginning")]
    created_at: str | None
    scope: ScopeOut
    category: Annotated[str | None, Field(description="of its metadata, if that is a text")]


class Map(BaseModel):
    """The memories of a scope on their two principal axes: near means alike, as far as two axes can tell."""

    points: list[Point]
    query: Place | None
    visible: Annotated[int, Field(description="memories that a search looks at")]
    without_vector: Annotated[int, Field(description="of those looked at; they have no place")]
    shares: Annotated[
        list[float], Field(description="of the spread of the vectors, that each axis shows", max_length=2)
    ]
