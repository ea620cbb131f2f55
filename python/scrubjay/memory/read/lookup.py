"""Look-ups and listings of the records visible to a scope, now or at another time.

Callers cannot tell an unknown id from an id of another scope.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from scrubjay._native import Scope
from scrubjay.base.arguments import checked_flag
from scrubjay.base.errors import CorruptIndexError
from scrubjay.documents import payload
from scrubjay.documents.payload import CreatedAt
from scrubjay.memory.ledger.context import MemoryContext, checked_scope
from scrubjay.memory.ledger.rows import as_row, find_row, opened_rows, raw_rows_where, rows_where
from scrubjay.memory.ledger.schema import KINDS
from scrubjay.memory.ledger.statements import believed_rows, facts_of_slot, topics_in
from scrubjay.memory.ledger.versions import versions_of
from scrubjay.memory.model.content import checked_str, normalised
from scrubjay.memory.model.names import RECORD_KINDS, RecordKind
from scrubjay.memory.model.records import Fact, Policy, Record
from scrubjay.memory.model.row_records import record_of
from scrubjay.memory.model.rows import FactRow, Row, is_visible
from scrubjay.memory.model.sensitivity import checked_without
from scrubjay.memory.model.statements import is_in_force
from scrubjay.memory.read.time_axes import PastRecords, QueryTime, moment_asked, would_be_in_force
from scrubjay.store.rows.listing import checked_count, warn_of
from scrubjay.store.rows.scopes import names_of


class Lookup:
    """Reads records without ranking."""

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
        """Return a record that is visible to `scope` and in force, or None.

        Args:
            id: the id of the record.
            scope: the scope of the caller.
            hidden: also return it if it is provisional, superseded, revoked, expired or not in force at the time.
            as_of: the time at which it must be in force (datetime, ISO 8601, seconds since 1970); None: now.
            known_at: as it was known at this time; None: now. See :mod:`scrubjay.memory.read.time_axes`. A fact that
                was edited later is returned with its earlier text.
        """
        checked_scope(scope)
        hidden = checked_flag(hidden, "hidden")
        moment = moment_asked(self._context.clock, as_of, known_at)
        with self._context.snapshot() as connection:
            row = find_row(connection, id, scope)
            if row is None or not is_visible(row, scope):
                return None
            if moment is None:
                now = self._context.clock()
                return record_of(row, now) if hidden or is_in_force(row, now) else None
            past = PastRecords(connection, moment, self._context.is_single)
            versions = versions_of(connection, row) if isinstance(row, FactRow) else ()
            for version in (row, *(versions if moment.known_at is not None else ())):
                if (then := past.in_force(version)) is not None:
                    return record_of(then, past.now)
            return record_of(past.known(row), past.now) if hidden else None

    def history(
        self, subject: str, predicate: str, scope: Scope, known_at: CreatedAt | None = None
    ) -> list[Fact]:
        """Return all facts of one slot that are visible to `scope`, whatever their status, ordered by the time at which
        they begin or were said: what was true when, by all that is known (`Fact.holds`), and why (`superseded_by`).

        Args:
            subject, predicate: the slot; synonyms of the predicate count as equal.
            scope: the scope of the caller.
            known_at: as it was believed at this time (datetime, ISO 8601, seconds since 1970): `Fact.holds`, `status`
                and `superseded_by` are those of that time, and facts recorded later are left out. None: now.
        """
        checked_scope(scope)
        subject, predicate = checked_str(subject, "subject"), checked_str(predicate, "predicate")
        facts: list[Fact] = []
        moment = moment_asked(self._context.clock, None, known_at)
        then = None if moment is None else moment.known_at
        now = self._context.clock() if then is None else then
        with self._context.snapshot() as connection:
            for owner in scope.visible():
                topics = topics_in(connection, owner.tenant, subject, predicate)
                if topics and self._context.is_readable(owner):
                    rows = facts_of_slot(connection, names_of(owner), topics)
                    if then is not None:
                        rows = believed_rows(connection, rows, then, self._context.is_single)
                    facts += [cast(Fact, record_of(row, now)) for row in rows]

        def begins(fact: Fact) -> tuple[datetime, datetime, str]:
            assert fact.said_at is not None and fact.recorded_at is not None
            begin = fact.holds[0][0] if fact.holds else fact.valid_from or fact.said_at
            return begin, fact.recorded_at, fact.id

        return sorted(facts, key=begins)

    def list(
        self,
        scope: Scope,
        kinds: Sequence[RecordKind] = RECORD_KINDS,
        hidden: bool = False,
        exact: bool = False,
        limit: int | None = None,
        subject: str | None = None,
        run: str | None = None,
        as_of: CreatedAt | None = None,
        known_at: CreatedAt | None = None,
        without: Sequence[str] = (),
        after: ListingPosition | None = None,
    ) -> list[Record]:
        """Return the records visible to `scope`, kind by kind, oldest first.

        A tenant's facts that still need a second source or a confirmation are listed too, as long as no later fact of
        their slot contradicts them: their `status` is "provisional". `recall` and prompts leave them out.

        Args:
            scope: the scope of the caller.
            kinds: the kinds to list, in this order.
            hidden: also list records that are superseded, revoked, expired or not in force at the time, and unconfirmed
                policies.
            exact: list only records of exactly this scope (a tenant's policies belong to its scope without a user;
                global policies belong to no scope).
            limit: the maximum number.
            subject: list only facts about it, whatever their predicate; case and spaces are ignored.
            run: list only records from this run (`Provenance.run`).
            as_of: the time at which they must be in force (datetime, ISO 8601, seconds since 1970); None: now.
            known_at: as they were known at this time; None: now. See :mod:`scrubjay.memory.read.time_axes`.
            without: sensitivity classes to exclude.
            after: the last record of the previous page, as (kind, :func:`created_at` in microseconds, id): the listing
                continues after that place, whether or not the record still exists. With `limit` it reads about as many
                rows as it returns, not the whole scope.

        Records that are damaged in the file are left out, and named in a
        :class:`~scrubjay.CorruptDataWarning`.
        """
        checked_scope(scope)
        hidden, exact = checked_flag(hidden, "hidden"), checked_flag(exact, "exact")
        if isinstance(kinds, (str, bytes, Mapping)) or not isinstance(kinds, Iterable):
            raise TypeError(f"kinds: expected a sequence of kinds, got one {type(kinds).__name__}")
        kinds = tuple(kinds)
        for kind in kinds:
            if not isinstance(kind, str) or kind not in KINDS:
                raise ValueError(f"kinds: expected some of {', '.join(KINDS)}, got {kind!r}")
        most = None if limit is None else checked_count(limit, "limit")
        is_wanted, classes = _selection(subject, run), checked_without(without)
        scopes = [scope] if exact else scope.visible()
        kinds = tuple(dict.fromkeys(kinds))
        begins = None if after is None else _checked_place(after, kinds)
        if begins is not None:
            kinds = kinds[kinds.index(begins.kind) :]
        moment = moment_asked(self._context.clock, as_of, known_at)
        records: list[Record] = []
        damaged: list[str] = []
        with self._context.snapshot() as connection:
            listed = _ListingFilter(connection, self._context, moment, hidden)
            for kind in kinds:
                place = begins if begins is not None and begins.kind == kind else None
                for row in _in_order(connection, kind, scopes, exact, place, most, damaged):
                    if len(records) == most:
                        break
                    try:
                        then = listed.row(row)
                        if then is not None and is_wanted(then):
                            record = record_of(then, listed.now)
                            if record.sensitivity not in classes:
                                records.append(record)
                    except CorruptIndexError as error:
                        damaged.append(f"{kind} {row.id!r}: {error.what}")
        warn_of(damaged, self._context.store.path)
        return records


class _ListingFilter:
    """Decides which rows a listing contains, as they were known at the requested time.

    Args:
        connection: a connection to one snapshot of the file.
        context: the context of the memory.
        moment: the requested time; None: now.
        hidden: whether rows that were not in force are listed too.
    """

    def __init__(
        self, connection: sqlite3.Connection, context: MemoryContext, moment: QueryTime | None, hidden: bool
    ) -> None:
        self._connection = connection
        self._is_single = context.is_single
        self._hidden = hidden
        now = context.clock()
        self._moment = QueryTime(now, now, None) if moment is None else moment
        self._past = None if moment is None else PastRecords(connection, moment, context.is_single)
        self.now = now if self._past is None else self._past.now
        """The time by which records are planned, or over."""

    def row(self, row: Row) -> Row | None:
        """Return a row if it is listed: in force, or provisional and in force once it is confirmed."""
        if self._hidden:
            return row if self._past is None else self._past.known(row)
        if isinstance(row, FactRow) and row.status == "provisional":
            return row if would_be_in_force(self._connection, row, self._moment, self._is_single) else None
        if self._past is not None:
            return self._past.in_force(row)
        return row if is_in_force(row, self.now) else None


class ListingPosition(NamedTuple):
    """The place after which a listing continues: that of the last record of a page."""

    kind: str
    created_at: int
    """Microseconds since 1970."""
    id: str


def created_at(record: Record) -> int:
    """Return when a record was written, in microseconds since 1970; the sort key of listings within a kind."""
    at = record.provenance.at if isinstance(record, Policy) else record.created_at
    assert at is not None
    return payload.microseconds(at)


def _checked_place(after: Sequence[Any], kinds: Sequence[str]) -> ListingPosition:
    if not isinstance(after, tuple) or len(after) != 3:
        raise TypeError("after: expected the kind, time and id of a record")
    place = ListingPosition(*after)
    if place.kind not in kinds:
        raise ValueError(f"after: expected a record of {', '.join(kinds)}, got a {place.kind!r}")
    if type(place.created_at) is not int or not isinstance(place.id, str):
        raise TypeError("after: expected the kind, time and id of a record")
    return place


def _in_order(
    connection: sqlite3.Connection,
    kind: str,
    scopes: Sequence[Scope],
    exact: bool,
    after: ListingPosition | None,
    limit: int | None,
    damaged: list[str],
) -> Iterator[Row]:
    """Yield the rows of a kind in some scopes, oldest first, after a place; in batches if there is a limit."""
    parts = []
    for one in scopes:
        tenant, user, agent = names_of(one)
        if kind == "policy" and not user and not agent:
            owners = "tenant = ?" if exact else "tenant IN ('', ?)"
            parts.append(_rows_of(connection, kind, owners, (tenant,), after, limit, damaged))
        elif kind == "preference" and not agent:
            owner = "tenant = ? AND user = ?"
            parts.append(_rows_of(connection, kind, owner, (tenant, user), after, limit, damaged))
        elif kind not in ("policy", "preference"):
            owner = "tenant = ? AND user = ? AND agent = ?"
            parts.append(_rows_of(connection, kind, owner, (tenant, user, agent), after, limit, damaged))
    return heapq.merge(*parts, key=lambda row: (row.created_at, row.id))


def _rows_of(
    connection: sqlite3.Connection,
    kind: str,
    owner: str,
    names: tuple[str, ...],
    after: ListingPosition | None,
    limit: int | None,
    damaged: list[str],
) -> Iterator[Row]:
    """Yield the rows of one owner in listing order."""
    if limit is None and after is None:
        rows: list[Row] = [*rows_where(connection, kind, owner, names, damaged=damaged)]
        rows.sort(key=lambda row: (row.created_at, row.id))
        yield from rows
        return
    at, id, most = (-(1 << 62), "", _PART) if after is None else (after.created_at, after.id, _PART)
    if limit is not None:
        most = min(_PART, limit + 1)
    while True:
        condition = (
            f"{owner} AND (created_at > ? OR (created_at = ? AND id > ?)) ORDER BY created_at, id LIMIT ?"
        )
        found = raw_rows_where(connection, kind, condition, (*names, at, at, id, most))
        yield from opened_rows(connection, kind, found, damaged)
        if len(found) < most:
            return
        place = as_row(kind, found[-1])
        at, id, most = place.created_at, place.id, _PART


_PART = 256


def _selection(subject: str | None, run: str | None) -> Callable[[Row], bool]:
    """Return a predicate for rows about a subject and from a run; None: of any."""
    about = None if subject is None else normalised(checked_str(subject, "subject"))
    if run is not None:
        checked_str(run, "run")

    def is_wanted(row: Row) -> bool:
        if run is not None and row.source_run != run:
            return False
        return about is None or (isinstance(row, FactRow) and normalised(row.subject) == about)

    return is_wanted
