"""The changes of a memory according to its log: read from a cursor on, and delivered to followers.

Every change of a record writes its row of the table `memory_log` in its own transaction. Transactions are serialised,
so row numbers ascend in the order in which changes became visible, and a reader that asks for the rows after the last
number it has seen misses nothing.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, Error
from scrubjay.base.locks import renew_in_children
from scrubjay.memory.ledger.rows import kind_of
from scrubjay.memory.ledger.sealing import opened_in, place_in
from scrubjay.memory.model.decoding import as_moment, decoded
from scrubjay.store.rows.decoding import integer, scope_of
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.seam import LayerStore

_log = logging.getLogger(__name__)

_COLUMNS = "number, at, record, what, by, detail, tenant, user, agent"
_PROPOSED = "written"
"""The log's name for the first event of a record."""
_BATCH = 1000

Hook = Callable[["ChangeEvent"], object]


@dataclass(frozen=True)
class ChangeEvent:
    """One change of a memory.

    Attributes:
        cursor: its position in the feed; later changes have greater ones, not always consecutive.
        at: when it was written.
        action: "proposed" (a record was written), "superseded", "limited" (by a fact that begins later), "resumed",
            "confirmed", "promoted", "revoked", "updated", "restated", "faded", "revived", "expired" or "forgotten"; and
            "held" and "released" for a legal hold on a scope.
        scope: the scope of the record; None: a global policy.
        kind: the kind of the record; None: the change concerns the whole scope, including its users and agents.
        record: the id of the record, or None together with `kind`.
        by: the author of the change, if stated.
        detail: such as the id of the successor, or the reason; None if the record is gone.
    """

    cursor: int
    at: datetime
    action: str
    scope: Scope | None
    kind: str | None
    record: str | None
    by: str | None = None
    detail: str | None = None


class ChangeContext(Protocol):
    """The part of a memory's context that reading the log needs."""

    @property
    def store(self) -> LayerStore:
        """The file."""
        ...

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Return a reading connection."""
        ...

    def snapshot(self) -> AbstractContextManager[sqlite3.Connection]:
        """Return a reading connection for several queries in one snapshot."""
        ...

    def is_readable(self, scope: Scope) -> bool:
        """Whether the tenant's key was not destroyed."""
        ...


class Changes:
    """The changes of the records of a memory, in all scopes. Thread-safe."""

    def __init__(self, context: ChangeContext) -> None:
        self._context = context
        self._hooks: list[_Follower] = []
        self._delivering = threading.Lock()
        self._due = False
        renew_in_children(self, "_delivering")

    @property
    def cursor(self) -> int:
        """The cursor of the newest change in any scope; 0: nothing was written yet."""
        newest, settled = _newest(self._context, EventScope(None))
        return newest if settled is None or not newest else settled - 1

    def after(self, since: int, sight: EventScope, limit: int) -> list[ChangeEvent]:
        """Return the changes in sight after a cursor, oldest first.

        Raises:
            ValueError: the cursor belongs to another file, or to a newer state than that of a restored copy.
        """
        context = self._context
        newest, settled = _newest(context, sight)  # before the snapshot
        with context.snapshot() as connection:
            if since > newest:
                raise ValueError(f"since: expected a cursor of this memory, at most {newest}, got {since}")
            events: list[ChangeEvent] = []
            while (wanted := limit - len(events)) > 0:
                rows = _page(connection, since, sight, wanted, settled)
                events += [event for row in rows if (event := self._event(row)) is not None]
                if len(rows) < wanted:
                    break
                since = rows[-1][0]  # events without a key are skipped: only a short page of rows is the last
            return events

    def times(self, sight: EventScope, limit: int) -> list[int]:
        """Return the times of the newest changes in sight, in microseconds since 1970, distinct, ascending."""
        context = self._context
        _, settled = _newest(context, sight)  # before the snapshot
        found: set[int] = set()
        with context.snapshot() as connection:
            for condition, names in sight.parts():
                if names and names[0] and not context.is_readable(Scope(names[0])):
                    continue
                until = "" if settled is None else "number < ? AND "
                found.update(
                    integer(at, "a time of memory_log")
                    for (at,) in connection.execute(
                        f"SELECT DISTINCT at FROM memory_log WHERE {condition}{until}number > 0 "
                        "ORDER BY at DESC LIMIT ?",
                        (*names, *(() if settled is None else (settled,)), limit),
                    ).fetchall()
                )
        return sorted(found)[-limit:]

    def follow(self, function: Hook, sight: EventScope) -> Callable[[], None]:
        """Call a function with each change in sight from now on; return a function that ends the subscription."""
        if not callable(function):
            raise TypeError(f"function: expected a function of a change, got {type(function).__name__}")
        follower = _Follower(function, sight, self.cursor)
        self._hooks = [*self._hooks, follower]  # replaced, not mutated: a delivery may be iterating over it

        def stop() -> None:
            self._hooks = [one for one in self._hooks if one is not follower]

        return stop

    def deliver(self) -> None:
        """Call the hooks with new changes. If another thread is delivering, it delivers these as well."""
        if not self._hooks:
            return
        self._due = True
        while self._due and self._delivering.acquire(blocking=False):
            try:
                while self._due:
                    self._due = False
                    for follower in self._hooks:
                        self._deliver_to(follower)
            finally:
                self._delivering.release()

    def _deliver_to(self, follower: _Follower) -> None:
        while follower in self._hooks:
            try:
                newest = self.cursor
                events = self.after(follower.since, follower.sight, _BATCH)
            except (Error, ValueError) as error:
                # A key may be unavailable, or a server's clock set back: the next write tries again.
                _log.warning("changes could not be read for a hook: %s", error)
                return
            for event in events:
                follower.since = event.cursor
                try:
                    follower.function(event)
                except Exception:  # noqa: BLE001 - the caller's function
                    _log.exception("a hook failed for change %d", event.cursor)
            if len(events) < _BATCH:
                follower.since = max(follower.since, newest)
                return

    def _event(self, row: tuple[Any, ...]) -> ChangeEvent | None:
        number, at, record, what, by, detail, tenant, user, agent = row
        if tenant and not self._context.is_readable(Scope(tenant, user or None)):
            return None
        cipher = self._context.store.cipher

        def made() -> ChangeEvent:
            opened_detail = opened_in(cipher, tenant, place_in("memory_log", "detail", number, ()), detail)
            if (
                not isinstance(record, str)
                or not isinstance(what, str)
                or not isinstance(by, (str, type(None)))
            ):
                raise CorruptIndexError("an event of the log cannot be read")
            return ChangeEvent(
                number,
                as_moment(at),
                "proposed" if what == _PROPOSED else what,
                scope_of(tenant, user, agent) if tenant else None,
                kind_of(record) if record else None,
                record or None,
                by,
                opened_detail,
            )

        return decoded("memory_log", number, made)


