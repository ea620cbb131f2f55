"""Migration of memory's tables from older formats, inside one transaction.

No key is asked for: rows are copied as they stand, sealed or not, and the columns that are new are NULL in them, so the
digests of encrypted tenants stay right (:mod:`scrubjay.store.sqlite.registry`, `grown`).
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
"""Tables that format 2 gave further columns, behind the last, and other conditions."""
_SCOPES = {
    "memory_policy": "tenant, '', ''",
    "memory_preference": "tenant, user, ''",
    "memory_fact": "tenant, user, agent",
    "memory_episode": "tenant, user, agent",
}


def upgrade(connection: sqlite3.Connection, found: int, tables: Sequence[str]) -> None:
    """Bring the tables of an older format up to this one; the caller holds the write transaction.

    Args:
        connection: of the transaction.
        found: the format that the file says.
        tables: the statements that make the tables of this format.
    """
    connection.execute(
        "PRAGMA legacy_alter_table = ON"
    )  # triggers of other tables are not looked at on the way
    if found < 2:
        for table in _GROWN_2:
            _rebuild(connection, table, tables)
        _name_scopes(connection)
    if found < 3:
        _name_holds(connection)
    connection.execute("PRAGMA legacy_alter_table = OFF")


def _name_scopes(connection: sqlite3.Connection) -> None:
    """Say in the log whose the records are that it names."""
    with unguarded(connection, ["memory_log"]):
        for table, names in _SCOPES.items():
            connection.execute(
                f"UPDATE memory_log SET (tenant, user, agent) = (SELECT {names} FROM {table} WHERE id = record) "
                f"WHERE record IN (SELECT id FROM {table})"
            )


def _name_holds(connection: sqlite3.Connection) -> None:
    """Let a scope have several holds: the one that it had is named by its reason."""
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
    """Make a table anew by its statement; what it has more than the old one is NULL, or its default.

    The numbers of an AUTOINCREMENT table go on where they were: those of deleted rows are not given again.
    """
    made = f"{table}_new"
    opening = f"CREATE TABLE {table}("
    create = next(statement for statement in tables if statement.startswith(opening))
    connection.execute(create.replace(opening, f"CREATE TABLE {made}(", 1))
    columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall())
    connection.execute(f"INSERT INTO {made}({columns}) SELECT {columns} FROM {table}")
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    connection.execute(f"DROP TABLE {table}")  # with its indexes and triggers
    connection.execute(f"ALTER TABLE {made} RENAME TO {table}")
    if last is not None:
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.execute("INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)", (table, *last))
    for statement in tables:
        if re.match(rf"CREATE (?:UNIQUE )?(?:INDEX|TRIGGER) [^;]*? ON {table}\b", statement):
            connection.execute(statement)
