"""Encrypting a tenant whose rows are plain, and changing a master key.

The first transaction creates the data key and seals the tables outside of the collections; existing documents are
then sealed in small transactions, in every collection. New writes are sealed from the first transaction on, so a
killed process leaves a tenant with some rows sealed and some plain. The mark of the data key, authenticated with
it, records this, and the next call resumes. When no plain row is left the data key is marked as whole: from then
on other software must have written any plain row, and the next call raises unless it is told to accept it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scrubjay.base.errors import CorruptIndexError, EncryptionError
from scrubjay.base.progress import Progress
from scrubjay.store.keys.encryption import WHOLE, Box
from scrubjay.store.keys.opening import DataKey, rotated
from scrubjay.store.keys.sealing import RowBox
from scrubjay.store.rows.decoding import scope_of
from scrubjay.store.rows.sealed import is_sealed, sealed_by
from scrubjay.store.rows.vectors import content_hash
from scrubjay.store.sqlite import image_pieces
from scrubjay.store.sqlite.cipher import data_key, has_plain_rows
from scrubjay.store.sqlite.digests import scope_problems, table_problems
from scrubjay.store.sqlite.feedback import has_notes
from scrubjay.store.sqlite.registry import seal_tables
from scrubjay.store.sqlite.schema import Tables, all_tables
from scrubjay.store.sqlite.store import SqliteStore
from scrubjay.store.sqlite.transaction import Transaction

_BATCH = 500  # rows per transaction


def encrypt_tenant(store: SqliteStore, tenant: str, progress: Progress, *, accept: bool = False) -> int:
    """Seal all plain data of a tenant, in every collection; return the number of documents sealed.

    With `accept`, also accept plain rows of a tenant that was fully encrypted before, and recompute its digests
    from whatever sealed rows exist.

    Raises:
        EncryptionError: the provider gives no key.
        CorruptIndexError: the tenant was fully encrypted, and other software changed its rows since.
    """
    n_sealed = 0
    with _encrypting(store, tenant) as (transaction, box):
        if box.whole and not accept:
            _refuse_changes(transaction, tenant, box)
    while True:
        for tables, seqs in _in_the_clear(store, tenant):
            for start in range(0, len(seqs), _BATCH):
                with _encrypting(store, tenant) as (transaction, box):
                    part = seqs[start : start + _BATCH]
                    n_sealed += _seal_some(transaction, tables, tenant, box, part)
                progress.update(len(part))
        with _encrypting(store, tenant) as (transaction, box):
            connection = transaction.connection
            collections = all_tables(connection)
            if any(_clear_seqs(connection, tables, tenant, limit=1) for tables in collections):
                continue  # an index opened before there were keys wrote meanwhile
            seal_tables(connection, store.cipher, tenant, first=False)
            for tables in collections:
                _drop_clear_images(connection, tables, tenant)
                if accept:
                    _accept(Transaction(connection, tables, digests=transaction.digests), tenant)
            if accept and transaction.digests is not None:
                transaction.digests.begin_anew(tenant)
            if not box.whole:
                _mark_whole(store, connection, tenant)
            return n_sealed


@contextmanager
def _encrypting(store: SqliteStore, tenant: str) -> Iterator[tuple[Transaction, Box]]:
    store.cipher.ring_or_error(tenant)  # before the write lock is taken
    with store.writing("encrypting") as transaction:
        store.cipher.accept_plain_rows(tenant)
        yield transaction, _box(transaction, tenant)


def _refuse_changes(transaction: Transaction, tenant: str, box: Box) -> None:
    connection = transaction.connection
    plain = has_plain_rows(connection, tenant)
    problems = [] if plain is None else [f"rows of tenant {tenant!r} in {plain} are in the clear"]
    fresh = transaction.digests is not None and transaction.digests.is_fresh(tenant)
    if not problems and not fresh:
        problems = scope_problems(connection, box, tenant) + table_problems(connection, box, tenant)
    if problems:
        raise CorruptIndexError(
            f"tenant {tenant!r} was fully encrypted before, and other software has changed its rows since "
            f"({problems[0]}); index.admin.encrypt(tenant, accept=True) accepts them"
        )


def _accept(transaction: Transaction, tenant: str) -> None:
    """Make the existing rows the valid state of a tenant's scopes: recompute counts and hashes, and drop images."""
    t = transaction.tables
    for key, documents in transaction.connection.execute(
        f"SELECT s.key, (SELECT count(*) FROM {t.document} d WHERE d.scope = s.key) FROM {t.scope} s WHERE tenant = ?",
        (tenant,),
    ).fetchall():
        transaction.drop_image(key)
        transaction.renew(key, documents=0 if documents == 0 else None)
        transaction.connection.execute(
            f"UPDATE {t.scope} SET documents = ?, vectors = (SELECT count(*) FROM {t.vector} v JOIN {t.document} d "
            f"ON d.seq = v.seq WHERE d.scope = {t.scope}.key) WHERE key = ?",
            (documents, key),
        )
    rows = transaction.connection.execute(
        f"SELECT d.seq, d.text, d.payload, d.hash FROM {t.document} d JOIN {t.scope} s ON s.key = d.scope "
        "WHERE s.tenant = ?",
        (tenant,),
    )
    right = [(content_hash(text, payload), seq, hash) for seq, text, payload, hash in rows]
    transaction.connection.executemany(
        f"UPDATE {t.document} SET hash = ? WHERE seq = ?",
        [(now, seq) for now, seq, hash in right if now != hash],
    )
    if has_notes(transaction.connection, t):
        transaction.connection.execute(
            f"DELETE FROM feedback{t.suffix} AS f WHERE tenant = ? "
            f"AND NOT EXISTS(SELECT 1 FROM {t.document} d WHERE d.id = f.id AND d.scope = f.scope)",
            (tenant,),
        )


