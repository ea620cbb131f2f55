"""Changing the model while the old vectors keep serving.

New vectors are staged in a separate table, in small transactions, so that a killed process resumes where it
stopped. When every document has one, a single transaction swaps the two tables, and every partition is read
again. Documents written meanwhile get vectors of the old model, and new ones before the swap.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from scrubjay.base.errors import CorruptIndexError, StoreError, VersionConflictError
from scrubjay.base.progress import Progress
from scrubjay.documents.passage_vectors import DocumentVector
from scrubjay.documents.payload import with_pending
from scrubjay.store.engine import DurableEngine
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.vectors import encode, has_passages
from scrubjay.store.sqlite.embedding_queue import not_pending
from scrubjay.store.sqlite.schema import Tables, has_data_keys, note_passages
from scrubjay.store.sqlite.store import SqliteStore
from scrubjay.store.sqlite.transaction import Transaction

Embed = Callable[[Sequence[tuple[str, bytes | None]]], Sequence[DocumentVector | None]]


def _missing_rows(connection: sqlite3.Connection, t: Tables, join: str = "") -> str:
    """Return the SQL of documents without a new vector; pending documents are embedded after the change."""
    return (
        f"FROM {t.document} d {join} WHERE NOT EXISTS(SELECT 1 FROM {t.staged_vector} n WHERE n.seq = d.seq) "
        f"AND {not_pending(connection, t)}"
    )


def reembed_rows(
    engine: DurableEngine,
    store: SqliteStore,
    model: str,
    dim: int,
    embed: Embed,
    progress: Progress,
    *,
    batch_size: int,
    failing: tuple[type[Exception], ...] = (),
) -> int:
    """Give every document a vector of `model`; return how many documents were embedded by this call.

    `embed` returns a vector for each text and payload, or None where the model finds nothing. If it raises, the
    call ends, and vectors staged so far are kept for the next call with the same model. If it raises one of
    `failing` instead, the documents without a new vector become pending, and the model is changed.
    """
    t = store.tables
    with store.writing("reembedding") as transaction:
        goal = f"{model}\n{dim}"
        if transaction.meta("reembedding") != goal:  # staged vectors of another model are useless
            transaction.connection.execute(f"DELETE FROM {t.staged_vector}")
            transaction.settle(reembedding=goal)
    n_embedded = 0
    last: int | None = None
    refused = is_down = False
    while True:
        missing = _missing(engine, batch_size)
        if missing:
            if last is not None and missing[0][0] <= last:
                raise CorruptIndexError("a staged vector has disappeared", path=store.path)
            last = missing[0][0]
            try:
                rows = [] if is_down else _embed(missing, embed, engine.dtype)
            except failing:
                is_down = True
            if is_down:
                rows = [(seq, None) for seq, _ in missing if not _make_pending(engine, seq)]
            with store.writing("reembedding") as transaction:
                _stage(transaction, rows, goal)
            n_embedded += 0 if is_down else len(rows)
            progress.update(len(rows))
            refused = False
            continue
        if _swap(engine, model, dim, goal):
            return n_embedded
        if refused:  # a document was written meanwhile; the next query finds it
            raise CorruptIndexError("documents without a vector cannot be found", path=store.path)
        refused = True


def _missing(engine: DurableEngine, limit: int) -> list[tuple[int, tuple[str, bytes | None] | None]]:
    """Return (seq, (text, payload)) of documents without a new vector; (seq, None) if a tenant's key was destroyed."""
    store = engine.file("reembed")
    t = store.tables
    connection = store.reading_connection()
    with store.snapshot():
        rows = connection.execute(
            f"SELECT d.seq, d.id, d.text, d.payload, NULL, d.hash, s.tenant, s.user, s.agent "
            f"{_missing_rows(connection, t, f'LEFT JOIN {t.scope} s ON s.key = d.scope')} ORDER BY d.seq LIMIT ?",
            (limit,),
        ).fetchall()
        return [(row[0], store.to_embed(row[:6], scope_of(*row[6:]))) for row in rows]


def _embed(
    missing: Sequence[tuple[int, tuple[str, bytes | None] | None]], embed: Embed, dtype: str
) -> list[tuple[int, bytes | None]]:
    documents = [document for _, document in missing if document is not None]
    vectors = iter(embed(documents) if documents else [])
    rows = [(seq, None if document is None else next(vectors)) for seq, document in missing]
    return [(seq, None if vector is None else encode(vector, dtype)) for seq, vector in rows]


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


def _swap(engine: DurableEngine, model: str, dim: int, goal: str) -> bool:
    """Replace the old vectors by the new ones, if every document has one."""
    store = engine.file("reembed")
    t = store.tables
    with store.writing("reembedding") as transaction:
        execute = transaction.connection.execute
        if transaction.meta("reembedding") != goal:
            raise StoreError("reembedding: another process began to change the model")
        if execute(f"SELECT 1 {_missing_rows(transaction.connection, t)} LIMIT 1").fetchone() is not None:
            return False
        _count_vectors(transaction)
        execute(f"DELETE FROM {t.vector}")
        execute(f"INSERT INTO {t.vector} SELECT seq, data FROM {t.staged_vector} WHERE data IS NOT NULL")
        execute(f"DELETE FROM {t.staged_vector}")
        execute(f"DELETE FROM {t.image}")
        for (key,) in execute(f"SELECT key FROM {t.scope} WHERE documents > 0").fetchall():
            transaction.renew(key)
        generation = transaction.identity().generation + 1
        transaction.settle(model=model, dim=dim, generation=generation, reembedding=None)
        transaction.commit()
        engine.adopt_model()
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


def _make_pending(engine: DurableEngine, seq: int) -> bool:
    """Rewrite a document as pending, with its current vector; False if it cannot be read or no longer exists."""
    try:
        row_and_scope = engine.file("reembed").at(seq)
        if row_and_scope is None:
            return False
        document = engine.document(*row_and_scope)
        engine.upsert_versioned(
            [document.id],
            [document.text],
            scope=document.scope,
            versions=[seq],
            vectors=[document.vector],
            payloads=[with_pending(document.payload)],
            fills=True,
        )
    except (
        VersionConflictError,
        CorruptIndexError,
    ):  # rewritten, deleted or expired meanwhile, or damaged
        return False
    return True
