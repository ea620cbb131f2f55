"""Slots: the facts of one subject and predicate in one scope, written together with their intervals.

Every change of a slot projects all of its statements again (:mod:`scrubjay.memory.model.statements`), in the same
transaction, and writes the documents of those whose intervals changed. No search, in any thread or process, therefore
sees a fact together with the one that superseded it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.documents import documents_in
from scrubjay.memory.ledger.log import insert_new, log
from scrubjay.memory.ledger.rows import IN_SCOPE, rows_where, update_fact
from scrubjay.memory.ledger.statements import facts_of_slot, projected, topics_in
from scrubjay.memory.model.documents import Embedded
from scrubjay.memory.model.new_facts import NewFact
from scrubjay.memory.model.rows import FactRow
from scrubjay.memory.model.statements import (
    encoded_ids,
    holds_of,
    ids_of,
    is_in_force,
    with_held,
)
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.writing.write_batches import Change

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
    """The slots of a memory's facts."""

    def __init__(self, context: MemoryContext) -> None:
        self._context = context

    def rivals(
        self,
        connection: sqlite3.Connection,
        names: Sequence[str],
        topics: Sequence[bytes],
        *,
        asserted: tuple[bytes, bytes | None] | None,
    ) -> list[FactRow]:
        """Return the facts of a slot that a new fact may affect.

        Args:
            connection: the connection of a transaction.
            names: tenant, user and agent of the scope.
            topics: the topics of the slot.
            asserted: hashes of content and value of a fact that merely asserts and may coexist with others; None: it
                may affect each of them.
        """
        if not topics or (asserted is not None and _stands_alone(connection, names, topics, *asserted)):
            return []
        return facts_of_slot(connection, names, topics)

    def write(
        self, change: Change, fact: NewFact, rivals: Sequence[FactRow], embedded: Embedded, by: str | None
    ) -> list[str]:
        """Write a new fact and its effects on its slot; return the ids of the facts that it ended now."""
        row = fact.row
        ended = self.settle(change, rivals, fact.held, row.id, by)
        documents_in(change).put(row, embedded, documents=fact.documents)
        insert_new(change, "memory_fact", row)
        near = {row.id, *(rival.id for rival in rivals)}
        for id in fact.replaces:
            if id not in near:
                ended += self.replace(change, id, row.id, row[1:4], by)
        return ended

    def settle(
        self,
        change: Change,
        rivals: Sequence[FactRow],
        held: Mapping[str, Any],
        cause: str | None,
        by: str | None,
    ) -> list[str]:
        """Write the projection of the other statements of a slot; return the ids of those that `cause` ended now."""
        changed = [(old, with_held(old, held[old.id], change.now)) for old in rivals if old.id in held]
        changed = [
            (old, new)
            for old, new in changed
            if (old.status, old.superseded_by, holds_of(old))
            != (new.status, new.superseded_by, holds_of(new))
        ]
        changed.sort(key=lambda pair: pair[1].status == "active")  # at most one living row with a content
        ended = []
        for old, new in changed:
            new = new._replace(updated_at=change.now)
            update_fact(change, old, new, COMPUTED)
            documents_in(change).put(new, before=old)
            is_over = is_in_force(old, change.now) and not is_in_force(new, change.now)
            closer = new.superseded_by or (cause if is_over else None)  # None: it resumes by itself later
            if is_over and cause is not None:
                ended.append(old.id)
            if closer is not None and (is_over or closer != old.superseded_by):
                log(change, old.id, "superseded" if is_over else "limited", by, closer)
            elif old.status == "superseded" and new.status == "active":
                log(change, old.id, "resumed", by)
        return ended

    def replace(self, change: Change, id: str, by_id: str, names: Sequence[str], by: str | None) -> list[str]:
        """Let a fact end one of another slot of its scope that it replaces; return the ids of facts that it ended
        now."""
        other = next(rows_where(change.connection, "fact", f"{IN_SCOPE}AND id = ?", (*names, id)), None)
        if other is None:  # deleted meanwhile
            return []
        fresh = other._replace(replaced_by=encoded_ids([*ids_of(other, "replaced_by"), by_id]))
        update_fact(change, other, fresh, ("replaced_by",))
        return self.project_around(change, fresh, by_id, by)

    def project(
        self,
        change: Change,
        names: Sequence[str],
        topics: Sequence[bytes],
        cause: str | None,
        by: str | None = None,
    ) -> list[str]:
        """Project a slot again after one of its statements changed; return the ids of those that `cause` ended now."""
        topics = [topic for topic in topics if topic]
        if not topics:
            return []
        rows = facts_of_slot(change.connection, names, topics)
        return self.settle(
            change, rows, projected(change.connection, rows, self._context.is_single), cause, by
        )

    def project_around(self, change: Change, row: FactRow, cause: str | None, by: str | None) -> list[str]:
        """Project the slot of a row, or the row alone if it has no slot."""
        if not row.topic:
            held = projected(change.connection, [row], self._context.is_single)
            return self.settle(change, [row], held, cause, by)
        topics = topics_in(change.connection, row.tenant, row.subject, row.predicate) or (row.topic,)
        return self.project(change, (row.tenant, row.user, row.agent), topics, cause, by)

    def project_slot_of(self, change: Change, row: FactRow, by: str | None = None) -> None:
        """Project everything that a changed or deleted row affects: its slot, and the facts that it replaces
        elsewhere."""
        if row.topic:
            self.project_around(change, row, None, by)
        for id in ids_of(row, "replaces"):
            for other in rows_where(change.connection, "fact", "id = ?", (id,)):
                if other.topic != row.topic or not row.topic:
                    self.project_around(change, other, None, by)

    def facts_about(self, scope: Scope, subject: str, predicate: str) -> list[str]:
        """Return the ids of the facts in force in exactly this scope with this subject and predicate."""
        checked_scope(scope)
        if not self._context.is_readable(scope):
            return []
        with self._context.reading() as connection:
            topics = topics_in(connection, scope.tenant, subject, predicate)
            rows = facts_of_slot(connection, names_of(scope), topics) if topics else []
        now = self._context.clock()
        return [row.id for row in rows if is_in_force(row, now)]


def _stands_alone(
    connection: sqlite3.Connection,
    names: Sequence[str],
    topics: Sequence[bytes],
    hash: bytes,
    value_hash: bytes | None,
) -> bool:
    """Whether a fact that merely asserts cannot affect those of its slot, because all of them merely assert as well."""
    marks = ", ".join("?" * len(topics))
    row = connection.execute(
        f"SELECT 1 FROM memory_fact WHERE {IN_SCOPE}AND topic IN ({marks}) AND status <> 'provisional' AND NOT ("
        "ifnull(single = 0 AND relation = 'asserts', false) AND replaces IS NULL AND replaced_by IS NULL "
        "AND hash <> ? AND ifnull(value_hash <> ?, true)) LIMIT 1",
        (*names, *topics, hash, value_hash),
    ).fetchone()
    return row is None
