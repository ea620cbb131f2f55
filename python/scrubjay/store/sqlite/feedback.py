"""Feedback on hits. A note lives as long as its memory and the asking scope.

In a file: a table per collection, created by the first note. A note names its memory by scope and id, and the
asker by another scope, to which the first is visible. It contains the text of a query, so it is deleted with the
memory (deleted, expired and swept, erased) and with the asking scope, in the same transaction. Notes change no
version, so they invalidate no cached result and no partition. :mod:`scrubjay.store.sqlite.transaction` calls the
deletions. Queries of encrypted tenants are sealed (:mod:`scrubjay.store.sqlite.registry`).

In memory: :class:`FeedbackLog` behaves alike.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.rows.decoding import integer, is_id, optional_integer, scope_of
from scrubjay.store.rows.feedback import MAX_NOTES, Feedback
from scrubjay.store.rows.listing import warn_of
from scrubjay.store.rows.scopes import agreeing, names_of
from scrubjay.store.rows.sealed import is_sealed
from scrubjay.store.rows.values import RowId
from scrubjay.store.sqlite.cipher import Cipher
from scrubjay.store.sqlite.reading import ScopeReader
from scrubjay.store.sqlite.schema import Tables, has_table

NOTE = ("number", "query", "id", "used", "lexical_rank", "vector_rank", "score", "at")
"""The columns that :func:`check_note` validates."""

_PRUNED_EVERY = 256

_TABLE = """
CREATE TABLE IF NOT EXISTS feedback{s}(
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL,  -- who asked; '' is "none"
  id NOT NULL,                                                    -- of the memory
  used INTEGER NOT NULL, query BLOB, lexical_rank INTEGER, vector_rank INTEGER, score REAL,
  scope INTEGER NOT NULL,                                         -- of the memory, the key of its row
  bound INTEGER NOT NULL)  -- whether a digest counts these two columns; 0 in what a file of format 3 brought along
"""
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS feedback_id{s} ON feedback{s}(id, scope)",
    "CREATE INDEX IF NOT EXISTS feedback_asker{s} ON feedback{s}(tenant, number)",
)


class WritableStore(Protocol):
    """What notes need of a store, whose transactions call this module."""

    tables: Tables
    cipher: Cipher

    def writing(self, doing: str) -> AbstractContextManager[Any]:
        """Acquire the write lock; yield the transaction."""
        ...


def _place(tables: Tables, number: int) -> str:
    return f"feedback{tables.suffix}.query {number}"


def write_note(store: WritableStore, note: Feedback, *, now: int) -> bool:
    """Write a note, durably; False if the memory does not exist or is not visible to the asker (nothing is written)."""
    t, cipher = store.tables, store.cipher
    if note.document_scope not in note.scope.visible():
        return False
    # Before the transaction, so that no writer waits for a key provider.
    if not cipher.readable(note.scope.tenant, note.scope.user):
        return False
    with store.writing("recording feedback") as transaction:
        execute = transaction.connection.execute
        document = execute(
            f"SELECT s.key FROM {t.scope} s JOIN {t.document} d ON d.id = ? AND d.scope = s.key "
            "WHERE s.tenant = ? AND s.user = ? AND s.agent = ? AND (d.expires_at IS NULL OR d.expires_at > ?)",
            (note.id, *names_of(note.document_scope), now),
        ).fetchone()
        if document is None:
            return False
        if not has_notes(transaction.connection, t):
            for statement in feedback_tables(t):
                execute(statement)
            transaction.notice_tables()
        names = names_of(note.scope)
        (number,) = execute(f"SELECT ifnull(max(number), 0) + 1 FROM feedback{t.suffix}").fetchone()
        query = None if note.query is None else note.query.encode()
        query = cipher.seal(note.scope.tenant, _place(t, number), query, user=note.scope.user or "")
        execute(
            f"INSERT INTO feedback{t.suffix}(number, at, tenant, user, agent, id, used, query, lexical_rank, "
            "vector_rank, score, scope, bound) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
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
                document[0],
            ),
        )
        if number % _PRUNED_EVERY == 0:
            execute(
                f"DELETE FROM feedback{t.suffix} WHERE tenant = ? AND number <= (SELECT number FROM "
                f"feedback{t.suffix} WHERE tenant = ? ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (names[0], names[0], MAX_NOTES),
            )
    return True


def feedback_tables(tables: Tables) -> list[str]:
    """Return the statements that create a collection's table of notes."""
    return [statement.replace("{s}", tables.suffix) for statement in (_TABLE, *_INDEXES)]


