"""Collections owned by another layer: their documents mirror rows of its tables, so only that layer writes them.

The presence of the owner's table in the file or database marks such a collection, whichever modules a process has
imported. Any caller may read it, or call what preserves its documents (backup, compaction, re-embedding, dropping the
whole collection).
"""

from __future__ import annotations

from scrubjay.base.errors import OwnedCollectionError
from scrubjay.index.open_collection import OpenCollection
from scrubjay.store.rows.holds import OWNED

MEMORY = OWNED
"""The collection of the current facts and episodes of a :class:`scrubjay.Memory`."""

_TABLES = {MEMORY: "memory_fact"}
"""Collection -> a table of its owner, the same in files and databases."""


def is_owned(collection: OpenCollection) -> bool:
    """Whether only its owner may write a collection's documents. Costs nothing for other names."""
    table = _TABLES.get(collection.name)
    return table is not None and collection.engine.has_layer(table)


def check_unowned(collection: OpenCollection, doing: str) -> None:
    """Refuse a direct write to a collection that has an owner.

    Raises:
        OwnedCollectionError: the collection has an owner; nothing was written.
    """
    if collection.name in _TABLES and is_owned(collection):
        raise OwnedCollectionError(collection.name, doing)


def check_nothing_owned(collection: OpenCollection, doing: str) -> None:
    """Refuse a change of all collections of a file or database if one of them has an owner, whose records would lose
    their documents.

    Raises:
        OwnedCollectionError: a collection has an owner; nothing was written.
    """
    for name, table in _TABLES.items():
        if collection.engine.has_layer(table):
            raise OwnedCollectionError(name, doing)
