"""Slots: when each fact of one subject and predicate in one scope holds, written with what changed it.

Whatever changes a slot lets the projection say anew when each of its statements holds
(:mod:`scrubjay.memory.ledger.statements`), in the same transaction, and writes the documents of those that changed. So
no search, in any thread or process, sees a fact and the one that superseded it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.details import changed_at
from scrubjay.memory.ledger.documents import documents_in
from scrubjay.memory.ledger.log import log, log_written
from scrubjay.memory.ledger.rows import IN_SCOPE, FactRow, insert, rows_where, update_fact
from scrubjay.memory.ledger.statements import (
    affirmed_of,
    encoded_ids,
    facts_of_slot,
    holds_of,
    ids_of,
    is_in_force,
    projected,
    projected_alone,
    topics_in,
    with_held,
)
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.together import Change

__all__ = ["COMPUTED", "Slots", "next_recorded"]

Contradicted = Callable[[Iterable[FactRow]], Sequence[str]]
"""Says which of the facts of a slot a new one contradicts, by their ids."""

COMPUTED = (
    "slot",
    "status",
    "superseded_by",
    "replaced_by",
    "shared_as",
    "recorded_at",
    "holds",
    "updated_at",
)

"""Columns that change with other statements of a slot."""


class Slots:
    """The facts of a memory as slots.

    Args:
        context: of the memory.
    """

    def __init__(self, context: MemoryContext) -> None:
        self._context = context

    def enter(
        self,
        change: Change,
        row: FactRow,
        topics: Sequence[bytes],
        contradicted: Contradicted,
        by: str | None,
    ) -> tuple[FactRow, str | None, bool]:
        """Insert a fact and let its slot be projected.

        Returns:
            It, the id of the first that it ended, and whether it changed when any other one holds.
        """
        connection, names = change.connection, (row.tenant, row.user, row.agent)
        if not topics or _stands_alone(connection, row, topics):
            rivals: list[FactRow] = []
        else:
            rivals = facts_of_slot(connection, names, topics)
        if rivals or row.replaces is not None:
            ids = [*ids_of(row, "replaces"), *contradicted(rivals)]
            row = row._replace(replaces=encoded_ids(ids), recorded_at=next_recorded(change, rivals))
        held = projected(connection, [*rivals, row], self._context.is_single)
        row = with_held(row, held[row.id], change.now)
        is_felt = any(one.by == row.id for id, one in held.items() if id != row.id)
        ended = self.settle(change, rivals, held, row.id, by)
        insert(connection, "memory_fact", row)
        log_written(change, row)
        ended += self.replace_elsewhere(change, row, {rival.id for rival in rivals}, by)
        return row, ended[0] if ended else None, is_felt or bool(ended)

    def alone(self, change: Change, row: FactRow) -> FactRow:
        """Return a new fact that no other one concerns, with when it holds."""
        return with_held(row, projected_alone(row, self._context.is_single), change.now)

    def settle(
        self,
        change: Change,
        rivals: Sequence[FactRow],
        held: Mapping[str, Any],
        cause: str | None,
        by: str | None,
    ) -> list[str]:
        """Write what the projection says of the other statements of a slot; return those that `cause` ended now."""
        changed = [(old, with_held(old, held[old.id], change.now)) for old in rivals if old.id in held]
        changed = [
            (old, new)
            for old, new in changed
            if (old.status, old.superseded_by, holds_of(old))
            != (new.status, new.superseded_by, holds_of(new))
        ]
        changed.sort(key=lambda pair: pair[1].status == "active")  # one living row of a content at a time
        ended = []
        for old, new in changed:
            new = new._replace(updated_at=change.now)
            update_fact(change, old, new, COMPUTED)
            documents_in(change).put(new, before=old)
            is_over = is_in_force(old, change.now) and not is_in_force(new, change.now)
            closer = new.superseded_by or (cause if is_over else None)  # None: it resumes later by itself
            if is_over and cause is not None:
                ended.append(old.id)
            if closer is not None and (is_over or closer != old.superseded_by):
                log(change, old.id, "superseded" if is_over else "limited", by, closer)
            elif old.status == "superseded" and new.status == "active":
                log(change, old.id, "resumed", by)
        return ended

    def replace_elsewhere(self, change: Change, row: FactRow, near: set[str], by: str | None) -> list[str]:
        """Let a fact end those of other slots that it replaces; return those that it ended now."""
        ended = []
        names = (row.tenant, row.user, row.agent)
        for id in ids_of(row, "replaces"):
            if id in near or id == row.id:
                continue
            other = next(rows_where(change.connection, "fact", f"{IN_SCOPE}AND id = ?", (*names, id)), None)
            if other is None:  # it was deleted since
                continue
            fresh = other._replace(replaced_by=encoded_ids([*ids_of(other, "replaced_by"), row.id]))
            update_fact(change, other, fresh, ("replaced_by",))
            ended += self.project_around(change, fresh, row.id, by)
        return ended

    def project(
        self,
        change: Change,
        names: Sequence[str],
        topics: Sequence[bytes],
        cause: str | None,
        by: str | None = None,
    ) -> list[str]:
        """Project a slot anew after one of its statements changed; return those that `cause` ended now."""
        topics = [topic for topic in topics if topic]
        if not topics:
            return []
        rows = facts_of_slot(change.connection, names, topics)
        return self.settle(
            change, rows, projected(change.connection, rows, self._context.is_single), cause, by
        )

    def project_around(self, change: Change, row: FactRow, cause: str | None, by: str | None) -> list[str]:
        """The same for the slot that a row is in, or for the row alone if it is in none."""
        if not row.topic:
            held = projected(change.connection, [row], self._context.is_single)
            return self.settle(change, [row], held, cause, by)
        topics = topics_in(change.connection, row.tenant, row.subject, row.predicate) or (row.topic,)
        return self.project(change, (row.tenant, row.user, row.agent), topics, cause, by)

    def project_slot_of(self, change: Change, row: FactRow, by: str | None = None) -> None:
        """The same for what a row concerns that changed, or is gone: its slot, and what it replaces elsewhere."""
        if row.topic:
            self.project_around(change, row, None, by)
        for id in ids_of(row, "replaces"):
            for other in rows_where(change.connection, "fact", "id = ?", (id,)):
                if other.topic != row.topic or not row.topic:
                    self.project_around(change, other, None, by)

    def facts_about(self, scope: Scope, subject: str, predicate: str) -> list[str]:
        """Return the ids of the facts in force of exactly this scope with this subject and predicate."""
        checked_scope(scope)
        if not self._context.is_readable(scope):
            return []
        with self._context.reading() as connection:
            topics = topics_in(connection, scope.tenant, subject, predicate)
            found = facts_of_slot(connection, names_of(scope), topics) if topics else []
        now = self._context.clock()
        return [row.id for row in found if is_in_force(row, now)]


def _stands_alone(connection: sqlite3.Connection, row: FactRow, topics: Sequence[bytes]) -> bool:
    """Whether a fact cannot concern the others of its slot: all of them assert, and may be so at once."""
    if row.single != 0 or row.relation != "asserts" or row.replaces is not None:
        return False
    marks = ", ".join("?" * len(topics))
    found = connection.execute(
        f"SELECT 1 FROM memory_fact WHERE {IN_SCOPE}AND topic IN ({marks}) AND status <> 'provisional' AND NOT ("
        "ifnull(single = 0 AND relation = 'asserts', false) AND replaces IS NULL AND replaced_by IS NULL "
        "AND hash <> ? AND ifnull(value_hash <> ?, true)) LIMIT 1",
        (row.tenant, row.user, row.agent, *topics, row.hash, row.value_hash),
    ).fetchone()
    return found is None


def next_recorded(change: Change, rivals: Iterable[FactRow]) -> int:
    """When a statement is recorded beside others of its slot: later than they were, whatever the clock says."""
    return max([change.now, *(_recorded(rival) + 1 for rival in rivals)])


def _recorded(row: FactRow) -> int:
    """When the last was recorded of what a row says."""
    return max(
        row.created_at, row.recorded_at or 0, *(when for _, when in affirmed_of(row)), *changed_at(row)
    )
