"""Which hits turned out to be of use, and to which question? Kept as long as the memory and the asker's scope are.

In a file: a table for each collection that ever got feedback, made by the first note (so files without feedback are as
they were, and the format's number did not change). A note holds the text of a question, which is somebody's: it goes
with the memory (deleted, expired and swept, erased) and with the scope that asked, in the same transaction. Notes
change no version, so they make no cached result stale and no partition is read again for them. What SQL is needed for
erasing is called by :mod:`scrubjay.store.transaction`. Where the store has a cipher, questions are sealed.

In memory: the same promises by :class:`FeedbackLog`.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrubjay._native import Scope
from scrubjay.store.partition import visible_from
from scrubjay.store.protocol import RowId
from scrubjay.store.reading import ReadingStore, names_of, scope_of
from scrubjay.store.schema import Tables

if TYPE_CHECKING:  # whose transactions call what is here
    from scrubjay.store.sqlite import SqliteStore

__all__ = [
    "MAX_NOTES",
    "Feedback",
    "FeedbackLog",
    "forget_ids",
    "forget_scope",
    "has_notes",
    "read_notes",
    "seal_notes",
    "write_note",
]

MAX_NOTES = 100_000
"""How many notes of one tenant are kept, the newest (a file may hold a few more)."""

_PRUNED_EVERY = 256

_TABLE = """
CREATE TABLE IF NOT EXISTS feedback{s}(
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL,  -- who asked; '' is "none"
  id NOT NULL,                                                    -- of the memory
  used INTEGER NOT NULL, query BLOB, lexical_rank INTEGER, vector_rank INTEGER, score REAL)
"""
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS feedback_id{s} ON feedback{s}(id)",
    "CREATE INDEX IF NOT EXISTS feedback_asker{s} ON feedback{s}(tenant, number)",
)


class Seals(Protocol):
    """What a store's cipher does for a note."""

    def seal(self, tenant: str, place: str, data: bytes | None) -> bytes | None:
        """Return the bytes as they are to be kept, within a transaction."""
        ...

    def open(self, tenant: str, place: str, data: bytes | None) -> bytes | None:
        """Return what was sealed."""
        ...

    def readable(self, tenant: str) -> bool:
        """Whether the tenant's key was not destroyed."""
        ...


def _cipher(store: ReadingStore) -> Seals | None:
    cipher: Seals | None = getattr(store, "cipher", None)
    return cipher


def _place(tables: Tables, number: int) -> str:
    return f"feedback{tables.suffix}.query {number}"


class Feedback(NamedTuple):
    """One hit that was of use, or was not."""

    id: str | int
    used: bool
    query: str | None
    lexical_rank: int | None
    vector_rank: int | None
    score: float | None
    at: float
    """Seconds since 1970."""
    scope: Scope
    """Who asked."""


def write_note(store: SqliteStore, note: Feedback, *, now: int) -> bool:
    """Write a note, durably; False (and nothing is written) if there is no such memory that its asker sees."""
    t = store.tables
    cipher = _cipher(store)
    if cipher is not None and not cipher.readable(
        note.scope.tenant
    ):  # asked before others have to wait for it
        return False
    with store.writing("recording feedback") as transaction:
        execute = transaction.connection.execute
        found = execute(
            f"SELECT s.tenant, s.user, s.agent FROM {t.document} d JOIN {t.scope} s ON s.key = d.scope "
            "WHERE d.id = ? AND (d.expires_at IS NULL OR d.expires_at > ?)",
            (note.id, now),
        ).fetchone()
        if found is None or scope_of(*found) not in visible_from(note.scope):
            return False
        if not has_notes(transaction.connection, t):
            for statement in (_TABLE, *_INDEXES):
                execute(statement.replace("{s}", t.suffix))
        names = names_of(note.scope)
        (number,) = execute(f"SELECT ifnull(max(number), 0) + 1 FROM feedback{t.suffix}").fetchone()
        query = None if note.query is None else note.query.encode()
        if cipher is not None:
            query = cipher.seal(note.scope.tenant, _place(t, number), query)
        execute(
            f"INSERT INTO feedback{t.suffix}(number, at, tenant, user, agent, id, used, query, lexical_rank, "
            "vector_rank, score) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                round(note.at * 1e6),
                *names,
                note.id,
                int(note.used),
                query,
                note.lexical_rank,
                note.vector_rank,
                note.score,
            ),
        )
        if number % _PRUNED_EVERY == 0:
            execute(
                f"DELETE FROM feedback{t.suffix} WHERE tenant = ? AND number <= (SELECT number FROM "
                f"feedback{t.suffix} WHERE tenant = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (names[0], names[0], MAX_NOTES),
            )
    return True


