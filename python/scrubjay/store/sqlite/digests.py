"""Digests of the rows of scopes of encrypted tenants.

The digest of a scope (:mod:`scrubjay.store.keys.digest`) is stored sealed in the row of the scope; the names of
the scope, its version and its counts of documents and vectors are the associated data. Two further numbers are
sealed with it, so that a partition loaded from its image need not read all rows: the version of the newest image,
and the sum over the rows and tombstones written after it.

The rows of feedback and of the tables in :mod:`scrubjay.store.sqlite.registry` have a digest for each table and
tenant. They are written from many places, so triggers of the writing connection (temporary ones, which are not in
the file) report the changes.

A transaction that changes rows of an encrypted tenant therefore needs the tenant's key, even to delete single
rows. An erasure of whole scopes does not: a scope without documents has no digest.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from scrubjay.base.errors import CorruptIndexError, KeyErasedError
from scrubjay.store.keys.digest import (
    ScopeDigest,
    around_scope,
    block,
    changed,
    mismatch,
    open_digest,
    row_blocks,
)
from scrubjay.store.keys.encryption import BLOCK_BYTES, Box
from scrubjay.store.rows.decoding import name_of
from scrubjay.store.rows.sealed import frame
from scrubjay.store.sqlite import registry
from scrubjay.store.sqlite.schema import Tables, all_tables

_TAG = -BLOCK_BYTES
_FUNCTION = "scrubjay_row_changed"
_MAX_KEPT = 1000  # digests cached in decrypted form


class Keys(Protocol):
    """What the digests need of a store's cipher."""

    def counting(self, tenant: str) -> Box | None:
        """Return the key of the tenant's digests in this transaction, or None if the tenant has no digests."""
        ...

    def is_encrypted(self, tenant: str) -> bool:
        """Whether the tenant has a data key, as visible in this transaction."""
        ...


# ---------------------------------------------------------------------- rows of a scope


def blocks_of(
    connection: sqlite3.Connection, t: Tables, box: Box, condition: str, values: Sequence[Any]
) -> list[tuple[int, bytes]]:
    """Return (seq, blocks) of the sealed rows that meet a condition."""
    rows = connection.execute(
        f"SELECT d.seq, d.expires_at, substr(d.text, {_TAG}), substr(d.payload, {_TAG}), substr(v.data, {_TAG}) "
        f"FROM {t.document} d LEFT JOIN {t.vector} v ON v.seq = d.seq WHERE typeof(d.text) = 'blob' AND {condition}",
        values,
    )
    return [(seq, row_blocks(box, seq, expires_at, tags)) for seq, expires_at, *tags in rows]


def tombstone_blocks(connection: sqlite3.Connection, t: Tables, box: Box, key: int, after: int) -> bytes:
    """Return what the tombstones of a scope after a version contribute to its digest."""
    rows = connection.execute(f"SELECT seq, id FROM {t.tombstone} WHERE scope = ? AND seq > ?", (key, after))
    return b"".join([box.block(("tombstone", seq, id)) for seq, id in rows])


_Values = tuple[int | None, Sequence[bytes | None]]  # expiry of a row, and its sealed values


class _Scope:
    """A scope in a transaction: its old state, and the changes."""

    __slots__ = ("changes", "image", "is_changed", "names", "state", "tables", "tombstones")

    def __init__(self, tables: Tables, names: Sequence[str], state: Sequence[Any]) -> None:
        self.tables = tables
        self.names = names
        self.state = state  # version, documents, vectors, digest
        # sign, seq, and the blocks or the values to compute them from
        self.changes: list[tuple[int, int, bytes | _Values]] = []
        self.tombstones: list[tuple[int, Any]] = []
        self.image: int | None = None
        self.is_changed = False


