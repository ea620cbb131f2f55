"""Names in memory's tables that outlive their records: in deletion events, stamps, authors, and decisions."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext

from scrubjay._native import Scope
from scrubjay.memory.ledger.sealing import is_file
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.sqlite.registry import unguarded

_NAMING = {
    "memory_policy": ("author", "decided_by"),
    "memory_preference": ("author",),
    "memory_fact": ("author", "decided_by"),
    "memory_episode": ("author",),
    "memory_rejection": ("author",),
    "memory_deletion": ("by",),
}


def forget_names(
    connection: sqlite3.Connection, scope: Scope, words: Pseudonyms, by: str | None
) -> str | None:
    """Replace the names of erased data, inside the caller's transaction; return the new form of `by`.

    In the tenant's remaining rows a name is replaced where it is a whole value; texts are not searched.
    """
    execute = connection.execute
    columns = {"user": scope.user, "agent": scope.agent}
    names = [scope.tenant, *(name for name in columns.values() if name is not None)]
    condition = "tenant = ?" + "".join(
        f" AND {column} = ?" for column, name in columns.items() if name is not None
    )
    person = scope.user if scope.user is not None else scope.agent
    tables = [*_NAMING, "memory_log"]
    with unguarded(connection, tables) if is_file(connection) else nullcontext():
        for number, said_by, *own in execute(
            f"SELECT number, by, tenant, user, agent FROM memory_deletion WHERE {condition}", names
        ).fetchall():
            if person is None and said_by is not None:
                said_by = words.word("user", said_by)
            _rename_deletion(connection, number, said_by, scope.tenant, words.of(*own))
        if person is None:
            execute("DELETE FROM memory_stamp WHERE tenant = ?", (scope.tenant,))
            by = None if by is None else words.word("user", by)
        else:
            word = words.word("agent" if scope.user is None else "user", person)
            _replace(connection, scope.tenant, person, word)
            if scope.user is not None:
                execute("DELETE FROM memory_stamp WHERE tenant = ? AND user = ?", (scope.tenant, person))
            by = word if by == person else by
    execute(
        "INSERT INTO memory_stamp(tenant, user, version) VALUES ('', '', 1) "
        "ON CONFLICT (tenant, user) DO UPDATE SET version = memory_stamp.version + 1"
    )
    return by


def _rename_deletion(
    connection: sqlite3.Connection, number: int, by: str | None, tenant: str, names: tuple[str, str, str]
) -> None:
    """Rename a deletion event of a tenant. In a database the rows of the new tenant name are in another home: it
    moves."""
    if is_file(connection):
        connection.execute(
            "UPDATE memory_deletion SET by = ?, tenant = ?, user = ?, agent = ? WHERE number = ?",
            (by, *names, number),
        )
        return
    which = "WHERE tenant = ? AND number = ?"
    at, reason, counts = connection.execute(
        f"SELECT at, reason, counts FROM memory_deletion {which}", (tenant, number)
    ).fetchone()
    connection.execute(f"DELETE FROM memory_deletion {which}", (tenant, number))
    connection.execute(
        "INSERT INTO memory_deletion(number, at, tenant, user, agent, reason, by, counts) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (number, at, *names, reason, by, counts),
    )


def _replace(connection: sqlite3.Connection, tenant: str, name: str, word: str) -> None:
    """Replace a name in the remaining records of a tenant."""
    for table, columns in _NAMING.items():
        for column in columns:
            connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE tenant = ? AND {column} = ?", (word, tenant, name)
            )
    connection.execute("UPDATE memory_log SET by = ? WHERE by = ? AND tenant = ?", (word, name, tenant))
