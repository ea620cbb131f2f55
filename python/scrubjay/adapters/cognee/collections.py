"""The collections of one dataset: which there are, and which collection of the file holds them.

Datasets share the collections of a file, each in its scope. So what exists for a dataset is written down in that scope,
and the dimension is part of a collection's name: datasets may be embedded by different models.
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
    """The collections of one dataset. Thread-safe; a name of another dataset is not there.

    Args:
        path: of the file.
        scope: of the dataset.
        query: how searches for a text rank.
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
        """Give the file back."""
        self._there.close()

    def names(self) -> list[str]:
        """Return the names, in the order in which collections were made."""
        there = self._there.list(scope=self.scope, exact=True, order="oldest")
        return [str(record.id) for record in there]

    def dims(self) -> list[int]:
        """Return the dimensions of all of them."""
        there = self._there.list(scope=self.scope, exact=True)
        return [(record.metadata or {})["dim"] for record in there]

    def find(self, name: str) -> Documents | None:
        """Return a collection; None if there is none of this name."""
        found = self._there.get_many([name], scope=self.scope, exact=True)[0]
        return None if found is None else self._of(name, (found.metadata or {})["dim"])

    def get(self, name: str) -> Documents:
        """Return a collection.

        Raises:
            CollectionNotFoundError: there is none of this name (an error of cognee's).
        """
        found = self.find(name)
        if found is None:
            raise CollectionNotFoundError(f"Collection '{name}' not found!")
        return found

    def make(self, name: str, dim: int) -> Documents:
        """Return a collection, made if there is none.

        Raises:
            ValueError: no collection can be named so, or it is there with another dimension.
        """
        if not valid_ids([name]):
            raise ValueError(f"collection_name: expected a str that is not empty, got {name!r}")
        with self._there.turn:
            found = self._there.get_many([name], scope=self.scope, exact=True)[0]
            if found is None:
                made = self._of(name, dim)
                row = {"id": name, "text": "", "metadata": {"dim": dim}}
                self._there.upsert_many([row], scope=self.scope)
                return made
        there = (found.metadata or {})["dim"]
        if there != dim:
            raise ValueError(f"vectors: expected {there} numbers, as in collection {name!r}, got {dim}")
        return self._of(name, there)

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
