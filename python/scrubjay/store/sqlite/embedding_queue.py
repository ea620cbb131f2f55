"""The queue of documents whose texts are still to be embedded: they were written while the embedder did not
answer.

The payload of such a document marks it as pending (:func:`scrubjay.documents.payload.is_pending`), so every reader
sees it, of sealed rows as well. A separate table, created by the first of them, lists them by the number of the
document's last write. Numbers are never reused, so the entry of a document that was rewritten or deleted is stale: it
is skipped, and deleted by :func:`forget_stale`. If the table is missing nothing is pending, so files need no migration.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.values import StoredRow
from scrubjay.store.sqlite.connections import translated
from scrubjay.store.sqlite.document_reading import DocumentReader
from scrubjay.store.sqlite.reading import ScopeReader
from scrubjay.store.sqlite.schema import Tables, has_table

_LIVE = "FROM {pending} p JOIN {document} d ON d.seq = p.seq WHERE (d.expires_at IS NULL OR d.expires_at > ?)"


def table_of(t: Tables) -> str:
    """Return the name of a collection's table; it may not exist."""
    return f"pending{t.suffix}"


def note(connection: sqlite3.Connection, t: Tables, seqs: Sequence[int]) -> None:
    """Add documents to the queue, within a transaction."""
    connection.execute(f"CREATE TABLE IF NOT EXISTS {table_of(t)}(seq INTEGER PRIMARY KEY)")
    connection.executemany(f"INSERT INTO {table_of(t)}(seq) VALUES (?)", [(seq,) for seq in seqs])


def exists(connection: sqlite3.Connection, t: Tables) -> bool:
    """Whether the queue exists."""
    return has_table(connection, table_of(t))


def not_pending(connection: sqlite3.Connection, t: Tables) -> str:
    """Return the SQL condition, to follow an AND, that a document `d` is not pending."""
    if not exists(connection, t):
        return "1"
    return f"NOT EXISTS(SELECT 1 FROM {table_of(t)} p WHERE p.seq = d.seq)"


def forget_stale(connection: sqlite3.Connection, t: Tables) -> None:
    """Delete the entries of documents that were rewritten or deleted, within a transaction."""
    connection.execute(f"DELETE FROM {table_of(t)} WHERE seq NOT IN (SELECT seq FROM {t.document})")


def count(reader: ScopeReader, *, now: int, scopes: Sequence[Scope] | None = None) -> int:
    """Return the number of pending unexpired documents, of these exact scopes or of all."""
    t = reader.tables
    with translated(reader.path, "reading"):
        connection = reader.reading_connection()
        if not exists(connection, t):
            return 0
        live = _LIVE.format(pending=table_of(t), document=t.document)
        if scopes is None:
            (n,) = connection.execute(f"SELECT count(*) {live}", (now,)).fetchone()
            return int(n)
        names = ", ".join(["(?, ?, ?)"] * len(scopes))
        (n,) = connection.execute(
            f"SELECT count(*) {live} AND d.scope IN "
            f"(SELECT key FROM {t.scope} WHERE (tenant, user, agent) IN (VALUES {names}))",
            (now, *(name for scope in scopes for name in names_of(scope))),
        ).fetchone()
        return int(n)


def pages(
    reader: ScopeReader, documents: DocumentReader, size: int, *, now: int
) -> Iterator[list[tuple[StoredRow, Scope]]]:
    """Yield pending documents in order of writing, `size` entries at a time, including those entered meanwhile.

    Damaged documents, and those whose keys are not available, are skipped.
    """
    t = reader.tables
    after = 0
    while True:
        with translated(reader.path, "reading"):
            connection = reader.reading_connection()
            if not exists(connection, t):
                return
            live = _LIVE.format(pending=table_of(t), document=t.document)
            seqs = connection.execute(
                f"SELECT p.seq {live} AND p.seq > ? ORDER BY p.seq LIMIT ?", (now, after, size)
            ).fetchall()
        if not seqs:
            return
        after = seqs[-1][0]
        page = []
        for (seq,) in seqs:
            try:
                document = documents.at(seq)
            except (CorruptIndexError, EncryptionError):
                continue
            if document is not None:
                page.append(document)
        yield page
