"""The log of record events (table `memory_log`): writing its rows, and deleting a record with its events."""

from __future__ import annotations

from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.ledger.holds import is_held
from scrubjay.memory.ledger.inserting import insert_values
from scrubjay.memory.ledger.rows import insert, kind_of
from scrubjay.memory.ledger.schema import KINDS, erasing
from scrubjay.memory.ledger.sealing import cipher_of, next_number, place_in, sealed_cell, settle
from scrubjay.memory.model.rows import EpisodeRow, FactRow, Row
from scrubjay.store.writing.write_batches import Change


def drop(change: Change, row: Row, what: str = "expired", by: str | None = None) -> None:
    """Delete the row of a record and its log, except for the event that it is gone; the caller deletes its documents.

    An expired record under a legal hold stays, as revoked.
    """
    if what == "expired" and is_held(change.connection)(row):
        is_fact = row.kind == "fact"
        extra = ", holds = '[]', withdrawn_at = ?" if is_fact else ""
        change.connection.execute(
            f"UPDATE {KINDS[row.kind]} SET status = 'revoked', updated_at = ?{extra} WHERE id = ?",
            (*[change.now] * (1 + is_fact), row.id),
        )
        log(change, row.id, "revoked", by, "expired")
        return
    with erasing(change.connection):
        change.connection.execute(f"DELETE FROM {KINDS[row.kind]} WHERE id = ?", (row.id,))
        change.connection.execute("DELETE FROM memory_log WHERE record = ?", (row.id,))
    log_gone(change, row.id, (row.tenant, row.user, row.agent), what, by)


def log(change: Change, record: str, what: str, by: str | None = None, detail: str | None = None) -> None:
    """Log an event of an existing record. The detail may quote the record, and is sealed like it."""
    connection, number, sealed = change.connection, None, detail
    kind = str(kind_of(record))
    cipher = cipher_of(connection)
    if detail is not None and cipher is not None and cipher.ring is not None:
        row = connection.execute(
            f"SELECT tenant, {_USER.get(kind, 'user')} FROM {KINDS[kind]} WHERE id = ?", (record,)
        ).fetchone()
        if row is None:
            raise CorruptIndexError("its row is gone", id=record)
        tenant, user = row
        if settle(connection, tenant):
            number = next_number(connection, "memory_log", wanted=True)
            at = place_in("memory_log", "detail", number, ())
            sealed = sealed_cell(cipher, tenant, user, at, detail)
    written = connection.execute(_LOGGED[kind], (number, change.now, what, by, sealed, record))
    if written.rowcount != 1:
        raise CorruptIndexError("its row is gone", id=record)


def insert_new(change: Change, table: str, *rows: FactRow | EpisodeRow) -> None:
    """Insert new facts or episodes, in order, and log that their authors wrote them."""
    insert(change.connection, table, *rows)
    events = [(change.now, row.id, "written", row.author, row.tenant, row.user, row.agent) for row in rows]
    insert_values(change.connection, _LOG, events)


_USER = {"policy": "''"}  # kind -> SQL expression for the user who owns a record
_LOG = "INSERT INTO memory_log(at, record, what, by, tenant, user, agent) VALUES (?, ?, ?, ?, ?, ?, ?)"
_LOGGED = {
    kind: "INSERT INTO memory_log(number, at, record, what, by, detail, tenant, user, agent) "
    f"SELECT ?, ?, id, ?, ?, ?, tenant, {names} FROM {KINDS[kind]} WHERE id = ?"
    for kind, names in {
        "policy": "'', ''", "preference": "user, ''", "fact": "user, agent", "episode": "user, agent"
    }.items()
}  # fmt: skip


def log_gone(
    change: Change, record: str, names: tuple[str, str, str], what: str, by: str | None = None
) -> None:
    """Log that a record, or all of a scope (''), is gone: "expired" or "forgotten"; never its content."""
    change.connection.execute(_LOG, (change.now, record, what, by, *names))
