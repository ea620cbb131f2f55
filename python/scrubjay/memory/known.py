"""What holds for a scope, whatever is asked? All policies in force and all preferences: a look-up, never a search.

The answer is kept until something changes that it depends on: a policy of the tenant, a preference of the user (both
are numbered by triggers in the schema, so it does not matter which process changed them), or the time at which one of
them begins or ends.
"""

from __future__ import annotations

import threading
from datetime import datetime
from typing import NamedTuple

from scrubjay._native import Scope
from scrubjay.memory.base import Ground, checked_scope
from scrubjay.memory.content import checked_str
from scrubjay.memory.gate import Gate
from scrubjay.memory.records import (
    Known,
    Outcome,
    Policy,
    PolicyCandidate,
    Preference,
    PreferenceCandidate,
    Provenance,
)
from scrubjay.memory.rows import record_of, rows_where
from scrubjay.payload import CreatedAt

__all__ = ["KnownScopes"]

_MAX_KEPT = 10_000
_NEVER = 1 << 62
_STAMPS = "SELECT user, version FROM memory_stamp WHERE tenant = ? AND user IN ('', ?)"


class _Kept(NamedTuple):
    glance: object  # of the file: while it is the same nothing was written at all
    stamps: list[tuple[str, int]]
    until: int
    known: Known


class KnownScopes(Gate, Ground):
    """The part of a memory that looks up, and writes what is looked up."""

    _kept: dict[tuple[str, str], _Kept]
    _kept_lock: threading.Lock

    def known(self, scope: Scope) -> Known:
        """Return all policies in force for the tenant and all preferences of the user, each in the order of its keys.

        Nothing is ranked and nothing left out. A scope without a user has no preferences.

        Raises:
            TypeError: `scope` is none.
        """
        checked_scope(scope)
        key = (scope.tenant, scope.user or "")
        store, now = self.store, self.clock()
        glance = store.glance()  # before looking: what is written meanwhile is noticed the next time
        kept = self._kept.get(key)
        if kept is not None and now < kept.until:
            if kept.glance == glance:
                return kept.known
            with self.reading() as connection:
                if connection.execute(_STAMPS, key).fetchall() == kept.stamps:
                    self._kept[key] = kept._replace(glance=glance)
                    return kept.known
        with self.snapshot() as connection:
            stamps = connection.execute(_STAMPS, key).fetchall()
            known, until = _look_up(connection, key, now)
        if len(self._kept) >= _MAX_KEPT:
            self.forget_known()
        self._kept[key] = _Kept(glance, stamps, until, known)
        return known

    def forget_known(self, tenant: str | None = None) -> None:
        """Let go of answers that are kept: of one tenant, or all."""
        with self._kept_lock:
            self._kept = (
                {}
                if tenant is None
                else {key: kept for key, kept in self._kept.copy().items() if key[0] != tenant}
            )

    # ------------------------------------------------------------------ policies

    def policy(
        self,
        key: str,
        text: str,
        *,
        tenant: str | Scope,
        effective_from: CreatedAt | None = None,
        effective_until: CreatedAt | None = None,
        by: str | None = None,
        source: Provenance | str = "admin",
    ) -> Outcome:
        """Write the next version of a policy. It is provisional; with `by`, who confirms it, it is in force at once.

        Args:
            key: what it is about. Of the confirmed versions of a key that are within their times, the newest is in
                force.
            text: the rule.
            tenant: whose.
            effective_from, effective_until: when it is in force; by default from now on, for good.
            by: who takes responsibility; see :meth:`confirm`.
            source: the run that it comes from.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        scope = Scope(tenant.tenant) if isinstance(tenant, Scope) else Scope(tenant)
        candidate = PolicyCandidate(key, text, effective_from, effective_until)
        outcome = self.propose(candidate, scope=scope, source=source)
        _raised(outcome)
        if by is not None and not outcome.active and outcome.id is not None:
            return self.confirm(outcome.id, by=by, scope=scope)
        return outcome

    def policies(self, tenant: str | Scope, key: str | None = None) -> list[Policy]:
        """Return all versions of a tenant's policies, or of one key of them, of whatever status, by key and version."""
        name = tenant.tenant if isinstance(tenant, Scope) else Scope(tenant).tenant
        condition, values = "tenant = ?", [name]
        if key is not None:
            condition, values = "tenant = ? AND key = ?", [name, checked_str(key, "key")]
        with self.reading() as connection:
            found = rows_where(connection, "policy", f"{condition} ORDER BY key, version", values)
            return [record_of(row) for row in found]  # type: ignore[misc]

    # ------------------------------------------------------------------ preferences

    def prefer(
        self,
        key: str,
        text: str,
        *,
        scope: Scope,
        source: str = "user_stated",
        confidence: float = 1.0,
        expires_at: CreatedAt | datetime | None = None,
        ttl: float | None = None,
        provenance: Provenance | str = "direct",
    ) -> Outcome:
        """Write a preference of a user: the same as proposing a :class:`PreferenceCandidate`.

        Raises:
            TypeError, ValueError: the message names the argument, what was expected and what was given.
        """
        candidate = PreferenceCandidate(key, text, source, confidence, expires_at, ttl)
        return self.propose(candidate, scope=scope, source=provenance)


def _look_up(connection: object, key: tuple[str, str], now: int) -> tuple[Known, int]:
    """What is in force now, and until when nothing changes by itself."""
    tenant, user = key
    until = _NEVER
    newest: dict[str, Policy] = {}
    condition = "tenant = ? AND status = 'active' AND (effective_until IS NULL OR effective_until > ?) ORDER BY key, version"
    for row in rows_where(connection, "policy", condition, (tenant, now)):  # type: ignore[arg-type]
        if row.begins_at > now:
            until = min(until, row.begins_at)
            continue
        if row.expires_at is not None:
            until = min(until, row.expires_at)
        newest[row.key] = record_of(row)  # type: ignore[assignment]
    preferences: list[Preference] = []
    if user:
        condition = (
            "tenant = ? AND user = ? AND status = 'active' AND (expires_at IS NULL OR expires_at > ?) "
        )
        condition += "ORDER BY key"
        for row in rows_where(connection, "preference", condition, (tenant, user, now)):  # type: ignore[arg-type]
            if row.expires_at is not None:
                until = min(until, row.expires_at)
            preferences.append(record_of(row))  # type: ignore[arg-type]
    return Known(tuple(newest.values()), tuple(preferences)), until


def _raised(outcome: Outcome) -> None:
    if outcome.status == "rejected":
        raise ValueError(outcome.reason)
