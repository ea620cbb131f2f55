"""Queries over the metadata of all documents: distinct values, ranges, counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from haystack import Document

from scrubjay.adapters.haystack.filters import translate

__all__ = ["MetadataQueries"]


class MetadataQueries:
    """The part of the document store that answers questions about `meta` as a whole. Each reads all visible documents
    that match."""

    _matching: Callable[..., Any]

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Return how many different values each field has among the documents that match; fields with or without
        "meta." before them, in the result without."""
        metas = self._metas(filters)
        keys = [_key(field) for field in metadata_fields]
        return {
            key: len({_identity(meta[key]) for meta in metas if meta.get(key) is not None}) for key in keys
        }

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return each field with its type: "boolean", "int", "float" or, for everything else, "keyword"."""
        types: dict[str, str] = {}
        for meta in self._metas(None):
            for key, value in meta.items():
                if value is not None:
                    types[key] = {bool: "boolean", int: "int", float: "float"}.get(type(value), "keyword")
        return {key: {"type": name} for key, name in types.items()}

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the least and the greatest value of a field as "min" and "max"; both None if it has no values, or some
        that do not compare."""
        key = _key(metadata_field)
        values = [meta[key] for meta in self._metas(None) if isinstance(meta.get(key), (int, float, str))]
        try:
            return {"min": min(values), "max": max(values)}
        except (TypeError, ValueError):
            return {"min": None, "max": None}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return `size` of the different values of a field from the `from_`-th on, in the order of their texts, and how
        many there are. With a `search_term` those whose text holds it, in whatever case."""
        key = _key(metadata_field)
        values = {
            _identity(meta[key]): meta[key] for meta in self._metas(filters) if meta.get(key) is not None
        }
        if search_term:
            term = search_term.lower()
            values = {identity: value for identity, value in values.items() if term in str(value).lower()}
        ordered = sorted(values.values(), key=lambda value: (str(value), type(value).__name__))
        return ordered[from_ : from_ + size], len(ordered)

    def _metas(self, filters: dict[str, Any] | None) -> list[dict[str, Any]]:
        documents: list[Document] = [document for _, document in self._matching(translate(filters))]
        return [document.meta for document in documents]


def _key(field: str) -> str:
    return field.removeprefix("meta.")


def _identity(value: Any) -> tuple[str, str]:
    """Values are different if their types are: 1, 1.0, "1" and True are four."""
    return type(value).__name__, json.dumps(value, sort_keys=True, default=str)
