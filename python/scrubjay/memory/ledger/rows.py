"""Reading and writing the rows of memory's tables."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from scrubjay._native import Scope
from scrubjay.base.errors import CorruptIndexError
from scrubjay.memory.ledger.inserting import insert_values
from scrubjay.memory.ledger.schema import KINDS
from scrubjay.memory.ledger.sealing import (
    BOUND,
    BYTES,
    SEALED,
    cipher_of,
    is_file,
    keyed,
    opened_cell,
    place_in,
    sealed_values,
    settle,
)
from scrubjay.memory.model.content import digest, value_digest
from scrubjay.memory.model.decoding import checked, decoded
from scrubjay.memory.model.rows import ROWS, TYPES, FactRow, Row
from scrubjay.store.rows.scopes import names_of
from scrubjay.store.rows.sealed import is_sealed
from scrubjay.store.sqlite.cipher import Cipher
from scrubjay.store.sqlite.connections import fetched
from scrubjay.store.writing.write_batches import Change

_MISSING = {
    "policy": {"user": "''", "agent": "''", "begins_at": "effective_from", "expires_at": "effective_until"},
    "preference": {"agent": "''", "begins_at": "NULL"},
    "fact": {"begins_at": "NULL"},
    "episode": {"begins_at": "NULL"},
}
_SAID = {kind: row._fields.index(SEALED[KINDS[kind]][0]) for kind, row in ROWS.items()}
SELECT = {
    kind: f"SELECT {', '.join(_MISSING[kind].get(name, name) for name in row._fields)} FROM {KINDS[kind]} "
    for kind, row in ROWS.items()
}
"""Kind -> the beginning of a statement that reads its rows."""


def _columns(kind: str) -> dict[int, str]:
    """Return the positions of a row tuple that are columns of the table, with their names there."""
    names = ((i, _MISSING[kind].get(name, name)) for i, name in enumerate(ROWS[kind]._fields))
    return {i: name for i, name in names if name not in ("''", "NULL")}


_COLUMNS = {table: _columns(kind) for kind, table in KINDS.items()}
_VALUES = {table: itemgetter(*names) for table, names in _COLUMNS.items()}
_INSERT = {
    table: f"INSERT INTO {table}({', '.join(names.values())}) VALUES ({', '.join('?' * len(names))})"
    for table, names in _COLUMNS.items()
}


IN_SCOPE = "tenant = ? AND user = ? AND agent = ? "
"""The condition for facts and episodes of exactly one scope."""


def new_id(kind: str) -> str:
    """Return an id that is unique in the file and reveals only its kind; callers never choose ids."""
    return f"{kind}_{os.urandom(16).hex()}"


def new_ids(*kinds: str) -> tuple[str, ...]:
    """Return several new ids, from one call for random bytes."""
    drawn = os.urandom(16 * len(kinds)).hex()
    return tuple([f"{kind}_{drawn[32 * i : 32 * i + 32]}" for i, kind in enumerate(kinds)])


def kind_of(id: object) -> str | None:
    """Return the kind of record that an id belongs to, or None for an id of another form.

    Raises:
        TypeError: not a str.
    """
    if not isinstance(id, str):
        raise TypeError(f"id: expected a str, got {type(id).__name__}")
    kind = id.partition("_")[0]
    return kind if kind in KINDS else None


def rows_where(
    connection: sqlite3.Connection,
    kind: str,
    condition: str,
    values: Sequence[Any] = (),
    *,
    damaged: list[str] | None = None,
) -> Iterator[Any]:
    """Yield the decrypted rows of a kind that meet a condition, except for rows of tenants whose key was destroyed.

    A condition may only use columns that are not sealed, see :mod:`scrubjay.memory.ledger.sealing`.

    Args:
        damaged: receives a description of each unreadable row, which is skipped; None: they raise.

    Raises:
        EncryptionError: a row's key is unavailable.
        CorruptIndexError: a row was changed outside of Scrubjay.
    """
    yield from opened_rows(connection, kind, raw_rows_where(connection, kind, condition, values), damaged)


def opened_rows(
    connection: sqlite3.Connection, kind: str, rows: Iterable[tuple[Any, ...]], damaged: list[str] | None
) -> Iterator[Any]:
    """Yield the tuples of :func:`raw_rows_where` as :func:`rows_where` does."""
    make, open_row = ROWS[kind]._make, opener(connection)
    for values_of_row in rows:
        try:
            row = open_row(make(values_of_row))
        except CorruptIndexError as error:
            if damaged is None:
                raise
            damaged.append(f"{kind} {values_of_row[0]!r}: {error.what}")
            continue
        if row is not None:
            yield row


def opener(connection: sqlite3.Connection) -> Callable[[Any], Any]:
    """Return a function that decrypts rows, for immediate use; its result is None if the tenant's or user's key was
    destroyed.

    It raises CorruptIndexError for a row that is not what was written.
    """
    cipher = cipher_of(connection)
    if cipher is None:
        return _checked
    if cipher.ring is None:
        return partial(_unsealed, cipher)
    owners: dict[tuple[str, str], tuple[bool, bool]] = {}

    def opened(row: Any) -> Any:
        if row.tenant.__class__ is not str or row.user.__class__ is not str:
            return _checked(row)
        owner = row.tenant, row.user
        if owner not in owners:
            readable = cipher.readable(*owner)
            owners[owner] = readable, readable and cipher.refuses_plain(row.tenant)
        readable, refused = owners[owner]
        return _opened(cipher, row, refused) if readable else None

    return opened


def _unsealed(cipher: Cipher, row: Row) -> Row:
    """Return a row unchanged, without keys; raise for a sealed one."""
    if row.tenant.__class__ is not str or type(row[_SAID[row.kind]]) is str:
        return _checked(row)
    return _opened(cipher, row, False)


def _checked(row: Row, *, in_the_clear: bool = True) -> Row:
    held: Row = checked(row, TYPES[row.kind], in_the_clear=in_the_clear)
    return held


def _opened(cipher: Cipher, row: Row, refused: bool) -> Row:
    table = KINDS[row.kind]
    bound = [getattr(row, name) for name in BOUND[table]]
    sealed = is_sealed_text(row[_SAID[row.kind]])

    def cells() -> dict[str, Any]:
        return {
            column: opened_cell(
                cipher,
                row.tenant,
                place_in(table, column, row.id, bound),
                getattr(row, column),
                as_bytes=column in BYTES,
                refused=refused,
            )
            for column in SEALED[table]
        }

    opened: Row = row._replace(**decoded("sealed bytes", row.id, cells))
    return _checked(opened, in_the_clear=not sealed)


def is_sealed_text(kept: Any) -> bool:
    """Whether the value of a text column is sealed."""
    return isinstance(kept, bytes) and is_sealed(kept)


def raw_rows_where(
    connection: sqlite3.Connection, kind: str, condition: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return the same rows as stored, as plain tuples that begin with the id; :func:`as_row` makes rows of them."""
    return fetched(connection, f"{SELECT[kind]}WHERE {condition}", values)