def read_notes(store: ScopeReader, scope: Scope | None, *, now: int) -> list[Feedback]:
    """Return the notes on existing memories, oldest first; with `scope` only those written from within it.

    A damaged note is omitted, with a warning.

    Raises:
        CorruptIndexError, EncryptionError: a query is plaintext, and its asker's tenant has a key.
    """
    t = store.tables
    with store.snapshot():
        connection = store.reading_connection()
        if not has_notes(connection, t):
            return []
        condition, names = ("1", ()) if scope is None else agreeing(scope, table="f")
        rows = connection.execute(
            "SELECT f.number, f.query, f.id, f.used, f.lexical_rank, f.vector_rank, f.score, f.at, f.tenant, f.user, "
            "f.agent, s.tenant, s.user, s.agent "
            f"FROM feedback{t.suffix} f JOIN {t.scope} s ON s.key = f.scope WHERE {condition} "
            f"AND EXISTS(SELECT 1 FROM {t.document} d WHERE d.id = f.id AND d.scope = f.scope "
            "AND (d.expires_at IS NULL OR d.expires_at > ?)) ORDER BY f.number",
            (*names, now),
        ).fetchall()
    cipher = store.cipher
    readable: dict[tuple[str, str], bool] = {}
    notes: list[Feedback] = []
    damaged: list[str] = []
    for row in rows:
        number, query, *values = row[:8]
        tenant = row[8]
        try:
            asker, own = scope_of(*row[8:11]), scope_of(*row[11:])
            who = tenant, asker.user or ""
            if who not in readable:
                readable[who] = cipher.readable(*who)
            if not readable[who]:  # its key was destroyed, so it counts as erased
                continue
            refused = _refusal(cipher, tenant, _place(t, number), query)
            if refused is None:
                check_note(row)
                query = cipher.open(tenant, _place(t, number), query)
        except CorruptIndexError as error:
            damaged.append(f"note {number}: {error.what}")
            continue
        if refused is not None:  # not damaged: other software wrote it, or it must be encrypted first
            raise refused
        text = None if query is None else bytes(query).decode("utf-8", "replace")
        id, used, lexical, vector, score, at = values
        notes.append(Feedback(id, bool(used), text, lexical, vector, score, at / 1e6, asker, own))
    warn_of(damaged, store.path)
    return notes


def _refusal(cipher: Cipher, tenant: str, place: str, query: Any) -> Exception | None:
    """Return the error for a query that is plaintext and must not be; None if it is valid."""
    if query is None or is_sealed(query) or not cipher.refuses_plain(tenant):
        return None
    return cipher.plain(place, tenant)


def check_note(row: Sequence[Any]) -> None:
    """Check the types of a note's values."""
    _, query, id, used, lexical, vector, score, at, *_ = row
    integer(at, "its time")
    integer(used, "used")
    for rank in (lexical, vector):
        optional_integer(rank, "a rank")
    if (
        not is_id(id)
        or not isinstance(query, (bytes, type(None)))
        or not isinstance(score, (float, type(None)))
    ):
        raise CorruptIndexError("its question, score or document cannot be read")


def damaged_notes(connection: sqlite3.Connection, tables: Tables) -> list[str]:
    """Return a message for each damaged note of a collection."""
    rows = connection.execute(f"SELECT {', '.join(NOTE)}, tenant, user, agent FROM feedback{tables.suffix}")
    damaged = []
    for row in rows.fetchall():
        try:
            scope_of(*row[8:])
            check_note(row)
        except CorruptIndexError as error:
            damaged.append(f"note of feedback {row[0]}: {error.what}")
    return damaged


def has_notes(connection: sqlite3.Connection, tables: Tables) -> bool:
    """Whether the collection has a table of notes."""
    return has_table(connection, f"feedback{tables.suffix}")


def forget_ids(connection: sqlite3.Connection, tables: Tables, key: int, ids: Iterable[RowId]) -> None:
    """Delete the notes on documents of a scope, in the transaction that deletes these."""
    if has_notes(connection, tables):
        connection.executemany(
            f"DELETE FROM feedback{tables.suffix} WHERE id = ? AND scope = ?", [(id, key) for id in ids]
        )


def forget_scope(connection: sqlite3.Connection, tables: Tables, scope: Scope, *, exact: bool) -> None:
    """Delete the notes on documents of a scope, and those written from it, in the transaction that erases it.

    Its documents are visible to no other tenant, so only the tenant's own notes are searched.
    """
    if not has_notes(connection, tables):
        return
    asking, names = agreeing(scope, exact=exact, table="f")
    judged, _ = agreeing(scope, exact=exact, table="s")
    connection.execute(
        f"DELETE FROM feedback{tables.suffix} AS f WHERE tenant = ? AND (({asking}) OR EXISTS("
        f"SELECT 1 FROM {tables.scope} s WHERE s.key = f.scope AND {judged}))",
        (scope.tenant, *names, *names),
    )