class EventScope:
    """The set of events that a reader asks for: those visible to a scope, those within it, or (None) of all scopes."""

    def __init__(self, scope: Scope | None, within: bool = False) -> None:
        self._scope, self._within = scope, within

    @property
    def is_of_one_tenant(self) -> bool:
        """Whether all events except those of global policies belong to one tenant."""
        return self._scope is not None

    def parts(self) -> Iterable[tuple[str, tuple[str, ...]]]:
        """Return conditions for disjoint sets of rows, with their parameters."""
        if self._scope is None:
            return [("", ())]
        if not self._within:
            whose = [("", "", ""), *map(names_of, self._scope.visible())]
            return [("tenant = ? AND user = ? AND agent = ? AND ", names) for names in whose]
        names = names_of(self._scope)
        named = [(c, name) for c, name in zip(("tenant", "user", "agent"), names, strict=True) if name]
        return [("".join(f"{column} = ? AND " for column, _ in named), tuple(name for _, name in named))]


class _Follower:
    """A hook, and the cursor up to which it was called."""

    def __init__(self, function: Hook, sight: EventScope, since: int) -> None:
        self.function, self.sight, self.since = function, sight, since


def _page(
    connection: sqlite3.Connection, since: int, sight: EventScope, limit: int, settled: int | None
) -> list[tuple[Any, ...]]:
    """Return the rows in sight after a cursor, oldest first: `limit` of them, and all others with the last number."""
    rows: list[tuple[Any, ...]] = []
    for condition, names in sight.parts():
        until = "" if settled is None else "number < ? AND "
        rows += connection.execute(
            f"SELECT {_COLUMNS} FROM memory_log WHERE {condition}{until}number > ? ORDER BY number LIMIT ?",
            (*names, *(() if settled is None else (settled,)), since, limit),
        ).fetchall()
    rows.sort(key=lambda row: integer(row[0], "a number of memory_log"))
    del rows[limit:]
    if settled is not None and len(rows) == limit:
        # Two tenants may share a number, and the next page begins after it.
        last = rows[-1][0]
        rows = [row for row in rows if row[0] < last]
        for condition, names in sight.parts():
            rows += connection.execute(
                f"SELECT {_COLUMNS} FROM memory_log WHERE {condition}number = ?", (*names, last)
            ).fetchall()
    return rows


def _newest(context: ChangeContext, sight: EventScope) -> tuple[int, int | None]:
    """Return the last number assigned, even if its row is gone, and the number below which no more rows can appear
    (None: no bound, because in a file transactions are serialised).

    Over PostgreSQL numbers are times of the server, and the last one is the present time.
    """
    settled = getattr(context.store, "settled", None)
    if settled is None:
        with context.reading() as connection:
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'memory_log'").fetchone()
        return 0 if row is None else integer(row[0], "the last number of memory_log"), None
    now, anybody, everybody = settled()
    with context.reading() as connection:
        is_empty = connection.execute("SELECT 1 FROM memory_log LIMIT 1").fetchone() is None
    first = [everybody] if sight.is_of_one_tenant else [anybody, everybody]
    until = min([now, *(number for number in first if number is not None)])
    return 0 if is_empty else now, until
