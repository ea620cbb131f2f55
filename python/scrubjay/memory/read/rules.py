"""Policies in force and preferences of a scope: a look-up, never a search.

The answer is cached until something changes that it depends on: a policy, global or of the tenant, a preference of the
tenant or the user (triggers of the schema number all of them, so changes of any process are noticed), or the time at
which one of them begins or ends.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.locks import renew_in_children
from scrubjay.documents.payload import CreatedAt
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.rows import as_row, opener, raw_rows_where, rows_where
from scrubjay.memory.model.content import checked_str
from scrubjay.memory.model.precedence import EVERYWHERE, prevailing, tenant_of
from scrubjay.memory.model.records import Known, Policy, Record
from scrubjay.memory.model.row_records import record_of
from scrubjay.memory.model.rows import Row
from scrubjay.memory.model.sensitivity import checked_without
from scrubjay.memory.read.time_axes import PastRecords, QueryTime, moment_asked

_MAX_KEPT = 10_000
_NEVER = 1 << 62
_POLICIES = "tenant IN ('', ?) AND status = 'active' AND (effective_until IS NULL OR effective_until > ?) "
_PREFERENCES = (
    "tenant = ? AND user IN ('', ?) AND status = 'active' AND (expires_at IS NULL OR expires_at > ?) "
)
# The entry ('', '') grows when global policies change, and when names, and their stamps with them, are erased.
_STAMPS = (
    "SELECT tenant, user, version FROM memory_stamp WHERE (tenant = ? AND user IN ('', ?)) "
    "OR (tenant = '' AND user = '') ORDER BY tenant, user"
)


class _CachedRules(NamedTuple):
    version: object  # of the rows; unchanged while none is written
    stamps: list[tuple[str, str, int]]
    since: int  # guards against clocks that are set back
    until: int
    known: Known
    made: dict[str, tuple[Row, Record]]  # by id; records of unchanged rows are reused


class Rules:
    """The policies and preferences that a scope has to follow, whatever the question."""

    def __init__(self, context: MemoryContext) -> None:
        self._context = context
        self._kept: dict[tuple[str, str], _CachedRules] = {}
        self._kept_lock = threading.Lock()
        renew_in_children(self, "_kept_lock")

    def known(
        self,
        scope: Scope,
        *,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
        without: Sequence[str] = (),
    ) -> Known:
        """Return all policies in force for the tenant and all preferences of the user, each ordered by key.

        Nothing is ranked and nothing is left out. A tenant's policy overrides a global one with its key, unless the
        global one is mandatory; a user's preference overrides one of the whole tenant. Programs read
        ``known["refunds"].value``.

        Args:
            scope: the scope of the caller.
            as_of: the time at which they must be in force (datetime, ISO 8601, seconds since 1970); None: now.
            known_at: as they were known at this time; None: now. See :mod:`scrubjay.memory.read.time_axes`.
            without: sensitivity classes to exclude. A record that an excluded one overrides is not returned in its
                place.

        Raises:
            TypeError, ValueError: `scope` is not a Scope, a time is invalid, or `without` is not a sequence of classes.
        """
        if not isinstance(without, tuple) or without:
            return _without(self.known(scope, as_of=as_of, known_at=known_at), checked_without(without))
        checked_scope(scope)
        if as_of is not None or known_at is not None:
            return self._known_then(scope, moment_asked(self._context.clock, as_of, known_at))
        store, now = self._context.store, self._context.clock()
        if store.cipher.ring is not None and not self._context.is_readable(Scope(scope.tenant)):
            self.clear(scope.tenant)
            return Known((), ())
        key = (scope.tenant, self._user(scope))
        version = self._context.version()
        cached = self._kept.get(key)
        if cached is not None and cached.since <= now < cached.until:
            if version is not None and cached.version == version:
                return cached.known
            with self._context.reading() as connection:
                if connection.execute(_STAMPS, key).fetchall() == cached.stamps:
                    self._kept[key] = cached._replace(version=version)
                    return cached.known
        with self._context.snapshot() as connection:
            stamps = connection.execute(_STAMPS, key).fetchall()
            known, until, made = _look_up(connection, key, now, {} if cached is None else cached.made)
        if len(self._kept) >= _MAX_KEPT:
            self.clear()
        self._kept[key] = _CachedRules(version, stamps, now, until, known, made)
        return known

    def _user(self, scope: Scope) -> str:
        """Return the user whose preferences count; '' if the user's key was destroyed."""
        cipher = self._context.store.cipher
        if scope.user is None or (cipher.ring is not None and cipher.is_erased(scope.tenant, scope.user)):
            return ""
        return scope.user

    def _known_then(self, scope: Scope, moment: QueryTime | None) -> Known:
        """Return the answer for another time, from the rows."""
        assert moment is not None
        if not self._context.is_readable(Scope(scope.tenant)):
            return Known((), ())
        tenant, user = scope.tenant, self._user(scope)
        newest: dict[str, dict[str, Any]] = {EVERYWHERE: {}, tenant: {}}
        preferences: dict[str, Any] = {}
        with self._context.snapshot() as connection:
            past = PastRecords(connection, moment, self._context.is_single)
            policies = "tenant IN ('', ?) ORDER BY version"
            for row in rows_where(connection, "policy", policies, (tenant,)):
                if (then := past.in_force(row)) is not None:
                    newest[row.tenant][row.key] = record_of(then)
            wishes = "tenant = ? AND user IN ('', ?) ORDER BY user, created_at"
            for row in rows_where(connection, "preference", wishes, (tenant, user)):
                if (then := past.in_force(row)) is not None:
                    preferences[row.key] = record_of(then)
        ruling = prevailing(newest[tenant], newest[EVERYWHERE].values())
        return Known(tuple(ruling), tuple(preferences[key] for key in sorted(preferences)))

    def clear(self, tenant: str | None = None) -> None:
        """Clear cached answers of one tenant, or all."""
        with self._kept_lock:
            self._kept = (
                {}
                if tenant is None
                else {key: state for key, state in self._kept.copy().items() if key[0] != tenant}
            )

    def policies(self, tenant: str | Scope | None, key: str | None = None) -> list[Policy]:
        """Return all versions of a tenant's policies (None: of the global ones), or those of one key, of any status,
        by key and version."""
        name = EVERYWHERE if tenant is None else tenant_of(tenant).tenant
        condition, values = "tenant = ?", [name]
        if key is not None:
            condition, values = "tenant = ? AND key = ?", [name, checked_str(key, "key")]
        with self._context.reading() as connection:
            rows = rows_where(connection, "policy", f"{condition} ORDER BY key, version", values)
            return [record_of(row) for row in rows]  # type: ignore[misc]


