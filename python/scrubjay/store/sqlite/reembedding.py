"""Changing the model while the old vectors keep serving.

New vectors are staged in a separate table, in small transactions, so that a killed process resumes where it
stopped. When every document has one, a single transaction swaps the two tables, and every partition is read
again. Documents written meanwhile get vectors of the old model, and new ones before the swap.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from scrubjay.base.errors import CorruptIndexError, StoreError
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.model_change import ModelChange
from scrubjay.store.rows.vectors import has_passages
from scrubjay.store.sqlite import image_pieces
from scrubjay.store.sqlite.embedding_queue import not_pending
from scrubjay.store.sqlite.schema import Tables, has_data_keys, note_passages
from scrubjay.store.sqlite.store import SqliteStore
from scrubjay.store.sqlite.transaction import Transaction


def _missing_rows(connection: sqlite3.Connection, t: Tables, join: str = "") -> str:
    """Return the SQL of documents without a new vector; pending documents are embedded after the change."""
    return (
        f"FROM {t.document} d {join} WHERE NOT EXISTS(SELECT 1 FROM {t.staged_vector} n WHERE n.seq = d.seq) "
        f"AND {not_pending(connection, t)}"
    )


def reembed_rows(store: SqliteStore, change: ModelChange) -> int:
    """Give every document a vector of the new model; return how many documents were embedded by this call."""
    t, goal = store.tables, change.goal
    with store.writing("reembedding") as transaction:
        if transaction.meta("reembedding") != goal:  # staged vectors of another model are useless
            transaction.connection.execute(f"DELETE FROM {t.staged_vector}")
            transaction.settle(reembedding=goal)
    n_embedded = 0
    last: int | None = None
    refused = is_down = False
    while True:
        missing = _missing(store, change.batch_size)
        if missing:
            if last is not None and missing[0][0] <= last:
                raise CorruptIndexError("a staged vector has disappeared", path=store.path)
            last = missing[0][0]
            rows: list[tuple[int, bytes | None]] = []
            try:
                if not is_down:
                    vectors = change.vectors([document for _, document in missing])
                    rows = [(seq, vector) for (seq, _), vector in zip(missing, vectors, strict=True)]
            except change.failing:
                is_down = True
            if is_down:
                rows = [(seq, None) for seq, _ in missing if not _make_pending(store, change, seq)]
            with store.writing("reembedding") as transaction:
                _stage(transaction, rows, goal)
            n_embedded += 0 if is_down else len(rows)
            change.progress.update(len(rows))
            refused = False
            continue
        if _swap(store, change):
            return n_embedded
        if refused:  # a document was written meanwhile; the next query finds it
            raise CorruptIndexError("documents without a vector cannot be found", path=store.path)
        refused = True


def _missing(store: SqliteStore, limit: int) -> list[tuple[int, tuple[str, bytes | None] | None]]:
    """Return (seq, (text, payload)) of documents without a new vector; (seq, None) if a tenant's key was destroyed."""
    t = store.tables
    connection = store.reading_connection()
    with store.snapshot():
        rows = connection.execute(
            f"SELECT d.seq, d.id, d.text, d.payload, NULL, d.hash, s.tenant, s.user, s.agent "
            f"{_missing_rows(connection, t, f'LEFT JOIN {t.scope} s ON s.key = d.scope')} ORDER BY d.seq LIMIT ?",
            (limit,),
        ).fetchall()
        return [(row[0], store.to_embed(row[:6], scope_of(*row[6:]))) for row in rows]


def _stage(transaction: Transaction, rows: Sequence[tuple[int, bytes | None]], goal: str) -> None:
    t = transaction.tables
    if transaction.meta("reembedding") != goal:
        raise StoreError("reembedding: another process began to change the model")
    if any(data is not None and has_passages(data) for _, data in rows):
        note_passages(transaction.connection)
    if has_data_keys(transaction.connection):
        rows = [(seq, data if data is None else transaction.sealed_vector(seq, data)) for seq, data in rows]
    # A document may have been deleted or replaced while its text was embedded; then no row has this number.
    transaction.connection.executemany(
        f"INSERT OR REPLACE INTO {t.staged_vector} SELECT seq, ? FROM {t.document} WHERE seq = ?",
        [(data, seq) for seq, data in rows],
    )


def _swap(store: SqliteStore, change: ModelChange) -> bool:
    """Replace the old vectors by the new ones, if every document has one."""
    t = store.tables
    with store.writing("reembedding") as transaction:
        execute = transaction.connection.execute
        if transaction.meta("reembedding") != change.goal:
            raise StoreError("reembedding: another process began to change the model")
        if execute(f"SELECT 1 {_missing_rows(transaction.connection, t)} LIMIT 1").fetchone() is not None:
            return False
        _count_vectors(transaction)
        execute(f"DELETE FROM {t.vector}")
        execute(f"INSERT INTO {t.vector} SELECT seq, data FROM {t.staged_vector} WHERE data IS NOT NULL")
        execute(f"DELETE FROM {t.staged_vector}")
        execute(f"DELETE FROM {t.image}")
        image_pieces.forget(transaction.connection, t, None)
        for (key,) in execute(f"SELECT key FROM {t.scope} WHERE documents > 0").fetchall():
            transaction.renew(key)
        generation = transaction.identity().generation + 1
        transaction.settle(model=change.model, dim=change.dim, generation=generation, reembedding=None)
        transaction.commit()
        change.adopt()
    return True


def _count_vectors(transaction: Transaction) -> None:
    """Update the counts and digests of scopes for the swap: the number of vectors, and the changed vectors of
    sealed rows."""
    t = transaction.tables
    execute = transaction.connection.execute
    for (key,) in execute(f"SELECT key FROM {t.scope} WHERE documents > 0").fetchall():
        transaction.change(key)
    for sign, table in ((-1, t.vector), (1, t.staged_vector)):
        counts = execute(
            f"SELECT d.scope, count(*) FROM {table} v JOIN {t.document} d ON d.seq = v.seq "
            "WHERE v.data IS NOT NULL GROUP BY d.scope"
        ).fetchall()
        for key, n in counts:
            execute(f"UPDATE {t.scope} SET vectors = vectors + ? WHERE key = ?", (sign * n, key))
        if has_data_keys(transaction.connection):
            for key, seq, tag in execute(
                f"SELECT d.scope, d.seq, substr(v.data, -16) FROM {table} v JOIN {t.document} d ON d.seq = v.seq "
                "WHERE v.data IS NOT NULL AND typeof(d.text) = 'blob'"
            ):
                transaction.exchange_vector(key, sign, seq, tag)


def _make_pending(store: SqliteStore, change: ModelChange, seq: int) -> bool:
    try:
        row_and_scope = store.at(seq)
    except CorruptIndexError:
        return False
    return row_and_scope is not None and change.make_pending(*row_and_scope)
