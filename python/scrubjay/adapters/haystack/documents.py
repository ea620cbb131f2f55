"""Lossless conversion between Haystack documents and memories.

`content` is the text, the keys of `meta` are metadata, `embedding` is the vector. Fields that a memory lacks
(a blob, a score, a sparse embedding, an embedding that float32 cannot represent) are stored under the key ``_haystack``
of the metadata, as are keys of `meta` with another meaning to the index (``created_at``, ``expires_at``, ``$...``).
Haystack's filters reach into nested `meta`, but the fields of an index are flat. So each value inside a dict, and each
moved key, is also written as a field ``_haystack.a.b``, where a filter can test it natively.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from haystack import Document
from haystack.dataclasses import ByteStream, SparseEmbedding
from numpy.typing import ArrayLike, NDArray

from scrubjay._native import Scope
from scrubjay.documents.passage_vectors import mean_of

KEPT = "_haystack"
NO_CONTENT = f"{KEPT}:no_content"
_NO_EMBEDDING = f"{KEPT}:no_embedding"
_TIMES = ("created_at", "expires_at")


def field_of(path: tuple[str, ...]) -> str:
    """Return the field of the index for the value at this path of `meta`.

    >>> field_of(("category",)), field_of(("person", "name")), field_of(("created_at",))
    ('category', '_haystack.person.name', '_haystack.created_at')
    """
    if len(path) == 1 and _is_plain(path[0]):
        return path[0]
    return f"{KEPT}.{'.'.join(path)}"


def to_fields(document: Document, scope: Scope, *, dtype: str, embeds: bool = False) -> dict[str, Any]:
    """Return a document in the form of `Index.upsert_many`; `embeds`: the index embeds documents without a vector.

    >>> document = Document(content="Trains.", meta={"a": {"b": 1}})
    >>> to_fields(document, Scope("acme"), dtype="f32")["metadata"]
    {'a': {'b': 1}, '_haystack.a.b': 1}
    """
    extra: dict[str, Any] = {}
    metadata: dict[Any, Any] = {}
    moved: dict[str, Any] = {}
    for key, value in document.meta.items():
        if not isinstance(key, str) or _is_plain(key):  # the index rejects other types by name
            metadata[key] = value
            below = _below((key,), value) if isinstance(value, Mapping) else ()
        else:
            moved[key] = value
            below = _below((key,), value, itself=True)
        metadata.update(below)
    if moved:
        extra["meta"] = moved
    if document.content is None:
        metadata[NO_CONTENT] = True
    if document.blob is not None:
        blob = document.blob
        extra["blob"] = {"data": _text_of(blob.data), "meta": blob.meta, "mime_type": blob.mime_type}
    if document.score is not None:
        extra["score"] = float(document.score)
    if document.sparse_embedding is not None:
        sparse = document.sparse_embedding
        extra["sparse_embedding"] = {"indices": list(sparse.indices), "values": list(sparse.values)}
    vector = None
    if document.embedding is not None:
        vector, exact = _vector(document.embedding, dtype)
        if not exact:
            extra["embedding"] = _text_of(np.asarray(document.embedding, dtype="<f8").tobytes())
    elif embeds:
        metadata[_NO_EMBEDDING] = True
    if extra:
        metadata[KEPT] = extra
    return {
        "id": document.id,
        "text": document.content or "",
        "scope": scope,
        "vector": vector,
        "metadata": metadata or None,
    }


def to_document(
    id: str,
    text: str,
    metadata: Mapping[str, Any],
    *,
    vector: ArrayLike | None = None,
    score: float | None = None,
    with_embedding: bool = True,
) -> Document:
    """Return the document of a memory; the `score` of a search replaces the stored one."""
    extra = metadata.get(KEPT) or {}
    meta = {key: value for key, value in metadata.items() if not key.startswith(KEPT)}
    meta.update(extra.get("meta", {}))
    embedding = None
    if with_embedding and "embedding" in extra:
        embedding = np.frombuffer(base64.b64decode(extra["embedding"]), dtype="<f8").tolist()
    elif with_embedding and vector is not None and _NO_EMBEDDING not in metadata:
        embedding = np.asarray(mean_of(vector)).tolist()
    blob, sparse = extra.get("blob"), extra.get("sparse_embedding")
    return Document(
        id=id,
        content=None if NO_CONTENT in metadata else text,
        blob=None
        if blob is None
        else ByteStream(base64.b64decode(blob["data"]), meta=blob["meta"], mime_type=blob["mime_type"]),
        meta=meta,
        score=extra.get("score") if score is None else score,
        embedding=embedding,
        sparse_embedding=None if sparse is None else SparseEmbedding(**sparse),
    )


def _is_plain(key: str) -> bool:
    return not key.startswith((KEPT, "$")) and key not in _TIMES


def _below(path: tuple[str, ...], value: Any, itself: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the fields for the values inside a value of `meta` and, with `itself`, for the value. Haystack reads dots
    as path steps, so values below a key with a dot are out of reach of filters."""
    if itself and value is not None:
        # Filters test only the presence of a dict or a list, or are answered by Haystack's own rules.
        is_list = isinstance(value, (list, tuple))
        yield field_of(path), {} if isinstance(value, Mapping) else [] if is_list else value
    if isinstance(value, Mapping) and len(path) < 100:  # the index rejects deeper nesting
        for key, inner in value.items():
            if isinstance(key, str) and "." not in key:
                yield from _below((*path, key), inner, itself=True)


def _vector(embedding: list[float], dtype: str) -> tuple[NDArray[Any] | None, bool]:
    """Return the vector for the index (or None), and whether it restores the embedding exactly."""
    exact = np.asarray(embedding, dtype=np.float64)
    with np.errstate(over="ignore"):  # the index rejects the infinity
        stored = exact.astype(np.float32)
    if not stored.any():  # the index rejects empty and zero vectors
        return None, False
    # With f16 and i8 the caller opted into rounding.
    return stored, dtype != "f32" or bool((stored.astype(np.float64) == exact).all())


def _text_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
