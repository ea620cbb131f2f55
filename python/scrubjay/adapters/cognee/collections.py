"""The collections of one dataset: their names, and the collections of the file that store them.

Datasets share the collections of a file, each in its scope. So the list of a dataset's collections is stored in that
scope, and the dimension is part of a collection's name, because datasets may be embedded by different models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cognee.infrastructure.databases.vector.exceptions import CollectionNotFoundError

from scrubjay._native import Scope
from scrubjay.backend import Documents, valid_ids
from scrubjay.fusion import Query
from scrubjay.index import Index

_THERE = "cognee: collections"
_OF_COLLECTIONS = ("dtype", "analyzer")


class Collections:
    """The collections of one dataset. Thread-safe; names of other datasets are invisible.

    Args:
        path: the path of the file.
        scope: the scope of the dataset.
        query: how text searches rank.
        options: of :meth:`scrubjay.Index.open`, and dtype and analyzer of each collection.
    """

    def __init__(self, path: str, scope: Scope, query: Query | None, options: Mapping[str, Any]) -> None:
        self.scope = scope
        self._options = {name: options[name] for name in _OF_COLLECTIONS if name in options}
        of_file = {name: value for name, value in options.items() if name not in _OF_COLLECTIONS}
        self._there = Documents(path, collection=_THERE, query=query, **of_file)

    @property
    def root(self) -> Index:
        """The index of the file."""
        return self._there.lease.root

    def close(self) -> None:
        """Release the file."""
        self._there.close()

    def names(self) -> list[str]:
        """Return the names, in order of creation."""
        records = self._there.list(scope=self.scope, exact=True, order="oldest")
        return [str(record.id) for record in records]

    def dims(self) -> list[int]:
        """Return the dimensions of all collections."""
        records = self._there.list(scope=self.scope, exact=True)
        return [(record.metadata or {})["dim"] for record in records]

    def find(self, name: str) -> Documents | None:
        """Return a collection, or None."""
        record = self._there.get_many([name], scope=self.scope, exact=True)[0]
        return None if record is None else self._of(name, (record.metadata or {})["dim"])

    def get(self, name: str) -> Documents:
        """Return a collection.

        Raises:
            CollectionNotFoundError: the collection does not exist (an error of cognee's).
        """
        collection = self.find(name)
        if collection is None:
            raise CollectionNotFoundError(f"Collection '{name}' not found!")
        return collection

    def make(self, name: str, dim: int) -> Documents:
        """Return a collection, created if it does not exist.

        Raises:
            ValueError: the name is invalid, or the collection exists with another dimension.
        """
        if not valid_ids([name]):
            raise ValueError(f"collection_name: expected a str that is not empty, got {name!r}")
        with self._there.turn:
            record = self._there.get_many([name], scope=self.scope, exact=True)[0]
            if record is None:
                collection = self._of(name, dim)
                row = {"id": name, "text": "", "metadata": {"dim": dim}}
                self._there.upsert_many([row], scope=self.scope)
                return collection
        known_dim = (record.metadata or {})["dim"]
        if known_dim != dim:
            raise ValueError(f"vectors: expected {known_dim} numbers, as in collection {name!r}, got {dim}")
        return self._of(name, known_dim)

    def clear(self) -> None:
        """Delete everything of this dataset, in one transaction."""
        self.root.erase(self.scope, exact=True, everywhere=True, reason="prune")

    def _of(self, name: str, dim: int) -> Documents:
        return Documents(
            self.root,
            collection=f"cognee: {name} ({dim})",
            query=self._there.query,
            dim=dim,
            metric="cosine",
            **self._options,
        )