def _box(transaction: Transaction, tenant: str) -> Box:
    box = None if transaction.cipher is None else transaction.cipher.current(tenant)
    if box is None:
        raise EncryptionError(f"keys: expected a key for tenant {tenant!r}, got None")
    return box


def _in_the_clear(store: SqliteStore, tenant: str) -> list[tuple[Tables, list[int]]]:
    """Return the numbers of a tenant's plain rows, by collection."""
    connection = store.reading_connection()
    with store.snapshot():
        return [(tables, _clear_seqs(connection, tables, tenant)) for tables in all_tables(connection)]


def _clear_seqs(connection: sqlite3.Connection, t: Tables, tenant: str, *, limit: int = -1) -> list[int]:
    rows = connection.execute(
        f"SELECT d.seq FROM {t.scope} s CROSS JOIN {t.document} d ON d.scope = s.key "
        "WHERE s.tenant = ? AND typeof(d.text) = 'text' LIMIT ?",
        (tenant, limit),
    ).fetchall()
    return [seq for (seq,) in rows]


def _seal_some(transaction: Transaction, t: Tables, tenant: str, box: Box, seqs: Sequence[int]) -> int:
    """Seal the given rows that still exist and are plain; return their number."""
    connection = transaction.connection
    if t.suffix not in [tables.suffix for tables in all_tables(connection)]:
        return 0  # the collection was dropped
    boxes: dict[tuple[str, str], RowBox] = {}
    n = 0
    for seq in seqs:
        stored = connection.execute(
            f"SELECT d.scope, d.expires_at, d.id, d.text, d.payload, v.data, n.data, s.user, s.agent "
            f"FROM {t.document} d "
            f"JOIN {t.scope} s ON s.key = d.scope "
            f"LEFT JOIN {t.vector} v ON v.seq = d.seq LEFT JOIN {t.staged_vector} n ON n.seq = d.seq "
            "WHERE d.seq = ? AND typeof(d.text) = 'text'",
            (seq,),
        ).fetchone()
        if stored is None:
            continue
        key, expires_at, *row, user, agent = stored
        names = (user, agent)
        if names not in boxes:
            scope = scope_of(tenant, *names)
            own = None if transaction.cipher is None else transaction.cipher.row_box(t.document, scope)
            boxes[names] = own or RowBox(box, t.document, scope)
        sealed = _seal_row(transaction, t, boxes[names], seq, tenant, row)
        Transaction(connection, t, digests=transaction.digests).row_sealed(key, seq, expires_at, *sealed)
        n += 1
    return n


