"""Why is something known, what was refused, what was deleted?"""

from __future__ import annotations

import json
from typing import Any

from scrubjay._native import Scope
from scrubjay.memory.base import Ground, checked_scope
from scrubjay.memory.making import as_moment, record_of
from scrubjay.memory.records import Deletion, Event, Rejection, Why
from scrubjay.memory.rows import FactRow, find_row, is_visible
from scrubjay.memory.schema import KINDS
from scrubjay.memory.sealing import opened_cell, place_in
from scrubjay.store.partition import visible_from
from scrubjay.store.reading import names_of, scope_of

__all__ = ["History"]


class History(Ground):
    """The part of a memory that looks back."""

    def why(self, id: str, *, scope: Scope) -> Why | None:
        """Return where a record comes from and what happened to it, whatever its status; None if `scope` sees none.

        >>> import tempfile
        >>> from scrubjay import Memory, Provenance
        >>> folder, jane = tempfile.TemporaryDirectory(), Scope("acme", user="jane")
        >>> with Memory.open(folder.name + "/memory.scrubjay") as memory:
        ...     source = Provenance(run="chat-7", turn=3, author="jane")
        ...     outcome = memory.propose("Jane lives in Oslo", scope=jane, source=source)
        ...     why = memory.why(outcome.id, scope=jane)
        ...     why.provenance.run, why.provenance.turn, [event.what for event in why.events]
        ('chat-7', 3, ['written'])
        >>> folder.cleanup()
        """
        checked_scope(scope)
        with self.snapshot() as connection:
            row = find_row(connection, id)
            if row is None or not is_visible(row, scope):
                return None
            found = connection.execute(
                "SELECT number, at, record, what, by, detail FROM memory_log WHERE record = ? ORDER BY number",
                (id,),
            ).fetchall()
            superseded: list[Any] = []
            observed: list[Any] = []
            if row.kind in ("fact", "preference"):
                agent = "agent" if row.kind == "fact" else "''"
                superseded = connection.execute(
                    f"SELECT id, tenant, user, {agent} FROM {KINDS[row.kind]} WHERE superseded_by = ? "
                    "ORDER BY created_at, id",
                    (id,),
                ).fetchall()
            if isinstance(row, FactRow):
                observed = connection.execute(
                    "SELECT DISTINCT run FROM memory_observation WHERE tenant = ? AND (fact = ? OR hash = ?) "
                    "ORDER BY at, run",
                    (row.tenant, id, row.hash),
                ).fetchall()
        visible = visible_from(scope)
        return Why(
            record_of(row),
            tuple(
                Event(as_moment(at), record, what, by, self._detail(row.tenant, number, detail))
                for number, at, record, what, by, detail in found
            ),
            tuple(old for old, *names in superseded if scope_of(*names) in visible),
            getattr(row, "superseded_by", None),
            tuple(run for (run,) in observed) or (row.source_run,),
        )

    def rejections(self, scope: Scope, limit: int = 100) -> list[Rejection]:
        """Return what the gate refused in exactly this scope, newest first."""
        checked_scope(scope)
        if not self.is_readable(scope):
            return []
        with self.reading() as connection:
            found = connection.execute(
                "SELECT number, at, kind, reason, content, source_run, source_turn, author FROM memory_rejection "
                "WHERE tenant = ? AND user = ? AND agent = ? ORDER BY number DESC LIMIT ?",
                (*names_of(scope), max(limit, 0)),
            ).fetchall()
        _, user, agent = names_of(scope)
        rejections = []
        for number, at, kind, reason, content, *source in found:
            said = [
                self._opened(scope.tenant, place_in("memory_rejection", column, number, (user, agent)), kept)
                for column, kept in (("reason", reason), ("content", content))
            ]
            rejections.append(Rejection(as_moment(at), scope, kind, *said, *source))
        return rejections

    def _detail(self, tenant: str, number: int, kept: Any) -> Any:
        return self._opened(tenant, place_in("memory_log", "detail", number, ()), kept)

    def _opened(self, tenant: str, place: str, kept: Any) -> Any:
        cipher = self.store.cipher
        return opened_cell(cipher, tenant, place, kept, as_bytes=False, whole=cipher.is_whole(tenant))

    def deletions(self, tenant: str) -> list[Deletion]:
        """Return the deletion events of a tenant, oldest first."""
        with self.reading() as connection:
            found = connection.execute(
                "SELECT at, user, agent, reason, by, counts FROM memory_deletion WHERE tenant = ? ORDER BY number",
                (Scope(tenant).tenant,),
            ).fetchall()
        return [
            Deletion(as_moment(at), scope_of(tenant, user, agent), reason, by, json.loads(counts))
            for at, user, agent, reason, by, counts in found
        ]
