"""How does a tenant who was in the clear become encrypted whole, and how does a master key change?

What was written before the tenant had a key is sealed in small transactions, in every collection; new writes are
sealed from the first of them on, so a process that is killed leaves a tenant of whom some rows are sealed and some are
not, which everything can live with, and the next call goes on. When nothing is left the data key is marked: from then
on a row in the clear is a sign that somebody else wrote it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from scrubjay.errors import EncryptionError
from scrubjay.progress import Progress
from scrubjay.store.cipher import DataKey, data_key
from scrubjay.store.encryption import Box, Master, checked_key, is_sealed
from scrubjay.store.feedback import seal_notes
from scrubjay.store.reading import scope_of
from scrubjay.store.schema import Tables, all_tables, has_data_keys
from scrubjay.store.sealing import RowBox
from scrubjay.store.sqlite import SqliteStore
from scrubjay.store.transaction import Transaction
from scrubjay.store.vectors import content_hash

__all__ = ["encrypt_tenant", "encrypted_tenants", "rotate_key"]

_BATCH = 500  # rows a transaction


def encrypted_tenants(store: SqliteStore) -> list[str]:
    """Return the tenants that have a data key, in alphabetical order."""
    connection = store.reading_connection()
    with store.snapshot():
        if not has_data_keys(connection):
            return []
        return [
            tenant
            for (tenant,) in connection.execute("SELECT tenant FROM data_key ORDER BY tenant").fetchall()
        ]


def encrypt_tenant(store: SqliteStore, tenant: str, progress: Progress) -> int:
    """Seal whatever of a tenant is in the clear, in every collection; return how many documents that were.

    Raises:
        EncryptionError: the provider gives no key.
    """
    n_sealed = 0
    while True:
        for tables, seqs in _in_the_clear(store, tenant):
            for start in range(0, len(seqs), _BATCH):
                store.cipher.require([tenant])
                with store.writing("encrypting") as transaction:
                    part = seqs[start : start + _BATCH]
                    n_sealed += _seal_some(transaction, tables, tenant, _box(transaction, tenant), part)
                progress.update(len(part))
        store.cipher.require([tenant])
        with store.writing("encrypting") as transaction:
            box = _box(transaction, tenant)
            connection = transaction.connection
            collections = all_tables(connection)
            if any(_clear_seqs(connection, tables, tenant, limit=1) for tables in collections):
                continue  # an index that was open before there were keys wrote meanwhile
            for tables in collections:
                _drop_clear_images(connection, tables, tenant)
                seal_notes(store, connection, tables, tenant)
            if not box.whole:
                _mark_whole(store, connection, tenant)
            return n_sealed


def _box(transaction: Transaction, tenant: str) -> Box:
    box = None if transaction.cipher is None else transaction.cipher.current(tenant)
    if box is None:
        raise EncryptionError(f"keys: expected a key for tenant {tenant!r}, got None")
    return box


def _in_the_clear(store: SqliteStore, tenant: str) -> list[tuple[Tables, list[int]]]:
    """Return the numbers of a tenant's rows that are not sealed, of each collection."""
    connection = store.reading_connection()
    with store.snapshot():
        return [(tables, _clear_seqs(connection, tables, tenant)) for tables in all_tables(connection)]


def _clear_seqs(connection: sqlite3.Connection, t: Tables, tenant: str, *, limit: int = -1) -> list[int]:
    found = connection.execute(
        f"SELECT d.seq FROM {t.scope} s CROSS JOIN {t.document} d ON d.scope = s.key "
        "WHERE s.tenant = ? AND typeof(d.text) = 'text' LIMIT ?",
        (tenant, limit),
    ).fetchall()
    return [seq for (seq,) in found]


