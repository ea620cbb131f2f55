"""Memory's tables in PostgreSQL: those of a file (:mod:`scrubjay.memory.ledger.schema`), as that database has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay.errors import CorruptIndexError, StoreFormatError, UnsupportedError
from scrubjay.memory.ledger.holds import NAME_OF_OLD

_WITHOUT = ("memory_meta", "memory_sealed")  # the format is elsewhere, nothing is erased or sealed by marks
NUMBERED = {
    "memory_policy": "number",
    "memory_log": "number",
    "memory_rejection": "number",
    "memory_deletion": "number",
    "memory_run": "key",
}
"""Table -> its column that is numbered: in a file for all tenants together, in a database for each."""
FORMAT = 4
"""Of the tables in a database; those of a file have formats of their own."""
_SPREAD = frozenset(
    f"memory_{table}"
    for table in (
        "preference", "fact", "episode", "log", "rejection", "stamp", "run", "event", "distilled"
    )
)  # fmt: skip
"""Tables whose rows are in the home of the user that they belong to."""
_RUNS = {"memory_event": ("run", "memory_run", "key"), "memory_distilled": ("run", "memory_run", "key")}
_UPGRADES: dict[int, tuple[str, ...]] = {
    3: (
        # Row-level security binds the owner as well, and this is about the rows of all tenants.
        "ALTER TABLE sj_memory_hold NO FORCE ROW LEVEL SECURITY",
        'ALTER TABLE sj_memory_hold ADD name text COLLATE "C"',
        f"UPDATE sj_memory_hold SET name = {NAME_OF_OLD}",
        "ALTER TABLE sj_memory_hold ALTER name SET NOT NULL, ADD CHECK (name <> ''), "
        "DROP CONSTRAINT sj_memory_hold_pkey, ADD PRIMARY KEY (home, tenant, usr, agent, name)",
        "ALTER TABLE sj_memory_hold FORCE ROW LEVEL SECURITY",
    ),
    4: (),  # rows of users are in their homes; scrubjay.store.postgres.placing moves them before
}
"""Format -> the statements that lead to it from the one before; there was no database of format 1."""
_RECORDS = {
    "memory_policy": ("''", "''"),
    "memory_preference": ("user", "''"),
    "memory_fact": ("user", "agent"),
    "memory_episode": ("user", "agent"),
}


def prepare(store: Any, tables: Sequence[str]) -> None:
    """Make the tables if the database has none yet.

    Args:
        store: the collection of memory's documents.
        tables: the statements that make them in a file.

    Raises:
        UnsupportedError: the store takes no tables.
        StoreFormatError: they are of another format, or the collection holds documents that are not of a memory.
    """
    if not hasattr(store, "make_layer"):
        raise UnsupportedError("Memory", store.place)
    from scrubjay.store.postgres.dialect import Layer, made  # needs the extra

    # Asked again at last: another process may have made the tables meanwhile, and written documents of a memory.
    has = store.has_layer
    if not has("memory_fact") and store.count(None, now=0) and not has("memory_fact"):
        raise StoreFormatError(
            f"path: expected the collection {store.collection!r} to be empty, it is where memory keeps its documents: "
            f"{store.place}"
        )
    stamped = frozenset(("memory_policy", "memory_preference"))
    whole = frozenset(("memory_hold",))
    layer = Layer("memory", NUMBERED, _RECORDS, stamped, "sj_memory_stamp", whole, _SPREAD, _RUNS)
    found = store.make_layer(layer, made(tables, _WITHOUT), FORMAT, _UPGRADES)
    if found != FORMAT:
        raise StoreFormatError(
            f"path: expected memory of format {FORMAT}, got format {found} of another Scrubjay: {store.place}"
        )
    if store.identity().id_kind == "int":
        raise CorruptIndexError(
            f"the collection {store.collection!r} is not that of a memory: its ids are numbers"
        )


def missing_tables(connection: Any) -> list[str]:
    """Return the names of tables and indexes of memory that are not in the database."""
    return list(connection.missing())


def misplaced_rows(connection: Any) -> list[str]:
    """Return what is wrong with the homes of memory's rows in a database."""
    return list(connection.misplaced())
