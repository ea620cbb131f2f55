"""LangGraph's items as documents of the index, and back.

One document for each of its indexed texts (the parts; an item without any has one part with an empty text) and each
scope that its namespace is written to. Each of them carries the whole item, so that a hit is always complete
and of one state.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path

from scrubjay import payload
from scrubjay._native import Scope
from scrubjay.adapters.langgraph import conditions
from scrubjay.adapters.langgraph.namespaces import Namespace, document_id, scopes_of
from scrubjay.index import Hit
from scrubjay.records import Record

__all__ = [
    "FIRST_PART",
    "Document",
    "Put",
    "as_item",
    "as_search_item",
    "deadline",
    "is_item",
    "item_key",
    "put_of",
]

FIRST_PART = {"part": 0}
"""The condition that admits one document of every item."""


class Document(NamedTuple):
    """One document to be written."""

    id: str
    text: str
    scope: Scope
    vector: Any
    payload: bytes | None
    expires_at: datetime | None


class Put(NamedTuple):
    """A checked PutOp: the value in JSON's types (None: delete the item) and the texts that are searched."""

    namespace: Namespace
    key: str
    value: dict[str, Any] | None
    texts: list[str]
    ttl: float | None

    def keys(self, tenant: str, part: int) -> list[tuple[Scope, str]]:
        """Return scope and id of each of one part's documents."""
        id = document_id(self.namespace, self.key, part)
        return [(scope, id) for scope in scopes_of(tenant, self.namespace, part)]

    def documents(
        self, tenant: str, vectors: Mapping[str, Any], created_at: datetime | None, now: datetime
    ) -> list[Document]:
        """Return the documents of an item that is not deleted."""
        assert self.value is not None
        metadata = {
            **conditions.columns(self.value),
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "updated_at": now.isoformat(),
            "parts": max(1, len(self.texts)),
        }
        expires_at = None
        if self.ttl is not None:
            expires_at = deadline(now, self.ttl)
            metadata |= {"ttl": self.ttl, "ends": expires_at.isoformat()}
        found = []
        for part, text in enumerate(self.texts or [""]):
            encoded = payload.encode({**metadata, "part": part}, created_at or now, expires_at)
            vector = vectors.get(text)
            for scope, id in self.keys(tenant, part):
                found.append(Document(id, text, scope, vector, encoded, expires_at))
        return found


def put_of(op: PutOp, namespace: Namespace, fields: list[str]) -> Put:
    """Check the rest of a PutOp.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.
    """
    if op.value is None:
        return Put(namespace, op.key, None, [], None)
    if not isinstance(op.value, Mapping):
        raise TypeError(f"value: expected a mapping or None, got {type(op.value).__name__}")
    plain = payload.decode(payload.encode({"value": op.value}, None))[0]["value"]
    paths = fields
    if op.index is False:
        paths = []
    elif op.index is not None:
        if isinstance(op.index, str) or not all(isinstance(path, str) for path in op.index):
            raise TypeError(f"index: expected False, None or a list of paths, got {op.index!r}")
        paths = list(op.index)
    texts = dict.fromkeys(text for path in paths for text in get_text_at_path(plain, path) if text)
    ttl = op.ttl
    if ttl is not None:
        if isinstance(ttl, bool) or not isinstance(ttl, (int, float)):
            raise TypeError(f"ttl: expected minutes, got {type(ttl).__name__}")
        ttl = float(ttl)
        deadline(datetime.now(timezone.utc), ttl)
    return Put(namespace, op.key, plain, list(texts), ttl)


def deadline(now: datetime, ttl: float) -> datetime:
    """Return when an item with a time to live of so many minutes expires.

    Raises:
        ValueError: that is not a time before the year 9999.
    """
    try:
        return now + timedelta(minutes=ttl)
    except (OverflowError, ValueError):
        raise ValueError(f"ttl: expected minutes to a time before the year 9999, got {ttl!r}") from None


def is_item(found: Record | Hit) -> bool:
    """Whether this was written here: other documents of a shared collection are passed over."""
    return isinstance(_metadata(found).get("namespace"), list) and "value" in _metadata(found)


def item_key(found: Record | Hit) -> tuple[Namespace, str]:
    """Return which item a document is of."""
    metadata = _metadata(found)
    return tuple(metadata["namespace"]), metadata["key"]


def as_item(found: Record | Hit) -> Item:
    """Return the item that a document is of."""
    return Item(**_fields(found))


def as_search_item(found: Record | Hit, score: float | None) -> SearchItem:
    """Return the item that a document is of, as a search found it."""
    return SearchItem(**_fields(found), score=score)


def _metadata(found: Record | Hit) -> Mapping[str, Any]:
    return found.metadata or {}


def _fields(found: Record | Hit) -> dict[str, Any]:
    metadata = _metadata(found)
    updated_at = datetime.fromisoformat(metadata["updated_at"])
    return {
        "namespace": tuple(metadata["namespace"]),
        "key": metadata["key"],
        "value": metadata["value"],
        "created_at": found.created_at or updated_at,
        "updated_at": updated_at,
    }
