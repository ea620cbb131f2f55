"""The collections of one dataset: which there are, and which collection of the file holds them.

Datasets share the collections of a file, each in its scope. So what exists for a dataset is written down in that scope,
and the dimension is part of a collection's name: datasets may be embedded by different models.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from cognee.infrastructure.databases.vector.exceptions import CollectionNotFoundError

from scrubjay._native import Scope
from scrubjay.backend import Lease
from scrubjay.index import Index

__all__ = ["Collections"]

_THERE = "cognee: collections"


class Collections:
    """The collections of one dataset. Thread-safe; a name of another dataset is not there.

    Args:
        held: the file.
        scope: of the dataset.
        options: of each collection: dtype, analyzer.
    """

    def __init__(self, held: Lease, scope: Scope, options: dict[str, Any]) -> None:
        self._held, self.scope, self._options = held, scope, options

    @property
    def turn(self) -> AbstractContextManager[bool]:
        """A lock that all holders of the file share, for what reads and then writes."""
        return self._held.turn

    def names(self) -> list[str]:
        """Return the names, in the order in which collections were made."""
        there = self._there.list(self.scope, exact=True, order="oldest")
        return [str(record.id) for record in there]

    def dims(self) -> list[int]:
        """Return the dimensions of all of them."""
        there = self._there.list(self.scope, exact=True)
        return [(record.metadata or {})["dim"] for record in there]

    def find(self, name: str) -> Index | None:
        """Return a collection; None if there is none of this name."""
        found = self._there.list(self.scope, exact=True, ids=[name]) if _is_name(name) else []
        return self._of(name, (found[0].metadata or {})["dim"]) if found else None

    def get(self, name: str) -> Index:
        """Return a collection.

        Raises:
            CollectionNotFoundError: there is none of this name (an error of cognee's).
        """
        found = self.find(name)
        if found is None:
            raise CollectionNotFoundError(f"Collection '{name}' not found!")
        return found

    def make(self, name: str, dim: int) -> Index:
        """Return a collection, made if there is none.

        Raises:
            ValueError: no collection can be named so, or it is there with another dimension.
        """
        if not _is_name(name):
            raise ValueError(f"collection_name: expected a str that is not empty, got {name!r}")
        with self._held.turn:
            found = self._there.list(self.scope, exact=True, ids=[name])
            if not found:
                made = self._of(name, dim)
                self._there.upsert(name, "", scope=self.scope, metadata={"dim": dim})
                return made
        there = (found[0].metadata or {})["dim"]
        if there != dim:
            raise ValueError(f"vectors: expected {there} numbers, as in collection {name!r}, got {dim}")
        return self._of(name, there)

    def clear(self) -> None:
        """Delete everything of this dataset, in one transaction."""
        self._held.root.erase(self.scope, exact=True, everywhere=True, reason="prune")

    @property
    def _there(self) -> Index:
        return self._held.root.collection(_THERE)

    def _of(self, name: str, dim: int) -> Index:
        return self._held.root.collection(
            f"cognee: {name} ({dim})", dim=dim, metric="cosine", **self._options
        )


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name) and name.encode(errors="ignore").decode() == name
