"""Deletion events (table `memory_deletion`): that something was deleted, never its content. They are kept forever."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.ledger.sealing import is_file
from scrubjay.memory.model.answers import Deletion
from scrubjay.memory.model.decoding import are_texts, as_moment, decoded, json_of
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.pseudonyms import ERASED
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.sqlite.connections import rows_of
from scrubjay.store.writing.write_batches import Change


def note_deletion(
    change: Change, scope: Scope, reason: str, by: str | None, counts: Mapping[str, int]
) -> None:
    """Write a deletion event."""
    encoded_counts = json.dumps({kind: n for kind, n in counts.items() if n})
    change.connection.execute(
        "INSERT INTO memory_deletion(at, tenant, user, agent, reason, by, counts) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (change.now, *names_of(scope), reason, by, encoded_counts),
    )


def deletions_of(connection: sqlite3.Connection, tenant: str) -> list[Deletion]:
    """Return the deletion events of a tenant, oldest first."""
    rows = connection.execute(
        "SELECT at, user, agent, reason, by, counts FROM memory_deletion WHERE tenant = ? ORDER BY number",
        (tenant,),
    ).fetchall()
    return [decoded("a deletion event", None, partial(_deletion, tenant, row)) for row in rows]


def last_deletion(connection: sqlite3.Connection, tenant: str) -> int:
    """Return the number of the last deletion event of a tenant, or of one with an erased name; in a file, of any
    tenant; 0: there is none."""
    query = "SELECT ifnull(max(number), 0) FROM memory_deletion"
    if is_file(connection):
        return int(rows_of(connection, query)[0][0])
    asked: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("tenant = ?", (tenant,)),
        ("tenant LIKE ?", (f"{ERASED}%",)),
    )
    found = [connection.execute(f"{query} WHERE {which}", values).fetchone() for which, values in asked]
    return max(int(number) for (number,) in found)


def deleted_since(connection: sqlite3.Connection, number: int, names: tuple[str, str, str]) -> bool:
    """Whether data visible to a scope with these names may have been deleted after an event."""
    tenant, user, agent = names
    if is_file(connection) and not rows_of(connection, _LATER, (number,)):
        return False  # nearly always; SQLite recompiles a GLOB with a parameter on each execution
    if not is_file(connection):
        erased = f"{ERASED}%"  # an erased name may have been any name
        of_scope = "(user IN ('', ?) OR user LIKE ?) AND (agent IN ('', ?) OR agent LIKE ?)"
        return any(
            connection.execute(
                f"SELECT 1 FROM memory_deletion WHERE number > ? AND {which} AND {of_scope}",
                (number, name, user, erased, agent, erased),
            ).fetchone()
            for which, name in (("tenant = ?", tenant), ("tenant LIKE ?", erased))
        )
    erased = f"{ERASED}*"  # an erased name may have been any name
    rows = rows_of(
        connection,
        "SELECT 1 FROM memory_deletion WHERE number > ? AND (tenant = ? OR tenant GLOB ?) "
        "AND (user IN ('', ?) OR user GLOB ?) AND (agent IN ('', ?) OR agent GLOB ?)",
        (number, tenant, erased, user, erased, agent, erased),
    )
    return bool(rows)


_LATER = "SELECT 1 FROM memory_deletion WHERE number > ? LIMIT 1"


def _deletion(tenant: str, row: Any) -> Deletion:
    at, user, agent, reason, by, counts = row
    if not are_texts(reason) or not are_texts(by, optional=True):
        raise CorruptIndexError("its texts cannot be read")
    counted = json_of(counts, dict, "its counts")
    return Deletion(as_moment(at), scope_of(tenant, user, agent), reason, by, counted)
