"""Traces: the events of a run. Append-only, replayed by run id, kept according to their retention class.

A trace belongs to exactly the scope that wrote it and is visible to no other. Events are numbered from 1 without gaps,
even if several processes append them. They are never ranked and never in an index: :meth:`Traces.find` is for forensics
and reads event by event. Triggers of the schema make them append-only; only retention and erasure may delete, and mark
the run first (`memory_run.erasing`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.documents import payload
from scrubjay.memory.ledger.deletions import deleted_since, last_deletion
from scrubjay.memory.ledger.event_drafts import Draft, check_text
from scrubjay.memory.ledger.holds import HELD
from scrubjay.memory.ledger.sealing import EVENT as _SEALED
from scrubjay.memory.ledger.sealing import Sealer, is_file, settle
from scrubjay.memory.ledger.sealing import place_of_event as _place
from scrubjay.memory.model.decoding import as_moment, decoded
from scrubjay.memory.model.names import Retention
from scrubjay.store.rows.decoding import integer, shown
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.seam import LayerStore
from scrubjay.store.sqlite.connections import fetched, rows_of, translated

RETENTION_DAYS: Mapping[Retention, int | None] = {"short": 7, "standard": 90, "long": 365, "permanent": None}
"""Retention class -> number of days for which an event is kept after it was recorded; None: until it is erased."""

CONVERSATION = ("user", "model")
"""Kinds of events that are turns of the conversation; tool output stays in the trace."""

DAY_US = 86_400_000_000

TABLES = (
    """CREATE TABLE memory_run(
  key INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL CHECK (tenant <> ''), user TEXT NOT NULL, agent TEXT NOT NULL,
  run TEXT NOT NULL CHECK (run <> ''),
  started_at INTEGER NOT NULL,
  retention TEXT NOT NULL,
  n_events INTEGER NOT NULL DEFAULT 0,  -- the number of the last event, also when retention has deleted it
  n_turns INTEGER NOT NULL DEFAULT 0,
  erasing INTEGER NOT NULL DEFAULT 0 CHECK (erasing IN (0, 1)),  -- 1 only inside of a transaction that deletes
  UNIQUE (tenant, user, agent, run))""",
    """CREATE TABLE memory_event(
  run INTEGER NOT NULL, seq INTEGER NOT NULL, turn INTEGER NOT NULL,
  at INTEGER NOT NULL,                  -- when it happened
  expires_at INTEGER,                   -- by retention, from when it was recorded
  kind TEXT NOT NULL CHECK (kind <> ''), author TEXT NOT NULL,
  content TEXT NOT NULL, data BLOB,
  tenant TEXT NOT NULL,                 -- whose key it is sealed with: so the cipher sees that it is needed
  PRIMARY KEY (run, seq)) WITHOUT ROWID""",
    "CREATE INDEX memory_event_due ON memory_event(expires_at) WHERE expires_at IS NOT NULL",
    """CREATE TABLE memory_distilled(
  run INTEGER NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL CHECK (last_seq >= first_seq),
  at INTEGER NOT NULL, extractor TEXT NOT NULL,
  outcomes BLOB NOT NULL,               -- JSON: of each candidate kind, status, id; never its text
  PRIMARY KEY (run, first_seq)) WITHOUT ROWID""",
    """CREATE TRIGGER memory_event_numbered BEFORE INSERT ON memory_event
WHEN NEW.seq IS NOT (SELECT n_events + 1 FROM memory_run WHERE key = NEW.run)
BEGIN SELECT RAISE(ABORT, 'an event is numbered after the last one of its run'); END""",
    """CREATE TRIGGER memory_event_counted AFTER INSERT ON memory_event
BEGIN UPDATE memory_run SET n_events = NEW.seq, n_turns = NEW.turn WHERE key = NEW.run; END""",
    """CREATE TRIGGER memory_event_fixed BEFORE UPDATE ON memory_event
BEGIN SELECT RAISE(ABORT, 'a trace is append-only'); END""",
    """CREATE TRIGGER memory_event_kept BEFORE DELETE ON memory_event
WHEN (SELECT erasing FROM memory_run WHERE key = OLD.run) IS NOT 1
BEGIN SELECT RAISE(ABORT, 'a trace is append-only'); END""",
    """CREATE TRIGGER memory_run_fixed BEFORE UPDATE ON memory_run
