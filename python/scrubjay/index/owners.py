"""Collections that another layer owns: their documents mirror rows of its tables, so nothing else writes them.

The file or database says it, whichever modules a process has imported: a table of the owner is there. Reading such a
collection is free to all, and so is what keeps its documents (backup, compaction, embedding anew, dropping it whole).
"""

from __future__ import annotations

from scrubjay.errors import OwnedCollectionError
from scrubjay.index.open_collection import OpenCollection
from scrubjay.store.engine import DurableEngine
from scrubjay.store.rows.holds import OWNED

MEMORY = OWNED
"""The collection of the facts and episodes of a :class:`scrubjay.Memory` in force."""

_TABLES = {MEMORY: "memory_fact"}
"""Collection -> a table of its owner, which files and databases have alike."""


def is_owned(collection: OpenCollection) -> bool:
    """Whether the documents of a collection are written by their owner only. Costs nothing for other names."""
    table = _TABLES.get(collection.name)
    engine = collection.engine
    if table is None or not isinstance(engine, DurableEngine):
        return False
    engine.check_open()
    return engine.store.has_layer(table)


def check_unowned(collection: OpenCollection, doing: str) -> None:
    """Refuse a raw write to a collection that has an owner.

    Raises:
        OwnedCollectionError: it has one; nothing was written.
    """
    if collection.name in _TABLES and is_owned(collection):
        raise OwnedCollectionError(collection.name, doing)


def check_nothing_owned(collection: OpenCollection, doing: str) -> None:
    """Refuse what changes all collections of a file or database where one of them has an owner, whose records would
    lose their documents.

    Raises:
        OwnedCollectionError: one has; nothing was written.
    """
    engine = collection.engine
    if not isinstance(engine, DurableEngine):
        return
    engine.check_open()
    for name, table in _TABLES.items():
        if engine.store.has_layer(table):
            raise OwnedCollectionError(name, doing)
