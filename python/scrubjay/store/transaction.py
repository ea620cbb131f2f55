"""What can be written inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import ConflictError, CorruptIndexError
from scrubjay.store import feedback, schema
from scrubjay.store.cipher import Cipher
from scrubjay.store.protocol import Identity, NewRow, RowId, Written
from scrubjay.store.reading import names_of, scope_of
from scrubjay.store.schema import Tables
from scrubjay.store.sealing import RowBox
from scrubjay.store.vectors import content_hash

__all__ = ["Transaction"]


class Transaction:
    """What can be written inside one transaction, on the writer's connection. Without a cipher no document is."""

    def __init__(self, connection: sqlite3.Connection, tables: Tables, cipher: Cipher | None = None) -> None:
        self.connection = connection
        self.tables = tables
        self.cipher = cipher
        self.committed = False
        (last,) = connection.execute(f"SELECT ifnull(max(version), 0) FROM {tables.scope}").fetchone()
        self._version = int(last)

    def commit(self) -> None:
        """Commit now; what follows in the block runs with the writer's turn but outside of the transaction."""
        self.connection.execute("COMMIT")
        self.committed = True

    def identity(self) -> Identity:
        """Return what the index is made of."""
        return schema.read_identity(self.connection, self.tables)

    def meta(self, name: str) -> Any:
        """Return one value of the identity or of what is going on; None if it is not set."""
        t = self.tables
        found = self.connection.execute(f"SELECT value FROM {t.meta} WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def settle(self, **values: object) -> None:
        """Write values of the identity."""
        schema.set_meta(self.connection, self.tables, **values)

    def has_vectors(self) -> bool:
        """Whether any vector is stored."""
        t = self.tables
        return self.connection.execute(f"SELECT 1 FROM {t.vector} LIMIT 1").fetchone() is not None

    def upsert(self, rows: Sequence[NewRow], *, now: int) -> list[Written]:
        """Write rows with distinct ids; a row replaces the one with its id.

        Raises:
            ConflictError: an id exists in another scope.
            EncryptionError: a tenant's key cannot be had.
        """
        t = self.tables
        execute = self.connection.execute
        boxes: dict[Scope, RowBox | None] = {}  # that seal what is written
        touched: dict[Scope, list[int]] = {}
        documents: list[tuple[object, ...]] = []
        vectors: list[tuple[int, bytes]] = []
        replaced: list[tuple[int]] = []
        for row in rows:
            state = touched.get(row.scope)
            if state is None:
                state = touched[row.scope] = [*self._state(row.scope), 0]
                boxes[row.scope] = None if self.cipher is None else self.cipher.row_box(t.document, row.scope)
            old = execute(f"SELECT seq, scope FROM {t.document} WHERE id = ?", (row.id,)).fetchone()
            if old is None:
                state[3] += 1
            elif old[1] != state[0]:
                raise ConflictError(
                    f"id: {row.id!r} exists in another scope; expected a new id, or the scope that holds it (delete it "
                    "there first)"
                )
            else:
                replaced.append((old[0],))
            self._version += 1
            seq = self._version
            text: str | bytes = row.text
            payload, vector, box = row.payload, row.vector, boxes[row.scope]
            if box is not None:
                text, payload, vector = box.seal(seq, row.id, row.text, payload, vector)
            documents.append(
                (
                    seq,
                    row.id,
                    state[0],
                    text,
                    payload,
                    row.created_at,
                    now,
                    row.expires_at,
                    content_hash(text, payload),
                )
            )
            if vector is not None:
                vectors.append((seq, vector))
            state.append(seq)
        self._remove(replaced)
        self.connection.executemany(f"INSERT INTO {t.document} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", documents)
        self.connection.executemany(f"INSERT INTO {t.vector} VALUES (?, ?)", vectors)
        written = []
        for scope, (key, before, n_before, n_new, *seqs) in touched.items():
            execute(
                f"UPDATE {t.scope} SET version = ?, documents = documents + ? WHERE key = ?",
                (seqs[-1], n_new, key),
            )
            written.append(Written(scope, before, seqs[-1], n_before))
        self._count(sum(state[3] for state in touched.values()))
        return written

    def sealed_vector(self, seq: int, vector: bytes) -> bytes | None:
        """Return a vector of a document as its row keeps it; None if there is no such document."""
        t = self.tables
        found = self.connection.execute(
            f"SELECT d.id, typeof(d.text), s.tenant, s.user, s.agent FROM {t.document} d "
            f"JOIN {t.scope} s ON s.key = d.scope WHERE d.seq = ?",
            (seq,),
        ).fetchone()
        if found is None or found[1] != "blob" or self.cipher is None:
            return None if found is None else vector
        box = self.cipher.row_box(t.document, scope_of(*found[2:]))
        if box is None:
            raise CorruptIndexError(f"document {found[0]!r} is sealed, and its tenant has no data key")
        return box.seal_vector(seq, found[0], vector)

    def delete(self, ids: Iterable[RowId], reason: str, *, now: int) -> list[Written]:
        """Delete documents; ids that do not exist are passed over."""
        t = self.tables
        by_scope: dict[int, list[tuple[int, RowId]]] = {}
        ids = list(dict.fromkeys(ids))
        feedback.forget_ids(self.connection, t, ids)
        for id in ids:
            found = self.connection.execute(
                f"SELECT seq, scope, id FROM {t.document} WHERE id = ?", (id,)
            ).fetchone()
            if found is not None:
                by_scope.setdefault(found[1], []).append((found[0], found[2]))
        written = []
        for key, gone in by_scope.items():
            (tenant, user, agent, before, n_before) = self.connection.execute(
                f"SELECT tenant, user, agent, version, documents FROM {t.scope} WHERE key = ?", (key,)
            ).fetchone()
            self._remove([(seq,) for seq, _ in gone])
            tombstones = []
            for _, id in gone:
                self._version += 1
                tombstones.append((self._version, key, id))
            self.connection.executemany(f"INSERT INTO {t.tombstone} VALUES (?, ?, ?)", tombstones)
            self.connection.execute(
                f"UPDATE {t.scope} SET version = ?, documents = documents - ? WHERE key = ?",
                (self._version, len(gone), key),
            )
            self._event(now, reason, key, len(gone))
            deleted = [id for _, id in gone]
            written.append(Written(scope_of(tenant, user, agent), before, self._version, n_before, deleted))
        self._count(-sum(map(len, by_scope.values())))
        return written

    def add_event(self, scope: Scope, reason: str, n_documents: int, *, now: int) -> None:
        """Write that documents of a scope were deleted."""
        self._event(now, reason, self._state(scope)[0], n_documents)

    def erase(self, scope: Scope, reason: str, *, exact: bool, now: int) -> list[Written]:
        """Delete every document whose scope agrees with `scope`; images, tombstones and notes go with them."""
        t = self.tables
        feedback.forget_scope(self.connection, t, scope, exact=exact)
        names = names_of(scope)
        condition = "tenant = ?"
        for column, name in (("user", names[1]), ("agent", names[2])):
            condition += f" AND {column} = ?" if exact or name else f" AND ({column} = ? OR 1)"
        found = self.connection.execute(
            f"SELECT key, tenant, user, agent, version, documents FROM {t.scope} WHERE {condition} "
            "AND (documents > 0 OR "
            f"EXISTS(SELECT 1 FROM {t.image} image WHERE image.scope = key) OR "
            f"EXISTS(SELECT 1 FROM {t.tombstone} tombstone WHERE tombstone.scope = key))",
            names,
        ).fetchall()
        written = []
        for key, tenant, user, agent, before, n_documents in found:
            seqs = self.connection.execute(f"SELECT seq FROM {t.document} WHERE scope = ?", (key,)).fetchall()
            self._remove(seqs)
            self._drop_traces(key)
            if n_documents:
                self._event(now, reason, key, n_documents)
            after = self.renew(key, documents=0)
            written.append(Written(scope_of(tenant, user, agent), before, after, n_documents, erased=True))
        self._count(-sum(row[5] for row in found))
        if self.cipher is not None and scope.user is None and scope.agent is None:
            self.cipher.release(self.connection, scope.tenant)
        return written

    def renew(self, key: int, *, documents: int | None = None) -> int:
        """Let everybody who holds the scope in memory read it anew; return its version."""
        t = self.tables
        self._version += 1
        self.connection.execute(
            f"UPDATE {t.scope} SET version = ?, horizon = ?, documents = ifnull(?, documents) WHERE key = ?",
            (self._version, self._version, documents, key),
        )
        return self._version

    def write_image(
        self, scope: Scope, version: int, chunks: Sequence[bytes], *, replace: bool = False
    ) -> None:
        """Replace a scope's images by those of `version`, unless they are of no use any more, or it has newer ones.

        With `replace` those of the same version are replaced, too.
        """
        t = self.tables
        key, _, _ = self._state(scope)
        horizon, newest = self.connection.execute(
            f"SELECT horizon, (SELECT max(version) FROM {t.image} WHERE scope = key) FROM {t.scope} WHERE key = ?",
            (key,),
        ).fetchone()
        if version < horizon or (newest is not None and newest + (not replace) > version):
            return
        if self.cipher is not None:
            chunks = self.cipher.seal_image(t.image, scope, version, chunks)
        self.connection.execute(f"DELETE FROM {t.image} WHERE scope = ?", (key,))
        self.connection.executemany(
            f"INSERT INTO {t.image}(scope, ordinal, n_chunks, version, data) VALUES (?, ?, ?, ?, ?)",
            [(key, i, len(chunks), version, data) for i, data in enumerate(chunks)],
        )

    def forget_tombstones(self) -> int:
        """Drop the ids of deleted documents and every image that needs them; return how many ids."""
        t = self.tables
        scopes = self.connection.execute(f"SELECT DISTINCT scope FROM {t.tombstone}").fetchall()
        for (key,) in scopes:
            # What is older than the last tombstone cannot be caught up once it is gone.
            self.connection.execute(
                f"UPDATE {t.scope} SET horizon = max(horizon, (SELECT max(seq) FROM {t.tombstone} WHERE scope = ?)) "
                "WHERE key = ?",
                (key, key),
            )
        n = self.connection.execute(f"DELETE FROM {t.tombstone}").rowcount
        self.connection.execute(
            f"DELETE FROM {t.image} AS i WHERE version < (SELECT horizon FROM {t.scope} s WHERE s.key = i.scope)"
        )
        return int(n)

    def drop_image(self, key: int) -> None:
        """Delete a scope's images."""
        t = self.tables
        self.connection.execute(f"DELETE FROM {t.image} WHERE scope = ?", (key,))

    def _drop_traces(self, key: int) -> None:
        t = self.tables
        self.drop_image(key)
        self.connection.execute(f"DELETE FROM {t.tombstone} WHERE scope = ?", (key,))

    def _remove(self, seqs: Sequence[tuple[int]]) -> None:
        t = self.tables
        for table in (t.document, t.vector, t.staged_vector):
            self.connection.executemany(f"DELETE FROM {table} WHERE seq = ?", seqs)

    def _state(self, scope: Scope) -> tuple[int, int, int]:
        """Return (key, version, documents) of a scope, which is made if it is new."""
        t = self.tables
        names = names_of(scope)
        found = self.connection.execute(
            f"SELECT key, version, documents FROM {t.scope} WHERE tenant = ? AND user = ? AND agent = ?",
            names,
        ).fetchone()
        if found is not None:
            return (found[0], found[1], found[2])
        cursor = self.connection.execute(
            f"INSERT INTO {t.scope}(tenant, user, agent, version) VALUES (?, ?, ?, 0)", names
        )
        return (int(cursor.lastrowid or 0), 0, 0)

    def _event(self, now: int, reason: str, key: int, n_documents: int) -> None:
        t = self.tables
        self.connection.execute(
            f"INSERT INTO {t.event}(at, reason, scope, documents) VALUES (?, ?, ?, ?)",
            (now, reason, key, n_documents),
        )

    def _count(self, n_more: int) -> None:
        t = self.tables
        if n_more:
            self.connection.execute(
                f"UPDATE {t.meta} SET value = value + ? WHERE name = 'documents'", (n_more,)
            )
