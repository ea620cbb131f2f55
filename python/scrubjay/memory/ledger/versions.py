"""Versions of facts: what a fact said before it was edited.

An edit is a correction: the new text is that of all of the fact's time, and what was believed before the edit stays as
it was believed. So the old statement is kept as a row of its own, withdrawn when the edit is recorded, named by the
fact's id and the number of the version (`fact_….1`). History and `why` show it; searches find it with `known_at` only.
It is deleted with its fact.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from scrubjay.memory.ledger.documents import documents_in, remove_documents
from scrubjay.memory.ledger.holds import is_held
from scrubjay.memory.ledger.log import drop
from scrubjay.memory.ledger.rows import insert, new_ids, rows_where, update_fact
from scrubjay.memory.model.rows import FactRow
from scrubjay.memory.model.statements import encoded_ids, ids_of
from scrubjay.store.together import Change

IS_VERSION = "id LIKE '%.%'"
"""The condition for rows of what facts said before they were edited."""
_SAID = ("content", "topic", "value_hash", "valid_from", "valid_until", "single")


def is_edited(before: FactRow, after: FactRow) -> bool:
    """Whether a fact says something else than before, and was believed."""
    if before.status == "provisional":
        return False
    return any(getattr(before, name) != getattr(after, name) for name in _SAID)


def keep_version(change: Change, before: FactRow, withdrawn_at: int) -> None:
    """Keep what a fact said until it was edited.

    Args:
        change: under way; the fact's own row has been rewritten.
        before: the row as it was.
        withdrawn_at: when the edit is recorded: from then on it is known to be wrong.
    """
    connection = change.connection
    numbers = [int(one.id.rpartition(".")[2]) for one in versions_of(connection, before)]
    (slot,) = new_ids("slot")
    is_tenants = not (before.user or before.agent)
    row = before._replace(
        id=f"{before.id}.{max(numbers, default=0) + 1}",  # the first ones may have been swept
        slot=slot,
        status="provisional" if is_tenants else "revoked",
        superseded_by=before.id,
        withdrawn_at=withdrawn_at,
        holds="[]",
        said_at=before.created_at if before.said_at is None else before.said_at,
        recorded_at=before.created_at if before.recorded_at is None else before.recorded_at,
        relation=before.relation or "asserts",
        updated_at=change.now,
    )
    if (
        is_tenants
    ):  # which only enter so, and not beside a living one of their content: the fact itself, perhaps
        provisional, row = row._replace(hash=bytes(32)), row._replace(status="revoked")
        insert(connection, "memory_fact", provisional)
        update_fact(change, provisional, row, ("status", "hash"))
    else:
        insert(connection, "memory_fact", row)
    documents_in(change).put(row, documents_in(change).embedded_of(before))
    for id in ids_of(before, "replaces"):  # so that it is known what it had ended
        for other in rows_where(connection, "fact", "id = ?", (id,)):
            if before.id in ids_of(other, "replaced_by"):
                replaced_by = encoded_ids([*ids_of(other, "replaced_by"), row.id])
                update_fact(change, other, other._replace(replaced_by=replaced_by), ("replaced_by",))


def versions_of(connection: sqlite3.Connection, row: FactRow) -> Iterator[FactRow]:
    """Yield what a fact said before it was edited, in no order."""
    condition = "+tenant = ? AND user = ? AND id > ? AND id < ?"
    return rows_where(connection, "fact", condition, (row.tenant, row.user, f"{row.id}.", f"{row.id}/"))


def delete_versions(change: Change, row: FactRow, reason: str) -> None:
    """Delete them, with their documents; what is under a legal hold stays."""
    held = is_held(change.connection)
    for version in list(versions_of(change.connection, row)):
        if held(version):
            continue
        drop(change, version, "forgotten")
        remove_documents(change, version, reason)
