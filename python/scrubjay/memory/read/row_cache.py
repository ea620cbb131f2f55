"""A cache of rows and records of facts and episodes, valid until something may have changed them.

An agent asks about the same things again and again, and writes traces in between: a record is read once as long as
nothing but traces is written (:meth:`scrubjay.store.seam.LayerStore.rows_version`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from scrubjay._native import Scope
from scrubjay.memory.ledger.context import MemoryContext
from scrubjay.memory.ledger.rows import find_row, kind_of, rows_where, seen_by
from scrubjay.memory.model.records import Record
from scrubjay.memory.model.row_records import made_again, record_of
from scrubjay.memory.model.rows import Row
from scrubjay.memory.model.statements import is_in_force, next_edge

_MAX_KEPT = 4096
_AT_ONCE = 500  # values in one statement


class _CachedRecord(NamedTuple):
    """A row and its record, valid from one time until before another: in between, time alone changes nothing."""

    row: Row
    record: Record | None
    """None: it is not in force in that interval."""
    since: int
    until: int


class _State(NamedTuple):
    version: object  # of the rows
    rows: dict[str, Row]
    made: dict[str, _CachedRecord]


class RecordCache:
    """The cached records of one memory. Thread-safe.

    Rows of encrypted files are not cached: a key may be destroyed without a trace in the file.
    """

    def __init__(self, context: MemoryContext) -> None:
        self._context = context
        self._store = context.store
        self._state = _State(None, {}, {})

    def row(self, id: str, scope: Scope, beside: Callable[[], Iterable[str]]) -> Row | None:
        """Return the current row of a record, whatever its status; None if there is none.

        The caller checks whether the row is visible to the scope: a file finds rows by their ids alone.

        Args:
            id: the id of the record.
            scope: the scope of the caller.
            beside: returns the ids that will be requested next; they are read together with this one on a cache miss.

        Raises:
            CorruptIndexError, EncryptionError: this row cannot be read.
        """
        state = self._now()
        if state is not None:
            row = state.rows.get(id)
            if row is None and not self._store.is_writing_here():  # a row read there may be rolled back
                self._read(state, scope, beside())
                row = state.rows.get(id)
            if row is not None:
                return row
        with self._context.snapshot() as connection:
            return find_row(connection, id, scope)

    def record(self, row: Row) -> Record | None:
        """Return the record of a row that :meth:`row` has just returned; None if it is not in force now.

        Raises:
            CorruptIndexError: its values are not what was written.
        """
        now, made = self._context.clock(), self._state.made
        known = made.get(row.id)
        if known is None or known.row is not row or not known.since <= now < known.until:
            record = record_of(row, now) if is_in_force(row, now) else None
            made[row.id] = _CachedRecord(row, record, now, next_edge(row, now))
        else:
            record = known.record
        return None if record is None else made_again(record, row, now)

    def _now(self) -> _State | None:
        """Return the cache if it is valid now; an empty one if something was written."""
        if self._store.cipher.ring is not None:
            return None
        version, state = self._context.version(), self._state
        if version is None:
            return None
        if version != state.version or len(state.rows) >= _MAX_KEPT:
            state = self._state = _State(version, {}, {})
        return state

    def _read(self, state: _State, scope: Scope, ids: Iterable[str]) -> None:
        """Read the readable rows with these ids, with one query for each kind."""
        wanted: dict[str, list[str]] = {}
        for id in ids:
            kind = kind_of(id)
            if kind is not None and id not in state.rows:
                wanted.setdefault(kind, []).append(id)
        some = [
            (kind, each[first : first + _AT_ONCE])
            for kind, each in wanted.items()
            for first in range(0, len(each), _AT_ONCE)
        ]
        is_one = len(some) == 1  # a single query is its own snapshot
        with self._context.reading() if is_one else self._context.snapshot() as connection:
            for kind, each in some:
                visible, values = seen_by(connection, kind, scope)
                condition = f"{visible}id IN ({', '.join('?' * len(each))})"
                rows = rows_where(connection, kind, condition, (*values, *each), damaged=[])
                state.rows.update((row.id, row) for row in rows)
