"""Models of requests and answers, from which the OpenAPI document is generated. Models of searches are in
:mod:`scrubjay.adapters.service.search_models`.

Requests are strict: a text is not a number, and unknown fields are rejected. Answers are built by hand
(:func:`memory_fields`, `Hits.to_dicts`), because building them takes most of the time of a request; tests compare them
with these models.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from scrubjay.documents.records import Record

MAX_K = 1000  # upper bound, regardless of the limits of a service
MAX_BATCH = 10_000
MAX_WARM = 100  # scopes
MAX_PASSAGES = 16_384


def encodable(value: Any) -> Any:
    """Reject lone surrogates, which JSON can express, in texts, and infinite numbers."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("expected text that UTF-8 can encode, got a lone surrogate") from None
    except ValueError:
        raise ValueError("expected finite numbers") from None
    except RecursionError:
        raise ValueError("expected less nesting") from None
    return value


def _vectors_kind(value: Any) -> str:
    """Return the matching alternative of a vector, so that an error is reported for that one."""
    return (
        "list[vector]" if isinstance(value, list) and value and isinstance(value[0], list) else "list[number]"
    )


Name = Annotated[str, Field(min_length=1, max_length=256)]
Id = Annotated[str, Field(min_length=1, max_length=512)]
Text = Annotated[str, Field(max_length=200_000)]
Context = Annotated[
    str,
    Field(
        max_length=16_384,
        description="a title, or a summary of the surrounding text, which is embedded and indexed with the "
        "text",
    ),
]
Object = Annotated[dict[str, Any], AfterValidator(encodable)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Vector = Annotated[list[Number], Field(min_length=1, max_length=4096)]
Span = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
Passages = Annotated[
    list[Span] | Literal[False],
    Field(
        description="ranges of passages in the text, [first character, end] each, with one vector for "
        "each; false: one vector for the whole text; if omitted, long texts are split"
    ),
]
Vectors = Annotated[
    Annotated[Vector, Tag("list[number]")]
    | Annotated[list[Vector], Field(min_length=1, max_length=MAX_PASSAGES), Tag("list[vector]")],
    Discriminator(_vectors_kind),
    Field(description="replaces the embedding: one vector for the text, or one for each passage"),
]
Time = Annotated[str | Number, Field(description="ISO 8601, or seconds since 1970 (UTC)")]
WrittenAt = Annotated[
    int,
    Field(
        ge=0,
        lt=2**62,
        description="the version returned by GET: write only if it is unchanged; 0: only if the memory does "
        "not exist",
    ),
]
SeenAt = Annotated[
    int, Field(ge=1, lt=2**62, description="the version returned by GET: change only if it is unchanged")
]
Ids = Annotated[list[Id], Field(max_length=10_000)]
Filter = Annotated[
    Object,
    Field(
        description="conditions on metadata, created_at and expires_at: $eq $ne $gt $gte $lt $lte $in $nin $exists "
        "$contains $and $or $not",
        examples=[{"category": {"$in": ["keys", "infra"]}}],
    ),
]


class Request(BaseModel):
    """The base of all requests."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ScopeIn(Request):
    """The scope of the memories; missing parts are those of the token."""

    tenant: Name | None = None
    user: Name | None = None
    agent: Name | None = None


class WholeMemory(Request):
    """The fields of a whole memory."""

    text: Text
    context: Context | None = None
    metadata: Object | None = None
    created_at: Time | None = None
    expires_at: Time | None = None
    ttl: Number | None = None
    vector: Vectors | None = None
    passages: Passages | None = None
    version: WrittenAt | None = None


class PutIn(WholeMemory):
    """One whole memory. `ttl` is in seconds, in place of `expires_at`. With a `version` it is written only if the
    stored memory has that version (0: does not exist); otherwise 409."""

    scope: ScopeIn | None = None


class MemoryIn(WholeMemory):
    """One of several memories; an id is generated if missing. `version` as for one memory."""

    id: Id | None = None


class UpsertIn(Request):
    """Memories to write, all or none. The last of equal ids wins."""

    memories: Annotated[list[MemoryIn], Field(min_length=1, max_length=MAX_BATCH)]
    scope: ScopeIn | None = None


class Changes(Request):
    """Changes of a memory: missing fields are unchanged, null fields (except the text) are removed. With a `version`
    only if the stored memory has that version; otherwise 409."""

    text: Text | None = None
    context: Context | None = None
    metadata: Annotated[
        Object | None,
        Field(
            description="merged into the stored metadata: missing keys are unchanged, a null removes its key; "
            "null removes all"
        ),
    ] = None
    created_at: Time | None = None
    expires_at: Time | None = None
    vector: Vectors | None = None
    passages: Passages | None = None
    version: SeenAt | None = None
    scope: ScopeIn | None = None


class CountIn(Request):
    """The memories to count."""

    filter: Filter | None = None
    scope: ScopeIn | None = None


class WarmIn(Request):
    """The scopes to prepare for searches; by default that of the token."""

    scopes: Annotated[list[ScopeIn], Field(min_length=1, max_length=MAX_WARM)] | None = None


class ListIn(Request):
    """The memories to list, in order of writing."""

    filter: Filter | None = None
    ids: Ids | None = None
    exact: Annotated[
        bool, Field(description="only memories of exactly this scope, not those shared with it")
    ] = False
    limit: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    offset: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    order: Literal["newest", "oldest"] = "newest"
    scope: ScopeIn | None = None


class EraseIn(Request):
    """The scope to erase: with a tenant alone it includes all of its users and agents, unless `exact`."""

    scope: ScopeIn
    exact: bool = False


class ScopeOut(BaseModel):
    """The exact scope of a memory."""

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
    context: str | None
    passages: Annotated[
        list[Span] | Literal[False] | None,
        Field(description="the passages that the writer defined; false: none; null: chosen by the index"),
    ]
    version: Annotated[
        int, Field(description="changes with each write; PUT, PATCH and DELETE accept it as a condition")
    ]
    scope: ScopeOut


class Listing(BaseModel):
    """A page of memories, and the offset of the next one; null at the end."""

    memories: list[Memory]
    next_offset: int | None


class Written(BaseModel):
    """The ids of the written memories, in the order of the request."""

    ids: list[str]


class Count(BaseModel):
    """The number of memories."""

    count: int


class Warmed(BaseModel):
    """The number of memories that the searches of these scopes see, now in memory; shared ones count for each scope."""

    memories: int


class Erased(BaseModel):
    """The number of erased memories."""

    erased: int


class Status(BaseModel):
    """The state of the service."""

    status: Annotated[
        Literal["ok", "stale"],
        Field(description="stale: the database is unreachable; searches are answered from memory"),
    ]


class WhoAmI(BaseModel):
    """The grant of the request's token; parts that are null may be chosen by each request."""

    name: str
    tenant: str | None
    user: str | None
    agent: str | None
    can: list[str]


class FailureDetail(BaseModel):
    """The error: `code` is for programs, `message` for people."""

    code: str
    message: str


class Failure(BaseModel):
    """The form of every error."""

    error: FailureDetail


def memory_fields(record: Record) -> dict[str, Any]:
    """Return a record in the form of :class:`Memory`."""
    scope = record.scope
    return {
        "id": record.id,
        "text": record.text,
        "metadata": record.metadata or {},
        "created_at": _iso(record.created_at),
        "expires_at": _iso(record.expires_at),
        "context": record.context,
        "passages": record.passages,
        "version": record.version,
        "scope": {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent},
    }


def _iso(moment: Any) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else None
