"""Records one by one and in lists, as a scope sees them, now or at another time.

To a caller, an unknown id and an id of another scope are the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import cast

from scrubjay._native import Scope
from scrubjay.errors import CorruptIndexError
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.making import record_of
from scrubjay.memory.ledger.rows import FactRow, Row, find_row, is_visible, rows_where
from scrubjay.memory.ledger.schema import KINDS
from scrubjay.memory.ledger.statements import facts_of_slot, is_in_force, topics_in
from scrubjay.memory.model.content import checked_str, normalised
from scrubjay.memory.model.records import Fact, Record
from scrubjay.memory.read.moments import Moment, moment_asked, was_in_force
from scrubjay.payload import CreatedAt
from scrubjay.store.listing import warn_of
from scrubjay.store.reading import names_of

__all__ = ["Lookup"]


class Lookup:
    """Reads records without ranking them.

    Args:
        context: of the memory.
    """

    def __init__(self, context: MemoryContext) -> None:
        self._context = context

    def get(
        self,
        id: str,
        scope: Scope,
        hidden: bool = False,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
    ) -> Record | None:
        """Return a record that `scope` sees and that is in force, or None.

        Args:
            id: of the record.
            scope: who asks.
            hidden: also if it is provisional, superseded, revoked, expired or not in force at the time.
            as_of: when it has to be in force (datetime, ISO 8601, seconds since 1970); None: now.
            known_at: by what was known then; None: by all that is known. See :mod:`scrubjay.memory.read.moments`.
        """
        checked_scope(scope)
        moment = moment_asked(self._context.clock, as_of, known_at)
        with self._context.snapshot() as connection:
            row = find_row(connection, id)
            if row is None or not is_visible(row, scope):
                return None
            if not hidden and not self._is_asked_for(connection, row, moment):
                return None
            return record_of(row, self._context.clock())

    def history(self, subject: str, predicate: str, scope: Scope) -> list[Fact]:
        """Return all facts of one slot that `scope` sees, whatever their status, in the order of the times at which
        they begin, or were said: what was so when, by all that is known (`Fact.holds`), and why (`superseded_by`).

        Args:
            subject, predicate: what they are about; synonyms of the predicate count as the same.
            scope: who asks.
        """
        checked_scope(scope)
        subject, predicate = checked_str(subject, "subject"), checked_str(predicate, "predicate")
        found: list[Fact] = []
        now = self._context.clock()
        with self._context.snapshot() as connection:
            for one in scope.visible():
                topics = topics_in(connection, one.tenant, subject, predicate)
                if topics and self._context.is_readable(one):
                    rows = facts_of_slot(connection, names_of(one), topics)
                    found += [cast(Fact, record_of(row, now)) for row in rows]

        def begins(fact: Fact) -> tuple[datetime, datetime, str]:
            assert fact.said_at is not None and fact.recorded_at is not None
            begin = fact.holds[0][0] if fact.holds else fact.valid_from or fact.said_at
            return begin, fact.recorded_at, fact.id

        return sorted(found, key=begins)

    def list(
        self,
        scope: Scope,
        kinds: Sequence[str] = tuple(KINDS),
        hidden: bool = False,
        exact: bool = False,
        limit: int | None = None,
        subject: str | None = None,
        run: str | None = None,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
    ) -> list[Record]:
        """Return the records that `scope` sees, kind by kind, oldest first.

        Args:
            scope: who asks.
            kinds: which, in this order.
            hidden: also those that are provisional, superseded, revoked, expired or not in force at the time.
            exact: only those of exactly this scope (a tenant's policies are those of its scope without a user; global
                policies are of no scope).
            limit: how many at most.
            subject: only facts about it, whatever their predicate; case and spaces do not matter.
            run: only what comes from this run (`Provenance.run`).
            as_of: when they have to be in force (datetime, ISO 8601, seconds since 1970); None: now.
            known_at: by what was known then; None: by all that is known. See :mod:`scrubjay.memory.read.moments`.

        Records that are damaged in the file are left out, and named in a
        :class:`~scrubjay.CorruptDataWarning`.
        """
        checked_scope(scope)
        if isinstance(kinds, str):
            raise TypeError("kinds: expected a sequence of kinds, got one str")
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"kinds: expected some of {', '.join(KINDS)}, got {kind!r}")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
            raise TypeError(f"limit: expected an int, got {type(limit).__name__}")
        is_wanted = _selection(subject, run)
        seen = [scope] if exact else scope.visible()
        moment = moment_asked(self._context.clock, as_of, known_at)
        now = self._context.clock()
        found: list[Record] = []
        damaged: list[str] = []
        with self._context.snapshot() as connection:
            for kind in dict.fromkeys(kinds):
                rows: list[Row] = []
                for one in seen:
                    tenant, user, agent = names_of(one)
                    if kind == "policy":
                        if not user and not agent:
                            owners = "tenant = ?" if exact else "tenant IN ('', ?)"
                            rows += rows_where(connection, kind, owners, (tenant,), damaged=damaged)
                    elif kind == "preference":
                        if not agent:
                            rows += rows_where(
                                connection, kind, "tenant = ? AND user = ?", (tenant, user), damaged=damaged
                            )
                    else:
                        rows += rows_where(
                            connection,
                            kind,
                            "tenant = ? AND user = ? AND agent = ?",
                            (tenant, user, agent),
                            damaged=damaged,
                        )
                rows.sort(key=lambda row: (row.created_at, row.id))
                for row in rows:
                    try:
                        if is_wanted(row) and (hidden or self._is_asked_for(connection, row, moment)):
                            found.append(record_of(row, now))
                    except CorruptIndexError as error:
                        damaged.append(f"{kind} {row.id!r}: {error.what}")
        warn_of(damaged, self._context.store.path)
        return found if limit is None else found[: max(limit, 0)]

    def _is_asked_for(self, connection: sqlite3.Connection, row: Row, moment: Moment | None) -> bool:
        """Whether a record is in force at the time that is asked for."""
        if moment is None:
            return is_in_force(row, self._context.clock())
        return was_in_force(connection, row, moment, self._context.is_single)


def _selection(subject: str | None, run: str | None) -> Callable[[Row], bool]:
    """Return whether a row is about a subject and comes from a run; None: of any."""
    about = None if subject is None else normalised(checked_str(subject, "subject"))
    if run is not None:
        checked_str(run, "run")

    def is_wanted(row: Row) -> bool:
        if run is not None and row.source_run != run:
            return False
        return about is None or (isinstance(row, FactRow) and normalised(row.subject) == about)

    return is_wanted