class Digests:
    """The digests of one store's encrypted tenants, maintained by the transactions of its writer."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._scopes: dict[tuple[str, int], _Scope] = {}
        self._rows: dict[tuple[str, str], list[tuple[int, tuple[Any, ...]]]] = {}
        self._fresh: dict[str, None] = {}
        self._kept: dict[
            tuple[str, int], tuple[tuple[Any, ...], ScopeDigest]
        ] = {}  # decrypted digests of the last states
        self._schema: int | None = None  # version of the schema for which the triggers exist
        self._grown: frozenset[str] = frozenset()
        self._connection: sqlite3.Connection | None = None
        self.active = False

    # ------------------------------------------------------------------ the transaction

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin a transaction in a file that has data keys, or may get some."""
        self._connection = connection
        self.active = True
        self.watch()

    def end(self, *, committed: bool) -> None:
        """End the transaction."""
        if self.active:
            self.active = False
            self._scopes.clear()
            self._rows.clear()
            self._fresh.clear()
            if not committed:
                self._schema = None  # triggers created in it are gone
            self._connection = None

    def watch(self) -> None:
        """Create the triggers that report changes of all tables with digests; called again after a table is
        created."""
        connection = self._connection
        assert connection is not None
        (version,) = connection.execute("PRAGMA main.schema_version").fetchone()
        if version == self._schema:
            return
        connection.create_function(_FUNCTION, -1, self._note)
        self._grown = _grown_tables(connection)
        for table in _counted_tables(connection):
            columns_found = connection.execute(f"PRAGMA main.table_info({table})")
            columns = [name_of(name) for _, name, *_ in columns_found]
            for event, rows in (("INSERT", ("NEW",)), ("UPDATE", ("OLD", "NEW")), ("DELETE", ("OLD",))):
                calls = " ".join(
                    f"SELECT {_FUNCTION}({-1 if row == 'OLD' else 1}, '{table}', {row}.tenant, "
                    f"{', '.join(f'{row}.{column}' for column in columns)});"
                    for row in rows
                )
                connection.execute(f"DROP TRIGGER IF EXISTS temp.counted_{table}_{event}")
                connection.execute(
                    f"CREATE TEMP TRIGGER counted_{table}_{event} AFTER {event} ON main.{table} BEGIN {calls} END"
                )
        self._schema = version

    def _note(self, sign: int, table: str, tenant: str, *values: Any) -> None:
        if self.active:
            self._rows.setdefault((tenant, table), []).append((sign, values))

    # ------------------------------------------------------------------ changes by a transaction

    def open(self, t: Tables, key: int, names: Sequence[str], state: Sequence[Any]) -> None:
        """Record the state of a scope before it is changed: version, documents, vectors, digest."""
        if (t.suffix, key) not in self._scopes:
            self._scopes[t.suffix, key] = _Scope(t, tuple(names), tuple(state))

    def change(self, t: Tables, key: int) -> None:
        """Record that the version or the counts of an opened scope change."""
        self._scopes[t.suffix, key].is_changed = True

    def add(self, t: Tables, key: int, seq: int, expires_at: int | None, *values: bytes | None) -> None:
        """Record a row that is added to an opened scope, in stored form."""
        scope = self._scopes[t.suffix, key]
        scope.is_changed = True
        scope.changes.append((1, seq, (expires_at, values)))

    def remove(self, t: Tables, key: int, seqs: Sequence[int]) -> None:
        """Record rows that are about to be deleted from an opened scope."""
        scope = self._scopes[t.suffix, key]
        scope.is_changed = True
        try:
            box = self._keys.counting(scope.names[0])
        except KeyErasedError:
            return  # the digest is never read again
        if box is not None and self._connection is not None:
            for seq in seqs:
                rows = blocks_of(self._connection, t, box, "d.seq = ?", (seq,))
                scope.changes += [(-1, seq, blocks) for seq, blocks in rows]

    def exchange(self, t: Tables, key: int, sign: int, seq: int, tag: bytes) -> None:
        """Record a vector that is added to, or removed from, an existing row."""
        scope = self._scopes.get((t.suffix, key))
        if scope is not None:
            scope.is_changed = True
            scope.changes.append((sign, seq, block(tag)))

    def bury(self, t: Tables, key: int, tombstones: Iterable[tuple[int, Any]]) -> None:
        """Record new tombstones."""
        self._scopes[t.suffix, key].tombstones.extend(tombstones)

    def picture(self, t: Tables, key: int, version: int) -> None:
        """Record a new image of an opened scope."""
        scope = self._scopes[t.suffix, key]
        scope.is_changed, scope.image = True, version

    def empty(self, t: Tables, key: int) -> None:
        """Record that an opened scope was emptied, and has no digest."""
        scope = self._scopes[t.suffix, key]
        scope.state = (*scope.state[:1], 0, 0, None)
        scope.changes.clear()
        scope.tombstones.clear()
        scope.image, scope.is_changed = None, True

    def begin_anew(self, tenant: str) -> None:
        """Recompute all digests of a tenant from the stored rows at the end of the transaction."""
        self._fresh[tenant] = None

    def is_fresh(self, tenant: str) -> bool:
        """Whether :meth:`begin_anew` was called for the tenant in this transaction."""
        return tenant in self._fresh

    # ------------------------------------------------------------------ end of the transaction

    def settle(self) -> None:
        """Write the digests of what changed, before the transaction is committed.

        Raises:
            EncryptionError: the key of a tenant whose rows changed is not available.
            CorruptIndexError: the rows of a scope were changed by other software before.
        """
        if not self.active or self._connection is None:
            return
        for (_, key), scope in self._scopes.items():
            if scope.is_changed and scope.names[0] not in self._fresh:
                self._settle_scope(self._connection, key, scope)
        for (tenant, table), changes in self._rows.items():
            if tenant not in self._fresh:
                self._settle_table(self._connection, tenant, table, changes)
        for tenant in self._fresh:
            self._count_anew(self._connection, tenant)
        self._scopes.clear()
        self._rows.clear()
        self._fresh.clear()

    def _settle_scope(self, connection: sqlite3.Connection, key: int, one: _Scope) -> None:
        t = one.tables
        tenant = one.names[0]
        if not self._keys.is_encrypted(tenant):
            return
        now = connection.execute(
            f"SELECT version, documents, vectors FROM {t.scope} WHERE key = ?", (key,)
        ).fetchone()
        if now is None or not now[1]:
            connection.execute(f"UPDATE {t.scope} SET digest = NULL WHERE key = ?", (key,))
            return
        try:
            box = self._keys.counting(tenant)
        except KeyErasedError:
            return  # the digest is never read again
        if box is None:
            return
        cached = self._kept.get((t.suffix, key))
        same = cached is not None and cached[0] == (box.id, one.names, one.state)
        was = (
            cached[1] if cached is not None and same else open_digest(box, t.document, one.names, *one.state)
        )
        digest = changed(box, was, one.changes, one.tombstones)
        if one.image is not None:
            recent = _recent(connection, t, box, key, one.image)
            digest = ScopeDigest(digest.total, one.image, recent % 2**128)
        sealed = _write_scope(connection, t, box, key, one.names, now, digest)
        if len(self._kept) >= _MAX_KEPT:
            self._kept.clear()
        self._kept[t.suffix, key] = (box.id, one.names, (*now, sealed)), digest

    def _settle_table(
        self,
        connection: sqlite3.Connection,
        tenant: str,
        table: str,
        changes: Sequence[tuple[int, tuple[Any, ...]]],
    ) -> None:
        execute = connection.execute
        if not self._keys.is_encrypted(tenant):
            return
        empty = execute(f"SELECT 1 FROM {table} WHERE tenant = ? LIMIT 1", (tenant,)).fetchone() is None
        if empty:
            execute("DELETE FROM table_digest WHERE tenant = ? AND name = ?", (tenant, table))
            return
        try:
            box = self._keys.counting(tenant)
        except KeyErasedError:
            return
        if box is None:
            return
        total = _table_total(connection, box, tenant, table)
        come, gone = box.totals(
            *(
                b"".join(
                    _row_block(box, table, values, table in self._grown)
                    for own, values in changes
                    if own == sign
                )
                for sign in (1, -1)
            )
        )
        total += come - gone
        _write_table(connection, box, tenant, table, total % 2**128)

    def _count_anew(self, connection: sqlite3.Connection, tenant: str) -> None:
        box = self._keys.counting(tenant)
        if box is None:
            return
        for t in all_tables(connection):
            for key, user, agent, *state in connection.execute(
                f"SELECT key, user, agent, version, documents, vectors FROM {t.scope} WHERE tenant = ? "
                "AND documents > 0",
                (tenant,),
            ).fetchall():
                blocks = b"".join(
                    blocks for _, blocks in blocks_of(connection, t, box, "d.scope = ?", (key,))
                )
                (image,) = connection.execute(
                    f"SELECT ifnull(max(version), 0) FROM {t.image} WHERE scope = ?", (key,)
                ).fetchone()
                digest = ScopeDigest(
                    box.total(blocks), image, _recent(connection, t, box, key, image) % 2**128
                )
                _write_scope(connection, t, box, key, (tenant, user, agent), state, digest)
        for table in _counted_tables(connection):
            blocks = _rows_of_table(connection, box, tenant, table)
            if blocks:
                _write_table(connection, box, tenant, table, box.total(blocks))
            else:
                connection.execute("DELETE FROM table_digest WHERE tenant = ? AND name = ?", (tenant, table))


