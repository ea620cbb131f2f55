"""LangGraph's items as documents of the index, and back.

An item has one document for each of its indexed texts: its parts. Most items have one (an item without indexed texts
has one part with an empty text). Each part carries the whole item, so that every hit is complete and consistent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path

from scrubjay._native import Scope
from scrubjay.adapters.langgraph.conditions import columns
from scrubjay.adapters.langgraph.namespaces import Namespace, document_id, scope_of
from scrubjay.backend import Native
from scrubjay.documents import payload
from scrubjay.documents.records import Record, Row
from scrubjay.index import Hit

FIRST_PART = Native({"part": 0})
"""Admits exactly one document of every item."""


class CheckedPut(NamedTuple):
    """A checked PutOp: the value in JSON types (None: delete the item) and the texts to search."""

    namespace: Namespace
    key: str
    value: dict[str, Any] | None
    texts: list[str]
    ttl: float | None

    def document_key(self, tenant: str, part: int) -> tuple[Scope, str]:
        """Return the scope and id of one part's document."""
        return scope_of(tenant, self.namespace, part), document_id(self.namespace, self.key, part)

    def documents(
        self, tenant: str, vectors: Mapping[str, Any], created_at: datetime | None, now: datetime
    ) -> list[Row]:
        """Return the documents of an item to write."""
        assert self.value is not None
        metadata: dict[str, Any] = {**columns(self.value), "key": self.key}
        if len(self.texts) > 1:
            metadata["parts"] = len(self.texts)
        if created_at is not None:
            metadata["updated_at"] = now.isoformat()
        expires_at = None
        if self.ttl is not None:
            expires_at = deadline(now, self.ttl)
            metadata |= {"ttl": self.ttl, "ends": expires_at.isoformat()}
        times = {"created_at": (created_at or now).isoformat()}
        if expires_at is not None:
            times["expires_at"] = expires_at.isoformat()
        rows = []
        for part, text in enumerate(self.texts or [""]):
            fields = {**metadata, **_without_text(self.value, text), "part": part}
            encoded = payload.encode_fields({"metadata": fields, **times})  # JSON types already
            vector = vectors.get(text)
            scope, id = self.document_key(tenant, part)
            rows.append(Row(id, text, scope, vector, encoded))
        return rows


def put_of(op: PutOp, namespace: Namespace, fields: list[str]) -> CheckedPut:
    """Check the remaining arguments of a PutOp.

    Raises:
        TypeError, ValueError: the message names the argument, what was expected and what was given.
    """
    if op.value is None:
        return CheckedPut(namespace, op.key, None, [], None)
    if not isinstance(op.value, Mapping):
        raise TypeError(f"value: expected a mapping or None, got {type(op.value).__name__}")
    plain = _plain(op.value)
    paths = fields
    if op.index is False:
        paths = []
    elif op.index is not None:
        if isinstance(op.index, str) or not all(isinstance(path, str) for path in op.index):
            raise TypeError(f"index: expected False, None or a list of paths, got {op.index!r}")
        paths = list(op.index)
    texts = dict.fromkeys(text for path in paths for text in _texts_at(plain, path) if text)
    ttl = op.ttl
    if ttl is not None:
        if isinstance(ttl, bool) or not isinstance(ttl, (int, float)):
            raise TypeError(f"ttl: expected minutes, got {type(ttl).__name__}")
        ttl = float(ttl)
        deadline(datetime.now(timezone.utc), ttl)
    return CheckedPut(namespace, op.key, plain, list(texts), ttl)


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value in JSON types, as it is stored."""
    if all(
        type(key) is str
        and (field is None or type(field) is bool or (type(field) is str and _is_kept(field)))
        for key, field in value.items()
    ):
        return dict(value)  # most values are unchanged by encoding and decoding
    plain: dict[str, Any] = payload.decode(payload.encode({"value": value}, None))[0]["value"]
    return plain


def _texts_at(value: dict[str, Any], path: str) -> list[str]:
    """Return LangGraph's `get_text_at_path`, with a shortcut for a path that is the key of a text."""
    if path.isalnum() and isinstance(text := value.get(path), str):
        return [text]
    return list(get_text_at_path(value, path))


def deadline(now: datetime, ttl: float) -> datetime:
    """Return when an item with a time to live of `ttl` minutes expires.

    Raises:
        ValueError: the time is after the year 9999.
    """
    try:
        return now + timedelta(minutes=ttl)
    except (OverflowError, ValueError):
        raise ValueError(f"ttl: expected minutes to a time before the year 9999, got {ttl!r}") from None


def is_item(document: Record | Hit) -> bool:
    """Return whether this adapter wrote a document; other documents of a shared collection are skipped."""
    metadata = _metadata(document)
    return (
        isinstance(metadata.get("key"), str)
        and isinstance(metadata.get("part"), int)
        and ("value" in metadata or metadata.get("json") is True)
        and document.scope.user is not None
    )


def item_key(document: Record | Hit) -> tuple[Namespace, str]:
    """Return the namespace and key of a document's item."""
    metadata = _metadata(document)
    named = metadata.get("namespace")  # documents of earlier versions, whose scope may be a prefix
    return tuple((document.scope.user or "").split(".") if named is None else named), metadata["key"]


def item_value(document: Record | Hit) -> dict[str, Any] | None:
    """Return the value of a document's item; None if the document is not part of an item."""
    return value_of(document) if is_item(document) else None


def n_parts(document: Record | Hit) -> int:
    """Return the number of documents of the item."""
    return int(_metadata(document).get("parts", 1))


def value_of(document: Record | Hit) -> dict[str, Any]:
    """Return the value of a document's item."""
    metadata = _metadata(document)
    if "value" not in metadata:
        return dict(json.loads(document.text))
    value, at = dict(metadata["value"]), metadata.get("at")
    if at is not None:
        value[at] = document.text
    return value


def _without_text(value: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the metadata from which :func:`value_of` restores the value, given the document's text."""
    at = next(
        (key for key, field in value.items() if isinstance(field, str) and field == text and text), None
    )
    if at is not None and _is_kept(text):
        return {"value": {**value, at: None}, "at": at}
    if text.startswith("{") and _is_kept(text) and _is_json_of(text, value):
        return {"json": True}
    return {"value": value}


def _is_kept(text: str) -> bool:
    """Return whether an index returns a text unchanged: not if it has lone surrogates."""
    return text.isascii() or text.encode(errors="ignore").decode() == text


def _is_json_of(text: str, value: dict[str, Any]) -> bool:
    try:
        return bool(json.loads(text) == value)
    except ValueError:
        return False


def as_item(document: Record | Hit) -> Item:
    """Return the item of a document."""
    return Item(**_fields(document))


def as_search_item(document: Record | Hit, score: float | None) -> SearchItem:
    """Return the item of a document as a search result."""
    return SearchItem(**_fields(document), score=score)


def _metadata(document: Record | Hit) -> Mapping[str, Any]:
    return document.metadata or {}


def _fields(document: Record | Hit) -> dict[str, Any]:
    (namespace, key), said = item_key(document), _metadata(document).get("updated_at")
    updated_at = document.created_at if said is None else datetime.fromisoformat(said)
    return {
        "namespace": namespace,
        "key": key,
        "value": value_of(document),
        "created_at": document.created_at or updated_at,
        "updated_at": updated_at,
    }
