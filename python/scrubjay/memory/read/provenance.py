"""Provenance: the history of a record, and rejected proposals."""

from __future__ import annotations

from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.rejections import rejections_of
from scrubjay.memory.ledger.rows import find_row
from scrubjay.memory.ledger.schema import KINDS
from scrubjay.memory.ledger.sealing import opened_in, place_in
from scrubjay.memory.model.answers import Event, Rejection, Why
from scrubjay.memory.model.decoding import are_texts, as_moment, decoded
from scrubjay.memory.model.row_records import record_of
from scrubjay.memory.model.rows import FactRow, Row, is_visible
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.listing import checked_count


class ProvenanceReader:
    """Reads the history of records."""

    def __init__(self, context: MemoryContext) -> None:
        self._context = context

    def why(self, id: str, *, scope: Scope) -> Why | None:
        """Return the provenance and history of a record, whatever its status; None if it is not visible to `scope`.

        >>> import tempfile
        >>> from scrubjay import Memory, Provenance
        >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
        >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
        ...     source = Provenance(run="chat-7", turn=3, author="jane")
        ...     outcome = memory.propose("Jane lives in Oslo", scope=jane, source=source)
        ...     why = memory.why(outcome.id, scope=jane)
        ...     why.provenance.run, why.provenance.turn, [event.action for event in why.events]
        ('chat-7', 3, ['written'])
        >>> folder.cleanup()
        """
        checked_scope(scope)
        with self._context.snapshot() as connection:
            row = find_row(connection, id, scope)
            if row is None or not is_visible(row, scope):
                return None
            rows = connection.execute(
                "SELECT number, at, record, what, by, detail FROM memory_log "
                "WHERE +tenant = ? AND user = ? AND record = ? ORDER BY number",
                (row.tenant, row.user, id),
            ).fetchall()
            superseded: list[Any] = []
            observed: list[Any] = []
            if row.kind in ("fact", "preference"):
                agent = "agent" if row.kind == "fact" else "''"
                superseded = connection.execute(
                    f"SELECT id, tenant, user, {agent}, created_at FROM {KINDS[row.kind]} "
                    "WHERE tenant = ? AND user IN ('', ?) AND superseded_by = ? ORDER BY created_at, id",
                    (scope.tenant, scope.user or "", id),
                ).fetchall()
            if isinstance(row, FactRow):
                observed = connection.execute(
                    "SELECT run FROM memory_observation WHERE tenant = ? AND (fact = ? OR hash = ?) "
                    "GROUP BY run ORDER BY min(at), run",
                    (row.tenant, id, row.hash),
                ).fetchall()
            return decoded("its history", id, lambda: self._why(row, scope, rows, superseded, observed))

    def _why(
        self, row: Row, scope: Scope, rows: list[Any], superseded: list[Any], observed: list[Any]
    ) -> Why:
        visible = scope.visible()
        for _, _, record, what, by, _ in rows:
            if not are_texts(record, what) or not are_texts(by, optional=True):
                raise CorruptIndexError("an event of its log cannot be read")
        if not are_texts(*(old for old, *_ in superseded), *(run for (run,) in observed)):
            raise CorruptIndexError("the facts it superseded or its observers cannot be read")
        return Why(
            record_of(row),
            tuple(
                Event(as_moment(at), record, what, by, self._detail(row.tenant, number, detail))
                for number, at, record, what, by, detail in rows
            ),
            tuple(old for old, *names, _ in superseded if scope_of(*names) in visible),
            getattr(row, "superseded_by", None),
            tuple(run for (run,) in observed) or (row.source_run,),
        )

    def rejections(self, scope: Scope, limit: int = 100) -> list[Rejection]:
        """Return the proposals that the gate rejected in exactly this scope, newest first.

        Args:
            scope: the scope of the proposals.
            limit: the maximum number.
        """
        checked_scope(scope)
        limit = checked_count(limit, "limit")
        if not self._context.is_readable(scope):
            return []
        with self._context.reading() as connection:
            return rejections_of(connection, self._context.store.cipher, scope, limit)

    def _detail(self, tenant: str, number: int, sealed: Any) -> Any:
        return opened_in(
            self._context.store.cipher, tenant, place_in("memory_log", "detail", number, ()), sealed
        )