WHEN NEW.tenant <> OLD.tenant OR NEW.user <> OLD.user OR NEW.agent <> OLD.agent OR NEW.run <> OLD.run
  OR NEW.n_events < OLD.n_events OR NEW.n_turns < OLD.n_turns
BEGIN SELECT RAISE(ABORT, 'a run keeps its scope, its name and its numbers'); END""",
    """CREATE TRIGGER memory_run_kept BEFORE DELETE ON memory_run WHEN OLD.erasing = 0
BEGIN SELECT RAISE(ABORT, 'a trace is append-only'); END""",
    """CREATE TRIGGER memory_distilled_once BEFORE INSERT ON memory_distilled
WHEN NEW.first_seq <= (SELECT max(last_seq) FROM memory_distilled WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'these events were distilled before'); END""",
)
"""The tables of traces and of their distillation."""


@dataclass(frozen=True)
class TraceEvent:
    """One event of a run: number, turn, time, kind, author, content, and data added by a program."""

    seq: int
    turn: int
    at: datetime
    kind: str
    author: str
    content: str
    data: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields in JSON types."""
        return {
            "seq": self.seq,
            "turn": self.turn,
            "at": self.at.isoformat(),
            "kind": self.kind,
            "author": self.author,
            "content": self.content,
            "data": self.data,
        }


class Run(NamedTuple):
    """A run as stored."""

    key: int
    run_id: str
    started_at: datetime
    retention: str
    n_events: int
    n_turns: int


class State(NamedTuple):
    """Identifies a state of a run: the run, its beginning, and its last event."""

    key: int
    started_at: int
    n_events: int


