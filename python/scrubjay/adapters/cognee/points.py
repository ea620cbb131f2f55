"""Conversion of cognee's data points to documents, and of documents to cognee's results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cognee.infrastructure.databases.vector.models.ScoredResult import ScoredResult
from cognee.infrastructure.databases.vector.pgvector.serialize_data import serialize_data
from cognee.infrastructure.engine import DataPoint
from cognee.infrastructure.engine.utils import parse_id

TAGS = "belongs_to_set"
"""The field of a payload, and of a document's metadata, with the names of the sets of a data point."""


class IndexSchema(DataPoint):
    """The indexed form of a data point for one of its searchable fields, as in cognee's own adapters."""

    id: str
    text: str
    document_id: str | None = None
    document_name: str | None = None
    chunk_index: int | None = None
    source_chunk_id: str | None = None
    importance_weight: float | None = 0.5
    external_metadata: str | None = None
    metadata: dict = {"index_fields": ["text"]}  # type: ignore[type-arg] # noqa: RUF012 - pydantic copies it
    belongs_to_set: list[str] = []  # noqa: RUF012

    @classmethod
    def of(cls, point: Any) -> IndexSchema:
        """Return the indexed form of a data point for its first searchable field."""
        names = ("document_id", "document_name", "chunk_index", "source_chunk_id", "importance_weight")
        return cls(
            id=str(point.id),
            text=getattr(point, point.metadata["index_fields"][0]),
            external_metadata=getattr(point, "external_metadata", None),
            belongs_to_set=_names(point.belongs_to_set),
            **{name: getattr(point, name, None) for name in names},
        )


def text_of(point: Any) -> str:
    """Return the searchable text of a data point; empty if it has none."""
    text = DataPoint.get_embeddable_data(point)
    return text if isinstance(text, str) else "" if text is None else str(text)


def payload_of(point: Any) -> dict[str, Any]:
    """Return the payload of a data point in JSON types: its fields except those of storage."""
    payload: dict[str, Any] = serialize_data(point.model_dump(exclude={"metadata"}))
    return payload


def metadata_of(payload: Mapping[str, Any], also_in: Sequence[str] = ()) -> dict[str, Any]:
    """Return the metadata of a document with this payload, with `also_in` added to its sets.

    The payload is stored as text, so that its fields are not filterable; the sets are.

    Raises:
        TypeError, ValueError: the payload cannot be expressed in JSON.
    """
    tags = union(also_in, _names(payload.get(TAGS)))
    document = {**payload, TAGS: tags} if TAGS in payload or tags else payload
    return {"payload": {"json": json.dumps(document, default=str)}, TAGS: tags}


def result_of(record: Any, score: float, *, include_payload: bool = True) -> Any:
    """Return a document as cognee's result: its id, distance and payload."""
    payload = stored(record) if include_payload else None
    return ScoredResult(id=parse_id(record.id), score=score, payload=payload)


def stored(record: Any) -> dict[str, Any]:
    """Return the payload of a document; for a document of another writer, its text and id."""
    metadata = record.metadata or {}
    encoded = metadata.get("payload")
    if not isinstance(encoded, Mapping) or not isinstance(encoded.get("json"), str):
        return {"id": str(record.id), "text": record.text}
    payload: dict[str, Any] = json.loads(encoded["json"])
    return payload


def union(*names: Iterable[str]) -> list[str]:
    """Return all names without duplicates, in order of first occurrence."""
    return list(dict.fromkeys(name for some in names for name in some))


def ascending(distances: Sequence[float]) -> list[float]:
    """Return non-decreasing distances for results in a given order.

    cognee merges results of several collections by distance, and takes the order from it. So a result that words rank
    above nearer ones gets the distance of the nearest result after it; other distances are unchanged.

    >>> ascending([0.9, 0.2, 0.4])
    [0.2, 0.2, 0.4]
    """
    least, result = float("inf"), []
    for distance in reversed(distances):
        least = min(least, distance)
        result.append(least)
    return result[::-1]


def _names(tags: Any) -> list[str]:
    """Return the names of sets, given as strs, node sets, or dumps of node sets."""
    result = []
    for tag in tags or ():
        name = tag if isinstance(tag, str) else tag.get("name") if isinstance(tag, Mapping) else None
        name = getattr(tag, "name", None) if name is None else name
        if isinstance(name, str):
            result.append(name)
    return result
