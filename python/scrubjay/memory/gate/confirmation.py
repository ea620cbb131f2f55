"""Confirmation and revocation of records."""

from __future__ import annotations

from scrubjay._native import Scope
from scrubjay.memory.gate.policies import confirm_policy
from scrubjay.memory.gate.promotion import Promotion
from scrubjay.memory.ledger.context import MemoryContext, absent, checked_scope
from scrubjay.memory.ledger.documents import documents_in, remove_documents
from scrubjay.memory.ledger.log import log
from scrubjay.memory.ledger.rows import find_row, update_fact
from scrubjay.memory.ledger.slots import Slots
from scrubjay.memory.model.candidates import Outcome
from scrubjay.memory.model.content import named
from scrubjay.memory.model.documents import Embedded
from scrubjay.memory.model.rows import FactRow, PolicyRow, belongs_to
from scrubjay.memory.model.statements import has_documents, withdrawn_at
from scrubjay.store.writing.write_batches import Change


class Confirmation:
    """Brings records into force and takes them out of force."""

    def __init__(self, context: MemoryContext, slots: Slots, promotion: Promotion) -> None:
        self._context = context
        self._slots = slots
        self._promotion = promotion

    def confirm(self, id: str, *, by: str, scope: Scope) -> Outcome:
        """Bring a tenant's provisional fact or policy into force.

        Args:
            id: the id of the record.
            by: the name of the person who confirms it.
            scope: the tenant, without user or agent: only a tenant-level scope may confirm.

        Raises:
            KeyError: this scope has no such record.
            ValueError: the record is not a provisional fact or policy, or `by` is empty.
        """
        checked_scope(scope)
        by = named(by, "by")
        with self._context.reading() as connection:
            old = find_row(connection, id, scope)
        embedded = self._context.embed_texts([old.text])[0] if isinstance(old, FactRow) else Embedded(None)
        # Confirming a fact also changes its copies, which may belong to any user.
        owners = [scope.tenant if isinstance(old, FactRow) else scope]
        with self._context.changing("confirming", [scope.tenant], of=owners) as change:
            row = find_row(change.connection, id, scope)
            if row is None or not belongs_to(row, scope):
                raise absent(id)
            if isinstance(row, PolicyRow) and row.status == "provisional":
                return confirm_policy(change, row, by)
            if not isinstance(row, FactRow) or row.status != "provisional":
                raise ValueError(
                    f"id: expected a provisional fact or policy, got a {row.kind} that is {row.status}"
                )
            if row.expires_at is not None and row.expires_at <= change.now:
                raise absent(id)
            superseded, active = self._promotion.promote(change, row, {}, by, embedded)
        status = "superseded" if superseded else "written"
        return Outcome(status, "fact", id, f"confirmed by {by}", superseded, active)

    def revoke(self, id: str, *, reason: str, scope: Scope, by: str | None = None) -> None:
        """Take a record out of force permanently. Its row stays, for :meth:`Memory.why`, until
        :meth:`MemoryAdmin.sweep` deletes it.

        The facts that it superseded come back into force.

        Args:
            id: the id of the record.
            reason: the reason; it is kept for :meth:`Memory.why`.
            scope: the record's exact scope.
            by: the name of the person who decided it.

        Raises:
            KeyError: exactly this scope has no such living record.
            ValueError: the reason is empty.
        """
        checked_scope(scope)
        reason = named(reason, "reason")
        by = None if by is None else named(by, "by")
        with self._context.changing("revoking", [scope.tenant], of=[scope]) as change:
            if not self.revoke_in(change, id, scope, reason, by):
                raise absent(id)

    def revoke_in(self, change: Change, id: str, scope: Scope, reason: str, by: str | None) -> bool:
        """Revoke a record within a change; return False if exactly this scope has no such living record."""
        row = find_row(change.connection, id, scope)
        if row is None or not belongs_to(row, scope) or row.status == "revoked":
            return False
        if row.status == "superseded" and not isinstance(row, FactRow):
            return False
        if row.expires_at is not None and row.expires_at <= change.now:
            return False
        if isinstance(row, PolicyRow):
            change.known.clear()
            change.connection.execute(
                "UPDATE memory_policy SET status = 'revoked', decided_by = ?, decided_at = ? WHERE id = ?",
                (row.decided_by or by or "nobody named", change.now, id),
            )
        elif isinstance(row, FactRow):
            fresh = row._replace(
                status="revoked", withdrawn_at=withdrawn_at(row, change.now), updated_at=change.now
            )
            if has_documents(row):
                fresh = fresh._replace(holds="[]")
                documents_in(change).put(fresh, before=row)
            update_fact(change, row, fresh, ("status", "withdrawn_at", "updated_at", "holds"))
            self._slots.project_slot_of(change, fresh, by)
        else:
            change.connection.execute(
                f"UPDATE memory_{row.kind} SET status = 'revoked', updated_at = ? WHERE id = ?",
                (change.now, id),
            )
            remove_documents(change, row, "revoked")
        log(change, id, "revoked", by, reason)
        return True
