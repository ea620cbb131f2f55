"""Migration of memory's tables from older formats, inside one transaction.

No key is needed: rows are copied as stored, sealed or not, and their new columns are NULL, so that the digests of
encrypted tenants stay valid (:mod:`scrubjay.store.sqlite.registry`, `grown`).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from scrubjay.memory.ledger import holds
from scrubjay.store.sqlite.registry import unguarded

_GROWN_2 = (
    "memory_observation",
    "memory_policy",
    "memory_preference",
    "memory_fact",
    "memory_episode",
    "memory_log",
)
"""Tables to which format 2 added columns, after the last, and other constraints."""
_SCOPES = {
    "memory_policy": "tenant, '', ''",
    "memory_preference": "tenant, user, ''",
    "memory_fact": "tenant, user, agent",
    "memory_episode": "tenant, user, agent",
}


def upgrade(connection: sqlite3.Connection, stored_format: int, tables: Sequence[str]) -> None:
    """Upgrade the tables of an older format; the caller holds the write transaction.

    Args:
        connection: the connection of the transaction.
        stored_format: the format of the file.
        tables: the statements that create the tables of the current format.
    """
    connection.execute("PRAGMA legacy_alter_table = ON")  # no check of other tables' triggers meanwhile
    if stored_format < 2:
        for table in _GROWN_2:
            _rebuild(connection, table, tables)
        _name_scopes(connection)
    if stored_format < 3:
        _name_holds(connection)
    connection.execute("PRAGMA legacy_alter_table = OFF")


def _name_scopes(connection: sqlite3.Connection) -> None:
    """Add the scopes of the records to their log rows."""
    with unguarded(connection, ["memory_log"]):
        for table, names in _SCOPES.items():
            connection.execute(
                f"UPDATE memory_log SET (tenant, user, agent) = (SELECT {names} FROM {table} WHERE id = record) "
                f"WHERE record IN (SELECT id FROM {table})"
            )


def _name_holds(connection: sqlite3.Connection) -> None:
    """Permit several holds on a scope: an existing hold is named by its reason."""
    old = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_hold'").fetchone()
    if old is not None:
        connection.execute("ALTER TABLE memory_hold RENAME TO memory_hold_old")
    connection.execute(holds.TABLE)
    if old is not None:
        connection.execute(
            "INSERT INTO memory_hold(tenant, user, agent, reason, by, at, name) "
            f"SELECT tenant, user, agent, reason, by, at, {holds.NAME_OF_OLD} FROM memory_hold_old"
        )
        connection.execute("DROP TABLE memory_hold_old")


def _rebuild(connection: sqlite3.Connection, table: str, tables: Sequence[str]) -> None:
    """Recreate a table by its statement; its new columns are NULL, or their default.

    The numbers of an AUTOINCREMENT table continue: those of deleted rows are not reused.
    """
    new_table = f"{table}_new"
    opening = f"CREATE TABLE {table}("
    create = next(statement for statement in tables if statement.startswith(opening))
    connection.execute(create.replace(opening, f"CREATE TABLE {new_table}(", 1))
    columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall())
    connection.execute(f"INSERT INTO {new_table}({columns}) SELECT {columns} FROM {table}")
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    connection.execute(f"DROP TABLE {table}")  # with its indexes and triggers
    connection.execute(f"ALTER TABLE {new_table} RENAME TO {table}")
    if last is not None:
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.execute("INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)", (table, *last))
    for statement in tables:
        if re.match(rf"CREATE (?:UNIQUE )?(?:INDEX|TRIGGER) [^;]*? ON {table}\b", statement):
            connection.execute(statement)