def as_row(kind: str, values: tuple[Any, ...]) -> Row:
    """Return a plain tuple as a row."""
    row: Row = ROWS[kind]._make(values)
    return row


def find_row(connection: sqlite3.Connection, id: object, scope: Scope | None = None) -> Row | None:
    """Return the row with an id, whatever its status, or None.

    Args:
        connection: the connection to read by.
        id: the id of the record.
        scope: the scope of the caller, if only rows visible to it matter: a database then looks only in their homes.
            Other rows may be returned all the same.
    """
    kind = kind_of(id)
    if kind is None or "\udc00" <= max(str(id)) <= "\udfff":
        return None
    condition, values = ("", ()) if scope is None else seen_by(connection, kind, scope)
    return next(rows_where(connection, kind, f"{condition}id = ?", (*values, id)), None)


def seen_by(connection: sqlite3.Connection, kind: str, scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Return the beginning of a condition, with its values, that selects the rows of a kind visible to a scope, and
    possibly others of its tenant and user. In a file it is empty: a row is found by its id alone."""
    if is_file(connection):
        return "", ()
    tenant, user, _ = names_of(scope)
    if kind == "policy":
        return "tenant IN ('', ?) AND ", (tenant,)
    return "tenant = ? AND user IN ('', ?) AND ", (tenant, user)


def insert(connection: sqlite3.Connection, table: str, *rows: Row) -> None:
    """Insert rows in order, and seal them. Columns that the table names differently or lacks are mapped."""
    sealing = {tenant: settle(connection, tenant) for tenant in {row.tenant for row in rows}}
    values = []
    for row in rows:
        if sealing[row.tenant]:
            columns = {name: getattr(row, name) for name in SEALED[table]}
            row = row._replace(**sealed_columns(connection, row, columns))
        values.append(_VALUES[table](row))
    insert_values(connection, _INSERT[table], values)


def sealed_columns(connection: sqlite3.Connection, row: Row, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return new values of some columns of a row in their stored form, within a transaction.

    Raises:
        EncryptionError: the tenant's key is unavailable.
    """
    table = KINDS[row.kind]
    bound = [getattr(row, name) for name in BOUND[table]]
    return sealed_values(connection, table, row.tenant, row.user, row.id, bound, values)


def update_fact(change: Change, old: FactRow, new: FactRow, columns: Iterable[str]) -> None:
    """Write those of some columns of a fact that changed."""
    values = {name: getattr(new, name) for name in columns if getattr(new, name) != getattr(old, name)}
    if values:
        values = sealed_columns(change.connection, new, values)
        assignments = ", ".join(f"{name} = ?" for name in values)
        change.connection.execute(
            f"UPDATE memory_fact SET {assignments} WHERE id = ?", (*values.values(), old.id)
        )


def hash_in(connection: sqlite3.Connection, scope: Scope, text: str) -> bytes:
    """Return the hash of a content in a scope, in the form of the file."""
    return keyed(connection, scope.tenant, digest(scope, text))


def value_hash_in(connection: sqlite3.Connection, tenant: str, value: Any) -> bytes | None:
    """Return the hash by which equal values of a slot are found, in the form of the file; None without a value."""
    return None if value is None else keyed(connection, tenant, value_digest(value))