class Traces:
    """The traces in an index's file. Thread-safe; writes of all threads and processes are serialised.

    Args:
        store: the store of the index.
        clock: returns microseconds since 1970.
        version: returns a value that differs whenever anything but traces may have been written; None: unknown.
    """

    def __init__(
        self,
        store: LayerStore,
        clock: Callable[[], int],
        version: Callable[[], object | None] = lambda: None,
    ) -> None:
        self.store = store
        self.clock = clock
        self._version = version
        self._last_deletion: tuple[object, str, int] = (None, "", 0)  # version, tenant, number
        self._sealer = Sealer(store)

    def append(
        self,
        scope: Scope,
        run_id: str,
        drafts: Sequence[Draft],
        retention: Retention = "standard",
        n_unseen: int = 0,
    ) -> list[TraceEvent]:
        """Append events in one transaction, all or none; the first event creates the run. Return them with their
        numbers, without the first `n_unseen`.

        A draft with `unless_deleted_since` is skipped if something was deleted after that event.
        `retention` applies to these events; see :data:`RETENTION_DAYS`.
        """
        names = names_of(scope)
        self._sealer.require(scope.tenant)
        with self.store.writing("appending to a trace", is_log=True) as transaction:
            transaction.lock([scope])
            ask = partial(rows_of, transaction.connection)
            is_sealed = settle(transaction.connection, scope.tenant)
            now = self.clock()
            days = RETENTION_DAYS[retention]
            expires_at = None if days is None else now + days * DAY_US
            rows = ask(_RUN, (*names, run_id))
            if not rows:
                ask(
                    "INSERT OR IGNORE INTO memory_run(tenant, user, agent, run, started_at, retention) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    (*names, run_id, now, retention),
                )
                rows = ask(_RUN, (*names, run_id))
            if not rows:
                raise CorruptIndexError(f"run {run_id!r} was not kept: its index is damaged")
            key, n_events, n_turns = rows[0]
            seq, turn = integer(n_events, "a run's events"), integer(n_turns, "a run's turns")
            events = []
            for number, draft in enumerate(drafts):
                if draft.unless_deleted_since is not None and deleted_since(
                    transaction.connection, draft.unless_deleted_since, names
                ):
                    continue
                seq += 1
                turn += draft.kind == "user"
                at = now if draft.at is None else draft.at
                texts = (draft.author, draft.content, draft.data)
                columns: Sequence[str | bytes | None] = (
                    texts  # neither UTF-8 nor JSON begins like sealed bytes
                )
                if is_sealed:
                    columns = [
                        self._sealer.seal(scope.tenant, _place(column, key, seq), text, user=names[1])
                        for column, text in zip(_SEALED, texts, strict=True)
                    ]
                event = (key, seq, turn, at, expires_at, draft.kind, *columns, scope.tenant)
                ask(*insertion_of_event(transaction.connection, event, names[1]))
                if number >= n_unseen:
                    events.append(_event((seq, turn, at, draft.kind), *texts))
            if seq > n_events and not is_file(transaction.connection):  # in a file a trigger does it
                ask(
                    "UPDATE memory_run SET n_events = ?, n_turns = ? WHERE tenant = ? AND user = ? AND key = ? "
                    "AND n_events <> ?",
                    (seq, turn, *names[:2], key, seq),
                )
        return events

    def last_deletion(self, tenant: str) -> int:
        """Return the number of the last deletion event of a tenant."""
        version = self._version()  # before reading: a concurrent deletion belongs to a later version
        cached = self._last_deletion
        if version is not None and cached[0] == version and cached[1] == tenant:
            return cached[2]
        with self._reading() as connection:
            number = last_deletion(connection, tenant)
        self._last_deletion = (version, tenant, number)
        return number

    def run(self, scope: Scope, run_id: str) -> Run | None:
        """Return a run of exactly this scope; None if it does not exist, or the tenant's key was destroyed."""
        if not self._sealer.readable(scope.tenant, scope.user):
            return None
        with self._reading() as connection:
            row = connection.execute(f"{_RUNS} AND run = ?", (*names_of(scope), run_id)).fetchone()
            return None if row is None else _run(row)

    def runs(self, scope: Scope) -> list[Run]:
        """Return the runs of exactly this scope, oldest first; empty if the tenant's key was destroyed."""
        if not self._sealer.readable(scope.tenant, scope.user):
            return []
        with self._reading() as connection:
            return [
                _run(row) for row in connection.execute(f"{_RUNS} ORDER BY key", names_of(scope)).fetchall()
            ]

    def events(self, scope: Scope, run_id: str, *, after: int = 0) -> list[TraceEvent]:
        """Return the events of a run after number `after`, in order; empty if exactly this scope has no such run.

        Events past their retention are left out, whether or not they were swept.
        """
        with self._reading() as connection:
            values = (*names_of(scope), run_id, self.clock(), after)
            rows = fetched(connection, _EVENTS + "AND e.seq > ? ORDER BY e.seq", values)
            return self._opened(scope, rows)

    def tail(self, scope: Scope, run_id: str, n: int, kinds: Sequence[str]) -> list[TraceEvent]:
        """Return the last n events of some kinds, oldest first; the cost does not depend on the length of the run."""
        return self.tail_until(scope, run_id, n, kinds)[0]

    def tail_until(
        self, scope: Scope, run_id: str, n: int, kinds: Sequence[str]
    ) -> tuple[list[TraceEvent], int | None]:
        """Return :meth:`tail`, and when the first of these events reaches the end of its retention, in microseconds
        since 1970; None: never."""
        marks = ", ".join("?" * len(kinds))
        with self._reading() as connection:
            values = (*names_of(scope), run_id, self.clock(), *kinds, n)
            rows = fetched(connection, _TAIL.format(marks=marks), values)
            ends = [row[-1] for row in rows if row[-1] is not None]
            return self._opened(scope, (row[:-1] for row in reversed(rows))), min(ends, default=None)

    def state(self, scope: Scope, run_id: str) -> State | None:
        """Return a value that differs once a run of exactly this scope has more events, or is created anew; None: the
        run does not exist, or the tenant's or user's key was destroyed."""
        if not self._sealer.readable(scope.tenant, scope.user):
            return None
        with self._reading() as connection:
            rows = rows_of(connection, _STATE, (*names_of(scope), run_id))
            return State(*rows[0]) if rows else None

    def position(self, scope: Scope, run_id: str, seq: int) -> int:
        """Return the position of event `seq` among the turns of its conversation; adjacent turns differ by 1.

        Prompts and tool output are not counted, except where retention has deleted events: positions jump there.
        """
        marks = ", ".join("?" * len(CONVERSATION))
        with self._reading() as connection:
            first, n_spoken = connection.execute(
                f"SELECT min(e.seq), count(CASE WHEN e.kind IN ({marks}) THEN 1 END) "
                "FROM memory_run r JOIN memory_event e ON e.run = r.key "
                "WHERE r.tenant = ? AND r.user = ? AND r.agent = ? AND r.run = ? AND e.seq <= ?",
                (*CONVERSATION, *names_of(scope), run_id, seq),
            ).fetchone()
        n_deleted = 0 if first is None else integer(first, "an event's number") - 1
        return n_deleted + integer(n_spoken, "a number of turns")

    def find(
        self, scope: Scope, text: str, *, run_id: str | None = None, limit: int = 100
    ) -> list[tuple[str, TraceEvent]]:
        """Return (run id, event) for the events of exactly this scope whose content contains `text`, newest first.

        Case is ignored. For forensics: it reads every event of the scope.
        """
        check_text("text", text)
        wanted = text.casefold()
        if not self._sealer.readable(scope.tenant, scope.user):
            return []
        which, values = ("", ()) if run_id is None else (" AND r.run = ?", (run_id,))
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT r.run, e.run, e.seq, e.turn, e.at, e.kind, e.author, e.content, e.data "
                "FROM memory_run r JOIN memory_event e ON e.run = r.key "
                "WHERE r.tenant = ? AND r.user = ? AND r.agent = ? "
                f"AND (e.expires_at IS NULL OR e.expires_at > ?){which} ORDER BY r.key DESC, e.seq DESC",
                (*names_of(scope), self.clock(), *values),
            )
            events = []
            for run, *row in rows:
                if not isinstance(run, str):
                    raise CorruptIndexError(f"a run's name is {shown(run)}")
                event = self._open(scope.tenant, row)
                if wanted in event.content.casefold():
                    events.append((run, event))
                    if len(events) == limit:
                        break
            rows.close()
        return events

    def _opened(self, scope: Scope, rows: Iterable[Sequence[Any]]) -> list[TraceEvent]:
        """Return the events of rows; empty if the tenant's or user's key was destroyed."""
        if not self._sealer.readable(scope.tenant, scope.user):
            return []
        return [self._open(scope.tenant, row) for row in rows]

    def _open(self, tenant: str, row: Sequence[Any]) -> TraceEvent:
        key, seq, turn, at, kind, *sealed = row
        if sealed[2] is None and self._sealer.opens_plain():
            try:  # the fast path for nearly all events: the same as `opened`, without a call for each cell
                if (*map(type, row[1:7]),) == _PLAIN:
                    return _event((seq, turn, at, kind), sealed[0], sealed[1], None)
            except CorruptIndexError:
                pass  # `opened` raises it again, with its location

        def opened() -> TraceEvent:
            integer(seq, "its number")
            integer(turn, "its turn")
            if not isinstance(kind, str):
                raise CorruptIndexError(f"its kind is {shown(kind)}")
            author, content = (
                self._sealer.open_text(tenant, column, key, seq, cell)
                for column, cell in zip(_SEALED[:2], sealed[:2], strict=True)
            )
            if author is None or content is None:
                raise CorruptIndexError("its author or content is missing")
            data = sealed[2]
            if data is not None:
                data = self._sealer.open(tenant, _place(_SEALED[2], key, seq), data)
            return _event((seq, turn, at, kind), author, content, data)

        return decoded(f"event {shown(seq)} of a trace", None, opened)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with translated(self.store.path, "reading a trace"):
            yield self.store.reading_connection()


