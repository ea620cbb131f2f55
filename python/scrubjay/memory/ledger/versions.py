"""Versions of facts: their statements before an edit.

An edit is a correction: the new text holds for all of the fact's time, and beliefs from before the edit stay as they
were. The old statement is therefore kept as a row of its own, withdrawn when the edit is recorded, with an id made of
the fact's id and the number of the version (`fact_….1`). History and `why` show it; searches find it only with
`known_at`. It is deleted with its fact.
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
from scrubjay.store.writing.write_batches import Change

IS_VERSION = "id LIKE '%.%'"
"""SQL condition for the rows of versions."""
_SAID = ("content", "topic", "value_hash", "valid_from", "valid_until", "single")


def is_edited(before: FactRow, after: FactRow) -> bool:
    """Whether an edit changed the statement of a fact that was ever believed."""
    if before.status == "provisional":
        return False
    return any(getattr(before, name) != getattr(after, name) for name in _SAID)


def keep_version(change: Change, before: FactRow, withdrawn_at: int) -> None:
    """Store the statement of a fact from before an edit.

    Args:
        change: the change in progress; it has already rewritten the fact's own row.
        before: the old row.
        withdrawn_at: when the edit is recorded: from then on the old statement is known to be wrong.
    """
    connection = change.connection
    numbers = [int(version.id.rpartition(".")[2]) for version in versions_of(connection, before)]
    (slot,) = new_ids("slot")
    is_tenants = not (before.user or before.agent)
    row = before._replace(
        id=f"{before.id}.{max(numbers, default=0) + 1}",  # earlier ones may have been swept
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
    if is_tenants:  # must enter provisional, and not beside a living row with its content, such as the fact
        provisional, row = row._replace(hash=bytes(32)), row._replace(status="revoked")
        insert(connection, "memory_fact", provisional)
        update_fact(change, provisional, row, ("status", "hash"))
    else:
        insert(connection, "memory_fact", row)
    documents_in(change).put(row, documents_in(change).embedded_of(before))
    for id in ids_of(before, "replaces"):  # records that this version had ended them
        for other in rows_where(connection, "fact", "id = ?", (id,)):
            if before.id in ids_of(other, "replaced_by"):
                replaced_by = encoded_ids([*ids_of(other, "replaced_by"), row.id])
                update_fact(change, other, other._replace(replaced_by=replaced_by), ("replaced_by",))


def versions_of(connection: sqlite3.Connection, row: FactRow) -> Iterator[FactRow]:
    """Yield the versions of a fact, in no particular order."""
    condition = "+tenant = ? AND user = ? AND id > ? AND id < ?"
    return rows_where(connection, "fact", condition, (row.tenant, row.user, f"{row.id}.", f"{row.id}/"))


def delete_versions(change: Change, row: FactRow, reason: str) -> None:
    """Delete the versions of a fact, with their documents; those under a legal hold stay."""
    held = is_held(change.connection)
    for version in list(versions_of(change.connection, row)):
        if held(version):
            continue
        drop(change, version, "forgotten")
        remove_documents(change, version, reason)
