"""Conversion between Agno's documents and those of an index.

`meta_data` are the metadata; Agno's other fields are stored under names with the prefix `agno_`. The id is a hash of
the content hash and the document's own id (or its content), so that the same content again is the same document, and
two files may have chunks of one name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agno.knowledge.document import Document

from scrubjay.index import Hit

_RESERVED = "agno_"
NAME = _RESERVED + "name"
OWN_ID = _RESERVED + "id"
CONTENT_ID = _RESERVED + "content_id"
CONTENT_HASH = _RESERVED + "content_hash"
_USAGE = _RESERVED + "usage"


def checked_metadata(metadata: Any, what: str) -> dict[str, Any]:
    """Return the caller's metadata as a dict.

    Raises:
        TypeError: they are not a mapping.
        ValueError: a key begins with `agno_`.
    """
    if not isinstance(metadata, Mapping):
        raise TypeError(f"{what}: expected a mapping, got {type(metadata).__name__}")
    reserved = sorted(key for key in metadata if str(key).startswith(_RESERVED))
    if reserved:
        raise ValueError(f"{what}: expected keys that do not begin with {_RESERVED!r}, got {reserved[0]!r}")
    return dict(metadata)


def row_of(document: Document, content_hash: str, filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a document in the form of :meth:`scrubjay.Index.upsert_many`, without a scope.

    Raises:
        TypeError, ValueError: it is invalid; the message names the argument.
    """
    if not isinstance(document, Document):
        raise TypeError(f"documents: expected agno's Document, got {type(document).__name__}")
    if not isinstance(document.content, str):
        raise TypeError(f"documents: expected content of type str, got {type(document.content).__name__}")
    if not isinstance(content_hash, str) or not content_hash:
        raise ValueError(f"content_hash: expected a str that is not empty, got {content_hash!r}")
    metadata = checked_metadata(document.meta_data or {}, "meta_data") | checked_metadata(
        filters or {}, "filters"
    )
    named = json.dumps([content_hash, document.id, None if document.id else document.content])
    fields = {
        NAME: document.name,
        OWN_ID: document.id,
        CONTENT_ID: document.content_id,
        CONTENT_HASH: content_hash,
        _USAGE: document.usage,
    }
    return {
        "id": hashlib.blake2b(named.encode(), digest_size=20).hexdigest(),
        "text": document.content,
        "vector": document.embedding or None,
        "metadata": {**metadata, **{name: value for name, value in fields.items() if value is not None}},
    }


def document_of(hit: Hit, embedder: Any) -> Document:
    """Return a hit as Agno's document, with the id that deletes it."""
    metadata = dict(hit.metadata)
    fields = {key: metadata.pop(key) for key in list(metadata) if key.startswith(_RESERVED)}
    return Document(
        id=str(hit.id),
        content=hit.text,
        name=fields.get(NAME),
        meta_data=metadata,
        embedder=embedder,
        usage=fields.get(_USAGE),
        content_id=fields.get(CONTENT_ID),
    )