_PLAIN = (int, int, int, str, str, str)
"""Types of an event's number, turn, time, kind, author and content when stored in the clear."""
_RUNS = (
    "SELECT key, run, started_at, retention, n_events, n_turns FROM memory_run "
    "WHERE tenant = ? AND user = ? AND agent = ?"
)
_STATE = (
    "SELECT key, started_at, n_events FROM memory_run WHERE tenant = ? AND user = ? AND agent = ? AND run = ?"
)
_RUN = "SELECT key, n_events, n_turns FROM memory_run WHERE tenant = ? AND user = ? AND agent = ? AND run = ?"
_INSERT_EVENT = (
    "INSERT INTO memory_event(run, seq, turn, at, expires_at, kind, author, content, data, tenant) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_EVENT_OF_RUN = (
    "INSERT INTO memory_event(run, seq, turn, at, expires_at, kind, author, content, data, tenant) "
    "SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM memory_run WHERE tenant = ? AND user = ? AND key = ?"
)
INSERT_DISTILLED = (
    "INSERT INTO memory_distilled(run, first_seq, last_seq, at, extractor, outcomes) "
    "SELECT key, ?, ?, ?, ?, ? FROM memory_run WHERE tenant = ? AND user = ? AND key = ?"
)
"""Records the distillation of a run; parameters: (first, last, at, extractor, outcomes, tenant, user, key)."""
_COLUMNS = "e.run, e.seq, e.turn, e.at, e.kind, e.author, e.content, e.data"
_OF_RUN = (
    "FROM memory_run r JOIN memory_event e ON e.run = r.key "
    "WHERE r.tenant = ? AND r.user = ? AND r.agent = ? AND r.run = ? "
    "AND (e.expires_at IS NULL OR e.expires_at > ?) "
)
_EVENTS = f"SELECT {_COLUMNS} {_OF_RUN}"
_TAIL = f"SELECT {_COLUMNS}, e.expires_at {_OF_RUN}AND e.kind IN ({{marks}}) ORDER BY e.seq DESC LIMIT ?"


