"""Arguments and results of the tools, and their size limits."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from scrubjay.documents.records import as_text

MAX_TEXT = 20_000
MAX_QUERY = 4_000
MAX_ID = 1_000
MAX_LIMIT = 100
MAX_CURSOR = 4_000
MAX_JSON = 10_000  # characters of metadata, or of a filter, as JSON


def _parsed(value: Any) -> Any:
    """Return a value, parsed if it is a str: some clients send an object as a JSON string."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


_Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, description="one fact, in a sentence")]
Id = Annotated[str, Field(min_length=1, max_length=MAX_ID, description="the id of a memory")]
_Object = Annotated[dict[str, Any], BeforeValidator(_parsed)]
Metadata = Annotated[
    _Object | None,
    Field(description='fields for filters, such as {"category": "travel", "tags": ["rail"]}'),
]

AsOf = Annotated[
    str | None,
    Field(
        max_length=40, description="what was true at this time (ISO 8601, such as 2026-05-01); by default now"
    ),
]
KnownAt = Annotated[
    str | None,
    Field(max_length=40, description="what was known at this time (ISO 8601), before later corrections"),
]


class Arguments(BaseModel):
    """The base of all tools' arguments; unknown ones are rejected."""

    model_config = ConfigDict(extra="forbid")


class AddMemory(Arguments):
    """Arguments of add_memory."""

    text: _Text
    metadata: Metadata = None
    expires_in_days: Annotated[
        float | None, Field(gt=0, le=36_500, description="time at which it is forgotten; by default never")
    ] = None


class SearchMemories(Arguments):
    """Arguments of search_memories."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY, description="a question or keywords")]
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="maximum number of memories")] = 10
    filter: Annotated[
        _Object | None,
        Field(
            description="conditions on metadata and created_at, such as "
            '{"category": "travel"} or {"tags": {"$contains": "rail"}, "created_at": {"$gte": "2026-01-01"}}'
        ),
    ] = None
    settings: Annotated[
        _Object | None,
        Field(
            description='how to rank, rarely needed: {"mode": "lexical"} by words only, {"recency": true} new ones '
            'first, {"mmr": 0.5} unlike ones, {"relevance": "high"} only what fits well'
        ),
    ] = None
    as_of: AsOf = None
    known_at: KnownAt = None


class ListMemories(Arguments):
    """Arguments of list_memories."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="maximum number of memories")] = 20
    cursor: Annotated[
        str | None, Field(max_length=MAX_CURSOR, description="the next_cursor of the previous page")
    ] = None
    subject: Annotated[
        str | None, Field(min_length=1, max_length=MAX_TEXT, description="only facts about this subject")
    ] = None
    as_of: AsOf = None
    known_at: KnownAt = None


class OneMemory(Arguments):
    """Arguments of get_memory, delete_memory, forget and why."""

    id: Id


class UpdateMemory(Arguments):
    """Arguments of update_memory."""

    id: Id
    text: Annotated[_Text | None, Field(description="the new text; by default unchanged")] = None
    metadata: Annotated[Metadata, Field(description="replaces all metadata; by default unchanged")] = None


class DeleteAllMemories(Arguments):
    """Arguments of delete_all_memories."""

    confirm: Annotated[Literal[True], Field(description="must be true: this cannot be undone")]


class Memory(BaseModel):
    """One memory in the form of the tools."""

    id: str
    kind: Annotated[str, Field(description="note, fact or episode")] = "note"
    text: str
    metadata: dict[str, Any]
    created_at: str | None
    expires_at: str | None = None
    shared: Annotated[bool, Field(description="shared with you by others, and read-only")]


class Found(BaseModel):
    """One memory of a search result."""

    id: str
    kind: Annotated[str, Field(description="note, fact or episode")] = "note"
    text: str
    truncated: Annotated[bool, Field(description="the text was cut; get_memory returns all of it")]
    passage: Annotated[
        list[int] | None,
        Field(description="range of the part nearest in meaning in a long text (first character, end)"),
    ] = None
    snippet: Annotated[str | None, Field(description="the part of a truncated text that answers")] = None
    score: Annotated[float, Field(description="comparable within one search only")]
    metadata: dict[str, Any]
    created_at: str | None
    shared: Annotated[bool, Field(description="shared with you by others, and read-only")]


class Search(BaseModel):
    """The result of search_memories."""

    memories: list[Found]
    mode: Annotated[str, Field(description="the mode that ran: hybrid, lexical, vector, substring or none")]
    degraded: Annotated[list[str], Field(description="reasons for degraded results")]


class Listing(BaseModel):
    """The result of list_memories."""

    memories: list[Memory]
    next_cursor: Annotated[str | None, Field(description="for the next page; null at the end")]


class Deleted(BaseModel):
    """The result of forget, delete_memory, delete_all_memories and delete_preference."""

    deleted: int


def bounded(name: str, value: Any) -> Any:
    """Return `value`, checked.

    Raises:
        ValueError: it exceeds the length or nesting limit of tools.
    """
    if value is not None:
        try:
            n_characters = len(json.dumps(value, ensure_ascii=False))
        except RecursionError:
            raise ValueError(f"{name}: expected less nesting") from None
        if n_characters > MAX_JSON:
            raise ValueError(
                f"{name}: expected at most {MAX_JSON:,} characters of JSON, got {n_characters:,}"
            )
    return value


def well_formed(given: dict[str, Any]) -> dict[str, Any]:
    """Replace lone surrogates, which metadata of other writers may contain and no message can carry, by U+FFFD."""
    text = json.dumps(given, ensure_ascii=False)
    valid = as_text(text)
    return given if valid == text else dict(json.loads(valid))
