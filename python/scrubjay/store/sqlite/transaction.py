"""The writes of one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError, VersionConflictError
from scrubjay.documents.payload import has_context, is_pending
from scrubjay.store.keys.sealing import RowBox
from scrubjay.store.rows.decoding import Checksum, integer, marked, scope_of
from scrubjay.store.rows.pseudonyms import Pseudonyms
from scrubjay.store.rows.scopes import agreeing, names_of
from scrubjay.store.rows.values import Identity, NewRow, RowId, Written
from scrubjay.store.rows.vectors import content_hash, has_passages
from scrubjay.store.sqlite import embedding_queue, feedback, image_pieces, schema
from scrubjay.store.sqlite.cipher import Cipher, data_key
from scrubjay.store.sqlite.connections import rows_of
from scrubjay.store.sqlite.digests import Digests
from scrubjay.store.sqlite.holds import Holds
from scrubjay.store.sqlite.image_pieces import CutImage
from scrubjay.store.sqlite.schema import Tables
from scrubjay.store.sqlite.scope_rows import row_of
from scrubjay.store.sqlite.versions import last_version

_AT_ONCE = 10_000  # rows deleted in one call of SQLite


@dataclass
class _Touched:
    """The state of a scope that rows are written to."""

    key: int
    version: int
    documents: int
    n_new: int = 0
    n_vectors: int = 0
    last: int = 0
    replaced: list[int] = field(default_factory=list)


class Transaction:
    """The writes of one transaction, on the writer's connection. Without a cipher documents are not encrypted.

    The tables of another collection are changed in the same transaction, with the `digests` of the first
    collection, which settles them at the commit. `holds` are the legal holds on the documents; None: they are not
    checked.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        tables: Tables,
        cipher: Cipher | None = None,
        digests: Digests | None = None,
        holds: Holds | None = None,
    ) -> None:
        self.connection = connection
        self.holds = holds
        self.tables = tables
        self.cipher = cipher
        self.digests = cipher.digests if digests is None and cipher is not None else digests
        self._counts = self.digests is not None and self.digests.active
        self.committed = False
        self.released: list[str] = []
        """Tenants whose keys are no longer needed, because nothing of them is left."""
        self.dying: list[bytes] = []
        """Keys of users of whom nothing is left."""
        self._last: int | None = None  # version of the collection; read when documents are first written

    @property
    def _version(self) -> int:
        """The number of the last write to the collection; must be read before rows are deleted, since the last
        write may be among them."""
        if self._last is None:
            self._last = last_version(self.connection, self.tables)
        return self._last

    def _next_version(self) -> int:
        self._last = self._version + 1
        return self._last

    def lock(self, whose: Iterable[str | Scope]) -> None:
        """Do nothing: a file has one writer, which already holds the write lock."""

    def commit(self) -> None:
        """Commit now; the rest of the block holds the write lock but runs outside of the transaction."""
        if self._counts and self.digests is not None:
            self.digests.settle()
        rows_of(self.connection, "COMMIT")
        self.committed = True

    def notice_tables(self) -> None:
        """Report that the transaction created tables with rows of tenants."""
        if self._counts and self.digests is not None:
            self.digests.watch()

    def identity(self) -> Identity:
        return schema.read_identity(self.connection, self.tables)

    def meta(self, name: str) -> Any:
        """Return a value of the identity or state; None if it is not set."""
        t = self.tables
        row = self.connection.execute(f"SELECT value FROM {t.meta} WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def settle(self, **values: object) -> None:
        schema.set_meta(self.connection, self.tables, **values)

    def is_newer(self, generation: int) -> bool:
        """False: the next search, or a write with a vector, notices another model."""
        return False

    def has_vectors(self) -> bool:
        t = self.tables
        return self.connection.execute(f"SELECT 1 FROM {t.vector} LIMIT 1").fetchone() is not None

    def upsert(self, rows: Sequence[NewRow], *, now: int, fills: bool = False) -> list[Written]:
        t = self.tables
        execute = self.connection.execute
        boxes: dict[Scope, RowBox | None] = {}  # seal the rows of a scope
        checksums: dict[Scope, Checksum] = {}
        touched: dict[Scope, _Touched] = {}
        documents: list[tuple[object, ...]] = []
        vectors: list[tuple[int, bytes]] = []
        to_embed: list[int] = []
        for row in rows:
            state = touched.get(row.scope)
            if state is None:
                boxes[row.scope] = None if self.cipher is None else self.cipher.row_box(t.document, row.scope)
                state = touched[row.scope] = _Touched(*self._state(row.scope))
                checksums[row.scope] = Checksum(row.scope)
            old = execute(
                f"SELECT seq FROM {t.document} WHERE id = ? AND scope = ?", (row.id, state.key)
            ).fetchone()
            if row.expected is not None:
                self._check_version(row.id, row.expected, 0 if old is None else old[0], now)
            if old is None:
                state.n_new += 1
            else:
                if self.holds is not None and not fills:
                    self.holds.check(row.scope)
                state.replaced.append(old[0])
            seq = self._next_version()
            text: str | bytes = row.text
            payload, vector, box = row.payload, row.vector, boxes[row.scope]
            if box is not None:
                text, payload, vector = box.seal(seq, row.id, row.text, payload, vector)
                checksum = content_hash(text, payload)
                if self._counts and self.digests is not None:
                    self.digests.add(t, state.key, seq, row.expires_at, text, payload, vector)
            else:
                checksum = checksums[row.scope].of(row.id, row.text, payload)
            documents.append(
                (
                    seq,
                    row.id,
                    state.key,
                    text,
                    payload,
                    row.created_at,
                    now,
                    row.expires_at,
                    checksum,
                )
            )
            if vector is not None:
                vectors.append((seq, vector))
                state.n_vectors += 1
            if is_pending(row.payload):
                to_embed.append(seq)
            state.last = seq
        for scope, state in touched.items():
            state.n_vectors -= self._remove(state.key, state.replaced, sealed=boxes[scope] is not None)
        self.connection.executemany(f"INSERT INTO {t.document} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", documents)
        self.connection.executemany(f"INSERT INTO {t.vector} VALUES (?, ?)", vectors)
        if to_embed:
            embedding_queue.note(self.connection, t, to_embed)
        if any(has_context(row.payload) for row in rows):
            schema.note_contexts(self.connection)
        if any(row.vector is not None and has_passages(row.vector) for row in rows):
            schema.note_passages(self.connection)
        written = []
        for scope, state in touched.items():
            execute(
                f"UPDATE {t.scope} SET version = ?, documents = documents + ?, vectors = vectors + ? WHERE key = ?",
                (state.last, state.n_new, state.n_vectors, state.key),
            )
            written.append(Written(scope, state.version, state.last, state.documents))
        return written

    def _check_version(self, id: RowId, expected: int, seq: int, now: int) -> None:
        """Check the expected version against the row with number `seq` (0: no row)."""
        t = self.tables
        expired = self.connection.execute(
            f"SELECT 1 FROM {t.document} WHERE seq = ? AND expires_at <= ?", (seq, now)
        ).fetchone()
        current = 0 if expired is not None else seq
        if current != expected:
            raise VersionConflictError(id, expected, current)

    def sealed_vector(self, seq: int, vector: bytes) -> bytes | None:
        """Return a document's vector in its stored form, sealed if the row is; None if there is no such document."""
        t = self.tables
        row = self.connection.execute(
            f"SELECT d.id, typeof(d.text), s.tenant, s.user, s.agent FROM {t.document} d "
            f"JOIN {t.scope} s ON s.key = d.scope WHERE d.seq = ?",
            (seq,),
        ).fetchone()
        if row is None or row[1] != "blob" or self.cipher is None:
            return None if row is None else vector
        box = self.cipher.row_box(t.document, scope_of(*row[2:]))
        if box is None:
            raise CorruptIndexError(f"document {row[0]!r} is sealed, and its tenant has no data key")
        return box.seal_vector(seq, row[0], vector)

    def delete(self, scope: Scope, ids: Iterable[RowId], reason: str, *, now: int) -> Written | None:
        t = self.tables
        execute = self.connection.execute
        state = row_of(self.connection, t.scope, scope, "s.key, s.version, s.documents")
        if state is None:
            return None
        gone: list[tuple[int, RowId]] = []
        for id in dict.fromkeys(ids):
            gone += execute(
                f"SELECT seq, id FROM {t.document} WHERE id = ? AND scope = ?", (id, state[0])
            ).fetchall()
        if gone and self.holds is not None:
            self.holds.check(scope)
        return self._delete(scope, state, gone, reason, now=now) if gone else None

    def sweep(self, within: Scope | None, *, leaving: Collection[str], now: int) -> list[Written]:
        t = self.tables
        condition, names = ("1", ()) if within is None else agreeing(within, table="s")
        rows = self.connection.execute(
            f"SELECT d.scope, d.seq, d.id, s.tenant FROM {t.document} d JOIN {t.scope} s ON s.key = d.scope "
            f"WHERE d.expires_at <= ? AND {condition}",
            (now, *names),
        ).fetchall()
        by_scope: dict[int, list[tuple[int, RowId]]] = {}
        for key, seq, id, tenant in rows:
            if tenant not in leaving:
                by_scope.setdefault(key, []).append((seq, id))
        written = []
        for key, gone in by_scope.items():
            *own, version, documents = self._scope_row(key)
            if self.holds is not None and self.holds.holds(*own):
                continue
            written.append(self._delete(scope_of(*own), (key, version, documents), gone, "sweep", now=now))
        return written

    def _delete(
        self, scope: Scope, state: Sequence[Any], gone: Sequence[tuple[int, RowId]], reason: str, *, now: int
    ) -> Written:
        """Delete rows (seq, id) of a scope in a state (key, version, documents), leaving tombstones and an event."""
        t = self.tables
        key = integer(state[0], "a scope's key", -(1 << 62))
        before = integer(state[1], "a scope's version")
        n_before = integer(state[2], "a scope's count of documents")
        self._open(key)
        feedback.forget_ids(self.connection, t, key, [id for _, id in gone])
        n_vectors = self._remove(key, [seq for seq, _ in gone])
        tombstones = []
        for _, id in gone:
            tombstones.append((self._next_version(), key, id))
        self.connection.executemany(f"INSERT INTO {t.tombstone} VALUES (?, ?, ?)", tombstones)
        self.connection.execute(
            f"UPDATE {t.scope} SET version = ?, documents = documents - ?, vectors = vectors - ? WHERE key = ?",
            (self._version, len(gone), n_vectors, key),
        )
        if self._counts and self.digests is not None:
            self.digests.bury(t, key, [(seq, id) for seq, _, id in tombstones])
        self._event(now, reason, key, len(gone))
        return Written(scope, before, self._version, n_before, [id for _, id in gone])

    def _scope_row(self, key: int) -> tuple[Any, ...]:
        """Return names, version and document count of a scope, as stored."""
        t = self.tables
        row: tuple[Any, ...] | None = self.connection.execute(
            f"SELECT tenant, user, agent, version, documents FROM {t.scope} WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            raise CorruptIndexError(f"scope {key!r} is not in the file")
        return row

    def add_event(self, scope: Scope, reason: str, n_documents: int, *, now: int) -> None:
        """Write a deletion event for a scope."""
        self._event(now, reason, self._state(scope)[0], n_documents)

    def erase(self, scope: Scope, reason: str, *, exact: bool, now: int) -> list[Written]:
        if self.holds is not None:
            self.holds.check(scope, within=not exact)
        t = self.tables
        feedback.forget_scope(self.connection, t, scope, exact=exact)
        condition, names = agreeing(scope, exact=exact)
        traces = [t.image, t.tombstone]
        if image_pieces.exists(self.connection, t):
            traces.append(image_pieces.table_of(t))
        any_trace = " OR ".join(
            f"EXISTS(SELECT 1 FROM {table} one WHERE one.scope = key)" for table in traces
        )
        rows = self.connection.execute(
            f"SELECT key, tenant, user, agent, version, documents FROM {t.scope} WHERE {condition} "
            f"AND (documents > 0 OR {any_trace})",
            names,
        ).fetchall()
        written = []
        for key, tenant, user, agent, stored_before, stored_count in rows:
            before = integer(stored_before, "a scope's version")
            n_documents = integer(stored_count, "a scope's count of documents")
            seqs = self.connection.execute(f"SELECT seq FROM {t.document} WHERE scope = ?", (key,)).fetchall()
            self._remove(key, [seq for (seq,) in seqs], sealed=False)  # an empty scope has no digest
            self._drop_traces(key)
            if n_documents:
                self._event(now, reason, key, n_documents)
            after = self.renew(key, documents=0)
            written.append(Written(scope_of(tenant, user, agent), before, after, n_documents, erased=True))
        is_tenant = scope.user is None and scope.agent is None
        if is_tenant and self.cipher is not None and self.cipher.release(self.connection, scope.tenant):
            self.released.append(scope.tenant)
            self.dying += self.cipher.release_users(self.connection, scope.tenant)
        elif scope.user is not None and self.cipher is not None:
            self.dying += self.cipher.release_user(self.connection, scope.tenant, scope.user)
        return written

    def erase_elsewhere(
        self, scope: Scope, reason: str, *, exact: bool, now: int, words: Pseudonyms | None
    ) -> int:
        """Erase in all other collections of the file; return how many documents they had. Processes with those
        partitions in memory notice the commit."""
        n_gone = 0
        for tables in schema.all_tables(self.connection):
            if tables.suffix != self.tables.suffix:
                other = Transaction(
                    self.connection, tables, digests=self.digests, holds=Holds(self.connection)
                )
                n_gone += sum(
                    written.documents_before for written in other.erase(scope, reason, exact=exact, now=now)
                )
                if words is not None:
                    other.forget_names(scope, words)
        return n_gone

    def forget_names(self, scope: Scope, words: Pseudonyms) -> None:
        """Replace the names of every empty scope that agrees with `scope` by pseudonyms.

        Every process that has partitions of the collection in memory reads all of them again, because the names
        no longer show that the scope was erased.
        """
        t = self.tables
        condition, names = agreeing(scope)
        rows = self.connection.execute(
            f"SELECT key, tenant, user, agent FROM {t.scope} WHERE {condition} AND documents = 0", names
        ).fetchall()
        for key, *own in rows:
            self.renew(key, documents=0)
            self.connection.execute(
                f"UPDATE {t.scope} SET tenant = ?, user = ?, agent = ? WHERE key = ?", (*words.of(*own), key)
            )
        if rows:
            self.settle(generation=self.identity().generation + 1)

    def renew(self, key: int, *, documents: Literal[0] | None = None) -> int:
        """Make every process that has the scope in memory read it again; return its new version."""
        t = self.tables
        self._next_version()
        if documents == 0:
            self._open(key)
            self.connection.execute(
                f"UPDATE {t.scope} SET version = ?, horizon = ?, documents = 0, vectors = 0, digest = NULL "
                "WHERE key = ?",
                (self._version, self._version, key),
            )
            if self._counts and self.digests is not None:
                self.digests.empty(t, key)
            return self._version
        self.change(key)
        self.connection.execute(
            f"UPDATE {t.scope} SET version = ?, horizon = ? WHERE key = ?",
            (self._version, self._version, key),
        )
        return self._version

    def change(self, key: int) -> None:
        """Report to the digests that a scope is about to change."""
        self._open(key)
        if self._counts and self.digests is not None:
            self.digests.change(self.tables, key)

    def exchange_vector(self, key: int, sign: int, seq: int, tag: bytes) -> None:
        """Report to the digests that the vector of an unchanged sealed row is removed (-1) or added (1); `tag` is
        the end of its bytes."""
        if self._counts and self.digests is not None:
            self.digests.exchange(self.tables, key, sign, seq, tag)

    def row_sealed(
        self,
        key: int,
        seq: int,
        expires_at: int | None,
        text: bytes,
        payload: bytes | None,
        vector: bytes | None,
    ) -> None:
        """Report to the digests that a row that was plaintext is now sealed."""
        self._open(key)
        if self._counts and self.digests is not None:
            self.digests.add(self.tables, key, seq, expires_at, text, payload, vector)

    def write_image(
        self, scope: Scope, version: int, chunks: Sequence[bytes] | CutImage, *, replace: bool = False
    ) -> None:
        """Replace a scope's image by that of `version`, unless this is older than the horizon or the stored image,
        or its pieces were deleted meanwhile.

        With `replace` an image of the same version is replaced, too.
        """
        t = self.tables
        key, _, _ = self._state(scope)
        if not self.takes_image(key, version, replace=replace):
            return
        if isinstance(chunks, CutImage):
            if not self._has_pieces(scope, key, chunks):
                return
            stored: Sequence[bytes] = [image_pieces.encoded(pieces) for pieces in chunks.chunks]
            n_chunks = -len(stored)
        else:
            stored = marked(scope, version, chunks)
            n_chunks = len(stored)
            if self.cipher is not None:
                stored = self.cipher.seal_image(t.image, scope, version, stored)
        if self.cipher is not None and self._counts and self.digests is not None:
            self.digests.picture(t, key, version)
        self.connection.execute(f"DELETE FROM {t.image} WHERE scope = ?", (key,))
        self.connection.executemany(
            f"INSERT INTO {t.image}(scope, ordinal, n_chunks, version, data) VALUES (?, ?, ?, ?, ?)",
            [(key, i, n_chunks, version, data) for i, data in enumerate(stored)],
        )

    def takes_image(self, key: int, version: int, *, replace: bool) -> bool:
        """Whether an image of a scope in this version is newer than the horizon and the stored image."""
        t = self.tables
        horizon, newest = self.connection.execute(
            f"SELECT horizon, (SELECT max(version) FROM {t.image} WHERE scope = key) FROM {t.scope} WHERE key = ?",
            (key,),
        ).fetchone()
        if version < integer(horizon, "a scope's horizon"):
            return False
        # an image with an invalid version is replaced
        return newest.__class__ is not int or newest + (not replace) <= version

    def _has_pieces(self, scope: Scope, key: int, image: CutImage) -> bool:
        """Whether the pieces of an image are all there, and are encrypted as the tenant is now."""
        numbers = [number for pieces in image.chunks for number, _ in pieces]
        if not image_pieces.are_there(self.connection, self.tables, key, numbers):
            return False
        stored = data_key(self.connection, scope.tenant)
        return (None if stored is None else stored.id) == image.key

    def forget_stale_pending(self) -> None:
        embedding_queue.forget_stale(self.connection, self.tables)

    def drop_image(self, key: int) -> None:
        """Delete a scope's image, and all of its pieces."""
        t = self.tables
        self.connection.execute(f"DELETE FROM {t.image} WHERE scope = ?", (key,))
        image_pieces.forget(self.connection, t, key)

    def _drop_traces(self, key: int) -> None:
        t, _ = self.tables, self._version
        self.drop_image(key)
        self.connection.execute(f"DELETE FROM {t.tombstone} WHERE scope = ?", (key,))

    def _remove(self, key: int, seqs: Sequence[int], *, sealed: bool = True) -> int:
        """Delete rows of an opened scope, which may be `sealed`; return how many vectors they had."""
        if not seqs:
            return 0
        t, _ = self.tables, self._version
        if sealed and self._counts and self.digests is not None:
            self.digests.remove(t, key, seqs)
        n_vectors = 0
        for table in (t.document, t.vector, t.staged_vector):
            n = 0
            for first in range(0, len(seqs), _AT_ONCE):  # between two calls Python can handle signals
                some = [(seq,) for seq in seqs[first : first + _AT_ONCE]]
                n += self.connection.executemany(f"DELETE FROM {table} WHERE seq = ?", some).rowcount
            if table == t.vector:
                n_vectors = n
        return n_vectors

    def _open(self, key: int) -> None:
        """Load the current state of a scope into the digests."""
        if self._counts and self.digests is not None:
            names_and_state = self.connection.execute(
                f"SELECT tenant, user, agent, version, documents, vectors, digest FROM {self.tables.scope} "
                "WHERE key = ?",
                (key,),
            ).fetchone()
            self.digests.open(self.tables, key, names_and_state[:3], names_and_state[3:])

    def _state(self, scope: Scope) -> tuple[int, int, int]:
        """Return (key, version, documents) of a scope, creating it if it is new."""
        t = self.tables
        names = names_of(scope)
        row = row_of(self.connection, t.scope, scope, "s.key, s.version, s.documents, s.vectors, s.digest")
        if row is None:
            cursor = self.connection.execute(
                f"INSERT INTO {t.scope}(tenant, user, agent, version) VALUES (?, ?, ?, 0)", names
            )
            row = (int(cursor.lastrowid or 0), 0, 0, 0, None)
        if self._counts and self.digests is not None:
            self.digests.open(t, row[0], names, row[1:])
        version = integer(row[1], "a scope's version")
        if version > self._version:  # the version never decreases, even if rows were removed from the tables
            self._last = version
        return (
            integer(row[0], "a scope's key", -(1 << 62)),
            version,
            integer(row[2], "a scope's count of documents"),
        )

    def _event(self, now: int, reason: str, key: int, n_documents: int) -> None:
        t = self.tables
        self.connection.execute(
            f"INSERT INTO {t.event}(at, reason, scope, documents) VALUES (?, ?, ?, ?)",
            (now, reason, key, n_documents),
        )