def insertion_of_event(
    connection: sqlite3.Connection, event: tuple[Any, ...], user: str
) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that inserts an event, and its values. In a database the home is that of the run.

    Args:
        connection: the connection of the transaction.
        event: the columns from `run` to `tenant`.
        user: the user of the run.
    """
    if is_file(connection):
        return _INSERT_EVENT, event
    return _INSERT_EVENT_OF_RUN, (*event, event[-1], user, event[0])


def sweep_traces(
    connection: sqlite3.Connection, now: int, away: Collection[str] = (), tenant: str | None = None
) -> int:
    """Delete events past their retention, inside the caller's transaction; return their number. Runs keep their counts.

    Events of tenants who are `away` (their key is unavailable) stay, and so do events under a legal hold. With `tenant`
    only the events of that tenant are deleted.
    """
    others = f" AND tenant NOT IN ({', '.join('?' * len(away))})" if away else ""
    whose, values = ("", ()) if tenant is None else (" AND tenant = ?", (tenant,))
    others += whose
    away = (*away, *values)
    held = HELD.format(row="memory_run", user="memory_run.user", agent="memory_run.agent")
    others += f" AND run NOT IN (SELECT key FROM memory_run WHERE {held})"
    due = f"SELECT DISTINCT run FROM memory_event WHERE expires_at <= ?{others}"
    if connection.execute(f"{due} LIMIT 1", (now, *away)).fetchone() is None:
        return 0
    connection.execute(f"UPDATE memory_run SET erasing = 1 WHERE key IN ({due})", (now, *away))
    n_deleted = connection.execute(
        f"DELETE FROM memory_event WHERE expires_at <= ?{others}", (now, *away)
    ).rowcount
    connection.execute(f"UPDATE memory_run SET erasing = 0 WHERE erasing = 1{whose}", values)
    return int(n_deleted)


def erase_traces(
    connection: sqlite3.Connection, *, tenant: str, user: str | None = None, agent: str | None = None
) -> int:
    """Delete every run of a tenant (or of one of its users or agents), inside the caller's transaction; return the
    number of events.

    The record of their distillation is deleted too: a run that is recorded again starts over.
    """
    condition, values = "tenant = ?", [tenant]
    for column, name in (("user", user), ("agent", agent)):
        if name is not None:
            condition += f" AND {column} = ?"
            values.append(name)
    execute = connection.execute
    execute(f"UPDATE memory_run SET erasing = 1 WHERE {condition}", values)
    of_erased, whose = "run IN (SELECT key FROM memory_run WHERE erasing = 1 AND tenant = ?)", (tenant,)
    n_deleted = execute(f"DELETE FROM memory_event WHERE {of_erased}", whose).rowcount
    execute(f"DELETE FROM memory_distilled WHERE {of_erased}", whose)
    execute("DELETE FROM memory_run WHERE erasing = 1 AND tenant = ?", whose)
    return int(n_deleted)


def _run(row: Sequence[Any]) -> Run:
    key, run_id, started_at, retention, n_events, n_turns = row
    if not isinstance(run_id, str) or not isinstance(retention, str):
        raise CorruptIndexError(f"run {key}: its name or retention cannot be read")
    counts = (
        integer(n_events, f"run {run_id!r}: its events"),
        integer(n_turns, f"run {run_id!r}: its turns"),
    )
    return Run(key, run_id, as_moment(started_at), retention, *counts)


def _event(head: tuple[int, int, int, str], author: str, content: str, data: bytes | None) -> TraceEvent:
    seq, turn, at, kind = head
    event = object.__new__(TraceEvent)  # the constructor does the same field by field, in four times the time
    fields = {
        "seq": seq,
        "turn": turn,
        "at": as_moment(at),
        "kind": kind,
        "author": author,
        "content": content,
    }
    object.__setattr__(event, "__dict__", {**fields, "data": payload.decode(data)[0]})
    return event
