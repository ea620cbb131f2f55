"""Conversion between CrewAI's memory records and documents of an index, and its conditions as filters.

A record's metadata are the document's metadata. CrewAI's other fields are stored under names with the prefix `crewai_`;
a record's path is normalised (`crew//a/` is `/crew/a`), so records at or below a path form one range of texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
from crewai.memory.types import MemoryRecord
from crewai.memory.utils import normalize_scope_path

from scrubjay.backend import EVERYTHING, All, Native, Node, fields_equal
from scrubjay.documents.passage_vectors import mean_of
from scrubjay.documents.records import Record
from scrubjay.index import Hit

_RESERVED = "crewai_"
PATH = _RESERVED + "scope"
CATEGORIES = _RESERVED + "categories"
LAST_ACCESSED = _RESERVED + "last_accessed"
_IMPORTANCE = _RESERVED + "importance"
_SOURCE = _RESERVED + "source"
_PRIVATE = _RESERVED + "private"


def path_of(scope: Any) -> str:
    """Return a path of CrewAI's scopes normalised: a leading slash, no trailing slash, no repeated slashes.

    Raises:
        TypeError: it is not a str.

    >>> path_of("crew//a/"), path_of("")
    ('/crew/a', '/')
    """
    if not isinstance(scope, str):
        raise TypeError(f"scope: expected a str, got {type(scope).__name__}")
    return str(normalize_scope_path(scope))


def below(path: str | None) -> Native:
    """Return the condition that a record is at a path or below it; None and the root admit everything.

    >>> below("/crew/a").filter
    {'$or': [{'crewai_scope': '/crew/a'}, {'crewai_scope': {'$gte': '/crew/a/', '$lt': '/crew/a0'}}]}
    """
    prefix = path_of(path or "/")
    if prefix == "/":
        return EVERYTHING
    # "0" is the character after "/", so the range contains exactly the texts that begin with the path and a slash.
    return Native({"$or": [{PATH: prefix}, {PATH: {"$gte": prefix + "/", "$lt": prefix + "0"}}]})


def conditions(
    path: str | None = None,
    categories: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    older_than: datetime | None = None,
) -> Node:
    """Return the conjunction of the conditions of a search or deletion; one matching category is enough.

    Raises:
        TypeError: a value has an unexpected type.
    """
    parts: list[Node] = [below(path)]
    if categories:
        if isinstance(categories, str):
            raise TypeError("categories: expected a list of str, got a str")
        parts.append(Native({CATEGORIES: {"$in": list(categories)}}))
    if metadata is not None and not isinstance(metadata, Mapping):
        raise TypeError(f"metadata_filter: expected a mapping, got {type(metadata).__name__}")
    if metadata:
        parts.append(fields_equal(metadata, "metadata_filter"))
    if older_than is not None:
        if not isinstance(older_than, datetime):
            raise TypeError(f"older_than: expected a datetime, got {type(older_than).__name__}")
        parts.append(Native({"created_at": {"$lt": _utc(older_than)}}))
    return All(parts)


def document_of(record: MemoryRecord) -> dict[str, Any]:
    """Return a record in the form of :meth:`scrubjay.Index.upsert_many`, without a scope.

    Raises:
        ValueError: a key of its metadata begins with `crewai_`.
    """
    reserved = sorted(key for key in record.metadata if str(key).startswith(_RESERVED))
    if reserved:
        raise ValueError(f"metadata: expected keys that do not begin with {_RESERVED!r}, got {reserved[0]!r}")
    fields = {
        PATH: path_of(record.scope),
        CATEGORIES: list(record.categories),
        _IMPORTANCE: record.importance,
        _SOURCE: record.source,
        _PRIVATE: record.private,
        LAST_ACCESSED: _utc(record.last_accessed).isoformat(),
    }
    return {
        "id": record.id,
        "text": record.content,
        "vector": record.embedding or None,
        "metadata": {
            **record.metadata,
            **{name: value for name, value in fields.items() if value is not None},
        },
        "created_at": _utc(record.created_at),
    }


def record_of(document: Record | Hit) -> MemoryRecord:
    """Return a document as CrewAI's record; a document of another writer is at the root, without categories.

    Times are naive and in UTC, as CrewAI's scoring expects.
    """
    metadata = dict(document.metadata or {})
    fields = {key: metadata.pop(key) for key in list(metadata) if key.startswith(_RESERVED)}
    created = (
        naive(document.created_at) if isinstance(document.created_at, datetime) else datetime(1970, 1, 1)
    )
    accessed = fields.get(LAST_ACCESSED)
    vector = document.vector if isinstance(document, Record) else None
    return MemoryRecord(
        id=str(document.id),
        content=document.text,
        scope=fields.get(PATH, "/"),
        categories=fields.get(CATEGORIES, []),
        metadata=metadata,
        importance=fields.get(_IMPORTANCE, 0.5),
        created_at=created,
        last_accessed=created if accessed is None else naive(datetime.fromisoformat(accessed)),
        embedding=None if vector is None else np.asarray(mean_of(vector), dtype=np.float32).tolist(),
        source=fields.get(_SOURCE),
        private=fields.get(_PRIVATE, False),
    )


def naive(moment: datetime) -> datetime:
    """Return a time in CrewAI's form: naive, in UTC."""
    return _utc(moment).replace(tzinfo=None)


def _utc(moment: datetime) -> datetime:
    """Return an aware time; CrewAI's naive times are in UTC."""
    return moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment.astimezone(timezone.utc)