def read_notes(store: ReadingStore, scope: Scope | None, *, now: int) -> list[Feedback]:
    """Return the notes on memories that are still there, oldest first; with `scope` those asked from within it."""
    t = store.tables
    with store.snapshot():
        connection = store.reading_connection()
        if not has_notes(connection, t):
            return []
        condition, names = ("1", ()) if scope is None else _within(scope, exact=False)
        found = connection.execute(
            "SELECT f.number, f.query, f.id, f.used, f.lexical_rank, f.vector_rank, f.score, f.at, f.tenant, f.user, "
            "f.agent "
            f"FROM feedback{t.suffix} f WHERE {condition} AND EXISTS(SELECT 1 FROM {t.document} d WHERE d.id = f.id "
            "AND (d.expires_at IS NULL OR d.expires_at > ?)) ORDER BY f.number",
            (*names, now),
        ).fetchall()
    cipher = _cipher(store)
    readable = {tenant: cipher is None or cipher.readable(tenant) for tenant in {row[8] for row in found}}
    notes = []
    for number, query, id, used, lexical, vector, score, at, *names in found:
        if not readable[names[0]]:  # its key was destroyed: as if erased
            continue
        if cipher is not None:
            query = cipher.open(names[0], _place(t, number), query)
        text = None if query is None else bytes(query).decode("utf-8", "replace")
        notes.append(Feedback(id, bool(used), text, lexical, vector, score, at / 1e6, scope_of(*names)))
    return notes


def seal_notes(store: SqliteStore, connection: sqlite3.Connection, tables: Tables, tenant: str) -> int:
    """Seal the questions of a tenant that is being encrypted, within a transaction of the store; how many there are."""
    cipher = _cipher(store)
    if cipher is None or not has_notes(connection, tables):
        return 0
    query = f"SELECT number, query FROM feedback{tables.suffix} WHERE tenant = ? AND query IS NOT NULL"
    found = connection.execute(query, (tenant,)).fetchall()
    for number, data in found:
        place = _place(tables, number)
        sealed = cipher.seal(tenant, place, cipher.open(tenant, place, data))
        connection.execute(f"UPDATE feedback{tables.suffix} SET query = ? WHERE number = ?", (sealed, number))
    return len(found)


def has_notes(connection: sqlite3.Connection, tables: Tables) -> bool:
    """Whether the collection has a table of notes."""
    name = f"feedback{tables.suffix}"
    return (
        connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)
        ).fetchone()
        is not None
    )


def forget_ids(connection: sqlite3.Connection, tables: Tables, ids: Iterable[RowId]) -> None:
    """Drop the notes on memories that are being deleted; inside the transaction that does it."""
    if has_notes(connection, tables):
        connection.executemany(f"DELETE FROM feedback{tables.suffix} WHERE id = ?", [(id,) for id in ids])


def forget_scope(connection: sqlite3.Connection, tables: Tables, scope: Scope, *, exact: bool) -> None:
    """Drop the notes on memories of a scope that is about to be erased, and those that were asked from it.

    Nobody outside of a tenant sees its memories, so only the tenant's own notes are looked at.
    """
    if not has_notes(connection, tables):
        return
    condition, names = _within(scope, exact=exact)
    connection.execute(
        f"DELETE FROM feedback{tables.suffix} AS f WHERE tenant = ? AND ({condition} OR EXISTS("
        f"SELECT 1 FROM {tables.document} d JOIN {tables.scope} s ON s.key = d.scope WHERE d.id = f.id AND "
        f"{condition.replace('f.', 's.')}))",
        (scope.tenant, *names, *names),
    )


def _within(scope: Scope, *, exact: bool) -> tuple[str, tuple[str, ...]]:
    """The condition that a note's tenant, user and agent agree with `scope`, and its parameters."""
    tenant, user, agent = names_of(scope)
    condition, names = "f.tenant = ?", [tenant]
    for column, name in (("user", user), ("agent", agent)):
        if exact or name:
            condition += f" AND f.{column} = ?"
            names.append(name)
    return f"({condition})", tuple(names)


class FeedbackLog:
    """The notes of an index in memory. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._notes: dict[str, deque[tuple[int, Feedback]]] = {}  # by the tenant that asked
        self._n_noted = 0

    def add(self, note: Feedback, is_there: Callable[[], bool]) -> bool:
        """Keep a note if its memory is there; in one step with that, so that no erasure comes between."""
        with self._lock:
            if not is_there():
                return False
            self._n_noted += 1
            own = self._notes.setdefault(note.scope.tenant, deque(maxlen=MAX_NOTES))
            own.append((self._n_noted, note))
            return True

    def forget(self, is_gone: Callable[[Feedback], bool]) -> None:
        """Drop the notes of which this holds."""
        if not self._notes:
            return
        with self._lock:
            for tenant, own in list(self._notes.items()):
                kept = [one for one in own if not is_gone(one[1])]
                if not kept:
                    del self._notes[tenant]
                elif len(kept) < len(own):
                    self._notes[tenant] = deque(kept, maxlen=MAX_NOTES)

    def all(self) -> Sequence[Feedback]:
        """Return all notes, oldest first."""
        with self._lock:
            return [
                note for _, note in sorted((one for own in self._notes.values() for one in own), key=_number)
            ]


def _number(one: tuple[int, Feedback]) -> int:
    return one[0]
