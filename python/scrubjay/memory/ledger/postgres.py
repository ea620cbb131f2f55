"""Memory's tables in PostgreSQL: those of a file (:mod:`scrubjay.memory.ledger.schema`) in its dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay.base.errors import CorruptIndexError, StoreFormatError, UnsupportedError
from scrubjay.memory.ledger.holds import NAME_OF_OLD

_WITHOUT = ("memory_meta", "memory_sealed")  # a database stores the format elsewhere, and needs no marks
NUMBERED = {
    "memory_policy": "number",
    "memory_log": "number",
    "memory_rejection": "number",
    "memory_deletion": "number",
    "memory_run": "key",
}
"""Table -> its numbered column; numbered over all tenants in a file, per tenant in a database."""
FORMAT = 4
"""The format of the tables in a database; those of a file have formats of their own."""
_SPREAD = frozenset(
    f"memory_{table}"
    for table in (
        "preference", "fact", "episode", "log", "rejection", "stamp", "run", "event", "distilled"
    )
)  # fmt: skip
"""Tables whose rows are in the home of the user to whom they belong."""
_RUNS = {"memory_event": ("run", "memory_run", "key"), "memory_distilled": ("run", "memory_run", "key")}
_UPGRADES: dict[int, tuple[str, ...]] = {
    3: (
        # Row-level security binds the owner as well, and this statement changes the rows of all tenants.
        "ALTER TABLE sj_memory_hold NO FORCE ROW LEVEL SECURITY",
        'ALTER TABLE sj_memory_hold ADD name text COLLATE "C"',
        f"UPDATE sj_memory_hold SET name = {NAME_OF_OLD}",
        "ALTER TABLE sj_memory_hold ALTER name SET NOT NULL, ADD CHECK (name <> ''), "
        "DROP CONSTRAINT sj_memory_hold_pkey, ADD PRIMARY KEY (home, tenant, usr, agent, name)",
        "ALTER TABLE sj_memory_hold FORCE ROW LEVEL SECURITY",
    ),
    4: (),  # moves users' rows to their homes, which scrubjay.store.postgres.row_homes has done before
}
"""Format -> the statements that migrate to it from the previous one; there was no database of format 1."""
_RECORDS = {
    "memory_policy": ("''", "''"),
    "memory_preference": ("user", "''"),
    "memory_fact": ("user", "agent"),
    "memory_episode": ("user", "agent"),
}


def prepare(store: Any, tables: Sequence[str]) -> None:
    """Create the tables if the database has none yet.

    Raises:
        UnsupportedError: the store does not support tables.
        StoreFormatError: they have another format, or the collection contains documents of something other than memory.
    """
    if not hasattr(store, "make_layer"):
        raise UnsupportedError("Memory", store.place)
    from scrubjay.store.postgres.dialect import Layer, made  # needs the extra

    # Checked again last: another process may have created the tables meanwhile, and written memory's documents.
    has = store.has_layer
    if not has("memory_fact") and store.count(None, now=0) and not has("memory_fact"):
        raise StoreFormatError(
            f"path: expected the collection {store.collection!r} to be empty, it is where memory keeps its documents: "
            f"{store.place}"
        )
    stamped = frozenset(("memory_policy", "memory_preference"))
    whole = frozenset(("memory_hold",))
    layer = Layer("memory", NUMBERED, _RECORDS, stamped, "sj_memory_stamp", whole, _SPREAD, _RUNS)
    stored_format = store.make_layer(layer, made(tables, _WITHOUT), FORMAT, _UPGRADES)
    if stored_format != FORMAT:
        raise StoreFormatError(
            f"path: expected memory of format {FORMAT}, got format {stored_format} of another Scrubjay: {store.place}"
        )
    if store.identity().id_kind == "int":
        raise CorruptIndexError(
            f"the collection {store.collection!r} does not belong to a memory: its ids are numbers"
        )


def missing_tables(connection: Any) -> list[str]:
    """Return the names of memory's tables and indexes that are missing in the database."""
    return list(connection.missing())


def misplaced_rows(connection: Any) -> list[str]:
    """Return the memory rows that are in a wrong home of a database."""
    return list(connection.misplaced())
