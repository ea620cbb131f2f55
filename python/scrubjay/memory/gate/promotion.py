"""Facts of a tenant: provisional until independent sources or a person confirm them, then in force for all users."""

from __future__ import annotations

import json
from collections.abc import Mapping

from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.documents import documents_in
from scrubjay.memory.ledger.log import log
from scrubjay.memory.ledger.rows import IN_SCOPE, rows_where, update_fact
from scrubjay.memory.ledger.slots import COMPUTED, Slots
from scrubjay.memory.ledger.statements import facts_of_slot, projected, topics_in
from scrubjay.memory.model.documents import Embedded
from scrubjay.memory.model.new_facts import next_recorded
from scrubjay.memory.model.projection import Validity
from scrubjay.memory.model.rows import FactRow
from scrubjay.memory.model.statements import encoded_ids, holds_of, ids_of, is_in_force, with_held
from scrubjay.store.writing.write_batches import Change


class Promotion:
    """Brings a tenant's fact into force, and takes its copies in narrower scopes out of it."""

    def __init__(self, context: MemoryContext, slots: Slots) -> None:
        self._context = context
        self._slots = slots

    def promote(
        self,
        change: Change,
        row: FactRow,
        contradicted: Mapping[str, bool],
        by: str | None,
        embedded: Embedded,
    ) -> tuple[str | None, bool]:
        """Bring a tenant's provisional fact into force; its copies in the scopes that observed it go out of force.

        Return the id of the first fact that it ended, and whether it is in force now.
        """
        connection = change.connection
        topics = topics_in(connection, row.tenant, row.subject, row.predicate) or (
            (row.topic,) if row.topic else ()
        )
        names = (row.tenant, row.user, row.agent)
        slot = facts_of_slot(connection, names, topics, with_provisional=True) if topics else []
        others = [fact for fact in slot if fact.id != row.id]
        rivals = [fact for fact in others if fact.status != "provisional"]
        if row.relation is None or (row.single is None and hasattr(self._context.judge, "is_single")):
            is_single = self._context.is_single(row.predicate, row.content)
            single = None if is_single is None else int(is_single)
            row = row._replace(
                relation=row.relation or "asserts", single=single, said_at=row.said_at or row.created_at
            )
        ids = [*ids_of(row, "replaces"), *(id for id, is_so in contradicted.items() if is_so)]
        recorded_at = next_recorded(change.now, others)  # later than the provisional ones, too
        fresh = row._replace(
            status="active",
            decided_by=by,
            updated_at=change.now,
            recorded_at=recorded_at,
            replaces=encoded_ids(ids),
            holds="[]",
        )
        held = projected(connection, [*rivals, fresh], self._context.is_single)
        fresh = with_held(fresh, held[row.id], change.now)
        ended = self._slots.settle(change, rivals, held, row.id, by)
        before = next(rows_where(connection, "fact", "id = ?", (row.id,)))
        update_fact(
            change,
            before,
            fresh,
            (*COMPUTED, "decided_by", "relation", "single", "said_at", "replaces"),
        )
        near = {row.id, *(rival.id for rival in rivals)}
        for id in ids_of(fresh, "replaces"):
            if id not in near:
                ended += self._slots.replace(change, id, row.id, names, by)
        self.share(change, fresh, by)
        documents_in(change).put(fresh, embedded)
        log(change, row.id, "promoted" if by is None else "confirmed", by)
        return ended[0] if ended else None, is_in_force(fresh, change.now)

    def share(self, change: Change, row: FactRow, by: str | None) -> None:
        """Take a tenant fact's copies, in the scopes that observed it, out of force: the fact stands for them."""
        connection = change.connection
        ids = connection.execute(  # the facts may be in other homes than the observations
            "SELECT DISTINCT fact FROM memory_observation WHERE tenant = ? AND hash = ? AND fact <> ?",
            (row.tenant, row.hash, row.id),
        ).fetchall()
        observed = [one for (id,) in ids for one in rows_where(connection, "fact", "id = ?", (id,))]
        places = dict.fromkeys((one.tenant, one.user, one.agent, one.hash, one.topic) for one in observed)
        for place in places:
            condition = (
                IN_SCOPE + "AND hash = ? AND topic = ? AND status IN ('active', 'superseded') AND id <> ?"
            )
            for copy in list(rows_where(connection, "fact", condition, (*place, row.id))):
                self._share_one(change, copy, row.id, by)

    def _share_one(self, change: Change, copy: FactRow, id: str, by: str | None) -> None:
        if copy.holds is None:
            copy = copy._replace(holds=json.dumps(holds_of(copy)))
        fresh = with_held(copy._replace(shared_as=id, updated_at=change.now), Validity(), change.now)
        before = next(rows_where(change.connection, "fact", "id = ?", (copy.id,)))
        update_fact(change, before, fresh, COMPUTED)
        documents_in(change).put(fresh, before=before)
        if before.status == "active":
            log(change, copy.id, "superseded", by, id)

    def unshare(self, change: Change, gone: FactRow) -> None:
        """Bring the copies of a deleted fact of the tenant back into force."""
        if gone.user or gone.agent:  # only facts of the tenant itself have copies
            return
        condition, values = "+tenant = ? AND shared_as = ?", (gone.tenant, gone.id)
        for copy in list(rows_where(change.connection, "fact", condition, values)):
            fresh = copy._replace(shared_as=None, updated_at=change.now)
            update_fact(change, copy, fresh, ("shared_as", "updated_at"))
            self._slots.project_around(change, fresh, None, None)
