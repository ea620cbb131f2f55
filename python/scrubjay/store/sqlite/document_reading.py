"""Reading documents: all of a scope, its changes, one document by id or number.

The methods are specified in :class:`scrubjay.store.seam.Store`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.store.keys.digest import ScopeDigest, mismatch
from scrubjay.store.keys.encryption import BLOCK_BYTES, Box
from scrubjay.store.rows.decoding import is_id, row_reader, scope_of, shown
from scrubjay.store.rows.scopes import Sight, agreeing, exactly, names_of
from scrubjay.store.rows.values import Changes, RowId, ScopeState, StoredRow
from scrubjay.store.sqlite.cipher import data_key
from scrubjay.store.sqlite.connections import StoreConnection, translated
from scrubjay.store.sqlite.digests import blocks_of, tombstone_blocks
from scrubjay.store.sqlite.reading import ScopeReader
from scrubjay.store.sqlite.schema import Tables

_TAG = itemgetter(slice(-BLOCK_BYTES, None))
_SEALED_COLUMNS = [itemgetter(i) for i in (2, 3, 4)]  # indices of a row as it is read: text, payload, vector


class DocumentReader:
    """Reads the documents of a collection. Thread-safe."""

    def __init__(self, scopes: ScopeReader) -> None:
        self._scopes = scopes
        self.path, self.tables, self.cipher = scopes.path, scopes.tables, scopes.cipher

    @property
    def _reader(self) -> StoreConnection:
        return self._scopes.reading_connection()

    def digest(self, scope: Scope, state: ScopeState) -> tuple[Box, ScopeDigest] | None:
        return (
            None if self.cipher.ring is None else self.cipher.scope_digest(self.tables.document, scope, state)
        )

    def rows(self, scope: Scope, *, now: int) -> Iterator[StoredRow]:
        t = self.tables
        state = self._scopes.scope_state(scope)
        if state is None:
            return
        digest = self.digest(scope, state)
        with translated(self.path, "reading"):
            cursor = self._reader.execute(
                _row(t) + "WHERE d.scope = ? AND (d.expires_at IS NULL OR d.expires_at > ?) ORDER BY d.seq",
                (state.key, now),
            )
            opened = self.row_opener(scope)
            blocks = bytearray()
            while batch := cursor.fetchmany(1000):
                for row in batch:
                    yield opened(row)
                if digest is not None:  # sealed values end with their tag
                    sealed = batch if digest[0].whole else [row for row in batch if isinstance(row[2], bytes)]
                    for column in _SEALED_COLUMNS:
                        blocks += b"".join(map(_TAG, filter(None, map(column, sealed))))
            if digest is not None:
                blocks += self._unread_blocks(digest[0], state.key, now)
                if digest[0].total(blocks) != digest[1].total:
                    raise mismatch(names_of(scope), "its rows do not match its digest")

    def _unread_blocks(self, box: Box, key: int, now: int) -> bytes:
        """Return the blocks of a scope's digest beyond the values of its unexpired rows."""
        t = self.tables
        expiring = self._reader.execute(
            f"SELECT seq, expires_at FROM {t.document} WHERE scope = ? AND expires_at > ?"
            + ("" if box.whole else " AND typeof(text) = 'blob'"),
            (key, now),
        )
        blocks = [box.block(("expires", *row)) for row in expiring]
        gone = blocks_of(self._reader, t, box, "d.scope = ? AND d.expires_at <= ?", (key, now))
        return b"".join(blocks + [own for _, own in gone])

    def row_opener(self, scope: Scope) -> Callable[[Sequence[Any]], StoredRow]:
        """Return a function that makes rows of this scope from (seq, id, text, payload, vector, hash)."""

        def current() -> bytes | None:
            stored = data_key(self._reader, scope.tenant)
            return None if stored is None else stored.id

        opened = None if self.cipher.ring is None else self.cipher.row_opener(self.tables.document, scope)
        return row_reader(scope, opened, current, self.path)

    def changes(
        self, key: int, after: int, *, now: int, digest: tuple[Box, ScopeDigest] | None = None
    ) -> Changes:
        t = self.tables
        with translated(self.path, "reading"):
            deleted = self._reader.execute(
                f"SELECT id FROM {t.tombstone} WHERE scope = ? AND seq > ?", (key, after)
            ).fetchall()
            # A document that was updated and has expired since is removed, too.
            expired = self._reader.execute(
                f"SELECT id FROM {t.document} WHERE scope = ? AND seq > ? AND expires_at <= ?",
                (key, after, now),
            ).fetchall()
            rows = self._reader.execute(
                _row(t)
                + "WHERE d.scope = ? AND d.seq > ? AND (d.expires_at IS NULL OR d.expires_at > ?) ORDER BY d.seq",
                (key, after, now),
            ).fetchall()
            opened = self.row_opener(self.scope_of_key(key)) if rows else None
            if digest is not None:
                sealed_rows = blocks_of(self._reader, t, digest[0], "d.scope = ? AND d.seq > ?", (key, after))
                recent = digest[0].total(b"".join(own for _, own in sealed_rows))
                recent += digest[0].total(tombstone_blocks(self._reader, t, digest[0], key, after))
                if recent % 2**128 != digest[1].recent:
                    raise CorruptIndexError("rows after the image were rolled back or removed")
            gone = [id for (id,) in deleted + expired if is_id(id)]
            return Changes(gone, [opened(row) for row in rows] if opened is not None else [])

    def scope_of_key(self, key: int) -> Scope:
        """Return the scope with this key."""
        t = self.tables
        row = self._reader.execute(
            f"SELECT tenant, user, agent FROM {t.scope} WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            raise CorruptIndexError(f"scope {key} is not in the file")
        return scope_of(*row)

    def get(self, id: RowId, sight: Sight, *, now: int) -> tuple[StoredRow, Scope] | None:
        """Return the unexpired document with this id from the first scope (all of one tenant) that has it; None
        also if the tenant's key was destroyed.

        Raises:
            CorruptIndexError: its text or id is damaged. Damage of the metadata is reported in the row.
        """
        if self.cipher.ring is not None:
            readable = self.cipher.readable_of(sight.scopes)
            if readable is not sight.scopes:
                sight = exactly(readable)
            if not readable:
                return None
        with translated(self.path, "reading"):
            names, n_scopes = sight.names, len(sight.scopes)
            parameters = (id, *names, now)
            if n_scopes > 1:
                parameters = tuple(
                    v for at in range(0, len(names), 3) for v in (id, *names[at : at + 3], now)
                )
            row = self._reader.row(_looking(self.tables.suffix, n_scopes), parameters)
            return None if row is None else self._sound(row[1:], sight.scopes[row[0]])

    def find(self, id: RowId, within: Scope, *, now: int) -> list[tuple[StoredRow, Scope]]:
        """Return the unexpired documents with this id in any scope that agrees with `within`, in order of scope,
        without vectors. An operation for administrators: its cost grows with the number of scopes that have the
        id.

        Raises:
            CorruptIndexError: as for :meth:`get`.
        """
        if self.cipher.ring is not None and not self.cipher.readable(within.tenant):
            return []
        t = self.tables
        condition, names = agreeing(within, table="s")
        with translated(self.path, "reading"):
            matches = self._reader.execute(
                "SELECT d.seq, d.id, d.text, d.payload, NULL, d.hash, s.tenant, s.user, s.agent "
                f"FROM {t.document} d CROSS JOIN {t.scope} s ON s.key = d.scope "
                f"WHERE d.id = ? AND {condition} AND (d.expires_at IS NULL OR d.expires_at > ?)",
                (id, *names, now),
            ).fetchall()
            rows = [(row[:6], scope_of(*row[6:])) for row in matches]
            return [
                self._sound(row, scope)
                for row, scope in sorted(rows, key=itemgetter(1))
                if self.cipher.readable(scope.tenant, scope.user)
            ]

    def at(self, seq: int) -> tuple[StoredRow, Scope] | None:
        """Return the document with this number; None also if its tenant's key was destroyed.

        Raises:
            CorruptIndexError: as for :meth:`get`, or its scope cannot be read.
        """
        t = self.tables
        with translated(self.path, "reading"):
            row = self._reader.row(
                f"SELECT d.seq, d.id, d.text, d.payload, v.data, d.hash, d.scope, s.tenant, s.user, s.agent "
                f"FROM {t.document} d LEFT JOIN {t.scope} s ON s.key = d.scope "
                f"LEFT JOIN {t.vector} v ON v.seq = d.seq WHERE d.seq = ?",
                (seq,),
            )
            if row is None:
                return None
            if row[7] is None:
                raise CorruptIndexError(f"its scope {shown(row[6])} is not in the file", id=row[1])
            scope = scope_of(*row[7:])
            if self.cipher.ring is not None and not self.cipher.readable(scope.tenant, scope.user):
                return None
            return self._sound(row[:6], scope)

    def _sound(self, row: Sequence[Any], scope: Scope) -> tuple[StoredRow, Scope]:
        """Decrypt and check a row (seq, id, text, payload, vector, hash), or raise CorruptIndexError."""
        opened = self.row_opener(scope)(row)
        if not opened.usable:
            raise CorruptIndexError(str(opened.damage), id=row[1], scope=scope)
        return opened, scope

    def to_embed(self, row: Sequence[Any], scope: Scope) -> tuple[str, bytes | None] | None:
        """Return text and payload of a row (seq, id, text, payload, vector, hash) for embedding; None if its
        tenant's key was destroyed.

        Raises:
            CorruptIndexError: its text, id or scope is damaged.
        """
        if self.cipher.ring is not None and not self.cipher.readable(scope.tenant, scope.user):
            return None
        opened = self.row_opener(scope)(row)
        if not opened.usable:
            raise CorruptIndexError(str(opened.damage), path=self.path, id=row[1], scope=scope)
        return opened.text, opened.payload


@lru_cache(maxsize=256)
def _looking(suffix: str, n_scopes: int) -> str:
    """Return the query for a document in the first of several scopes that has it; its parameters are, for each
    scope, the id, its names and the time. SQLite evaluates the parts of UNION ALL in order until LIMIT is
    reached; each part looks up two keys."""
    parts = (
        f"SELECT {i}, d.seq, d.id, d.text, d.payload, v.data, d.hash FROM scope{suffix} s "
        f"CROSS JOIN document{suffix} d ON d.id = ? AND d.scope = s.key "
        f"LEFT JOIN vector{suffix} v ON v.seq = d.seq "
        f"WHERE s.tenant = ? AND s.user = ? AND s.agent = ? "
        "AND (d.expires_at IS NULL OR d.expires_at > ?)"
        for i in range(n_scopes)
    )
    return " UNION ALL ".join(parts) + " LIMIT 1"


def _row(t: Tables) -> str:
    return (
        "SELECT d.seq, d.id, d.text, d.payload, v.data, d.hash "
        f"FROM {t.document} d LEFT JOIN {t.vector} v ON v.seq = d.seq "
    )