def _boxed(transaction: Transaction, box: RowBox, tenant: str, value: Any) -> RowBox:
    """Return the opener of a value that may be sealed with another key than `box`."""
    if transaction.cipher is None or not is_sealed(value) or sealed_by(value) == box.box.id:
        return box
    try:
        return box.with_box(transaction.cipher.opening(tenant, sealed_by(value)))
    except EncryptionError:
        return box


def _seal_row(
    transaction: Transaction, t: Tables, box: RowBox, seq: int, tenant: str, row: Sequence[Any]
) -> tuple[bytes, bytes | None, bytes | None]:
    connection = transaction.connection
    id, clear_text, *values = row
    # If other software replaced the text of a sealed row by plaintext, its other values may still be sealed.
    columns = ("payload", "vector", "vector")
    clear_payload, clear_vector, staged = (
        _boxed(transaction, box, tenant, value).opened_or(column, seq, id, value)
        for column, value in zip(columns, values, strict=True)
    )
    text, payload, vector = box.seal(seq, id, clear_text, clear_payload, clear_vector)
    connection.execute(
        f"UPDATE {t.document} SET text = ?, payload = ?, hash = ? WHERE seq = ?",
        (text, payload, content_hash(text, payload), seq),
    )
    if vector is not None:
        connection.execute(f"UPDATE {t.vector} SET data = ? WHERE seq = ?", (vector, seq))
    elif values[1] is not None:
        connection.execute(f"DELETE FROM {t.vector} WHERE seq = ?", (seq,))
    if staged is not None:
        sealed = box.seal_vector(seq, id, staged)
        connection.execute(f"UPDATE {t.staged_vector} SET data = ? WHERE seq = ?", (sealed, seq))
    return text, payload, vector


def _drop_clear_images(connection: sqlite3.Connection, t: Tables, tenant: str) -> None:
    """Delete plain images; they are written again from the rows."""
    for (key,) in connection.execute(f"SELECT key FROM {t.scope} WHERE tenant = ?", (tenant,)).fetchall():
        heads = connection.execute(
            f"SELECT n_chunks < 0, substr(data, 1, 2) FROM {t.image} WHERE scope = ?", (key,)
        ).fetchall()
        if not all(not cut and isinstance(head, bytes) and is_sealed(head) for cut, head in heads):
            connection.execute(f"DELETE FROM {t.image} WHERE scope = ?", (key,))
        image_pieces.forget(connection, t, key)  # those that are left belong to no image


def _mark_whole(store: SqliteStore, connection: sqlite3.Connection, tenant: str) -> None:
    stored = data_key(connection, tenant)
    ring = store.cipher.ring
    master = None if ring is None else ring.access(tenant, fresh=False).master
    if stored is not None and master is not None:
        _write(connection, tenant, stored.rewrapped(tenant, master, master, mark=stored.mark | WHOLE))


def rotate_key(store: SqliteStore, tenant: str, old: bytes) -> None:
    """Wrap a tenant's data key with the provider's current master key, which replaces `old`.

    Raises:
        EncryptionError: the tenant is not encrypted, `old` is not its key, or the provider gives no key.
    """
    turn = rotated(store.cipher.ring, tenant, old)
    with store.writing("changing a key") as transaction:
        key = turn(data_key(transaction.connection, tenant))
        if key is not None:
            _write(transaction.connection, tenant, key)


def _write(connection: sqlite3.Connection, tenant: str, key: DataKey) -> None:
    connection.execute(
        "UPDATE data_key SET whole = ?, fingerprint = ?, wrapped = ? WHERE tenant = ?",
        (key.mark, key.fingerprint, key.wrapped, tenant),
    )