def _without(known: Known, classes: frozenset[str]) -> Known:
    """Return the records without some classes; the same object if nothing is excluded."""
    policies = tuple(record for record in known.policies if record.sensitivity not in classes)
    preferences = tuple(record for record in known.preferences if record.sensitivity not in classes)
    if len(policies) + len(preferences) == len(known):
        return known
    return Known(policies, preferences)


def _look_up(
    connection: sqlite3.Connection, key: tuple[str, str], now: int, held: Mapping[str, tuple[Row, Record]]
) -> tuple[Known, int, dict[str, tuple[Row, Record]]]:
    """Return what is in force now, the time until which time alone changes nothing, and the records by id."""
    tenant, user = key
    until = _NEVER
    made: dict[str, tuple[Row, Record]] = {}
    newest: dict[str, dict[str, Any]] = {EVERYWHERE: {}, tenant: {}}
    preferences: dict[str, Any] = {}
    open_row = opener(connection)

    def look(kind: str, condition: str, values: Sequence[Any]) -> Iterator[tuple[Row, Record]]:
        for found in raw_rows_where(connection, kind, condition, values):
            old = held.get(found[0])
            if old is None or old[0] != found:
                row = as_row(kind, found)
                old = (row, record_of(open_row(row)))  # checks that the values are what was written
            made[found[0]] = old
            yield old

    for row, record in look("policy", _POLICIES + "ORDER BY version", (tenant, now)):
        if row.begins_at is not None and row.begins_at > now:
            until = min(until, row.begins_at)
            continue
        if row.expires_at is not None:
            until = min(until, row.expires_at)
        newest[row.tenant][row.key] = record  # type: ignore[union-attr]
    for row, record in look("preference", _PREFERENCES + "ORDER BY user", (tenant, user, now)):
        if row.expires_at is not None:
            until = min(until, row.expires_at)
        preferences[row.key] = record  # type: ignore[union-attr]  # the user's own overwrites the tenant's
    policies = prevailing(newest[tenant], newest[EVERYWHERE].values())
    return Known(tuple(policies), tuple(preferences[key] for key in sorted(preferences))), until, made