def _recent(connection: sqlite3.Connection, t: Tables, box: Box, key: int, image: int) -> int:
    rows = blocks_of(connection, t, box, "d.scope = ? AND d.seq > ?", (key, image))
    return box.total(b"".join(blocks for _, blocks in rows)) + box.total(
        tombstone_blocks(connection, t, box, key, image)
    )


def _write_scope(
    connection: sqlite3.Connection,
    t: Tables,
    box: Box,
    key: int,
    names: Sequence[str],
    state: Sequence[int],
    digest: ScopeDigest,
) -> bytes:
    version, documents, vectors = state
    around = around_scope(t.document, names, version, documents, vectors)
    sealed = box.seal(around, digest.to_bytes())
    connection.execute(f"UPDATE {t.scope} SET digest = ? WHERE key = ?", (sealed, key))
    return sealed


# ---------------------------------------------------------------------- rows of other tables


def _counted_tables(connection: sqlite3.Connection) -> list[str]:
    return [rules.name for rules in registry.rules(connection) if rules.counted]


def _grown_tables(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(rules.name for rules in registry.rules(connection) if rules.grown)


def _rows_of_table(connection: sqlite3.Connection, box: Box, tenant: str, table: str) -> bytes:
    rules = next(candidate for candidate in registry.rules(connection) if candidate.name == table)
    return b"".join(
        _row_block(box, table, row, rules.grown)
        for row in connection.execute(f"SELECT * FROM {table} WHERE {rules.owned}", rules.asked(tenant))
    )


def _row_block(box: Box, table: str, row: Sequence[Any], grown: bool) -> bytes:
    """Return what a row of another table contributes to its digest.

    Excluded are the last two columns of feedback migrated from a file of format 3 (the document's scope and the
    flag of the migration), and trailing NULLs of a table whose columns were extended.
    """
    counted = row[:-2] if table.partition("_")[0] == "feedback" and row[-1] == 0 else row
    if grown:
        n_columns = len(counted)
        while n_columns and counted[n_columns - 1] is None:
            n_columns -= 1
        counted = counted[:n_columns]
    return box.block((table, *counted))


def _around_table(tenant: str, table: str) -> bytes:
    return frame("digest of a table", table, tenant)


def _table_total(connection: sqlite3.Connection, box: Box, tenant: str, table: str) -> int:
    row = connection.execute(
        "SELECT digest FROM table_digest WHERE tenant = ? AND name = ?", (tenant, table)
    ).fetchone()
    if row is None:
        return 0
    if not isinstance(row[0], bytes):
        raise mismatch((tenant, "", ""), f"the digest of table {table} was changed")
    try:
        return int.from_bytes(box.open(_around_table(tenant, table), row[0]), "little")
    except CorruptIndexError:
        raise mismatch((tenant, "", ""), f"the digest of table {table} was changed") from None


def _write_table(connection: sqlite3.Connection, box: Box, tenant: str, table: str, total: int) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO table_digest(tenant, name, digest) VALUES (?, ?, ?)",
        (tenant, table, box.seal(_around_table(tenant, table), total.to_bytes(BLOCK_BYTES, "little"))),
    )


