"""Conversion between LlamaIndex's nodes and memories.

A node's text is the memory's text and its metadata are the memory's metadata, flat, so that both can be searched and
filtered; its other fields (relationships, templates, positions) are stored under one key of the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from llama_index.core.schema import BaseNode, Document, MetadataMode, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node

from scrubjay._native import Scope
from scrubjay.documents.records import Record, as_text
from scrubjay.index import Hit

DOCUMENT = "ref_doc_id"
"""The name of a node's source document in LlamaIndex's filters; the value "None" means no document."""

_NODE = "_node"
# Node types built directly: the framework's function would write JSON and read it again, and turn a document into a
# text node.
_MADE_OF_DICTS = {kind.class_name(): kind for kind in (TextNode, Document)}
_OWN = ("_node_type", "document_id", "doc_id", DOCUMENT)  # added by every store of LlamaIndex, for filters


def to_row(node: BaseNode, scope: Scope) -> dict[str, Any]:
    """Return a node in the form of :meth:`Index.upsert_many`. The index embeds nodes without an embedding.

    Raises:
        TypeError: it is not a node.
    """
    if not isinstance(node, BaseNode):
        raise TypeError(f"nodes: expected nodes, got {type(node).__name__}")
    content = node.model_dump(mode="json")
    metadata = content.pop("metadata", None) or {}
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    for field in ("text", "text_resource", "embedding"):
        content.pop(field, None)
    rest = {"content": content}
    hidden = {key: value for key, value in metadata.items() if key in _OWN or key == _NODE}
    if hidden:
        rest["hidden"] = hidden
    if as_text(text) != text:  # invalid in UTF-8
        rest["text"] = text
    document = node.ref_doc_id or "None"
    fields = {
        "_node_type": node.class_name(),
        "document_id": document,
        "doc_id": document,
        DOCUMENT: document,
    }
    vector = None if node.embedding is None else np.asarray(node.embedding)
    return {
        "id": node.node_id,
        "text": text,
        "scope": scope,
        "vector": vector if vector is None or vector.any() else None,  # a zero vector has no direction
        "metadata": {**metadata, **fields, _NODE: rest},
    }


def to_node(memory: Record | Hit) -> BaseNode:
    """Return the node of a memory; a memory of another writer becomes a text node."""
    metadata: Mapping[str, Any] = memory.metadata or {}
    rest = metadata.get(_NODE)
    if not isinstance(rest, Mapping):
        plain = {"_node_content": json.dumps({"id_": str(memory.id), "metadata": metadata})}
        return metadata_dict_to_node(plain, text=memory.text)
    shown = {key: value for key, value in metadata.items() if key not in _OWN and key != _NODE}
    content = {**rest["content"], "metadata": {**shown, **rest.get("hidden", {})}}
    text, kind = rest.get("text", memory.text), _MADE_OF_DICTS.get(metadata.get("_node_type"))
    if kind is None:
        node = {"_node_content": json.dumps(content), "_node_type": metadata.get("_node_type")}
        return metadata_dict_to_node(node, text=text)
    result = kind.from_dict(content)
    result.set_content(text)
    return result
