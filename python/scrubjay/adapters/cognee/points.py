"""cognee's data points as documents, and documents as what cognee finds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cognee.infrastructure.databases.vector.models.ScoredResult import ScoredResult
from cognee.infrastructure.databases.vector.pgvector.serialize_data import serialize_data
from cognee.infrastructure.engine import DataPoint
from cognee.infrastructure.engine.utils import parse_id

TAGS = "belongs_to_set"
"""The field of a payload, and of a document's metadata, with the names of the sets that a data point is in."""


class IndexSchema(DataPoint):
    """What is kept of a data point for one of the fields by which it is found, as in cognee's own adapters."""

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
        """Return what is kept of a data point for the first field that it is found by."""
        names = ("document_id", "document_name", "chunk_index", "source_chunk_id", "importance_weight")
        return cls(
            id=str(point.id),
            text=getattr(point, point.metadata["index_fields"][0]),
            external_metadata=getattr(point, "external_metadata", None),
            belongs_to_set=_names(point.belongs_to_set),
            **{name: getattr(point, name, None) for name in names},
        )


def text_of(point: Any) -> str:
    """Return the text by which a data point is found; empty if it has none."""
    text = DataPoint.get_embeddable_data(point)
    return text if isinstance(text, str) else "" if text is None else str(text)


def payload_of(point: Any) -> dict[str, Any]:
    """Return what comes back with a data point, in JSON's types: its fields without those of storage."""
    payload: dict[str, Any] = serialize_data(point.model_dump(exclude={"metadata"}))
    return payload


def metadata_of(payload: Mapping[str, Any], also_in: Sequence[str] = ()) -> dict[str, Any]:
    """Return the metadata of a document with this payload, which is in these sets as well.

    The payload is kept as text, so that no field of it is a field to filter by; the sets are.

    Raises:
        TypeError, ValueError: the payload holds what JSON cannot express.
    """
    tags = union(also_in, _names(payload.get(TAGS)))
    whole = {**payload, TAGS: tags} if TAGS in payload or tags else payload
    return {"payload": {"json": json.dumps(whole, default=str)}, TAGS: tags}


def result_of(record: Any, score: float, *, include_payload: bool = True) -> Any:
    """Return a document as cognee has it: its id, how far it is, and its payload."""
    payload = stored(record) if include_payload else None
    return ScoredResult(id=parse_id(record.id), score=score, payload=payload)


def stored(record: Any) -> dict[str, Any]:
    """Return the payload of a document; of one that was written by others, its text and id."""
    metadata = record.metadata or {}
    kept = metadata.get("payload")
    if not isinstance(kept, Mapping) or not isinstance(kept.get("json"), str):
        return {"id": str(record.id), "text": record.text}
    payload: dict[str, Any] = json.loads(kept["json"])
    return payload


def union(*names: Iterable[str]) -> list[str]:
    """Return all names, each once, in the order in which they come."""
    return list(dict.fromkeys(name for some in names for name in some))


def ascending(distances: Sequence[float]) -> list[float]:
    """Return distances that do not fall, for results in a given order.

    cognee merges results of several collections by distance, and takes the order from it. What words put before nearer
    ones is therefore as near as the nearest behind it; otherwise a distance is as it is.

    >>> ascending([0.9, 0.2, 0.4])
    [0.2, 0.2, 0.4]
    """
    least, made = float("inf"), []
    for distance in reversed(distances):
        least = min(least, distance)
        made.append(least)
    return made[::-1]


def _names(tags: Any) -> list[str]:
    """Return the names of sets, which are strs, node sets, or dumps of node sets."""
    found = []
    for tag in tags or ():
        name = tag if isinstance(tag, str) else tag.get("name") if isinstance(tag, Mapping) else None
        name = getattr(tag, "name", None) if name is None else name
        if isinstance(name, str):
            found.append(name)
    return found