def table_problems(connection: sqlite3.Connection, box: Box, tenant: str) -> list[str]:
    """Return the problems with the rows of a tenant in the tables outside of the collections."""
    problems = []
    for table in _counted_tables(connection):
        try:
            if _table_total(connection, box, tenant, table) != box.total(
                _rows_of_table(connection, box, tenant, table)
            ):
                raise mismatch((tenant, "", ""), f"the rows of table {table} do not match its digest")
        except CorruptIndexError as error:
            problems.append(str(error))
    return problems


def scope_problems(connection: sqlite3.Connection, box: Box, tenant: str) -> list[str]:
    """Return the problems with the rows of a tenant's scopes, in every collection."""
    problems = []
    for t in all_tables(connection):
        for key, user, agent, *state in connection.execute(
            f"SELECT key, user, agent, version, documents, vectors, digest FROM {t.scope} WHERE tenant = ?",
            (tenant,),
        ).fetchall():
            names = (tenant, user, agent)
            try:
                digest = open_digest(box, t.document, names, *state)
                rows = blocks_of(connection, t, box, "d.scope = ?", (key,))
                if digest.total != box.total(b"".join(blocks for _, blocks in rows)):
                    raise mismatch(names, "its rows do not match its digest")
            except CorruptIndexError as error:
                problems.append(str(error))
    return problems
