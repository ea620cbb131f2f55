"""Sweeping: expired records are deleted, facts age, histories are kept for a limited time."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag
from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.memory.gate.promotion import Promotion
from scrubjay.memory.ledger.context import MemoryContext, absent, checked_scope
from scrubjay.memory.ledger.deletions import note_deletion
from scrubjay.memory.ledger.documents import documents_in, remove_documents
from scrubjay.memory.ledger.holds import HELD, is_held
from scrubjay.memory.ledger.log import log, log_gone
from scrubjay.memory.ledger.rows import as_row, find_row, opener, raw_rows_where
from scrubjay.memory.ledger.schema import KINDS, erasing
from scrubjay.memory.ledger.sealing import is_file
from scrubjay.memory.ledger.trace import sweep_traces
from scrubjay.memory.ledger.versions import IS_VERSION, delete_versions
from scrubjay.memory.model.rows import EpisodeRow, FactRow, is_visible, scope_in
from scrubjay.memory.model.statements import is_in_force
from scrubjay.memory.read.rules import Rules
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.writing.write_batches import Change

_DAY_US = 86_400_000_000


@dataclass(frozen=True)
class Swept:
    """Counts of a sweep."""

    expired: int
    """Expired records, and facts too weak to keep."""
    let_go: int
    """Rows that were kept only for look-ups: superseded and revoked records, rejections."""
    faded: int
    """Facts that are ranked lower from now on."""
    traces: int
    """Trace events past their retention time."""


class Sweeping:
    """Ages facts that are not used, and deletes records whose time is over."""

    def __init__(self, context: MemoryContext, promotion: Promotion, rules: Rules) -> None:
        self._context = context
        self._promotion = promotion
        self._rules = rules

    def sweep(self) -> Swept:
        """Delete expired records, let facts age, and delete rows that were kept only for :meth:`Memory.why`.

        Searches and look-ups skip expired records in any case. Revoked records, superseded preferences and rejections
        are kept for `retention_days`; superseded facts, facts whose time is over and versions from before an edit for
        `history_days`; traces as long as their retention class says. It takes one transaction, over PostgreSQL one for
        each tenant. Rows of an encrypted tenant whose key is unavailable now stay until it is available.
        """
        with self._context.reading() as connection:
            is_one = is_file(connection)
            tenants = [] if is_one else self._due(connection)
        parts = [self._sweep(None)] if is_one else [self._sweep(tenant) for tenant in tenants]
        self._rules.clear()
        return Swept(*(sum(counts) for counts in zip(*parts, strict=True))) if parts else Swept(0, 0, 0, 0)

    def _due(self, connection: sqlite3.Connection) -> list[str]:
        """Return the tenants for which a sweep may find something, in alphabetical order."""
        settings, now = self._context.settings, self._context.clock()
        before = now - int(settings.retention_days * _DAY_US)
        past = now if settings.history_days is None else now - int(settings.history_days * _DAY_US)
        old = "expires_at <= ? OR status <> 'active' AND updated_at < ?"
        rows = connection.execute(
            f"SELECT tenant FROM memory_preference WHERE {old} UNION SELECT tenant FROM memory_episode WHERE {old} "
            f"UNION SELECT tenant FROM memory_fact WHERE {old} OR valid_until < ? OR confidence < ? "
            "UNION SELECT tenant FROM memory_rejection WHERE at < ? "
            "UNION SELECT tenant FROM memory_event WHERE expires_at <= ? ORDER BY tenant",
            (*(now, before) * 2, now, max(before, past), past, settings.decay.keep_from, before, now),
        ).fetchall()
        return [tenant for (tenant,) in rows]

    def _sweep(self, tenant: str | None) -> tuple[int, int, int, int]:
        """Sweep one tenant, or all; return the counts of :class:`Swept`."""
        away = self._context.store.tenants_without_key()
        with self._context.changing("sweeping memory", of=[] if tenant is None else [tenant]) as change:
            with erasing(change.connection):
                expired = self._expire(change, away, tenant)
                faded = self._age(change, expired, tenant)
                let_go = self._let_go(change, away, tenant)
                n_traces = sweep_traces(change.connection, change.now, away, tenant)
            for names, counts in expired.items():
                note_deletion(change, scope_of(*names), "expired", None, counts)
        n_expired = sum(sum(counts.values()) for counts in expired.values())
        return n_expired, let_go, faded, n_traces

    def _expire(
        self, change: Change, away: Collection[str], tenant: str | None
    ) -> dict[tuple[str, str, str], dict[str, int]]:
        expired: dict[tuple[str, str, str], dict[str, int]] = {}
        held = is_held(change.connection)
        whose, names = _of_tenant(tenant)
        for kind in ("preference", "fact", "episode"):
            for found in raw_rows_where(
                change.connection, kind, f"expires_at <= ?{whose}", (change.now, *names)
            ):
                row: Any = as_row(kind, found)
                if not isinstance(row.expires_at, int):
                    raise CorruptIndexError(f"{kind}.expires_at cannot be read", id=row.id)
                scope_in(row)
                if row.tenant not in away and not held(row):
                    self._delete_row(change, row, expired)  # also rows whose key was destroyed
        return expired

    def _delete_row(
        self, change: Change, row: Any, expired: dict[tuple[str, str, str], dict[str, int]]
    ) -> None:
        change.connection.execute(f"DELETE FROM {KINDS[row.kind]} WHERE id = ?", (row.id,))
        change.connection.execute("DELETE FROM memory_log WHERE record = ?", (row.id,))
        log_gone(change, row.id, (row.tenant, row.user, row.agent), "expired")
        remove_documents(change, row, "expired")
        if row.kind == "fact":
            delete_versions(change, row, "expired")
            self._promotion.unshare(change, row)
        counts = expired.setdefault((row.tenant, row.user, row.agent), {})
        counts[row.kind] = counts.get(row.kind, 0) + 1

    def _age(
        self, change: Change, expired: dict[tuple[str, str, str], dict[str, int]], tenant: str | None
    ) -> int:
        decay, n_faded, held = self._context.settings.decay, 0, is_held(change.connection)
        whose, names = _of_tenant(tenant)
        weak = raw_rows_where(
            change.connection,
            "fact",
            f"status = 'active' AND confidence < ? AND last_used_at < ?{whose}",
            (decay.keep_from, change.now - _DAY_US, *names),
        )
        for found in weak:
            row: Any = as_row("fact", found)
            if [type(value) for value in (row.uses, row.last_used_at)] != [int, int]:
                raise CorruptIndexError("fact.uses or fact.last_used_at cannot be read", id=row.id)
            strength = decay.strength_now(row.confidence, row.uses, row.last_used_at, change.now)
            if not self._has_key(row.tenant, row.user):
                continue
            if strength < decay.expire_below and not held(row):
                self._delete_row(change, row, expired)
            elif (
                strength < decay.sink_below
                and not row.faded
                and self._context.store.cipher.readable(row.tenant, row.user)
            ):
                row = opener(change.connection)(row)
                change.connection.execute("UPDATE memory_fact SET faded = 1 WHERE id = ?", (row.id,))
                documents_in(change).put(row._replace(faded=1), before=row)
                log(change, row.id, "faded")
                n_faded += 1
        return n_faded

    def _has_key(self, tenant: str, user: str) -> bool:
        """Whether a user's rows can be read now; rows that cannot be read age later."""
        try:
            return bool(self._context.store.cipher.openable(tenant, user))
        except EncryptionError:
            return False

    def _let_go(self, change: Change, away: Collection[str], tenant: str | None) -> int:
        """Delete rows that were kept only for look-ups, once their time is over."""
        before = change.now - int(self._context.settings.retention_days * _DAY_US)
        conditions = [
            ("preference", "status IN ('superseded', 'revoked') AND updated_at < ?", before),
            ("episode", "status = 'revoked' AND updated_at < ?", before),
            ("fact", f"status = 'revoked' AND NOT {IS_VERSION} AND updated_at < ?", before),
        ]
        if self._context.settings.history_days is not None:
            past = change.now - int(self._context.settings.history_days * _DAY_US)
            conditions += [
                ("fact", "status = 'superseded' AND updated_at < ?", past),
                ("fact", f"{IS_VERSION} AND updated_at < ?", past),
                ("fact", "status = 'active' AND valid_until < ?", past),
            ]
        whose, names = _of_tenant(tenant)
        others = (f" AND tenant NOT IN ({', '.join('?' * len(away))})" if away else "") + whose
        execute, n, held = change.connection.execute, 0, is_held(change.connection)
        for kind, condition, limit in conditions:
            for found in raw_rows_where(change.connection, kind, condition + others, (limit, *away, *names)):
                row: Any = as_row(kind, found)
                if held(row):
                    continue
                execute("DELETE FROM memory_log WHERE record = ?", (row.id,))
                execute(f"DELETE FROM {KINDS[kind]} WHERE id = ?", (row.id,))
                log_gone(change, row.id, (row.tenant, row.user, row.agent), "expired")
                if kind == "fact":
                    remove_documents(change, row, "history")
                    delete_versions(change, row, "history")
                n += 1
        table = "memory_rejection"
        spared = f" AND NOT {HELD.format(row=table, user=f'{table}.user', agent=f'{table}.agent')}"
        n += execute(
            f"DELETE FROM memory_rejection WHERE at < ?{others}{spared}", (before, *away, *names)
        ).rowcount
        return n

    def feedback(self, id: str, used: bool = True, *, scope: Scope) -> None:
        """Record that a fact or episode was useful (or was not): facts in use do not fade.

        Args:
            id: the id of the record.
            used: whether it was useful.
            scope: the scope of the caller; the record may be shared with it.

        Raises:
            KeyError: no such record is in force and visible to `scope`.
        """
        checked_scope(scope)
        used = checked_flag(used, "used")
        with self._context.changing("noting use", of=[scope, Scope(scope.tenant)]) as change:
            row = find_row(change.connection, id, scope)
            if (
                not isinstance(row, (FactRow, EpisodeRow))
                or not is_visible(row, scope)
                or not is_in_force(row, change.now)
            ):
                raise absent(id)
            if not used:
                change.connection.execute(
                    f"UPDATE {KINDS[row.kind]} SET uses = CASE WHEN uses > 0 THEN uses - 1 ELSE 0 END WHERE id = ?",
                    (id,),
                )
                return
            change.connection.execute(
                f"UPDATE {KINDS[row.kind]} SET uses = uses + 1, last_used_at = ? WHERE id = ?",
                (change.now, id),
            )
            if isinstance(row, FactRow) and row.faded:
                change.connection.execute("UPDATE memory_fact SET faded = 0 WHERE id = ?", (id,))
                documents_in(change).put(row._replace(faded=0), before=row)
                log(change, id, "revived")


def _of_tenant(tenant: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition, and its parameters, that restricts a sweep to a tenant."""
    return ("", ()) if tenant is None else (" AND tenant = ?", (tenant,))
