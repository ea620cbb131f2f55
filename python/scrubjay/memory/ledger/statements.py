"""The facts of a slot in the file, and when each of them held as was known at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from scrubjay.memory.ledger.rows import find_row, rows_where
from scrubjay.memory.ledger.sealing import keyed
from scrubjay.memory.model.cardinality import topics_of
from scrubjay.memory.model.details import as_known
from scrubjay.memory.model.projection import Validity
from scrubjay.memory.model.rows import FactRow, scope_in
from scrubjay.memory.model.statements import IsSingle, encoded_intervals, ids_of, projected_slot


def topics_in(connection: sqlite3.Connection, tenant: str, subject: str, predicate: str) -> tuple[bytes, ...]:
    """Return the topics by which the statements of a slot are found, in the form of the file."""
    return tuple(keyed(connection, tenant, topic) for topic in topics_of(subject, predicate))


def facts_of_slot(
    connection: sqlite3.Connection,
    names: Sequence[str],
    topics: Sequence[bytes],
    *,
    with_provisional: bool = False,
) -> list[FactRow]:
    """Return the facts of exactly one scope and one slot, oldest first.

    Args:
        connection: the connection of a transaction.
        names: tenant, user and agent of the scope.
        topics: the topics of the slot.
        with_provisional: whether to include facts that were never in force, because they are not confirmed.
    """
    marks = ", ".join("?" * len(topics))
    believed = "" if with_provisional else "AND status <> 'provisional' "
    return list(
        rows_where(
            connection,
            "fact",
            f"tenant = ? AND user = ? AND agent = ? AND topic IN ({marks}) {believed}ORDER BY created_at, id",
            (*names, *topics),
        )
    )


def projected(
    connection: sqlite3.Connection,
    rows: Sequence[FactRow],
    is_single: IsSingle,
    *,
    known_at: int | None = None,
) -> dict[str, Validity]:
    """Return when each fact of one slot holds, as was known at a time (None: now).

    Args:
        connection: for reading facts of other slots that replace some of these.
        rows: all facts of the slot.
        is_single: the cardinality for rows that do not state it.
        known_at: in microseconds since 1970.
    """
    if known_at is not None:
        rows = [as_known(row, known_at) for row in rows]
        alone = [row for row in rows if not row.topic] if len(rows) > 1 else []
        if alone:  # facts that got their slot later
            held = projected(connection, [row for row in rows if row.topic], is_single, known_at=known_at)
            for row in alone:
                held.update(projected(connection, [row], is_single, known_at=known_at))
            return held
    beside = rows_beside(connection, rows)
    if known_at is not None:
        beside = [as_known(one, known_at) for one in beside]
    held = projected_slot(rows, beside, is_single, known_at=known_at)
    if known_at is not None:
        for row in rows:
            if row.shared_as is not None and row.id in held:
                shared_at = _begun(connection, row.tenant, row.shared_as)
                if shared_at is not None and shared_at <= known_at:
                    held[row.id] = Validity((), row.shared_as)
    return held


def rows_beside(connection: sqlite3.Connection, rows: Sequence[FactRow]) -> list[FactRow]:
    """Return the facts of other slots that replace some of these."""
    own: set[str] = {row.id for row in rows}
    beside: dict[str, FactRow] = {}
    for row in rows:
        for id in ids_of(row, "replaced_by"):
            if id not in own and id not in beside:
                found = find_row(connection, id, scope_in(row))
                if found is not None:
                    beside[found.id] = found  # type: ignore[assignment]
    return list(beside.values())


def _begun(connection: sqlite3.Connection, tenant: str, id: str) -> int | None:
    """Return when a tenant's fact first came into force, with any content; None: it is gone."""
    (at,) = connection.execute(
        "SELECT min(ifnull(recorded_at, created_at)) FROM memory_fact "
        "WHERE +tenant = ? AND user = '' AND (id = ? OR id > ? AND id < ?)",
        (tenant, id, f"{id}.", f"{id}/"),
    ).fetchone()
    return at if isinstance(at, int) else None


def believed_rows(
    connection: sqlite3.Connection, rows: Sequence[FactRow], known_at: int, is_single: IsSingle
) -> list[FactRow]:
    """Return the rows of one slot as they were believed at a time, without those recorded later, and without those that
    had no subject and predicate at that time."""
    slots: dict[bytes, list[FactRow]] = {}
    for row in rows:
        slots.setdefault(row.topic, []).append(row)
    held: dict[str, Validity] = {}
    for some in slots.values():
        held.update(projected(connection, some, is_single, known_at=known_at))
    found = [_believed(row, held[row.id], known_at) for row in rows if row.id in held]
    return [row for row in found if row.topic]


class Beliefs:
    """Beliefs at a time about facts that are read one by one. Each slot is projected once.

    Args:
        connection: a connection to one snapshot of the file.
        known_at: in microseconds since 1970.
        is_single: the cardinality for rows that do not state it.
    """

    def __init__(self, connection: sqlite3.Connection, known_at: int, is_single: IsSingle) -> None:
        self._connection = connection
        self._known_at = known_at
        self._is_single = is_single
        self._slots: dict[tuple[str, str, str, bytes], dict[str, Validity]] = {}

    def row(self, row: FactRow) -> FactRow | None:
        """Return a row as it was believed; None if it was not believed: it was recorded later, or never in force."""
        if row.status == "provisional":
            return None
        key = (row.tenant, row.user, row.agent, row.topic)
        if row.topic and key in self._slots:
            held = self._slots[key]
        else:
            rows = facts_of_slot(self._connection, key[:3], (row.topic,)) if row.topic else [row]
            held = projected(self._connection, rows, self._is_single, known_at=self._known_at)
            if row.topic:
                self._slots[key] = held
        return _believed(row, held[row.id], self._known_at) if row.id in held else None


def _believed(row: FactRow, held: Validity, known_at: int) -> FactRow:
    over = all(end is not None and end <= known_at for _, end in held.intervals)
    status = "superseded" if over and held.by is not None else "active"
    if row.status == "revoked":
        withdrawn_at = row.updated_at if row.withdrawn_at is None else row.withdrawn_at
        status = "revoked" if withdrawn_at <= known_at else status
    return as_known(row, known_at)._replace(
        status=status, superseded_by=held.by, holds=encoded_intervals(held.intervals)
    )


def known_rows(
    connection: sqlite3.Connection, names: Sequence[str], moment: int, known_at: int, is_single: IsSingle
) -> Iterator[FactRow]:
    """Yield the facts of exactly one scope that were believed, at `known_at`, to hold at `moment`; oldest first."""
    slots: dict[bytes, list[FactRow]] = {}
    alone: list[FactRow] = []
    for row in rows_where(
        connection,
        "fact",
        "tenant = ? AND user = ? AND agent = ? AND status <> 'provisional' ORDER BY created_at, id",
        names,
    ):
        if row.topic:
            slots.setdefault(row.topic, []).append(row)
        else:
            alone.append(row)
    found: list[FactRow] = []
    for rows in [*slots.values(), *([row] for row in alone)]:
        held = projected(connection, rows, is_single, known_at=known_at)
        found += [row for row in rows if row.id in held and held[row.id].at(moment)]
    found.sort(key=lambda row: (row.created_at, row.id))
    yield from found
