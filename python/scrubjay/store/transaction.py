"""What can be written inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from scrubjay._native import Scope
from scrubjay.errors import ConflictError
from scrubjay.store import schema
from scrubjay.store.protocol import Identity, NewRow, RowId, Written
from scrubjay.store.reading import names_of, scope_of
from scrubjay.store.vectors import content_hash

__all__ = ["Transaction"]


class Transaction:
    """What can be written inside one transaction, on the writer's connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.committed = False
        (last,) = connection.execute("SELECT ifnull(max(version), 0) FROM scope").fetchone()
        self._version = int(last)

    def commit(self) -> None:
        """Commit now; what follows in the block runs with the writer's turn but outside of the transaction."""
        self.connection.execute("COMMIT")
        self.committed = True

    def identity(self) -> Identity:
        """Return what the index is made of."""
        return schema.read_identity(self.connection)

    def meta(self, name: str) -> Any:
        """Return one value of the identity or of what is going on; None if it is not set."""
        found = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def settle(self, **values: object) -> None:
        """Write values of the identity."""
        schema.set_meta(self.connection, **values)

    def has_vectors(self) -> bool:
        """Whether any vector is stored."""
        return self.connection.execute("SELECT 1 FROM vector LIMIT 1").fetchone() is not None

    def upsert(self, rows: Sequence[NewRow], *, now: int) -> list[Written]:
        """Write rows with distinct ids; a row replaces the one with its id.

        Raises:
            ConflictError: an id exists in another scope.
        """
        execute = self.connection.execute
        touched: dict[Scope, list[int]] = {}
        documents: list[tuple[object, ...]] = []
        vectors: list[tuple[int, bytes]] = []
        replaced: list[tuple[int]] = []
        for row in rows:
            state = touched.get(row.scope)
            if state is None:
                state = touched[row.scope] = [*self._state(row.scope), 0]
            old = execute("SELECT seq, scope FROM document WHERE id = ?", (row.id,)).fetchone()
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
            documents.append(
                (
                    seq,
                    row.id,
                    state[0],
                    row.text,
                    row.payload,
                    row.created_at,
                    now,
                    row.expires_at,
                    content_hash(row.text, row.payload),
                )
            )
            if row.vector is not None:
                vectors.append((seq, row.vector))
            state.append(seq)
        self._remove(replaced)
        self.connection.executemany("INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", documents)
        self.connection.executemany("INSERT INTO vector VALUES (?, ?)", vectors)
        written = []
        for scope, (key, before, n_before, n_new, *seqs) in touched.items():
            execute(
                "UPDATE scope SET version = ?, documents = documents + ? WHERE key = ?",
                (seqs[-1], n_new, key),
            )
            written.append(Written(scope, before, seqs[-1], n_before))
        self._count(sum(state[3] for state in touched.values()))
        return written

    def delete(self, ids: Iterable[RowId], reason: str, *, now: int) -> list[Written]:
        """Delete documents; ids that do not exist are passed over."""
        by_scope: dict[int, list[tuple[int, RowId]]] = {}
        for id in dict.fromkeys(ids):
            found = self.connection.execute(
                "SELECT seq, scope, id FROM document WHERE id = ?", (id,)
            ).fetchone()
            if found is not None:
                by_scope.setdefault(found[1], []).append((found[0], found[2]))
        written = []
        for key, gone in by_scope.items():
            (tenant, user, agent, before, n_before) = self.connection.execute(
                "SELECT tenant, user, agent, version, documents FROM scope WHERE key = ?", (key,)
            ).fetchone()
            self._remove([(seq,) for seq, _ in gone])
            tombstones = []
            for _, id in gone:
                self._version += 1
                tombstones.append((self._version, key, id))
            self.connection.executemany("INSERT INTO tombstone VALUES (?, ?, ?)", tombstones)
            self.connection.execute(
                "UPDATE scope SET version = ?, documents = documents - ? WHERE key = ?",
                (self._version, len(gone), key),
            )
            self._event(now, reason, key, len(gone))
            deleted = [id for _, id in gone]
            written.append(Written(scope_of(tenant, user, agent), before, self._version, n_before, deleted))
        self._count(-sum(map(len, by_scope.values())))
        return written

    def erase(self, scope: Scope, *, exact: bool, now: int) -> list[Written]:
        """Delete every document whose scope agrees with `scope`, and the images and tombstones of those scopes."""
        names = names_of(scope)
        condition = "tenant = ?"
        for column, name in (("user", names[1]), ("agent", names[2])):
            condition += f" AND {column} = ?" if exact or name else f" AND ({column} = ? OR 1)"
        found = self.connection.execute(
            f"SELECT key, tenant, user, agent, version, documents FROM scope WHERE {condition} AND (documents > 0 OR "
            "EXISTS(SELECT 1 FROM image WHERE image.scope = key) OR "
            "EXISTS(SELECT 1 FROM tombstone WHERE tombstone.scope = key))",
            names,
        ).fetchall()
        written = []
        for key, tenant, user, agent, before, n_documents in found:
            seqs = self.connection.execute("SELECT seq FROM document WHERE scope = ?", (key,)).fetchall()
            self._remove(seqs)
            self._drop_traces(key)
            if n_documents:
                self._event(now, "erase", key, n_documents)
            after = self.renew(key, documents=0)
            written.append(Written(scope_of(tenant, user, agent), before, after, n_documents, erased=True))
        self._count(-sum(row[5] for row in found))
        return written

    def renew(self, key: int, *, documents: int | None = None) -> int:
        """Let everybody who holds the scope in memory read it anew; return its version."""
        self._version += 1
        self.connection.execute(
            "UPDATE scope SET version = ?, horizon = ?, documents = ifnull(?, documents) WHERE key = ?",
            (self._version, self._version, documents, key),
        )
        return self._version

    def write_image(self, scope: Scope, version: int, chunks: Sequence[bytes]) -> None:
        """Replace a scope's images by those of `version`, unless it has newer ones."""
        key, _, _ = self._state(scope)
        newest = self.connection.execute("SELECT max(version) FROM image WHERE scope = ?", (key,)).fetchone()[
            0
        ]
        if newest is not None and newest > version:
            return
        self.connection.execute("DELETE FROM image WHERE scope = ?", (key,))
        self.connection.executemany(
            "INSERT INTO image(scope, ordinal, n_chunks, version, data) VALUES (?, ?, ?, ?, ?)",
            [(key, i, len(chunks), version, data) for i, data in enumerate(chunks)],
        )

    def forget_tombstones(self) -> int:
        """Drop the ids of deleted documents and every image that needs them; return how many ids."""
        scopes = self.connection.execute("SELECT DISTINCT scope FROM tombstone").fetchall()
        for (key,) in scopes:
            # What is older than the last tombstone cannot be caught up once it is gone.
            self.connection.execute(
                "UPDATE scope SET horizon = max(horizon, (SELECT max(seq) FROM tombstone WHERE scope = ?)) "
                "WHERE key = ?",
                (key, key),
            )
        n = self.connection.execute("DELETE FROM tombstone").rowcount
        self.connection.execute(
            "DELETE FROM image WHERE version < (SELECT horizon FROM scope WHERE scope.key = image.scope)"
        )
        return int(n)

    def drop_image(self, key: int) -> None:
        """Delete a scope's images."""
        self.connection.execute("DELETE FROM image WHERE scope = ?", (key,))

    def _drop_traces(self, key: int) -> None:
        self.drop_image(key)
        self.connection.execute("DELETE FROM tombstone WHERE scope = ?", (key,))

    def _remove(self, seqs: Sequence[tuple[int]]) -> None:
        for table in ("document", "vector", "staged_vector"):
            self.connection.executemany(f"DELETE FROM {table} WHERE seq = ?", seqs)

    def _state(self, scope: Scope) -> tuple[int, int, int]:
        """Return (key, version, documents) of a scope, which is made if it is new."""
        names = names_of(scope)
        found = self.connection.execute(
            "SELECT key, version, documents FROM scope WHERE tenant = ? AND user = ? AND agent = ?", names
        ).fetchone()
        if found is not None:
            return (found[0], found[1], found[2])
        cursor = self.connection.execute(
            "INSERT INTO scope(tenant, user, agent, version) VALUES (?, ?, ?, 0)", names
        )
        return (int(cursor.lastrowid or 0), 0, 0)

    def _event(self, now: int, reason: str, key: int, n_documents: int) -> None:
        self.connection.execute(
            "INSERT INTO event(at, reason, scope, documents) VALUES (?, ?, ?, ?)",
            (now, reason, key, n_documents),
        )

    def _count(self, n_more: int) -> None:
        if n_more:
            self.connection.execute("UPDATE meta SET value = value + ? WHERE name = 'documents'", (n_more,))