def _seal_some(transaction: Transaction, t: Tables, tenant: str, box: Box, seqs: Sequence[int]) -> int:
    """Seal those of the rows that are there and in the clear; how many."""
    connection = transaction.connection
    if t.suffix not in [tables.suffix for tables in all_tables(connection)]:
        return 0  # the collection was dropped
    boxes: dict[tuple[str, str], RowBox] = {}
    n = 0
    for seq in seqs:
        found = connection.execute(
            f"SELECT d.id, d.text, d.payload, v.data, n.data, s.user, s.agent FROM {t.document} d "
            f"JOIN {t.scope} s ON s.key = d.scope "
            f"LEFT JOIN {t.vector} v ON v.seq = d.seq LEFT JOIN {t.staged_vector} n ON n.seq = d.seq "
            "WHERE d.seq = ? AND typeof(d.text) = 'text'",
            (seq,),
        ).fetchone()
        if found is None:
            continue
        *row, user, agent = found
        names = (user, agent)
        if names not in boxes:
            boxes[names] = RowBox(box, t.document, scope_of(tenant, *names))
        _seal_row(connection, t, boxes[names], seq, row)
        n += 1
    return n


def _seal_row(connection: sqlite3.Connection, t: Tables, box: RowBox, seq: int, row: Sequence[Any]) -> None:
    id, clear_text, clear_payload, clear_vector, staged = row
    text, payload, vector = box.seal(seq, id, clear_text, clear_payload, clear_vector)
    connection.execute(
        f"UPDATE {t.document} SET text = ?, payload = ?, hash = ? WHERE seq = ?",
        (text, payload, content_hash(text, payload), seq),
    )
    if vector is not None:
        connection.execute(f"UPDATE {t.vector} SET data = ? WHERE seq = ?", (vector, seq))
    if staged is not None:
        sealed = box.seal_vector(seq, id, staged)
        connection.execute(f"UPDATE {t.staged_vector} SET data = ? WHERE seq = ?", (sealed, seq))


def _drop_clear_images(connection: sqlite3.Connection, t: Tables, tenant: str) -> None:
    """Images in the clear go: they are made anew from the rows."""
    for (key,) in connection.execute(f"SELECT key FROM {t.scope} WHERE tenant = ?", (tenant,)).fetchall():
        heads = connection.execute(
            f"SELECT substr(data, 1, 2) FROM {t.image} WHERE scope = ?", (key,)
        ).fetchall()
        if not all(isinstance(head, bytes) and is_sealed(head) for (head,) in heads):
            connection.execute(f"DELETE FROM {t.image} WHERE scope = ?", (key,))


def _mark_whole(store: SqliteStore, connection: sqlite3.Connection, tenant: str) -> None:
    stored = data_key(connection, tenant)
    ring = store.cipher.ring
    master = None if ring is None else ring.access(tenant, fresh=False).master
    if stored is not None and master is not None:
        _rewrap(connection, tenant, stored, master, master, whole=True)


def rotate_key(store: SqliteStore, tenant: str, old: bytes) -> None:
    """Wrap a tenant's data key by the master key that the provider gives now, in place of `old`.

    Raises:
        EncryptionError: the tenant is not encrypted, `old` is not its key, or the provider gives none.
    """
    was = Master(checked_key(old, "old"))
    if store.cipher.ring is None:
        raise EncryptionError("rotate_key: expected an index that was opened with keys=")
    store.cipher.ring.forget(tenant)  # what it said a moment ago is the old key
    access = store.cipher.ring.access(tenant)
    if access.master is None:
        raise EncryptionError(f"keys: expected the new key of tenant {tenant!r}, got none")
    with store.writing("changing a key") as transaction:
        stored = data_key(transaction.connection, tenant)
        if stored is None:
            raise EncryptionError(f"tenant: {tenant!r} is not encrypted in this file")
        if stored.fingerprint == access.master.fingerprint:
            return  # done before
        if stored.fingerprint != was.fingerprint:
            raise EncryptionError(f"old: tenant {tenant!r} is encrypted with another key")
        _rewrap(transaction.connection, tenant, stored, was, access.master, whole=stored.whole)


def _rewrap(
    connection: sqlite3.Connection, tenant: str, stored: DataKey, was: Master, now: Master, *, whole: bool
) -> None:
    wrapped = was.rewrap(tenant, stored.id, stored.wrapped, stored.whole, now, whole=whole)
    connection.execute(
        "UPDATE data_key SET whole = ?, fingerprint = ?, wrapped = ? WHERE tenant = ?",
        (whole, now.fingerprint, wrapped, tenant),
    )
